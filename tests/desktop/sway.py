"""A real Wayland desktop (sway) without hardware: screens of any scale in memory, and its user's hands and eyes."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.virtual_screen import started
from tests.workers import wait_until

NOBODY = 65534
"""Sway refuses to run as root; who runs the tests as root runs it as this user."""
CALL_S = 60.0
FOR_EVER_MS = "100000000"
MODIFIERS = ("ctrl", "alt", "shift")


class Screen(NamedTuple):
    """Of the desktop, from left to right."""

    width: int = 1440
    height: int = 900
    """Pixels."""
    scale: float = 1.0


class Sway:
    """What a test asks of the desktop.

    Args:
        environment: for programs that shall appear there.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def ask(self, *words: str) -> Any:
        """What `swaymsg` answers."""
        done = subprocess.run(
            ["swaymsg", "--raw", *words], env=self.environment, capture_output=True, text=True, timeout=CALL_S
        )
        return json.loads(done.stdout) if done.returncode == 0 else None

    def windows(self) -> list[dict[str, Any]]:
        """Of Hearth."""
        return [node for node in _nodes(self.ask("-t", "get_tree")) if node.get("app_id") == "hearth"]

    def is_active(self) -> bool:
        return any(window["focused"] for window in self.windows())

    def keys(self, *keys: str) -> None:
        """Press keys, as xdotool names them: "ctrl+2"."""
        words: list[str] = []
        for key in keys:
            *held, last = key.split("+")
            assert {*held} <= {*MODIFIERS}
            words += [word for one in held for word in ("-M", one)]
            words += ["-k", last]
            words += [word for one in reversed(held) for word in ("-m", one)]
        subprocess.run(["wtype", *words], env=self.environment, check=True, timeout=CALL_S)


@contextlib.contextmanager
def sway(*screens: Screen) -> Iterator[Sway]:
    """A desktop of its own, where windows float as on most others.

    Args:
        screens: that it has; one of the usual size if none is told.
    """
    with tempfile.TemporaryDirectory() as name, _started(Path(name), screens or (Screen(),)) as desktop:
        yield desktop


@contextlib.contextmanager
def _started(folder: Path, screens: Sequence[Screen]) -> Iterator[Sway]:
    folder.chmod(0o755)  # whoever runs sway reads it
    runtime, config = folder / "runtime", folder / "config"
    runtime.mkdir(0o700)
    lines, left = ['for_window [app_id=".*"] floating enable'], 0
    for number, screen in enumerate(screens, 1):
        lines.append(
            f"output HEADLESS-{number} resolution {screen.width}x{screen.height} scale {screen.scale} position {left} 0"
        )
        left += round(screen.width / screen.scale)
    config.write_text("\n".join(lines) + "\n")
    command = ["sway", "--config", str(config)]
    if os.geteuid() == 0:
        os.chown(runtime, NOBODY, NOBODY)
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--pdeathsig=KILL", *command]
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "SWAYSOCK"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment |= {"XDG_RUNTIME_DIR": str(runtime), "XDG_SESSION_TYPE": "wayland"}
    own = {
        "WLR_BACKENDS": "headless",
        "WLR_HEADLESS_OUTPUTS": str(len(screens)),
        "WLR_LIBINPUT_NO_DEVICES": "1",
        "WLR_RENDERER": "pixman",
        "HOME": str(runtime),
    }
    with started(command, env={**environment, **own}, stdout=subprocess.DEVNULL):

        def sockets() -> tuple[Path, Path] | None:
            wayland = [path for path in runtime.glob("wayland-*") if path.suffix != ".lock"]
            ipc = [*runtime.glob("sway-ipc.*")]
            return (wayland[0], ipc[0]) if wayland and ipc else None

        wayland, ipc = wait_until(sockets, "sway (packages sway and wtype)")
        environment |= {"WAYLAND_DISPLAY": str(wayland), "SWAYSOCK": str(ipc), "QT_QPA_PLATFORM": "wayland"}
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        desktop = Sway(environment)
        wait_until(lambda: len(desktop.ask("-t", "get_outputs") or []) == len(screens), "the screens")
        # A keyboard that stays: programs would miss the first keys of one that has only just come.
        with started(["wtype", "-s", FOR_EVER_MS], env=environment, stdout=subprocess.DEVNULL):
            wait_until(lambda: (desktop.ask("-t", "get_seats") or [{}])[0].get("capabilities"), "the keyboard")
            yield desktop


def _nodes(tree: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    if tree is not None:
        yield tree
        for child in (*tree.get("nodes", []), *tree.get("floating_nodes", [])):
            yield from _nodes(child)
