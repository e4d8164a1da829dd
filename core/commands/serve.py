"""`hearth serve`: the runs' models for other programs, which ask in OpenAI's form; on loopback only."""

import argparse
import contextlib
import hmac
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Container
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec

from core import key_file
from core.commands.completions import FORMS, Exchange, Refused, end_of, refusal
from core.contracts.control import QUESTION_S, Continued
from core.contracts.errors import DataFolderError, HearthError, PortInUse, SettingsError
from core.contracts.kinds import TASKS
from core.contracts.status import Status
from core.control.client import ControlClient
from core.net.few_at_once import AT_ONCE, FewAtOnce
from core.regular_files import read_regular
from core.store.data_folder import data_path

HOST, PORT = "127.0.0.1", 8467
MOST_PORT = 65_535
HOSTS = (HOST, "localhost")
"""Names that a program has for this PC. A page of the web has another one, even if that leads here."""
TOKEN_FILE = "serve.token"
"""In the data folder, for its owner only."""
BODY_BYTES = 1 << 20


def serve(options: argparse.Namespace) -> None:
    """Serve until Ctrl+C.

    Raises:
        SettingsError: there is no such port.
        NotRunning: no worker serves the data folder.
        PortInUse: another program has the port.
        DataFolderError: the token cannot be kept.
    """
    if not 0 <= options.port <= MOST_PORT:
        raise SettingsError(f"A port is a number from 0 to {MOST_PORT:,}.")
    folder = data_path(options.data_dir)
    with ControlClient(folder):
        pass  # a data folder without a worker is told at once
    token = token_of(folder)
    try:
        server = Completions(folder, options.port, token)
    except OSError as error:
        why = error.strerror or error
        raise PortInUse(f"Port {options.port} cannot be used: {why}. Choose another one with --port.") from error
    with server:
        print(f"Programs that speak to OpenAI can use: http://{HOST}:{server.server_port}/v1")
        print(f"API key, kept in {folder / TOKEN_FILE}: {token}")
        print("Ctrl+C ends it.", flush=True)
        while True:
            time.sleep(3600)  # a Ctrl+C ends it on Windows, too


def token_of(folder: Path) -> str:
    """What programs have to show; made at the first use.

    Args:
        folder: of all data.

    Raises:
        DataFolderError: it cannot be kept.
    """
    path = folder / TOKEN_FILE
    try:
        if not path.exists():
            key_file.write_new(path, os.urandom(32))
        return read_regular(path).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataFolderError(f"{path} cannot be read: {error}. Delete it: another one is made then.") from error


class Completions(FewAtOnce, HTTPServer):
    """Use as `with Completions(...)`; serves in a thread of its own."""

    def __init__(self, folder: Path, port: int, token: str) -> None:
        """Listen on loopback.

        Args:
            folder: of the worker that is asked.
            port: 0: one that is free.
            token: that programs have to show.

        Raises:
            OSError: it cannot.
        """
        self.folder, self.token = folder, token
        self.texts = threading.Semaphore(AT_ONCE)
        """Written at once."""
        super().__init__(HOST, port, _Handler)


