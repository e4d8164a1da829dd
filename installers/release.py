"""Publishes releases: makes and renews the signed feed that `hearth update` reads, and the folder that is installed.

    python -m installers.release keys KEYS                      makes the keys; keep root.pem off every server
    release.py publish FEED KEYS BUNDLE ...     adds a bundle as a platform's newest release
    release.py pack FEED KEYS WHEELS            adds a folder of wheels as the newest pack for NVIDIA's GPUs
    release.py renew FEED KEYS                  signs again what expires; the root only if root.pem is there
    release.py install FEED BUNDLE OUT --url U  lays out what volunteers unpack

FEED is a folder that any web server can give: metadata (TUF, signed), targets (lists by part) and files (by hash). A
feed that is not renewed expires after two weeks, so that nobody can hold old releases up as the newest.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import msgspec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp

from core.commands.update import DATA_FORMAT
from core.update.feed import FILES, METADATA, TARGETS
from core.update.installation import FEED, FEED_FILE, FILES_FILE, RELEASE_FILE, ROOT_FILE
from core.update.packs import PYTHON, Pack, Wheel, pack_id, pack_target
from core.update.releases import File, Part, Release, part_target, release_id, release_target, this_platform
from core.version import VERSION

ROLES = ("root", "targets", "snapshot", "timestamp")
DAYS = {"root": 400, "targets": 400, "snapshot": 100, "timestamp": 14}
"""For which each role's signature holds."""
PARTS = {
    "torch": re.compile(r"_internal/(torch|functorch|torchgen)(/|-|$)"),
    "qt": re.compile(r"_internal/(PySide6|shiboken6|libQt|libicu|libpyside|libshiboken)"),
    "libraries": re.compile(r"_internal/(?!(app|core|resources|hearth)(/|-|$))"),
}
"""Which files belong to which part, the first that fits; all others are the app's."""
CHUNK = 1 << 20


def main(arguments: list[str] | None = None) -> None:
    options = _options(arguments)
    verbs = {"keys": _keys, "publish": _publish, "pack": _pack_wheels, "renew": _renew, "install": _install}
    verbs[options.what](options)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Publishes releases of Hearth.")
    verbs = parser.add_subparsers(dest="what", required=True)
    keys = verbs.add_parser("keys", help="make the four keys")
    publish = verbs.add_parser("publish", help="add a bundle as a platform's newest release")
    pack = verbs.add_parser("pack", help="add a folder of wheels as the newest GPU pack")
    renew = verbs.add_parser("renew", help="sign again what expires")
    install = verbs.add_parser("install", help="lay out what is unpacked by volunteers")
    for verb in (publish, pack, renew, install):
        verb.add_argument("feed", type=Path)
    for verb in (keys, publish, pack, renew):
        verb.add_argument("keys", type=Path)
    for verb in (publish, install):
        verb.add_argument("bundle", type=Path, help="PyInstaller's folder")
        verb.add_argument("--platform", default=this_platform())
    pack.add_argument("wheels", type=Path, help="a folder with torch's wheel and all that it needs beside Hearth's own")
    pack.add_argument(
        "--report", type=Path, help="of pip: the wheels are fetched from where it says; else from the feed"
    )
    pack.add_argument("--platform", default=this_platform())
    pack.add_argument("--python", default=PYTHON, help=f"for which they are ({PYTHON})")
    publish.add_argument("--version", required=True)
    publish.add_argument("--number", type=int, help="greater than any before (the next one)")
    publish.add_argument("--notes", default="", help="what is new, in a few lines")
    for verb in (publish, pack):
        verb.add_argument("--mirror", action="append", default=[], help="a web server's folder with the same files")
    publish.add_argument("--data-format", default=DATA_FORMAT, help="of the bundle (this tree's)")
    install.add_argument("out", type=Path)
    install.add_argument("--url", action="append", required=True, help="where the feed will be")
    return parser.parse_args(arguments)


