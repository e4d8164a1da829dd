"""Asks the feed for the newest release. What is not signed, expired, replayed or damaged is refused, and says so."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

import msgspec
import urllib3
from tuf.api.exceptions import (
    BadVersionNumberError,
    DownloadError,
    DownloadHTTPError,
    DownloadLengthMismatchError,
    ExpiredMetadataError,
    RepositoryError,
    UnsignedMetadataError,
)
from tuf.ngclient.fetcher import FetcherInterface
from tuf.ngclient.updater import Updater

from core.contracts.errors import UNREADABLE, UpdateError
from core.contracts.notices import Notice, notice
from core.regular_files import read_regular
from core.update.installation import FEED, TRUSTED, FeedAddress, Installation, feed_here
from core.update.packs import Pack, pack_id, pack_target
from core.update.releases import (
    MOST_LIST,
    MOST_RELEASE,
    File,
    Part,
    Release,
    is_inside,
    leads_inside,
    part_target,
    release_id,
    release_target,
    this_platform,
)
from core.update.servers import connections, pieces

T = TypeVar("T")
LOOK_S = 300.0
"""For all that is signed, from one address: some MB at 30 kB/s."""
FILES, METADATA, TARGETS = "files", "metadata", "targets"
"""Below the feed's address."""


Want = Callable[[Updater, str], T]
"""Takes what is wanted out of a feed that is believed, at an address."""


class Offer(NamedTuple):
    """A release that may be installed."""

    id: str
    release: Release
    document: bytes
    """The release as it was signed."""
    files: tuple[File, ...]
    """Of all parts."""
    sources: tuple[str, ...]
    """Folders of web servers that have them by their hash."""


class PackOffer(NamedTuple):
    """A pack that may be installed."""

    id: str
    pack: Pack
    document: bytes
    """The pack's list as it was signed."""
    sources: tuple[str, ...]
    """Folders of web servers that have the wheels by their hash."""


def look(installation: Installation) -> Offer | None:
    """The newest release, if it is another one than what is installed.

    Raises:
        UpdateError: there is no feed, it cannot be reached or believed, or it offers something older.
    """
    trusted = installation.root / FEED / TRUSTED
    return _ask(installation.feed(), trusted, lambda updater, url: _offered(installation, updater, url))


def look_for_pack(kind: str, trusted: Path) -> PackOffer:
    """The pack for a kind of card.

    Args:
        kind: such as cuda.
        trusted: the folder for what was trusted last.

    Raises:
        UpdateError: as `look`, or there is none for this system.
    """
    feed = feed_here()
    if feed is None:
        raise UpdateError(notice("pack.no_feed"))
    return _ask(feed, trusted, lambda updater, url: _offered_pack(kind, updater, url))


def _ask(feed: tuple[FeedAddress, bytes] | None, trusted: Path, want: Want[T]) -> T:
    if feed is None:
        raise UpdateError(notice("update.no_feed"))
    address, root = feed
    faults: list[UpdateError] = []
    for url in address.urls:
        try:
            return _look(url.rstrip("/"), root, trusted, want)
        except UpdateError as error:
            faults.append(error)
        except (DownloadError, RepositoryError) as error:
            faults.append(UpdateError(_said(error)))
        except OSError as error:
            why = str(error.strerror or error)
            raise UpdateError(notice("update.not_written", folder=str(trusted.parent), why=why)) from error
    raise next((fault for fault in faults if fault.notice.code != "update.unreachable"), faults[-1])


def _said(error: DownloadError | RepositoryError) -> Notice:
    """What is wrong with what an address gives."""
    if isinstance(error, DownloadError) and not isinstance(error, DownloadLengthMismatchError):
        return notice("update.unreachable", why=str(error))
    if isinstance(error, ExpiredMetadataError):
        return notice("update.expired")
    if isinstance(error, BadVersionNumberError):
        return notice("update.replayed")
    if isinstance(error, UnsignedMetadataError):
        return notice("update.unsigned")
    return notice("update.damaged", why=str(error))


