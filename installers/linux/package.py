"""Writes a .deb and a .tar.zst of a bundle: `python -m installers.linux.package BUNDLE OUT [FEED URL...]`.

With FEED, which has the bundle as its newest release, what is unpacked is updated from these addresses of it.
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

from core.cli import command_parser
from core.contracts.build import MANAGED_FILE
from core.version import VERSION
from installers.bundle.build import ROOT, made_at
from installers.icons import write_pngs
from installers.linux.archive import LEVEL, pack, set_times
from installers.release import write_address

FILES = Path(__file__).parent / "files"
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


def main() -> int:
    """Pack it; returns the exit code."""
    bundle, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    published = (Path(sys.argv[3]).resolve(), sys.argv[4:]) if len(sys.argv) > 3 else None
    out.mkdir(exist_ok=True)
    work = ROOT / "build" / "linux"
    shutil.rmtree(work, ignore_errors=True)
    root = work / "deb"
    fill(root / "usr", bundle)
    if published:
        write_address(*published, root / "usr/lib/hearth")
    deb(root, out / f"hearth_{VERSION}_amd64.deb")
    pack(bundle, root / "usr/share", out / f"hearth-{VERSION}-linux-amd64.tar.zst", libraries(), published)
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
    write_pngs(usr / "share/icons/hicolor")


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
    set_times(root)
    command = ["dpkg-deb", "--root-owner-group", "-Zzstd", f"-z{LEVEL}", "--build", str(root), str(out)]
    subprocess.run(command, env={**os.environ, "SOURCE_DATE_EPOCH": str(made_at())}, check=True)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return path


if __name__ == "__main__":
    sys.exit(main())
