"""Data from web servers: whole or in pieces, from several; and never from where a stranger's manifest must not lead."""

import asyncio
import contextlib
import hashlib
import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError, NetworkError
from core.net.shaping import Shaper
from core.regular_files import read_regular
from core.swarm import mirrors
from core.swarm.fetching import Partial
from core.swarm.mirrors import Mirrors, is_public

DATA = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(DATA).hexdigest()
HERE = frozenset({"127.0.0.1"})
"""As if the user had named a peer of this machine."""
Handle = Callable[[http.server.BaseHTTPRequestHandler], None]


class Server:
    """A web server on loopback."""

    def __init__(self, handle: Handle) -> None:
        self.asked: list[tuple[str, str | None]] = []
        """Paths and ranges."""
        asked = self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("Range")))
                try:
                    handle(self)
                except OSError:
                    pass  # who asked has hung up

            def log_message(self, *_: object) -> None: ...

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/runs/mine/"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Callable[[Handle], Server]]:
    made: list[Server] = []

    def make(handle: Handle) -> Server:
        made.append(Server(handle))
        return made[-1]

    yield make
    for one in made:
        one.close()


def whole(request: http.server.BaseHTTPRequestHandler, data: bytes = DATA, length: int | None = None) -> None:
    """A server without ranges."""
    request.send_response(200)
    request.send_header("Content-Length", str(len(data) if length is None else length))
    request.end_headers()
    request.wfile.write(data)


def ranged(request: http.server.BaseHTTPRequestHandler) -> None:
    """One that has them."""
    asked = request.headers.get("Range")
    start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
    request.send_response(206 if asked else 200)
    request.send_header("Content-Length", str(len(DATA) - start))
    if asked:
        request.send_header("Content-Range", f"bytes {start}-{len(DATA) - 1}/{len(DATA)}")
    request.end_headers()
    request.wfile.write(DATA[start:])


def broken_off(request: http.server.BaseHTTPRequestHandler) -> None:
    whole(request, DATA[:100_000], len(DATA))


def asking(by_hand: frozenset[str] = HERE, hushed: Callable[[], bool] = lambda: False) -> Mirrors:
    return Mirrors(Shaper(), by_hand, hushed)


async def fetch(at: Mirrors, path: Path, *sources: str) -> bytes:
    await at.fetch(sources, SHA256, Partial(path, len(DATA)))
    return read_regular(path)


async def test_a_file_comes_by_its_hash_and_is_counted(server: Callable[[Handle], Server], tmp_path: Path) -> None:
    one, at = server(whole), asking()
    assert await fetch(at, tmp_path / "file", one.url) == DATA
    assert one.asked == [(f"/runs/mine/{SHA256}", None)]
    assert at.received == len(DATA) and at.sent


async def test_what_broke_off_is_gone_on_with_at_the_next_server(
    server: Callable[[Handle], Server], tmp_path: Path
) -> None:
    first, second = server(broken_off), server(ranged)
    assert await fetch(asking(), tmp_path / "file", first.url, second.url) == DATA
    ((_, asked),) = second.asked
    assert asked is not None and 0 < int(asked.removeprefix("bytes=").removesuffix("-")) <= 100_000


async def test_a_server_without_ranges_is_read_from_the_start(
    server: Callable[[Handle], Server], tmp_path: Path
) -> None:
    first, second = server(broken_off), server(whole)
    assert await fetch(asking(), tmp_path / "file", first.url, second.url) == DATA


def other(request: http.server.BaseHTTPRequestHandler) -> None:
    whole(request, DATA[::-1])


def longer(request: http.server.BaseHTTPRequestHandler) -> None:
    whole(request, DATA + b"more")


