"""A release feed of tiny bundles, published by `installers/release.py`, on a web server of this machine."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from installers import release
from tests.workers import ROOT

START = """#!/bin/sh
case "$1" in
    --version) echo "hearth {version}"; exit 0;;
    which) echo "{version}"; exit 0;;
esac
cd "{root}" || exit 1
{then}
exec "{python}" -m ${{HEARTH_TEST_MODULE:-core}} "$@"
"""
CHUNK = 65_536
TORCH = 300_000
"""Bytes of what stands for torch."""


class Server:
    """Gives a folder, with ranges, and remembers what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str, int]] = []
        """Path, range and bytes given, in their order."""
        self.change: Callable[[str, bytes], bytes] = lambda path, data: data
        """What becomes of an answer; a file that is shorter then is cut off."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._answer(self)

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        path = self.folder / request.path.lstrip("/")
        if not path.is_file():
            request.send_error(404)
            return
        data = path.read_bytes()
        wanted = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        begin = int(wanted[1]) if wanted else 0
        given = self.change(request.path, data)[begin:]
        self.asked.append((request.path, request.headers.get("Range", ""), len(given)))
        request.send_response(206 if wanted else 200)
        cut = len(data) - begin if request.path.startswith("/files/") else len(given)
        request.send_header("Content-Length", str(cut))
        request.end_headers()
        with contextlib.suppress(OSError):
            request.wfile.write(given)
        request.close_connection = True

    @property
    def files(self) -> int:
        """Bytes of files given so far, without metadata and lists."""
        return sum(size for path, _, size in self.asked if path.startswith("/files/"))


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """The address of a server that does to each connection what it likes, once it was asked something."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):  # the test is over
                while True:
                    threading.Thread(target=one, args=server.accept()[:1], daemon=True).start()

        def one(asked: socket.socket) -> None:
            with asked, contextlib.suppress(OSError):
                asked.recv(CHUNK)
                answer(asked)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


class Feed:
    """The feed of a test.

    Args:
        folder: for all that belongs to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.feed, self.keys = folder, folder / "feed", folder / "keys"
        self.feed.mkdir(parents=True)
        self.release("keys", self.keys)
        self.server = Server(self.feed)

    def release(self, *arguments: object) -> None:
        """Run `installers/release.py`."""
        release.main([*map(str, arguments)])

    def publish(self, version: str, *more: str, then: str = "", torch: int = 1) -> Path:
        """Make a bundle and publish it.

        Args:
            version: what its program says it is.
            more: for `release.py publish`.
            then: what its program does before it becomes Hearth.
            torch: another number stands for another torch.
        """
        bundle = self.folder / f"bundle-{version}"
        (bundle / "_internal" / "torch" / "lib").mkdir(parents=True)
        (bundle / "_internal" / "PySide6").mkdir()
        program = bundle / "hearth"
        program.write_text(START.format(version=version, root=ROOT, python=sys.executable, then=then))
        program.chmod(0o755)
        pattern = bytes((torch * 7 + at * at // 3) % 251 for at in range(TORCH))
        (bundle / "_internal" / "torch" / "lib" / "libtorch.so").write_bytes(pattern)
        (bundle / "_internal" / "libtorch.so").symlink_to("torch/lib/libtorch.so")
        (bundle / "_internal" / "PySide6" / "QtCore.so").write_bytes(b"qt" * 20_000)
        (bundle / "_internal" / "empty").touch()
        (bundle / "_internal" / "same-as-qt").write_bytes(b"qt" * 20_000)
        self.release("publish", self.feed, self.keys, bundle, "--version", version, *more)
        return bundle

    def install(self, bundle: Path, name: str = "installed") -> Path:
        """Lay an installation out, as a volunteer unpacks it."""
        self.release("install", self.feed, bundle, self.folder / name, "--url", self.server.url)
        return self.folder / name


@contextlib.contextmanager
def release_feed(folder: Path) -> Iterator[Feed]:
    """A feed with its web server."""
    feed = Feed(folder)
    try:
        yield feed
    finally:
        feed.server.close()


def start(root: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command of an installation through its launcher."""
    environment = {**os.environ, **more}
    command = [str(root / "hearth"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=environment)


def copy(root: Path, to: Path) -> Path:
    """Another installation like this one."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root, to, symlinks=True)
    return to
