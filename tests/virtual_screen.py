"""Runs a command on a virtual screen with a window manager and a tray: `python -m tests.virtual_screen COMMAND...`.

Everything started here ends with the command, also after a failure, an interrupt or a kill.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from Xlib import XK, X, display

SIZE = "1440x900x24"
DEADLINE_S = 240.0
DIES_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it if it does not."""
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def started(command: list[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program that lives as long as the block. A session of its own keeps an interrupt in the terminal from it."""
    process: subprocess.Popen[bytes] = subprocess.Popen(
        [*DIES_WITH_PARENT, *command],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )
    try:
        yield process
    finally:
        end(process)


@contextlib.contextmanager
def x_server(size: str = SIZE) -> Iterator[str]:
    """An Xvfb on a display that was free; yields its name, such as ":99".

    Args:
        size: width, height and bits of a pixel.
    """
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", size, "-nolisten", "tcp", "-noreset"]
    with started(command, stdout=subprocess.DEVNULL, pass_fds=(write,)), os.fdopen(read, "rb") as reader:
        os.close(write)
        if not select.select([reader], [], [], DEADLINE_S)[0] or not (number := reader.readline().strip()):
            raise SystemExit("Xvfb did not start. Is the package xvfb installed?")
        name = f":{number.decode()}"
        with contextlib.closing(display.Display(name)) as screen:
            press_shift(screen)  # before any program is there, which could lose a key by it
        yield name


def press_shift(screen: display.Display) -> None:
    """As a program that types does it; the server is through with it on return.

    The first key of such a program has the server tell everybody of another keyboard. openbox then lets go of its own
    keys and takes them anew: an Alt+F4 between the two goes to the window, which makes nothing of it.
    """
    key = screen.keysym_to_keycode(XK.XK_Shift_L)
    screen.xtest_fake_input(X.KeyPress, key)
    screen.xtest_fake_input(X.KeyRelease, key)
    screen.sync()


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds, or end the program with a sentence."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"The virtual screen got no {what} within {DEADLINE_S:.0f} s.")
        time.sleep(0.02)


@contextlib.contextmanager
def desktop(size: str = SIZE) -> Iterator[dict[str, str]]:
    """A screen with openbox and trayer on it; yields the environment for programs that shall appear there.

    Args:
        size: as of `x_server`.
    """
    with x_server(size) as name:
        # The user's own message buses and Wayland screen must not be reached from tests.
        hidden = {"WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "QT_QPA_PLATFORM", "XAUTHORITY", "XDG_RUNTIME_DIR"}
        env = {key: value for key, value in os.environ.items() if key not in hidden}
        env |= {"DISPLAY": name, "XDG_SESSION_TYPE": "x11", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}
        tray = ["trayer", "--edge", "bottom", "--align", "right", "--widthtype", "request", "--height", "24"]
        with (
            started(["openbox"], env=env, stdout=subprocess.DEVNULL),
            started(tray, env=env, stdout=subprocess.DEVNULL),
        ):
            screen = display.Display(name)
            try:
                supporting = screen.intern_atom("_NET_SUPPORTING_WM_CHECK")
                selection = screen.intern_atom("_NET_SYSTEM_TRAY_S0")
                root = screen.screen().root
                wait_for(lambda: root.get_full_property(supporting, X.AnyPropertyType), "window manager (openbox)")
                wait_for(lambda: screen.get_selection_owner(selection) != X.NONE, "tray (trayer)")
            finally:
                screen.close()
            yield env


def main() -> int:
    """Run the command; its exit status, or 128 + the signal that ended it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    with desktop() as env:
        command = subprocess.Popen(sys.argv[1:], env=env)
        try:
            while True:
                try:
                    status = command.wait()
                    return 128 - status if status < 0 else status
                except KeyboardInterrupt:  # the command got it too and ends in its own way
                    continue
        finally:
            if command.poll() is None:
                end(command)


if __name__ == "__main__":
    sys.exit(main())