def endless(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(bytes(1 << 16))


def another_part(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_response(206)
    request.send_header("Content-Range", f"bytes 7-{len(DATA) - 1}/{len(DATA)}")
    request.end_headers()


def packed(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Encoding", "gzip")
    request.end_headers()


def absent(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_error(404)


def garbled(request: http.server.BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"SSH-2.0-OpenSSH\r\n")


@pytest.mark.parametrize("handle", [other, longer, endless, another_part, packed, absent, garbled])
async def test_a_server_that_does_not_give_it_is_passed_over_and_left_alone(
    handle: Handle, server: Callable[[Handle], Server], tmp_path: Path
) -> None:
    bad, good, at = server(handle), server(whole), asking()
    assert await fetch(at, tmp_path / "file", bad.url, good.url) == DATA
    assert at.received <= 2 * len(DATA)
    assert await fetch(at, tmp_path / "another", bad.url, good.url) == DATA
    assert len(bad.asked) == 1, "it rests"
    with pytest.raises(NetworkError, match="No web server gave"):
        await fetch(at, tmp_path / "third", bad.url)


async def test_a_server_that_drips_is_given_up(
    server: Callable[[Handle], Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirrors, "FILE_S", 1.0)

    def drips(request: http.server.BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        for _ in range(600):
            request.wfile.write(b"x")
            time.sleep(0.05)

    began = time.monotonic()
    with pytest.raises(NetworkError):
        await fetch(asking(), tmp_path / "file", server(drips).url)
    assert time.monotonic() - began < 20


async def test_nothing_is_read_on_where_the_network_must_not_be_used(
    server: Callable[[Handle], Server], tmp_path: Path
) -> None:
    at = asking(hushed=lambda: at.received > 0)
    with pytest.raises(NetworkError):
        await fetch(at, tmp_path / "file", server(whole).url)
    assert at.received < len(DATA)


def leading(url: str, status: int = 302) -> Handle:
    def lead(request: http.server.BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Location", url)
        request.end_headers()

    return lead


async def test_a_redirection_is_followed_a_few_times(server: Callable[[Handle], Server], tmp_path: Path) -> None:
    good = server(whole)
    found, moved = server(leading(f"{good.url}{SHA256}")), server(leading("/elsewhere", 307))
    assert await fetch(asking(), tmp_path / "file", found.url) == DATA
    with pytest.raises(NetworkError):
        await fetch(asking(), tmp_path / "another", moved.url)
    assert len(moved.asked) == 1 + mirrors.MOST_REDIRECTIONS


async def test_no_server_leads_into_a_private_network_or_out_of_the_web(
    server: Callable[[Handle], Server], tmp_path: Path
) -> None:
    """Only 127.0.0.1 was named by the user; nobody knocks at 127.0.0.2, be it asked for or led to."""
    with contextlib.closing(socket.create_server(("127.0.0.2", 0))) as listening:
        listening.settimeout(0.2)
        await knock(listening.getsockname()[1], server, tmp_path)
        with pytest.raises(TimeoutError):
            listening.accept()


async def knock(port: int, server: Callable[[Handle], Server], tmp_path: Path) -> None:
    inside = f"http://127.0.0.2:{port}/"
    for leads in (
        inside,
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
        "gopher://127.0.0.1:70/1",
        "http://[::1",
        "http://",
    ):
        with pytest.raises(NetworkError):
            await fetch(asking(), tmp_path / "file", server(leading(leads)).url)
    with pytest.raises(NetworkError):
        await fetch(asking(), tmp_path / "file", inside)
    for source in (
        f"http://localhost:{port}/",
        f"http://127.1:{port}/",
        f"http://0:{port}/",
        f"http://2130706434:{port}/",
    ):
        with pytest.raises(NetworkError):
            await fetch(asking(frozenset()), tmp_path / "file", source)


async def test_a_name_is_asked_at_the_address_that_was_checked(
    server: Callable[[Handle], Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that resolves to a public address first and to a private one a moment later leads to the public one."""
    one = server(whole)
    port = int(one.url.split(":")[2].split("/")[0])
    loop, asked = asyncio.get_running_loop(), 0

    async def getaddrinfo(host: str, at: int, **_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        nonlocal asked
        asked += 1
        found = ["10.0.0.1", "127.0.0.1"] if asked == 1 else ["10.0.0.1"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, at)) for address in found]

    monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)
    assert await fetch(asking(), tmp_path / "file", f"http://example.org:{port}") == DATA
    with pytest.raises(NetworkError):
        await fetch(asking(), tmp_path / "another", f"http://example.org:{port}")
    assert asked == 2 and len(one.asked) == 1


@pytest.mark.parametrize("port", [22, 25, 110, 143, 587, 993])
async def test_other_services_ports_are_not_dialled(port: int, tmp_path: Path) -> None:
    with pytest.raises(NetworkError):
        await fetch(asking(), tmp_path / "file", f"http://127.0.0.1:{port}/")


def test_what_is_public() -> None:
    public = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"]
    private = [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:192.168.1.1",
        "::ffff:127.0.0.1", "::192.168.1.1", "64:ff9b::c0a8:101", "2002:c0a8:101::1", "2001:0:1::1", "nonsense", "",
        "fec0::1", "::ffff:0:c0a8:101",
    ]  # fmt: skip
    assert [one for one in public if not is_public(one)] == []
    assert [one for one in private if is_public(one)] == []


@pytest.mark.parametrize(
    "source",
    [
        "ftp://example.org/x",
        "http://user:secret@example.org/",
        "https://example.org/x?y=1",
        "https://example.org/#x",
        "https://example.org/a b",
        "https://example.org/\r\nHost: y",
        "http://[::1]/",
        "example.org",
    ],
)
def test_a_manifest_names_folders_of_web_servers_only(source: str) -> None:
    fields = msgspec.to_builtins(manifests.load("text"))
    manifests.decode(
        msgspec.json.encode({**fields, "sources": ["https://example.org/a/b-1", "http://10.0.0.1:80/"]}), "m"
    )
    with pytest.raises(ManifestError):
        manifests.decode(msgspec.json.encode({**fields, "sources": [source]}), "m")


async def test_a_server_is_not_blamed_for_the_part_that_others_gave(
    server: Callable[[Handle], Server], tmp_path: Path
) -> None:
    honest = server(ranged)
    (tmp_path / "file").write_bytes(b"wrong" * 20)
    assert await fetch(asking(), tmp_path / "file", honest.url) == DATA
