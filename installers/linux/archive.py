"""The archive that is unpacked anywhere, and updates itself."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from core.version import VERSION
from installers.bundle.build import made_at
from installers.release import lay_out

LEVEL = 12
"""Of zstd: higher ones take minutes for a few per cent."""
OF_THE_SYSTEM = ("doc", "lintian")
"""Below share: what only a package of the system has."""
README = """\
Hearth {version}: ./hearth starts it, from any folder. It needs these packages of Debian or Ubuntu,
most of which every desktop has:

    {depends}

LICENCES.txt and sbom.cdx.json in versions/*/ say what it is made of. To have it among your applications, copy what is
in share into ~/.local/share, with the full path of hearth after Exec= in the .desktop files.
"""


def pack(
    bundle: Path, share: Path, out: Path, depends: Sequence[str], published: tuple[Path, Sequence[str]] | None = None
) -> None:
    """Write it.

    Args:
        bundle: what is packed.
        share: desktop entries, icons and the like.
        out: the archive.
        depends: the packages of Debian that it needs.
        published: a feed that has the bundle as its newest release, and the addresses of that feed.
    """
    with tempfile.TemporaryDirectory(dir=out.parent) as work:
        folder = Path(work, out.name.removesuffix(".tar.zst"))
        lay_out(bundle, folder, *(published or ()))
        shutil.copytree(share, folder / "share", symlinks=True, ignore=shutil.ignore_patterns(*OF_THE_SYSTEM))
        (folder / "README.txt").write_text(README.format(version=VERSION, depends=" ".join(depends)))
        set_times(folder)
        same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]
        command = ["tar", *same, "-I", f"zstd -q -T0 -{LEVEL}", "-C", work, "-cf", str(out), folder.name]
        subprocess.run(command, check=True)


def set_times(folder: Path) -> None:
    """Give all in a folder the time of the sources, so that it is the same whenever it is packed.

    Args:
        folder: the folder.
    """
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (made_at(), made_at()), follow_symlinks=False)
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
