"""`hearth access`: whom an organiser lets take part in a run."""

import argparse
import re
import sys
from pathlib import Path

import msgspec

from core.access import signed, with_revoked
from core.commands import common
from core.contracts import manifest as manifests
from core.contracts.access import LONGEST_DAYS, MOST_REVOKED, UserName
from core.contracts.control import RunLinked, RunParams
from core.contracts.errors import AccessError, HearthError, NotRunning, SettingsError
from core.contracts.manifest import Manifest, is_path
from core.contracts.notices import notice
from core.contracts.run_link import link_to, parse_link
from core.contracts.status import Status
from core.contracts.words import date
from core.identity import parse_peer, peer_text
from core.store import granting
from core.store.access_files import REVOKED_FILE, write
from core.store.data_folder import MANIFEST_FILE, RUNS, data_folder

STILL_OPEN = (
    'The run is still open to everybody; the token is needed once you publish a revision of it with access = "tokens".'
)
PEER = re.compile(r"[0-9a-f]{64}")


class Granted(msgspec.Struct, frozen=True):
    """A row of `hearth access list --json`; moments are unix seconds."""

    name: str
    peer: str
    issued: float
    expires: float
    state: str


def access(options: argparse.Namespace) -> None:
    """What is wanted of which run; one command after the other, so that none loses what another one has written."""
    with granting.locked(data_folder(options.data_dir)):
        {"grant": _grant, "revoke": _revoke, "list": _list}[options.what](options)


def _grant(options: argparse.Namespace) -> None:
    book = _opened(options)
    peer = peer_text(parse_peer(_named(options, "grant").partition("@")[0]))
    known = next((grant for grant in book.grants.grants if grant.peer == peer), None)
    name = options.name or (known.name if known else None)
    if name is None:
        raise SettingsError("Who is that? For example: hearth access grant mine PEER --name Ann")
    try:
        msgspec.convert(name, UserName)
    except msgspec.ValidationError:
        raise SettingsError("A name has 1 to 64 characters, all of them in one line.") from None
    peers = parse_link(link_to(book.manifest, _peers(options, book.manifest))).peers  # else nobody is given a token
    print(link_to(book.manifest, peers, granting.grant(book, peer, name, options.days)))
    if book.manifest.access != "tokens":
        print(STILL_OPEN, file=sys.stderr)


def _revoke(options: argparse.Namespace) -> None:
    book, named, now = _opened(options), _named(options, "revoke"), granting.unix_ms()
    key = named.partition("@")[0]
    found = {grant.peer: grant.name for grant in book.grants.grants if key in (grant.peer, grant.name)}
    if not found and PEER.fullmatch(key):
        found = {key: key[:8]}  # the file of grants may have been lost
    if len(found) != 1:
        raise AccessError(notice("access.name_of_several" if found else "access.nobody", name=named))
    [(peer, name)] = found.items()
    now = max(now, *(grant.issued for grant in book.grants.grants if grant.peer == peer), 0)  # likewise
    kept = tuple(
        one for one in book.revoked.revoked if now - one.at < LONGEST_DAYS * granting.DAY_MS
    )  # the others' tokens ended
    following = with_revoked(msgspec.structs.replace(book.revoked, revoked=kept), parse_peer(peer), now)
    if len(following.revoked) > MOST_REVOKED:
        raise AccessError(notice("access.list_full", most=MOST_REVOKED))
    write(book.folder, REVOKED_FILE, signed(following, book.identity))
    print(f"The tokens of {name} ({peer[:8]}) are void.")
    if not _spreads(options, book.manifest):
        print("No worker of this data folder takes part in the run now: the others learn of it when one does.")


def _list(options: argparse.Namespace) -> None:
    book, now = _opened(options), granting.unix_ms()
    rows = [
        Granted(one.name, one.peer, one.issued / 1000, one.expires / 1000, book.state(one, now))
        for one in book.grants.grants
    ]
    if options.json:
        common.print_json(rows)
        return
    for row in rows:
        print(f"{row.name}  {row.peer}  {row.state}, from {date(row.issued)} to {date(row.expires)}")
    if not rows:
        print(f"No tokens have been given for {book.manifest.run_id} yet.")


def _named(options: argparse.Namespace, what: str) -> str:
    if not options.who:
        raise SettingsError(f"Who? For example: hearth access {what} mine PEER, as `hearth address` prints it there.")
    return str(options.who)


def _opened(options: argparse.Namespace) -> granting.Book:
    """What there is of the run that was named, on its organiser's PC.

    Raises:
        HearthError: there is no such run, it is another organiser's, or a file of it is damaged.
    """
    folder = data_folder(options.data_dir)
    manifest = manifests.load(options.run) if is_path(options.run) else _joined(folder, options.run)
    return granting.book_of(manifest, folder)


def _joined(folder: Path, name: str) -> Manifest:
    """The manifest of a run whose folder is here, by its id, or its name if no other has that."""
    found = {}
    for path in (folder / RUNS).glob(f"*/{MANIFEST_FILE}"):
        try:
            manifest = manifests.load(str(path))
        except HearthError:
            continue  # of no use to whoever names another run
        if name in (manifest.run_id, manifest.run) and manifest.organiser:
            found[manifest.run_id] = manifest
    if len(found) != 1:
        raise AccessError(notice("access.runs_of_name" if found else "access.no_run", run=name))
    return next(iter(found.values()))


def _peers(options: argparse.Namespace, manifest: Manifest) -> tuple[str, ...]:
    """Through whom a newcomer joins: as `hearth run link` says where this PC takes part in the run, else those that
    the manifest names."""
    try:
        with common.client(options) as client:
            return parse_link(client.call("run_link", RunParams(manifest.run_id), RunLinked).link).peers
    except HearthError:
        return manifest.bootstrap


def _spreads(options: argparse.Namespace, manifest: Manifest) -> bool:
    """Whether a worker of this data folder takes part in the run."""
    try:
        with common.client(options) as client:
            return any(run.id == manifest.run_id for run in client.call("status", {}, Status).runs)
    except NotRunning:
        return False
