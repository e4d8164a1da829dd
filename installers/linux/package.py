"""Packs a bundle for Linux: `python -m installers.linux.package BUNDLE OUT` writes a .deb and a .tar.zst there.

A third argument is the folder in which `installers/release.py address` wrote where the feed is: packs come from there.
"""

import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter

from app.tray.tray_icons import paint_app_icon
from core.cli import command_parser
from core.contracts.build import MANAGED_FILE
from core.update.installation import FEED
from core.version import VERSION
from installers.bundle.build import ROOT, made_at

FILES = Path(__file__).parent / "files"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
"""Of icons; pixels."""
LEVEL = 12
"""Of zstd: higher ones take minutes for a few per cent."""
PLACES = {
    "hearth.desktop": "share/applications",
    "hearth-links.desktop": "share/applications",
    "hearth-screensaver.desktop": "share/applications/screensavers",
    "app.hearth.hearth.metainfo.xml": "share/metainfo",
    "xscreensaver.xml": "share/xscreensaver/config/hearth.xml",
    "hearth.service": "lib/systemd/user",
    "hearth-backbone.service": "lib/systemd/system",
}
"""Below /usr; a place with an ending is a file's name."""
BASE = ("libgcc-s1", "libstdc++6", "zlib1g")
"""What every program here needs, beside those of setup.sh."""
CONTROL = """\
Package: hearth
Version: {version}
Architecture: amd64
Maintainer: Hearth <hearth@localhost>
Installed-Size: {size}
Depends: {depends}
Recommends: fonts-inter
Section: science
Priority: optional
Description: shares this PC's idle time with the training of a large neural network
 Hearth sits in the tray, shows what it does and why, lets you use the model
 that you help to train, and gives the PC back the moment you touch it.
 .
 Nothing runs and nothing is sent before you have agreed in its window.
"""
UNPACKED = """\
Hearth {version}: bin/hearth starts it, from any folder. It needs these packages of Debian or Ubuntu,
most of which every desktop has:

    {depends}

LICENCES.txt and sbom.cdx.json in lib/hearth say what it is made of. To have it among your applications, copy what is in
share into ~/.local/share, with the full path of bin/hearth after Exec= in the .desktop files.
"""


def main() -> int:
    """Pack it; returns the exit code."""
    bundle, out, *feed = (Path(name).resolve() for name in sys.argv[1:])
    out.mkdir(exist_ok=True)
    work = ROOT / "build" / "linux"
    shutil.rmtree(work, ignore_errors=True)
    root = work / "deb"
    fill(root / "usr", bundle)
    if feed:
        shutil.copytree(feed[0] / FEED, root / "usr/lib/hearth" / FEED)
    deb(root, out / f"hearth_{VERSION}_amd64.deb")
    name = f"hearth-{VERSION}-linux-amd64"
    unpacked = work / name
    (root / "usr").rename(unpacked)
    (unpacked / "lib/hearth" / MANAGED_FILE).unlink()
    shutil.rmtree(unpacked / "share/lintian", ignore_errors=True)
    about = UNPACKED.format(version=VERSION, depends=" ".join(libraries()))
    (unpacked / "README.txt").write_text(about)
    archive(unpacked, out / f"{name}.tar.zst")
    return 0


def fill(usr: Path, bundle: Path) -> None:
    """All that is installed, below /usr.

    Args:
        usr: where to; not there yet.
        bundle: what is packed.
    """
    program = usr / "lib" / "hearth"
    # Links instead of a second gigabyte; nothing of the bundle is written to.
    shutil.copytree(bundle, program, symlinks=True, copy_function=os.link)
    (program / MANAGED_FILE).touch()
    (usr / "bin").mkdir()
    (usr / "bin" / "hearth").symlink_to("../lib/hearth/hearth")
    saver = usr / "libexec" / "xscreensaver"
    saver.mkdir(parents=True)
    _write(saver / "hearth", '#!/bin/sh\nexec /usr/bin/hearth screensaver "$@"\n').chmod(0o755)
    day = datetime.fromtimestamp(made_at(), UTC).date().isoformat()
    for name, place in PLACES.items():
        text = (FILES / name).read_text().replace("@VERSION@", VERSION).replace("@DATE@", day)
        _write(usr / place if place.endswith(".xml") else usr / place / name, text)
    parser = command_parser()
    for shell, place in {"bash": "bash-completion/completions/hearth", "zsh": "zsh/vendor-completions/_hearth"}.items():
        _write(usr / "share" / place, shtab.complete(parser, shell))
    os.environ["COLUMNS"] = "80"
    page = usr / "share/man/man1/hearth.1"
    _write(page, str(Manpage(parser, format="single-commands-section")))
    subprocess.run(["gzip", "-9n", str(page)], check=True)
    papers = usr / "share/doc/hearth"
    papers.mkdir(parents=True)
    (papers / "copyright").symlink_to("../../../lib/hearth/LICENCES.txt")
    _icons(usr / "share/icons/hicolor")


def libraries() -> list[str]:
    """The packages of Debian that it needs, as setup.sh names them for a Hearth from the sources."""
    told = subprocess.run(
        [ROOT / "installers/linux/setup.sh", "libraries"], stdout=subprocess.PIPE, text=True, check=True
    )
    return sorted({*BASE, *(line.split()[1] for line in told.stdout.splitlines())})


def deb(root: Path, out: Path) -> None:
    """Write the Debian package.

    Args:
        root: what is installed.
        out: the package.
    """
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    control = root / "DEBIAN"
    control.mkdir()
    depends = ", ".join([f"libc6 (>= {platform.libc_ver()[1]})", *libraries()])
    size = sum(path.stat().st_size for path in files) // 1024
    _write(control / "control", CONTROL.format(version=VERSION, size=size, depends=depends))
    sums = subprocess.run(
        ["md5sum", *(str(path.relative_to(root)) for path in files)], cwd=root, stdout=subprocess.PIPE, check=True
    )
    (control / "md5sums").write_bytes(sums.stdout)
    _set_times(root)
    command = ["dpkg-deb", "--root-owner-group", "-Zzstd", f"-z{LEVEL}", "--build", str(root), str(out)]
    subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": str(made_at())}, check=True)


def archive(folder: Path, out: Path) -> None:
    """Write a folder as a .tar.zst that is the same whenever it is written.

    Args:
        folder: what is packed, under its own name.
        out: the archive.
    """
    _set_times(folder)
    same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]
    compressed = f"zstd -q -T0 -{LEVEL}"
    command = ["tar", *same, "-I", compressed, "-C", str(folder.parent), "-cf", str(out), folder.name]
    subprocess.run(command, check=True)


def _set_times(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (made_at(), made_at()), follow_symlinks=False)
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return path


def _icons(folder: Path) -> None:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    _app = QGuiApplication([])
    for side in SIZES:
        image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        paint_app_icon(painter, QRectF(0, 0, side, side))
        painter.end()
        path = folder / f"{side}x{side}" / "apps" / "hearth.png"
        path.parent.mkdir(parents=True)
        image.save(str(path))


if __name__ == "__main__":
    sys.exit(main())
