"""A link by which a run is joined: its id, its organiser's key, and peers that have its manifest.

    hearth://join/RUN_ID/ORGANISER/PEER@ADDRESS,ADDRESS/PEER@ADDRESS/token:TOKEN

The token is there if its organiser lets somebody in by it (`core.contracts.access`). No character of the link means
anything to a shell. Nothing in it is believed: the manifest must be signed by that key and be that run's, and so must
the token.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Annotated, NoReturn
from urllib.parse import quote, unquote

import msgspec

from core.contracts.access import MAX_TOKEN
from core.contracts.errors import RunError
from core.contracts.manifest import Bootstrap, Manifest
from core.contracts.notices import notice
from core.contracts.trunk import PeerText

SCHEME = "hearth:"
HEAD = "hearth://join/"
MAX_LINK = 2048
"""Characters: a QR code holds as many."""
MOST_PEERS = 4
TOKEN = "token:"
"""Before the token in base64, the letters of which are safe in links."""
_SAFE = re.compile(r"[A-Za-z0-9._~:/@,%-]*\Z")


class RunLink(msgspec.Struct, frozen=True):
    """What a link says."""

    run_id: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}-[0-9a-f]{8}\Z")]
    organiser: PeerText
    peers: Annotated[tuple[Bootstrap, ...], msgspec.Meta(min_length=1, max_length=MOST_PEERS)]
    token: Annotated[bytes, msgspec.Meta(max_length=MAX_TOKEN)] = b""
    """Nothing: there is none."""

    def __str__(self) -> str:
        token = [TOKEN + base64.urlsafe_b64encode(self.token).decode().rstrip("=")] if self.token else []
        parts = self.run_id, self.organiser, *self.peers, *token
        return HEAD + "/".join(quote(part, safe="@:,") for part in parts)


def is_link(text: str) -> bool:
    """Whether a run is named by a link, be it a whole one or not."""
    return text.startswith(SCHEME)


def link_to(manifest: Manifest, peers: Iterable[str], token: bytes = b"") -> str:
    """The link to a run.

    Args:
        manifest: the run's.
        peers: as `hearth address` prints them, the best first; those that nobody could dial by are left out.
        token: that of who is to join by it.

    Raises:
        RunError: nobody has signed it, or there is no such peer.
    """
    if manifest.organiser is None:
        raise RunError(notice("run.link_unsigned", run=manifest.run_id))
    found: dict[str, str] = {}
    for peer in peers:
        try:
            found.setdefault(peer.partition("@")[0], msgspec.convert(peer, Bootstrap))
        except msgspec.ValidationError:
            continue
    chosen = tuple(found.values())[:MOST_PEERS]
    while chosen:
        if len(link := str(RunLink(manifest.run_id, manifest.organiser, chosen, token))) <= MAX_LINK:
            return link
        chosen = chosen[:-1]
    raise RunError(notice("run.link_without_peers", run=manifest.run_id))


def parse_link(text: str) -> RunLink:
    """What a link says.

    Raises:
        RunError: it is none, or a part of it is missing or wrong.
    """
    if len(text) > MAX_LINK:
        _refuse(notice("run.link_long", most=MAX_LINK))
    if not text.startswith(HEAD) or not _SAFE.match(text):
        _refuse(notice("run.link_no_link", head=HEAD))
    run_id, organiser, *rest = [*map(unquote, text.removeprefix(HEAD).split("/")), ""]
    peers, token = [part for part in rest if part and not part.startswith(TOKEN)], _token(rest)
    try:
        return msgspec.convert({"run_id": run_id, "organiser": organiser, "peers": peers, "token": token}, RunLink)
    except msgspec.ValidationError as error:
        part = next((name for name in ("run_id", "organiser", "token") if f"`$.{name}`" in str(error)), "peers")
        _refuse(notice(f"run.link_{part}"))


def _token(parts: list[str]) -> bytes:
    """What the parts of a link say of a token."""
    found = [part.removeprefix(TOKEN) for part in parts if part.startswith(TOKEN)]
    try:
        return base64.b64decode("".join(found) + "=" * (-sum(map(len, found)) % 4), "-_", validate=True)
    except (binascii.Error, ValueError):
        _refuse(notice("run.link_token"))


def _refuse(why: object) -> NoReturn:
    raise RunError(notice("run.bad_link", why=why))
