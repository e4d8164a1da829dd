"""Makes the packages of this system in dist: `python -m installers.package`, which `make package` calls on Windows and
macOS. It needs Python 3.11 or newer and git, and on Windows Inno Setup 6."""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENV = ROOT / "build" / "venv"
"""Has nothing that is not shipped but what builds it."""
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
SYSTEMS = {"win32": "windows", "darwin": "macos"}


def main() -> None:
    """Make them."""
    if sys.platform == "linux":  # setup.sh sees to its libraries, too
        _run("make", "package")
        return
    if not PYTHON.exists():
        venv.create(VENV, with_pip=True)
    wanted = [".[postgresql,redis]", "-r", "installers/requirements.txt"]
    _run(PYTHON, "-m", "pip", "install", "-c", "constraints.txt", "-e", *wanted)
    _run(PYTHON, "-m", "installers.bundle.build", "build/bundle")
    _run(PYTHON, "-m", f"installers.{SYSTEMS[sys.platform]}.package", "build/bundle", "dist")


def _run(*command: str | Path) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
