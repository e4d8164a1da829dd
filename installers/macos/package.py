"""Makes the disk image for macOS: `python -m installers.macos.package BUNDLE OUT`, where BUNDLE is the app.

These variables of the environment sign it; without them it runs on this Mac, and others warn of it:

    HEARTH_SIGNING_IDENTITY      a Developer ID Application in the keychain; set it while the bundle is built, too
    HEARTH_APPLE_ID, HEARTH_APPLE_TEAM, HEARTH_APPLE_PASSWORD      an account that may have Apple notarise it
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from core.version import VERSION
from installers.bundle.build import ROOT

ENTITLEMENTS = Path(__file__).parent / "entitlements.plist"
ACCOUNT = {"--apple-id": "HEARTH_APPLE_ID", "--team-id": "HEARTH_APPLE_TEAM", "--password": "HEARTH_APPLE_PASSWORD"}


def main() -> int:
    """Make it; returns the exit code."""
    bundle, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    out.mkdir(exist_ok=True)
    folder = ROOT / "build" / "macos"
    shutil.rmtree(folder, ignore_errors=True)
    app = folder / "Hearth.app"
    shutil.copytree(bundle, app, symlinks=True)
    (folder / "Applications").symlink_to("/Applications")
    image = out / f"hearth-{VERSION}-macos-{platform.machine()}.dmg"
    making = [
        "hdiutil",
        "create",
        "-volname",
        "Hearth",
        "-srcfolder",
        str(folder),
        "-format",
        "UDZO",
        "-ov",
        str(image),
    ]
    for command in (sign(app, os.environ), making, *publish(image, os.environ)):
        subprocess.run(command, check=True)
    return 0


def sign(app: Path, environment: Mapping[str, str]) -> list[str]:
    """Seals the app, whose libraries were signed as the bundle was built, with what was added since.

    Args:
        app: the app.
        environment: names the identity; without it the seal is nobody's, as Apple's processors want one.
    """
    if not (identity := environment.get("HEARTH_SIGNING_IDENTITY")):
        return ["codesign", "--force", "--sign", "-", str(app)]
    hardened = ["--options", "runtime", "--timestamp", "--entitlements", str(ENTITLEMENTS)]
    return ["codesign", "--force", *hardened, "--sign", identity, str(app)]


def publish(image: Path, environment: Mapping[str, str]) -> list[list[str]]:
    """Sign the image, have Apple notarise it, and staple their answer to it; nothing of it without its variables.

    Args:
        image: the disk image.
        environment: names the identity and the account.
    """
    commands = []
    if identity := environment.get("HEARTH_SIGNING_IDENTITY"):
        commands.append(["codesign", "--timestamp", "--sign", identity, str(image)])
        if all(environment.get(name) for name in ACCOUNT.values()):
            account = [word for option, name in ACCOUNT.items() for word in (option, environment[name])]
            commands.append(["xcrun", "notarytool", "submit", str(image), *account, "--wait"])
            commands.append(["xcrun", "stapler", "staple", str(image)])
    return commands


if __name__ == "__main__":
    sys.exit(main())
