"""A link by which a run is joined: its id, its organiser's key, and peers that have its manifest.

    hearth://join/RUN_ID/ORGANISER/PEER@ADDRESS,ADDRESS/PEER@ADDRESS

No character of it means anything to a shell. Nothing in it is believed: the manifest must be signed by that key and be
that run's.
"""

import re
from collections.abc import Iterable
from typing import Annotated, NoReturn
from urllib.parse import quote, unquote

import msgspec

from core.contracts.errors import RunError
from core.contracts.manifest import Bootstrap, Manifest
from core.contracts.notices import notice
from core.contracts.trunk import PeerText

SCHEME = "hearth:"
HEAD = "hearth://join/"
MAX_LINK = 2048
"""Characters: a QR code holds as many."""
MOST_PEERS = 4
_SAFE = re.compile(r"[A-Za-z0-9._~:/@,%-]*\Z")


class RunLink(msgspec.Struct, frozen=True):
    """What a link says."""

    run_id: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}-[0-9a-f]{8}\Z")]
    organiser: PeerText
    peers: Annotated[tuple[Bootstrap, ...], msgspec.Meta(min_length=1, max_length=MOST_PEERS)]

    def __str__(self) -> str:
        parts = self.run_id, self.organiser, *self.peers
        return HEAD + "/".join(quote(part, safe="@:,") for part in parts)


def is_link(text: str) -> bool:
    """Whether a run is named by a link, be it a whole one or not."""
    return text.startswith(SCHEME)


def link_to(manifest: Manifest, peers: Iterable[str]) -> str:
    """The link to a run.

    Args:
        manifest: the run's.
        peers: as `hearth address` prints them, the best first; those that nobody could dial by are left out.

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
        if len(link := str(RunLink(manifest.run_id, manifest.organiser, chosen))) <= MAX_LINK:
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
    run_id, organiser, *peers = [*map(unquote, text.removeprefix(HEAD).split("/")), ""]
    try:
        return msgspec.convert({"run_id": run_id, "organiser": organiser, "peers": [*filter(None, peers)]}, RunLink)
    except msgspec.ValidationError as error:
        part = next((name for name in ("run_id", "organiser") if f"`$.{name}`" in str(error)), "peers")
        _refuse(notice(f"run.link_{part}"))


def _refuse(why: object) -> NoReturn:
    raise RunError(notice("run.bad_link", why=why))
