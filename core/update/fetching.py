"""Puts a version together: what another version here has already is linked, the rest comes from web servers by hash.

Killed at any moment, it is gone on with; a version's folder has its name only when all of it is there and checked.
"""

import collections
import contextlib
import errno
import hashlib
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial as bound
from pathlib import Path

import msgspec
import urllib3

from core.contracts.errors import UNREADABLE, UpdateError
from core.contracts.notices import notice
from core.regular_files import empty_regular, open_regular, read_regular
from core.store.writing import PARTIAL, sync_folder, write_whole
from core.update.feed import Offer
from core.update.installation import DOWNLOADS, FILES_FILE, RELEASE_FILE, VERSIONS, Installation
from core.update.releases import MOST_LIST, File, Part
from core.update.servers import connections, pieces

CHUNK = 256 << 10
GZIP = 16 + zlib.MAX_WBITS
Told = Callable[[int, int], None]


def assemble(installation: Installation, offer: Offer, told: Told = lambda done, total: None) -> int:
    """Have the version of an offer in its folder.

    Args:
        installation: where.
        offer: what the feed vouches for.
        told: is told how many bytes of how many have come.

    Returns:
        Bytes that were fetched.

    Raises:
        UpdateError: a file does not come, or the disk is full; what has come is kept for the next try.
    """
    folder = installation.folder(offer.id)
    if folder.is_dir():
        return 0
    begun = folder.with_name(folder.name + PARTIAL)
    try:
        begun.mkdir(parents=True, exist_ok=True)
        missing = [*_missing(begun, offer.files, _here(installation))]
        needed, free = sum(file.size for file in missing), shutil.disk_usage(begun).free
        if needed + sum(file.packed for file in missing) > free:
            raise UpdateError(notice("update.no_room", needed=needed, free=free))
        fetched = _fetch_all(installation, offer, begun, missing, told)
        for file in offer.files:
            if file.link:
                (begun / file.path).parent.mkdir(parents=True, exist_ok=True)
                (begun / file.path).unlink(missing_ok=True)
                (begun / file.path).symlink_to(file.link)
        write_whole(begun / RELEASE_FILE, [offer.document])
        write_whole(begun / FILES_FILE, [msgspec.json.encode(Part(offer.files))])
        if hasattr(os, "sync"):
            os.sync()
        begun.replace(folder)
        sync_folder(folder.parent)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise UpdateError(notice("update.disk_full")) from error
        why = str(error.strerror or error)
        raise UpdateError(notice("update.not_written", folder=str(installation.root), why=why)) from error
    shutil.rmtree(installation.root / DOWNLOADS, ignore_errors=True)
    return fetched


def to_fetch(installation: Installation, offer: Offer) -> int:
    """Bytes that have to come."""
    here = _here(installation)
    return sum(file.packed for file in {file.sha256: file for file in offer.files}.values() if file.sha256 not in here)


def _here(installation: Installation) -> dict[str, Path]:
    """Files of all versions here, by hash."""
    found = {}
    for listed in installation.root.glob(f"{VERSIONS}/*/{FILES_FILE}"):
        with contextlib.suppress(OSError, *UNREADABLE):
            for file in msgspec.json.decode(read_regular(listed, MOST_LIST), type=Part).files:
                if file.sha256:
                    found[file.sha256] = listed.parent / file.path
    return found


def _missing(begun: Path, files: tuple[File, ...], here: dict[str, Path]) -> Iterator[File]:
    """What has to come; all else is put in place."""
    for file in files:
        if file.link or _is(begun / file.path, file):
            continue
        path = begun / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if (source := here.get(file.sha256)) is None or not _is(source, file):
            yield file
            continue
        try:
            path.hardlink_to(source)
        except OSError:
            shutil.copy2(source, path)


def _is(path: Path, file: File) -> bool:
    """Whether a file is here and whole, with the right to be run if it needs it."""
    try:
        status = path.lstat()
        if status.st_size != file.size or bool(status.st_mode & 0o100) != file.executable:
            return False
        with open_regular(path) as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256
    except OSError:
        return False


