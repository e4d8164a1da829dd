"""Builds the bundle: `python -m installers.bundle.build FOLDER`. Two builds of one commit are the same."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from core.contracts.build import BUILD_FILE
from core.version import VERSION
from installers.bundle.parts import bill, licences, parts_of
from installers.icons import write_icns, write_ico

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "pyinstaller"
ICONS = {"win32": (WORK / "hearth.ico", write_ico), "darwin": (WORK / "hearth.icns", write_icns)}
"""What the executable's icon is made of."""
CPU_ONLY = (
    "torch is built for graphics cards here, which is ten times as large. Put its CPU build into build/venv: set "
    "PIP_EXTRA_INDEX_URL to the index of CPU builds that PyTorch's site names, delete build/venv, and begin again."
)


def main() -> int:
    """Build it; returns the exit code."""
    out = Path(sys.argv[1]).resolve()
    if "+cpu" not in version("torch") and sys.platform == "linux" and _has_cuda():
        print(CPU_ONLY, file=sys.stderr)
        return 1
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    if sys.platform in ICONS:
        icon, write = ICONS[sys.platform]
        write(icon)
    # The same order in every set, and the time of the sources in every archive.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": str(made_at())}
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR"]
    command += ["--distpath", str(WORK / "out"), "--workpath", str(WORK), str(ROOT / "installers/bundle/hearth.spec")]
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    (WORK / "out" / ("Hearth.app" if sys.platform == "darwin" else "hearth")).rename(out)
    finish(out)
    return 0


def finish(out: Path) -> None:
    """Add what a bundle says of itself: its parts, their licences, and the build's commit and hash.

    Args:
        out: the bundle's folder.
    """
    resources = out / "Contents" / "Resources"
    folder, parts = (resources, parts_of(resources)) if sys.platform == "darwin" else (out, parts_of(out / "_internal"))
    (folder / "sbom.cdx.json").write_text(bill(parts, VERSION, made_at()), encoding="utf-8")
    (folder / "LICENCES.txt").write_text(licences(parts, (ROOT / "LICENSE").read_text()), encoding="utf-8")
    for path in out.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    (folder / BUILD_FILE).write_text(json.dumps({"version": VERSION, "commit": commit(), "hash": digest(out)}) + "\n")


def digest(folder: Path) -> str:
    """SHA-256 over the names and contents of all files, but for the one that it is written to.

    Args:
        folder: the bundle's.
    """
    whole = hashlib.sha256()
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    for name in names:
        if name.removeprefix("Contents/Resources/") != BUILD_FILE:
            whole.update(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n".encode())
    return whole.hexdigest()


def commit() -> str:
    """That of the sources, with a plus if they were changed since."""
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return _git("rev-parse", "HEAD") + ("+" if changed else "")


def made_at() -> int:
    """When the sources were committed, in seconds since 1970: the time of everything in a package."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _has_cuda() -> bool:
    import torch

    return torch.version.cuda is not None


if __name__ == "__main__":
    sys.exit(main())
