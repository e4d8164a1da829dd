"""A stand-in for a Wayland compositor on a real socket: it speaks the wire, shows nothing, and does what a test says.

It knows wl_display, wl_registry, wl_seat, ext_idle_notifier_v1, org_kde_kwin_idle and
zwlr_foreign_toplevel_manager_v1, from their protocol files. The client was also seen against KWin 5.27 (idle) and Sway
1.7 (the older idle, windows).
"""

import contextlib
import queue
import socket
import struct
import threading
from pathlib import Path

DEADLINE_S = 240.0
SEAT, IDLE, WINDOWS = "wl_seat", "ext_idle_notifier_v1", "zwlr_foreign_toplevel_manager_v1"
OLDER_IDLE = "org_kde_kwin_idle"


def text(words: str) -> bytes:
    data = words.encode() + b"\0"
    return struct.pack("=I", len(data)) + data.ljust((len(data) + 3) // 4 * 4, b"\0")


class Compositor:
    """Serves one client at a time.

    Args:
        path: of its socket.
        offers: interfaces and their versions.
    """

    def __init__(self, path: Path, offers: dict[str, int]) -> None:
        self.offers = offers
        self.hangs = False
        self.asked: queue.Queue[tuple[str, int, bytes]] = queue.Queue()
        """Requests: interface, opcode, arguments. wl_display's are left out."""
        self.objects: dict[str, int] = {}
        """The client's newest object of each interface."""
        self._names: dict[int, str] = {}
        self._next_window = 0xFF000000
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._client: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def event(self, target: int, opcode: int, arguments: bytes = b"") -> None:
        assert self._client is not None
        self._client.sendall(struct.pack("=IHH", target, opcode, 8 + len(arguments)) + arguments)

    def raw(self, data: bytes) -> None:
        assert self._client is not None
        self._client.sendall(data)

    def idled(self) -> None:
        self.event(self.objects["notification"], 0)

    def resumed(self) -> None:
        self.event(self.objects["notification"], 1)

    def window(self, app_id: str, *states: int) -> int:
        """A new window; states: 2 is activated, 3 full screen."""
        number, self._next_window = self._next_window, self._next_window + 1
        self.event(self.objects[WINDOWS], 0, struct.pack("=I", number))
        self.event(number, 0, text("some title"))
        self.event(number, 1, text(app_id))
        self.states(number, *states)
        return number

    def states(self, window: int, *states: int) -> None:
        self.event(window, 4, struct.pack(f"=I{len(states)}I", 4 * len(states), *states))
        self.event(window, 5)

    def close_window(self, window: int) -> None:
        self.event(window, 6)

    def next_request(self, interface: str) -> tuple[int, bytes]:
        """Opcode and arguments of the next request to such an object."""
        while True:
            found, opcode, arguments = self.asked.get(timeout=DEADLINE_S)
            if found == interface:
                return opcode, arguments

    def hang_up(self) -> None:
        if self._client is not None:
            with contextlib.suppress(OSError):
                self._client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        self._thread.join(DEADLINE_S)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with client:
                    self._client, self._names = client, {1: "wl_display"}
                    with contextlib.suppress(OSError):
                        self._requests(client)

    def _requests(self, client: socket.socket) -> None:
        data = b""
        while chunk := client.recv(4096):
            data += chunk
            while len(data) >= 8 and len(data) >= (size := struct.unpack_from("=H", data, 6)[0]):
                target, opcode = struct.unpack_from("=IH", data)
                if not self.hangs:
                    self._request(self._names.get(target, "window"), target, opcode, data[8:size])
                data = data[size:]

    def _request(self, interface: str, target: int, opcode: int, arguments: bytes) -> None:
        if interface == "wl_display":
            (number,) = struct.unpack("=I", arguments)
            if opcode == 0:  # sync: done, and the number is free
                self.event(number, 0, bytes(4))
                self.event(1, 1, struct.pack("=I", number))
                return
            self._names[number] = "wl_registry"
            for name, (offer, version) in enumerate(self.offers.items(), 1):
                self.event(number, 0, struct.pack("=I", name) + text(offer) + struct.pack("=I", version))
            return
        if interface == "wl_registry":  # bind: name, interface, version, number
            number = struct.unpack("=I", arguments[-4:])[0]
            offered = list(self.offers)[struct.unpack("=I", arguments[:4])[0] - 1]
            self._make(offered, number)
        elif (interface == IDLE and opcode in (1, 2)) or (interface == OLDER_IDLE and opcode == 0):
            self._make("notification", struct.unpack("=I", arguments[:4])[0])
        self.asked.put((interface, opcode, arguments))

    def _make(self, interface: str, number: int) -> None:
        self._names[number] = interface
        self.objects[interface] = number
