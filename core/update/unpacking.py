"""Puts a pack together: each wheel is fetched by its hash, checked and unpacked, one after the other.

A wheel comes from what this PC keeps for peers, from peers, or from web servers, in this order. A PC keeps wheels only
if its user wants that (`keep`): they take more than half of what the pack takes unpacked.

By `zipfile` and not by uv or pip: both want a Python interpreter to install for, which a package of Hearth does not
have. Nothing is left for them to decide either: the feed names every wheel by its hash. Killed at any moment, it is
gone on with; a pack's folder has its name only when all of it is there.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

import urllib3

from core.contracts.errors import UpdateError
from core.contracts.notices import notice
from core.regular_files import open_regular
from core.store.writing import PARTIAL, sync_folder, write_whole
from core.update.feed import PackOffer
from core.update.fetching import CHUNK, Told, Wrong, fetch
from core.update.installation import DOWNLOADS
from core.update.packs import PACK_FILE, WHEELS, Wheel
from core.update.releases import File, is_inside
from core.update.servers import connections

UNPACKED = ".unpacked"
"""In a pack's folder, while it is put together: a file for each wheel that is in it."""
LIBRARIES = ("purelib", "platlib")
"""What of a wheel's `.data` is imported; the rest are programs and headers."""
NO_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What `zipfile` raises for archives that are damaged, encrypted, or packed in a way that it does not know."""
FromPeers = Callable[[Wheel, Callable[[int], None]], None]
"""Has a wheel among the downloads, as far as peers give it, and tells how many of its bytes are there."""
RETRIES = urllib3.Retry(3, respect_retry_after_header=False)  # a server could have us wait for hours


def nobody(wheel: Wheel, told: Callable[[int], None]) -> None:
    """The `FromPeers` of who knows none."""


def assemble(
    runtimes: Path, offer: PackOffer, told: Told = lambda done, total: None, from_peers: FromPeers = nobody
) -> Path:
    """Have a pack in its folder.

    Args:
        runtimes: the folder of all packs.
        offer: what the feed vouches for.
        told: is told how many bytes of how many have come.
        from_peers: asks peers for a wheel.

    Returns:
        The pack's folder.

    Raises:
        UpdateError: a wheel does not come, or the disk is full; what has come is kept for the next try.
    """
    pack = runtimes / offer.id
    if pack.is_dir():
        return pack
    begun = pack.with_name(pack.name + PARTIAL)
    with _downloading(runtimes, offer):
        (begun / UNPACKED).mkdir(parents=True, exist_ok=True)
        missing = [wheel for wheel in offer.pack.wheels if not (begun / UNPACKED / wheel.sha256).exists()]
        largest = max((wheel.size for wheel in missing), default=0)
        _check_room(runtimes, sum(wheel.unpacked for wheel in missing) + largest)
        for wheel in [wheel for wheel in missing if (runtimes / WHEELS / wheel.sha256).exists()]:
            with contextlib.suppress(Wrong):  # damaged since: it comes like the others
                _unpack(begun, runtimes / WHEELS / wheel.sha256, wheel)
                missing.remove(wheel)
        _fetch_all(runtimes, offer, missing, partial(_unpack, begun), told, from_peers)
        shutil.rmtree(begun / UNPACKED)
        write_whole(begun / PACK_FILE, [offer.document])
        begun.replace(pack)
        sync_folder(runtimes)
    return pack


def keep(
    runtimes: Path, offer: PackOffer, told: Told = lambda done, total: None, from_peers: FromPeers = nobody
) -> int:
    """Have all wheels of a pack among those that peers are given, and no others there.

    Args:
        runtimes: the folder of all packs.
        offer: what the feed vouches for.
        told: is told how many bytes of how many have come.
        from_peers: asks peers for a wheel.

    Returns:
        Bytes that they take.

    Raises:
        UpdateError: as `assemble`.
    """
    kept = runtimes / WHEELS
    with _downloading(runtimes, offer):
        kept.mkdir(exist_ok=True)
        _remove_others(kept, offer)
        missing = [wheel for wheel in offer.pack.wheels if not _is(kept / wheel.sha256, wheel)]
        _check_room(runtimes, sum(wheel.size for wheel in missing))
        _fetch_all(runtimes, offer, missing, partial(_move, kept), told, from_peers)
    return sum(wheel.size for wheel in offer.pack.wheels)


@contextlib.contextmanager
def _downloading(runtimes: Path, offer: PackOffer) -> Iterator[None]:
    """Within it there is a folder for what comes, without what is left of another pack; at the end it goes.

    Raises:
        UpdateError: for what could not be written within it.
    """
    try:
        (runtimes / DOWNLOADS).mkdir(exist_ok=True)
        _remove_others(runtimes / DOWNLOADS, offer)
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise UpdateError(notice("update.disk_full")) from error
        why = str(error.strerror or error)
        raise UpdateError(notice("pack.not_written", folder=str(runtimes), why=why)) from error
    shutil.rmtree(runtimes / DOWNLOADS, ignore_errors=True)


def _remove_others(folder: Path, offer: PackOffer) -> None:
    """All but wheels of this pack."""
    wanted = {wheel.sha256 for wheel in offer.pack.wheels}
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()


def _check_room(runtimes: Path, needed: int) -> None:
    """Whether so many bytes fit, with what has come already.

    Raises:
        UpdateError: they do not.
    """
    free = shutil.disk_usage(runtimes).free + sum(path.stat().st_size for path in (runtimes / DOWNLOADS).iterdir())
    if needed > free:
        raise UpdateError(notice("pack.no_room", needed=needed, free=free))


def _fetch_all(
    runtimes: Path,
    offer: PackOffer,
    missing: list[Wheel],
    finish: Callable[[Path, Wheel], None],
    told: Told,
    from_peers: FromPeers,
) -> None:
    """Fetch wheels, each from peers or else from web servers; `finish` is called with where each of them has come."""
    done, total = 0, sum(wheel.size for wheel in missing)
    with connections(RETRIES) as pool:
        for wheel in missing:
            urls = [f"{source.rstrip('/')}/{wheel.sha256}" for source in offer.sources]
            if wheel.url:
                urls.insert(0, wheel.url)
            file, path = File(wheel.name, wheel.size, wheel.sha256, wheel.size), runtimes / DOWNLOADS / wheel.sha256
            tell = partial(_tell, told, done, total)
            from_peers(wheel, tell)
            fetch(pool, urls, file, path, partial(finish, path, wheel), tell)
            done += wheel.size


def _tell(told: Told, before: int, total: int, more: int) -> None:
    told(before + more, total)


def _is(path: Path, wheel: Wheel) -> bool:
    """Whether a wheel is here and whole."""
    try:
        with open_regular(path) as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == wheel.sha256
    except OSError:
        return False


def _move(folder: Path, path: Path, wheel: Wheel) -> None:
    """Put a wheel among those that are kept.

    Raises:
        Wrong: it is another file.
        OSError: it cannot be put there.
    """
    if not _is(path, wheel):
        raise Wrong(f"{wheel.name} is not what the feed says")
    path.replace(folder / wheel.sha256)


def _unpack(folder: Path, path: Path, wheel: Wheel) -> None:
    """Unpack a wheel into a folder, and have it on the disk.

    Raises:
        Wrong: it is another file.
        UpdateError: it is what the feed says, but no good wheel.
        OSError: it cannot be written.
    """
    with open_regular(path) as opened:
        if hashlib.file_digest(opened, "sha256").hexdigest() != wheel.sha256:
            raise Wrong(f"{wheel.name} is not what the feed says")
        try:
            with zipfile.ZipFile(opened) as archive:
                for entry, parts in [*_wanted(archive, wheel)]:
                    _write(archive, entry, folder.joinpath(*parts))
        except NO_ZIP as error:
            raise UpdateError(notice("update.damaged", why=f"{wheel.name}: {error}")) from error
    if hasattr(os, "sync"):
        os.sync()
    (folder / UNPACKED / wheel.sha256).touch()


def _wanted(archive: zipfile.ZipFile, wheel: Wheel) -> Iterator[tuple[zipfile.ZipInfo, tuple[str, ...]]]:
    """Which files of a wheel are wanted, and the parts of their paths in the pack.

    Raises:
        UpdateError: one would be elsewhere, or all of them larger than the feed says.
    """
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    if sum(entry.file_size for entry in files) > wheel.unpacked:
        raise UpdateError(notice("update.damaged", why=f"{wheel.name} is larger than it says"))
    for entry in files:
        if not is_inside(entry.filename):
            raise UpdateError(notice("update.damaged", why=f"{wheel.name} has a file called {entry.filename[:80]!r}"))
        parts = PurePosixPath(entry.filename).parts
        if len(parts) > 2 and parts[0].endswith(".data"):
            parts = parts[2:] if parts[1] in LIBRARIES else ()
        if parts:
            yield entry, parts


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, path.open("wb") as out:
        shutil.copyfileobj(source, out, CHUNK)
    path.chmod(0o755 if entry.external_attr >> 16 & 0o100 else 0o644)