class _Fetcher(FetcherInterface):
    """Fetches metadata over connections that end with the look; a connection that breaks is a `DownloadError`, too."""

    def __init__(self, pool: urllib3.PoolManager) -> None:
        self._pool, self._until = pool, time.monotonic() + LOOK_S

    def _fetch(self, url: str) -> Iterator[bytes]:
        try:
            answer = self._pool.request("GET", url, preload_content=False)
            try:
                if answer.status != 200:
                    raise DownloadHTTPError(f"{url}: HTTP {answer.status}", answer.status)
                for piece in pieces(answer):
                    yield piece
                    if time.monotonic() > self._until:
                        raise DownloadError(f"{url}: not all came within {LOOK_S:.0f} s")
            finally:
                answer.close()
        except urllib3.exceptions.HTTPError as error:
            raise DownloadError(str(error)) from error


def _look(url: str, root: bytes, trusted: Path, want: Want[T]) -> T:
    trusted.mkdir(exist_ok=True)
    with connections() as pool:
        places = str(trusted), f"{url}/{METADATA}/", str(trusted), f"{url}/{TARGETS}/"
        updater = Updater(*places, fetcher=_Fetcher(pool), bootstrap=root)
        updater.refresh()
        return want(updater, url)


def _offered(installation: Installation, updater: Updater, url: str) -> Offer | None:
    platform = this_platform()
    document = _target(updater, release_target(platform), MOST_RELEASE)
    if document is None:
        raise UpdateError(notice("update.no_platform", platform=platform))
    release = _decoded(document, Release)
    mine, offered = installation.release(installation.current), release_id(document)
    if offered == installation.current:
        return None
    if mine is not None and release.number <= mine.number:
        raise UpdateError(notice("update.older", offered=release.version, installed=mine.version))
    files: list[File] = []
    for part, sha256 in release.parts.items():
        listed = _target(updater, part_target(platform, part), MOST_LIST, sha256)
        files += _decoded(listed or b"", Part).files
    _check(files)
    return Offer(offered, release, document, tuple(files), (f"{url}/{FILES}", *release.mirrors))


def _offered_pack(kind: str, updater: Updater, url: str) -> PackOffer:
    document = _target(updater, pack_target(kind), MOST_RELEASE)
    if document is None:
        raise UpdateError(notice("update.no_platform", platform=this_platform()))
    pack = _decoded(document, Pack)
    return PackOffer(pack_id(document), pack, document, (f"{url}/{FILES}", *pack.mirrors))


def _target(updater: Updater, name: str, most: int, sha256: str = "") -> bytes | None:
    """A signed file of the feed; None: it has none of that name, or another one than expected."""
    info = updater.get_targetinfo(name)
    if info is None or (sha256 and info.hashes.get("sha256") != sha256):
        return None
    if info.length > most:
        raise UpdateError(notice("update.damaged", why=f"{name} has {info.length:,} bytes"))
    path = updater.find_cached_target(info) or updater.download_target(info)
    return read_regular(Path(path), most)


def _decoded(document: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(document, type=kind)
    except UNREADABLE as error:
        raise UpdateError(notice("update.damaged", why=str(error))) from error


def _check(files: list[File]) -> None:
    """Whether all files stay within the version's folder, each by a name of its own; links last.

    Raises:
        UpdateError: they do not.
    """
    paths = {file.path for file in files}
    links = {file.path for file in files if file.link}
    for file in files:
        above = {parent.as_posix() for parent in PurePosixPath(file.path).parents}
        good = is_inside(file.path) and not above & paths and (leads_inside(file) if file.link else file.sha256)
        if not good or above & links:
            raise UpdateError(notice("update.damaged", why=f"it has a file called {file.path[:80]!r}"))
    if len(paths) != len(files):
        raise UpdateError(notice("update.damaged", why="it names a file twice"))
