"""An organiser's tokens: given on the PC that has its key, by a command or by the app."""

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

import filelock
import msgspec

from core.access import check_holder, opened, signed, void_before
from core.contracts.access import RevokedList, Token
from core.contracts.errors import AccessError, HearthError
from core.contracts.manifest import Manifest
from core.contracts.notices import notice
from core.contracts.run_details import RunDetails
from core.identity import Identity, PeerId, parse_peer, peer_text
from core.store.access_files import REVOKED_FILE, TOKEN_FILE, Grant, Grants, read_grants, read_signed, write_grants
from core.store.data_folder import RUNS

DAY_MS = 86_400_000
LOCK, LOCK_S = "access.lock", 60.0


class Book(NamedTuple):
    """What the organiser has of one run."""

    manifest: Manifest
    identity: Identity
    folder: Path
    """The run's."""
    grants: Grants
    revoked: RevokedList

    def state(self, grant: Grant, now: int) -> str:
        """Whether its token is "valid", "expired" or "revoked"."""
        if grant.issued <= void_before(self.revoked).get(bytes.fromhex(grant.peer), -1):
            return "revoked"
        return "valid" if grant.expires > now else "expired"


def locked(folder: Path) -> filelock.BaseFileLock:
    """To be held from before a book is read until it is written, so that nobody loses what another one has written.

    Args:
        folder: the data folder.
    """
    return filelock.FileLock(folder / LOCK, timeout=LOCK_S)


def book_of(manifest: Manifest, folder: Path) -> Book:
    """What there is of a run on its organiser's PC.

    Args:
        manifest: the run's.
        folder: the data folder, with the organiser's key.

    Raises:
        HearthError: it is another organiser's run, or a file of it is damaged.
    """
    identity = Identity.load(folder)
    if manifest.organiser != peer_text(identity.peer):
        raise AccessError(notice("access.not_organiser", run=manifest.run_id, organiser=str(manifest.organiser)))
    here = folder / RUNS / manifest.run_id
    document = read_signed(here, REVOKED_FILE)
    revoked = RevokedList(1, manifest.run_id, 0)
    if document:
        revoked = opened(document, RevokedList, manifest.run_id, manifest.organiser)
    return Book(manifest, identity, here, read_grants(here), revoked)


def grant(book: Book, peer: str, name: str, days: int) -> bytes:
    """Give a peer a token, in the place of one that it may have, and note that.

    While the run is still open to everybody it is given ahead, for a later revision.

    Args:
        book: that of the run.
        peer: as `hearth address` prints it there, or just its key.
        name: what the organiser calls its user.
        days: for which it holds.

    Returns:
        The token, signed.

    Raises:
        IdentityError: that names no peer.
        DataFolderError: it cannot be noted.
    """
    run_id, key = book.manifest.run_id, parse_peer(peer.strip().partition("@")[0])
    now = max(unix_ms(), void_before(book.revoked).get(key, 0) + 1)  # the clock may have been set back
    expires, text = now + days * DAY_MS, peer_text(key)
    document = signed(Token(1, run_id, key, name, now, expires), book.identity)
    others = tuple(one for one in book.grants.grants if one.peer != text)
    write_grants(book.folder, Grants(grants=(*others, Grant(text, name, now, expires))))
    return document


def with_access(found: RunDetails, folder: Path, me: PeerId, document: bytes) -> RunDetails:
    """The same run, and whether this PC is let in there and lets others in.

    Args:
        found: the run.
        folder: the data folder.
        me: this PC's key.
        document: the token of a link to the run; nothing: the one that the run's folder has.
    """
    manifest = found.manifest
    if manifest.access != "tokens":
        return found
    until = None
    with contextlib.suppress(HearthError):
        document = document or read_signed(folder / RUNS / manifest.run_id, TOKEN_FILE)
        token = opened(document, Token, manifest.run_id, str(manifest.organiser))
        check_holder(token, me, unix_ms())
        until = token.expires / 1000
    return msgspec.structs.replace(found, invites=manifest.organiser == peer_text(me), let_in_until=until)


def unix_ms() -> int:
    """Now, as tokens have it."""
    return int(time.time() * 1000)