def _keys(options: argparse.Namespace) -> None:
    options.keys.mkdir(mode=0o700, parents=True, exist_ok=True)
    for role in ROLES:
        descriptor = os.open(options.keys / f"{role}.pem", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(CryptoSigner.generate_ed25519().private_bytes)


def _signer(keys: Path, role: str) -> CryptoSigner:
    return CryptoSigner(load_pem_private_key((keys / f"{role}.pem").read_bytes(), None))


def _publish(options: argparse.Namespace) -> None:
    feed, keys, platform = options.feed, options.keys, options.platform
    targets = _begin(feed, keys)
    before = _released(feed, targets, platform)
    number = options.number or (before.number + 1 if before else 1)
    parts = {name: msgspec.json.encode(Part(tuple(files))) for name, files in _described(options.bundle, feed).items()}
    hashes = {name: hashlib.sha256(document).hexdigest() for name, document in parts.items()}
    release = Release(1, options.version, number, options.data_format, hashes, tuple(options.mirror), options.notes)
    documents = {part_target(platform, name): document for name, document in parts.items()}
    documents[release_target(platform)] = msgspec.json.encode(release)
    _add(feed, keys, targets, documents)
    print(f"{options.version} (number {number}, id {release_id(documents[release_target(platform)])}) for {platform}")


def _pack_wheels(options: argparse.Namespace) -> None:
    feed, keys = options.feed, options.keys
    targets = _begin(feed, keys)
    report = json.loads(options.report.read_text()) if options.report else {"install": []}
    known = [item["download_info"] for item in report["install"]]
    urls = {info["archive_info"]["hashes"]["sha256"]: info["url"] for info in known}
    wheels = tuple(_wheel(path, urls, feed) for path in sorted(options.wheels.glob("*.whl")))
    torch = next(wheel.name for wheel in wheels if wheel.name.startswith("torch-"))
    version = unquote(torch.split("-")[1])
    document = msgspec.json.encode(Pack(1, version, options.python, wheels, tuple(options.mirror)))
    _add(feed, keys, targets, {pack_target("cuda", options.platform, options.python): document})
    print(f"torch {version}, {len(wheels)} wheels, id {pack_id(document)}, for {options.platform} {options.python}")


def _wheel(path: Path, urls: dict[str, str], feed: Path) -> Wheel:
    """A wheel; one that is nowhere else is added to the feed's files."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if sha256 not in urls and not (feed / FILES / sha256).exists():
        partial = feed / FILES / f"{sha256}.partial"
        shutil.copyfile(path, partial)
        partial.replace(feed / FILES / sha256)
    return Wheel(path.name, path.stat().st_size, sha256, unpacked, urls.get(sha256, ""))


def _begin(feed: Path, keys: Path) -> Targets:
    """What the feed vouches for so far."""
    for name in (FILES, METADATA, TARGETS):
        (feed / name).mkdir(parents=True, exist_ok=True)
    if not (feed / METADATA / "1.root.json").exists():
        _write_root(feed, keys, 1)
    return _newest(feed, "targets", Targets())


def _add(feed: Path, keys: Path, targets: Targets, documents: dict[str, bytes]) -> None:
    """Have the feed vouch for more. Targets first, the timestamp last: who looks meanwhile sees the feed as it was."""
    for target, document in documents.items():
        described = TargetFile.from_data(target, document, ["sha256"])
        folder, _, name = target.rpartition("/")
        _put(feed / TARGETS / folder / f"{described.hashes['sha256']}.{name}", document)
        targets.targets[target] = described
    _sign_all(feed, keys, targets)


def _released(feed: Path, targets: Targets, platform: str) -> Release | None:
    described = targets.targets.get(release_target(platform))
    return None if described is None else msgspec.json.decode(_document(feed, described), type=Release)


def _document(feed: Path, described: TargetFile) -> bytes:
    folder, _, name = described.path.rpartition("/")
    return (feed / TARGETS / folder / f"{described.hashes['sha256']}.{name}").read_bytes()


def _renew(options: argparse.Namespace) -> None:
    if (options.keys / "root.pem").exists():
        _write_root(options.feed, options.keys, _last(options.feed, "root") + 1)
    if (options.keys / "targets.pem").exists():
        _sign_all(options.feed, options.keys, _newest(options.feed, "targets", Targets()))
        return
    if (options.keys / "snapshot.pem").exists():
        _sign_snapshot(options.feed, options.keys)
    _sign_timestamp(options.feed, options.keys)


def _write_root(feed: Path, keys: Path, version: int) -> None:
    root = Root(version=version, expires=_expires("root"), consistent_snapshot=True)
    for role in ROLES:
        root.add_key(_signer(keys, role).public_key, role)
    _sign(feed, keys, "root", root)


def _sign_all(feed: Path, keys: Path, targets: Targets) -> None:
    targets.version, targets.expires = _last(feed, "targets") + 1, _expires("targets")
    _sign(feed, keys, "targets", targets)
    _sign_snapshot(feed, keys)
    _sign_timestamp(feed, keys)


def _sign_snapshot(feed: Path, keys: Path) -> None:
    meta = {"targets.json": MetaFile(_last(feed, "targets"))}
    _sign(feed, keys, "snapshot", Snapshot(_last(feed, "snapshot") + 1, None, _expires("snapshot"), meta))


def _sign_timestamp(feed: Path, keys: Path) -> None:
    path = feed / METADATA / "timestamp.json"
    version = Metadata[Timestamp].from_file(str(path)).signed.version + 1 if path.exists() else 1
    timestamp = Timestamp(version, None, _expires("timestamp"), MetaFile(_last(feed, "snapshot")))
    _sign(feed, keys, "timestamp", timestamp)


def _sign(feed: Path, keys: Path, role: str, signed: Root | Targets | Snapshot | Timestamp) -> None:
    metadata: Metadata[Any] = Metadata(signed)
    metadata.sign(_signer(keys, role))
    name = "timestamp.json" if role == "timestamp" else f"{signed.version}.{role}.json"
    _put(feed / METADATA / name, metadata.to_bytes())


def _expires(role: str) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(days=DAYS[role])


def _last(feed: Path, role: str) -> int:
    """The newest version of a role's metadata; 0 if there is none."""
    return max((int(path.name.split(".")[0]) for path in (feed / METADATA).glob(f"*.{role}.json")), default=0)


def _newest(feed: Path, role: str, empty: Targets) -> Targets:
    last = _last(feed, role)
    return Metadata[Targets].from_file(str(feed / METADATA / f"{last}.{role}.json")).signed if last else empty


def _described(bundle: Path, feed: Path | None) -> dict[str, list[File]]:
    """All files of a bundle by part; those that a feed does not have yet are added to it, packed."""
    parts: dict[str, list[File]] = {}
    for path in _walk(bundle):
        name = path.relative_to(bundle).as_posix()
        part = next((part for part, fits in PARTS.items() if fits.match(name)), "app")
        parts.setdefault(part, []).append(_file(path, name, feed))
    return parts


def _walk(bundle: Path) -> Iterator[Path]:
    left_out = {bundle / RELEASE_FILE, bundle / FILES_FILE}
    yield from (
        path for path in sorted(bundle.rglob("*")) if (path.is_file() or path.is_symlink()) and path not in left_out
    )


def _file(path: Path, name: str, feed: Path | None) -> File:
    if path.is_symlink():
        return File(name, link=path.readlink().as_posix())
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    status = path.stat()
    packed = 0 if feed is None else _packed(path, feed / FILES / sha256)
    return File(name, status.st_size, sha256, packed, bool(status.st_mode & 0o100))


def _packed(path: Path, packed: Path) -> int:
    """How large a file of the feed is; it is made, if it is not there yet."""
    if not packed.exists():
        partial = packed.with_name(f"{packed.name}.partial")
        with path.open("rb") as source, partial.open("wb") as target:
            _pack(source, target)
        partial.replace(packed)
    return packed.stat().st_size


def _pack(source: BinaryIO, target: BinaryIO) -> None:
    """The same bytes for the same file, whenever it is packed."""
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=target, mtime=0) as packed:
        shutil.copyfileobj(source, packed, CHUNK)


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)


