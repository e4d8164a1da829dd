"""Makes the installer for Windows: `python -m installers.windows.package BUNDLE OUT`, with Inno Setup 6.3 or newer."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from core.version import VERSION
from installers.bundle.build import ICONS

SCRIPT = Path(__file__).parent / "hearth.iss"
NONE = "Inno Setup 6 was not found. Install it (for example: winget install JRSoftware.InnoSetup) and run this again."


def main() -> int:
    """Make it; returns the exit code."""
    bundle, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    place = Path(os.environ.get("PROGRAMFILES(X86)", ""), "Inno Setup 6")
    if (compiler := shutil.which("iscc", path=os.pathsep.join([os.environ.get("PATH", ""), str(place)]))) is None:
        print(NONE, file=sys.stderr)
        return 1
    given = [f"/D{name}={value}" for name, value in defines(bundle).items()]
    subprocess.run([compiler, "/Qp", f"/O{out}", *given, str(SCRIPT)], check=True)
    return 0


def defines(bundle: Path) -> dict[str, str]:
    """What the script is told.

    Args:
        bundle: what is packed.
    """
    icon, _ = ICONS["win32"]
    name = f"hearth-{VERSION}-windows-amd64"
    return {"Version": VERSION, "Bundle": str(bundle), "Icon": str(icon), "Name": name}


if __name__ == "__main__":
    sys.exit(main())
