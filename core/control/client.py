"""A blocking client of the control socket, for the command line."""

import hmac
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from core.contracts.control import ADDRESS_FILE, MAX_LINE, PROTOCOL, Address, ErrorInfo, Hello, Welcome, proof
from core.contracts.errors import NoAnswer, NotRunning, ProtocolError
from core.contracts.notices import notice
from core.regular_files import read_regular

T = TypeVar("T")
CONNECT_S = 5.0


class _Line(msgspec.Struct, frozen=True):
    """A `Reply` or an `Event`."""

    event: str | None = None
    data: Any = None
    result: Any = None
    error: ErrorInfo | None = None


class ControlClient:
    """One connection to the worker of a data folder; use it in a `with` statement."""

    def __init__(self, folder: Path) -> None:
        """Connect.

        Raises:
            NotRunning: no worker serves the folder.
            NoAnswer: it hangs.
            ProtocolError: it refuses us or speaks another version.
        """
        not_running = NotRunning(notice("worker.not_running", folder=str(folder)))
        try:
            address = msgspec.json.decode(read_regular(folder / ADDRESS_FILE), type=Address)
            self._socket = socket.create_connection(("127.0.0.1", address.port), CONNECT_S)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            raise not_running from None
        self._lines = self._socket.makefile("rb")
        self._number = 0
        try:
            hello = Hello(PROTOCOL, address.token, "cli", os.getpid(), secrets.token_hex(16))
            self._write(hello)
            welcome = self._read(Welcome)
        except NoAnswer:
            self.close()
            raise
        except (NotRunning, ProtocolError):
            # The port now belongs to another program: the address file is what a killed worker left behind.
            self.close()
            raise not_running from None
        if welcome.error:
            self.close()
            raise welcome.error.error()
        if not hmac.compare_digest(welcome.proof.encode(), proof(hello.token, hello.challenge).encode()):
            self.close()
            raise not_running

    def __enter__(self) -> "ControlClient":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def call(
        self,
        method: str,
        params: dict[str, Any] | msgspec.Struct,
        result: type[T],
        seconds: float = 10.0,
        each: Callable[[Any], None] = lambda data: None,
    ) -> T:
        """Call a method and wait at most `seconds` for its reply; `each` gets the data of every event before it.

        Raises:
            HearthError: what the worker answered, as its own class.
            NotRunning: the worker ended.
            NoAnswer: it did not answer in time.
            ProtocolError: the reply is not what the contract says.
        """
        self._number += 1
        self._socket.settimeout(seconds)
        self._write({"id": self._number, "method": method, "params": params})
        while (reply := self._read(_Line)).event is not None:
            each(reply.data)
        if reply.error:
            raise reply.error.error()
        try:
            return msgspec.convert(reply.result, result)
        except msgspec.ValidationError as error:
            raise ProtocolError(f"The worker's answer to {method} is not understood: {error}.") from error

    def wait(self, event: str, data: type[T], seconds: float) -> T:
        """Wait for an event of those that this client has subscribed to, and pass others by.

        Args:
            event: which it is.
            data: what comes with it.
            seconds: between any two events.

        Raises:
            HearthError: as `call` does.
        """
        self._socket.settimeout(seconds)
        while (told := self._read(_Line)).event != event:
            pass
        return msgspec.convert(told.data, data)

    def _write(self, message: Any) -> None:
        try:
            self._socket.sendall(msgspec.json.encode(message) + b"\n")
        except OSError:
            raise NotRunning(notice("worker.ended")) from None

    def _read(self, kind: type[T]) -> T:
        try:
            line = self._lines.readline(MAX_LINE)
        except TimeoutError:
            raise NoAnswer(notice("worker.silent")) from None
        except OSError:
            line = b""
        if not line:
            raise NotRunning(notice("worker.ended"))
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(f"The worker sent something that is not understood: {error}.") from error