class _Handler(BaseHTTPRequestHandler):
    """A request; its connection ends with the answer."""

    server: Completions
    connection: socket.socket
    protocol_version = "HTTP/1.1"
    timeout = 10.0
    """Seconds for who asks to send or read something more."""
    server_version, sys_version = "hearth", ""
    _begun = False
    """Whether the answer's head has been sent."""

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def _answered(self, answer: Callable[[], None]) -> None:
        self.close_connection = True
        try:
            try:
                self._check()
                answer()
            except HearthError as error:
                raise refusal(error, str(error.notice)) from error
        except Refused as refused:
            if self._begun:
                self._tell(refused.body)
            else:
                self._whole(refused.status, refused.body)

    def _check(self) -> None:
        """Refuse who must not ask.

        Raises:
            Refused: the host or the token is not this server's.
        """
        if self.headers.get("Host", "").rsplit(":", 1)[0] not in HOSTS:
            raise Refused(HTTPStatus.FORBIDDEN, f"Only programs of this PC may ask: use {HOST}.", "wrong_host")
        kind, _, shown = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), self.server.token.encode()):
            said = "The API key is missing or wrong: `hearth serve` prints the right one."
            raise Refused(HTTPStatus.UNAUTHORIZED, said, "invalid_api_key")

    def _get(self) -> None:
        if self.path != "/v1/models":
            raise _nothing(self.path, FORMS, "POST")
        with ControlClient(self.server.folder) as client:
            runs = client.call("status", {}, Status).runs
        able = [run for run in runs if run.task in TASKS and TASKS[run.task].takes == "text"]
        models = [{"id": run.id, "object": "model", "created": 0, "owned_by": "hearth"} for run in able]
        self._whole(HTTPStatus.OK, {"object": "list", "data": models})

    def _post(self) -> None:
        if self.path not in FORMS:
            raise _nothing(self.path, ("/v1/models",), "GET")
        exchange = Exchange(FORMS[self.path], self._body())
        if not self.server.texts.acquire(blocking=False):
            said = f"{AT_ONCE} texts are being written: ask again when one has ended."
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, said, "rate_limit_exceeded")
        try:
            self.server.may_take_long(self.connection)
            with ControlClient(self.server.folder) as client:
                self._write(exchange, client)
        finally:
            self.server.texts.release()

    def _write(self, exchange: Exchange, client: ControlClient) -> None:
        texts: list[str] = []

        def each(piece: dict[str, Any]) -> None:
            if _has_gone(self.connection):
                raise ConnectionError("nobody reads on")  # the worker hears of it as `client` is closed
            if exchange.streams:
                self._tell(exchange.piece(piece["text"]))
            else:
                texts.append(piece["text"])

        done = client.call("generate", exchange.params, Continued, QUESTION_S, each)
        if not exchange.streams:
            self._whole(HTTPStatus.OK, exchange.whole("".join(texts) + done.rest, done))
            return
        self._tell(exchange.piece(done.rest, end_of(done)))
        if exchange.tells_usage:
            self._tell(exchange.usage(done))
        self.wfile.write(b"data: [DONE]\n\n")

    def _body(self) -> bytes:
        """What was sent.

        Raises:
            Refused: how much it is was not said, or it is too much.
        """
        said = self.headers.get("Content-Length", "")
        if not said.isdecimal() or "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "The request must have a Content-Length.", "no_length")
        if len(said) > 12 or int(said) > BODY_BYTES:
            most = f"A request may have {BODY_BYTES:,} bytes."
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, most, "too_large")
        return self.rfile.read(int(said))

    def _tell(self, message: dict[str, Any]) -> None:
        """Send a server-sent event."""
        if not self._begun:
            self._head(HTTPStatus.OK, "text/event-stream")
        self.wfile.write(b"data: " + msgspec.json.encode(message) + b"\n\n")

    def _whole(self, status: HTTPStatus, message: dict[str, Any]) -> None:
        body = msgspec.json.encode(message)
        self._head(status, "application/json", len(body))
        self.wfile.write(body)
        with contextlib.suppress(OSError):  # else what was not read of the request takes the answer with it
            self.connection.shutdown(socket.SHUT_WR)
            while self.connection.recv(1 << 16):
                pass

    def _head(self, status: HTTPStatus, kind: str, size: int | None = None) -> None:
        self._begun = True
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.send_header("Cache-Control", "no-store")
        if size is not None:
            self.send_header("Content-Length", str(size))
        self.end_headers()

    # what replaces the library's

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Of what is no such request at all."""
        self.close_connection = True
        refused = Refused(HTTPStatus(code), f"{message or HTTPStatus(code).phrase}.", "bad_request")
        self._whole(refused.status, refused.body)

    def log_message(self, *_: Any) -> None:
        """Nothing is logged of requests."""


def _nothing(path: str, there: Container[str], method: str) -> Refused:
    """There is nothing at a path, or only for requests of the other method."""
    if path in there:
        return Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} must be asked with {method}.", "wrong_method")
    known = "/v1/models, /v1/completions and /v1/chat/completions"
    return Refused(HTTPStatus.NOT_FOUND, f"There is nothing at {path[:100]}, only at {known}.", "not_found")


def _has_gone(connection: socket.socket) -> bool:
    """Whether who asked reads no more."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