def _install(options: argparse.Namespace) -> None:
    lay_out(options.bundle, options.out, options.feed, options.url, options.platform)


def lay_out(
    bundle: Path, out: Path, feed: Path | None = None, urls: Sequence[str] = (), platform: str = this_platform()
) -> None:
    """Make the folder that a volunteer unpacks: launcher, version, and where the feed is (`core.update.installation`).

    Args:
        bundle: what is installed: the feed's newest release.
        out: the folder.
        feed: without one, it says so when it is asked for updates.
        urls: where the feed will be.
        platform: of the bundle.

    Raises:
        SystemExit: the feed has another bundle.
    """
    parts = {name: msgspec.json.encode(Part(tuple(files))) for name, files in _described(bundle, feed).items()}
    hashes = {name: hashlib.sha256(document).hexdigest() for name, document in parts.items()}
    if feed is None:
        document = msgspec.json.encode(Release(1, VERSION, 1, DATA_FORMAT, hashes))
    else:
        document = _document(feed, _newest(feed, "targets", Targets()).targets[release_target(platform)])
        if hashes != msgspec.json.decode(document, type=Release).parts:
            raise SystemExit("The feed's newest release is another bundle: publish this one first.")
    files = [file for part in parts.values() for file in msgspec.json.decode(part, type=Part).files]
    version = out / "versions" / release_id(document)
    shutil.copytree(bundle, version, symlinks=True)
    (version / RELEASE_FILE).write_bytes(document)
    (version / FILES_FILE).write_bytes(msgspec.json.encode(Part(tuple(files))))
    (out / "current").write_text(release_id(document))
    if feed is not None:
        write_address(feed, urls, out)
    shutil.copy(Path(__file__).parent / "linux" / "launcher.sh", out / "hearth")


def write_address(feed: Path, urls: Sequence[str], program: Path) -> None:
    """Write where the feed is, and its root of trust, for a program that is installed.

    Args:
        feed: the feed.
        urls: where it will be.
        program: the folder of what is installed.
    """
    folder = program / FEED
    folder.mkdir(parents=True)
    (folder / FEED_FILE).write_text(json.dumps({"urls": list(urls)}))
    shutil.copyfile(feed / METADATA / f"{_last(feed, 'root')}.root.json", folder / ROOT_FILE)


if __name__ == "__main__":
    main()
