"""Installs the packages of this system that are in dist, tries each by `installers.smoke`, and removes it again:
`python -m installers.check`, after `python -m installers.package`."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from installers.package import PYTHON, ROOT

DIST = ROOT / "dist"
LINK = r"HKCU\Software\Classes\hearth"
TRAINS_S = "30"


def main() -> None:
    """Check them."""
    systems = {"linux": [debian, unpacked], "win32": [windows], "darwin": [macos]}
    for install in systems[sys.platform]:
        with tempfile.TemporaryDirectory() as folder, install(Path(folder)) as hearth:
            _run(PYTHON, "-m", "installers.smoke", hearth, "--seconds", TRAINS_S)


@contextlib.contextmanager
def debian(folder: Path) -> Iterator[Path]:
    """The .deb, by apt.

    Args:
        folder: for what is needed meanwhile.
    """
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    _run(*as_root, "apt-get", "install", "-y", _package("hearth_*.deb"))
    try:
        yield Path("/usr/bin/hearth")
    finally:
        _run(*as_root, "apt-get", "purge", "-y", "hearth")
    _gone(Path("/usr/lib/hearth"))


@contextlib.contextmanager
def unpacked(folder: Path) -> Iterator[Path]:
    """The .tar.zst; its libraries are there by now.

    Args:
        folder: where it is unpacked.
    """
    _run("tar", "-C", folder, "-xf", _package("hearth-*.tar.zst"))
    (program,) = folder.glob("hearth-*/hearth")
    yield program


@contextlib.contextmanager
def windows(folder: Path) -> Iterator[Path]:
    """The installer, which asks nothing when it is silent.

    Args:
        folder: where it writes its log.
    """
    place = Path(os.environ["LOCALAPPDATA"], "Programs", "Hearth")
    silent = ["/VERYSILENT", "/SUPPRESSMSGBOXES", "/NORESTART"]
    _run(_package("hearth-*.exe"), *silent, f"/LOG={folder / 'log.txt'}")
    try:
        _run("reg", "query", LINK)
        yield place / "hearth.exe"
    finally:
        _run(place / "unins000.exe", *silent)
    _gone(place / "hearth.exe")
    if subprocess.run(["reg", "query", LINK], check=False).returncode == 0:
        raise RuntimeError(f"{LINK} is left")


@contextlib.contextmanager
def macos(folder: Path) -> Iterator[Path]:
    """The app, copied from its disk image.

    Args:
        folder: where the image is mounted.
    """
    app, image = Path.home() / "Applications" / "Hearth.app", folder / "image"
    _run("hdiutil", "attach", _package("hearth-*.dmg"), "-nobrowse", "-readonly", "-mountpoint", image)
    try:
        shutil.copytree(image / "Hearth.app", app, symlinks=True)
    finally:
        _run("hdiutil", "detach", image)
    try:
        _run("codesign", "--verify", "--strict", app)
        yield app / "Contents" / "MacOS" / "hearth"
    finally:
        shutil.rmtree(app)


def _package(pattern: str) -> Path:
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        raise RuntimeError(f"there must be one {pattern} in {DIST}; there are {len(found)}")
    return found[0]


def _gone(path: Path) -> None:
    if path.exists():
        raise RuntimeError(f"{path} is left")


def _run(*command: str | Path) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