def _fetch_all(installation: Installation, offer: Offer, begun: Path, files: list[File], told: Told) -> int:
    downloads = installation.root / DOWNLOADS
    downloads.mkdir(exist_ok=True)
    total, done = sum({file.sha256: file.packed for file in files}.values()), 0
    with connections() as pool:
        for file in files:
            partial = downloads / file.sha256
            before = done

            def more(size: int, before: int = before) -> None:
                told(min(before + size, total), total)

            if not _copied(begun, file, files):
                urls = [f"{source.rstrip('/')}/{file.sha256}" for source in offer.sources]
                fetch(pool, urls, file, partial, bound(_unpack, partial, file, begun / file.path), more)
                done += file.packed
    return done


def _copied(begun: Path, file: File, files: list[File]) -> bool:
    """Whether the same content has come under another name of this version, and is here now."""
    for other in files:
        if other is file:
            return False
        if other.sha256 == file.sha256 and other.size == file.size:
            shutil.copyfile(begun / other.path, begun / file.path)
            (begun / file.path).chmod(0o755 if file.executable else 0o644)
            return True
    return False


def fetch(
    pool: urllib3.PoolManager,
    urls: Iterable[str],
    file: File,
    partial: Path,
    unpack: Callable[[], None],
    told: Callable[[int], None],
) -> None:
    """Fetch one file from the first server that gives it.

    Args:
        pool: of connections.
        urls: where it may be.
        file: what it must be.
        partial: where it is put; what is there already is not fetched again.
        unpack: called when all of it is there, to unpack or move it; raises `Wrong` if it is something else.
        told: is told how many of its bytes are there.

    Raises:
        UpdateError: no server gives it.
        OSError: it cannot be written.
    """
    why, left = "", collections.deque(urls)
    while left:
        url, gone_on = left.popleft(), partial.exists()
        try:
            _download(pool, url, file, partial, told)
            unpack()
        except (urllib3.exceptions.HTTPError, Wrong) as error:
            why = str(error)
            if isinstance(error, Wrong):
                partial.unlink(missing_ok=True)
                if gone_on:  # what was there, perhaps of another server, may be what is wrong
                    left.appendleft(url)
        else:
            partial.unlink(missing_ok=True)
            return
    raise UpdateError(notice("update.not_fetched", file=file.path, why=why))


class Wrong(Exception):
    """A server gave something else."""


def _download(pool: urllib3.PoolManager, url: str, file: File, partial: Path, told: Callable[[int], None]) -> None:
    """Append what is missing of the packed file; never more than it has."""
    have = partial.stat().st_size if partial.exists() else 0
    if have >= file.packed:
        return
    headers = {"User-Agent": "hearth", **({"Range": f"bytes={have}-"} if have else {})}
    answer = pool.request("GET", url, headers=headers, preload_content=False, decode_content=False)
    try:
        if answer.status not in (200, 206):
            raise _Missing(f"{url}: HTTP {answer.status}")
        goes_on = answer.status == 206
        have = have if goes_on else 0
        with empty_regular(partial) if not goes_on else open(partial, "ab") as out:  # noqa: PTH123
            for piece in pieces(answer):
                have += len(piece)
                if have > file.packed:
                    raise Wrong(f"{url} is longer than it should be")
                out.write(piece)
                told(have)
    finally:
        answer.close()
    if have < file.packed:
        raise _Missing(f"{url} was cut off")


class _Missing(urllib3.exceptions.HTTPError):
    """A server gave nothing, or a part only; what came stays."""


def _unpack(partial: Path, file: File, path: Path) -> None:
    """Unpack a file into its place, never more of it than it has, and compare its hash.

    Raises:
        Wrong: it is another file.
    """
    digest, size, unpacker = hashlib.sha256(), 0, zlib.decompressobj(GZIP)
    with open_regular(partial) as packed, empty_regular(path) as out:
        while not unpacker.eof:
            data = unpacker.unconsumed_tail or packed.read(CHUNK)
            try:
                piece = unpacker.decompress(data, CHUNK)
            except zlib.error as error:
                raise Wrong(f"{file.path}: {error}") from error
            size += len(piece)
            if size > file.size or not (data or piece):
                break
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    if size != file.size or digest.hexdigest() != file.sha256:
        path.unlink()
        raise Wrong(f"{file.path} is not what the feed says")
    path.chmod(0o755 if file.executable else 0o644)
