"""Keeps the PC from falling asleep while it computes, if the user wants that; the screen may go dark all the same."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

WHY = "Hearth computes while you are away"
CALL_S = 5.0
ES_CONTINUOUS, ES_SYSTEM_REQUIRED = 0x80000000, 0x00000001
"""SetThreadExecutionState, winbase.h."""

Release = Callable[[], object]


class Awake:
    """Holds the system's own lock against sleep while asked to, in a thread of its own: a system that hangs holds up
    nobody, and Windows' lock belongs to the thread that took it. It ends with this process.

    Args:
        take: the system's way to take the lock; returns how to let go of it. May raise what it likes.
    """

    def __init__(self, take: Callable[[], Release] | None = None) -> None:
        self._take = take or _ways().get(sys.platform, _unknown)
        self._ended: threading.Event | None = None

    def hold(self, wanted: bool) -> None:
        """Keep the PC awake from now on, or no more. What the system refuses is told in the log; nothing else ends."""
        if wanted and self._ended is None:
            self._ended = threading.Event()
            threading.Thread(target=self._hold, args=[self._ended], name="awake", daemon=True).start()
        elif not wanted and self._ended is not None:
            self._ended.set()
            self._ended = None

    def _hold(self, ended: threading.Event) -> None:
        try:
            release = self._take()
        except Exception as error:  # a D-Bus service, a library of the system: anything may be missing
            log.warning("This PC may fall asleep while it computes: %s", error)
            return
        ended.wait()
        release()


def _ways() -> dict[str, Callable[[], Release]]:
    return {"linux": _logind, "win32": _windows, "darwin": _caffeinate}


def _unknown() -> Release:
    raise OSError(f"there is no known way to prevent it on {sys.platform}.")


def _logind() -> Release:
    """An inhibitor of logind lasts as long as the file descriptor that it gives is open."""
    from jeepney import DBusAddress, MessageType, new_method_call
    from jeepney.io.blocking import open_dbus_connection

    manager = DBusAddress("/org/freedesktop/login1", "org.freedesktop.login1", "org.freedesktop.login1.Manager")
    with open_dbus_connection("SYSTEM", enable_fds=True) as connection:
        inhibit = new_method_call(manager, "Inhibit", "ssss", ("sleep:idle", "Hearth", WHY, "block"))
        reply = connection.send_and_get_reply(inhibit, timeout=CALL_S)
    if reply.header.message_type is MessageType.error:
        raise OSError(f"logind refused it: {reply.body}")
    descriptor = reply.body[0].to_raw_fd()
    return lambda: os.close(descriptor)


def _windows() -> Release:
    import ctypes

    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    if not kernel.SetThreadExecutionState(ES_CONTINUOUS | ES_SYSTEM_REQUIRED):
        raise OSError("Windows refused it.")
    return lambda: kernel.SetThreadExecutionState(ES_CONTINUOUS)


def _caffeinate() -> Release:
    """macOS' own tool, which ends with this process."""
    null = subprocess.DEVNULL
    command = ["/usr/bin/caffeinate", "-i", "-w", str(os.getpid())]
    process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)

    def release() -> None:
        process.terminate()
        process.wait(CALL_S)

    return release
