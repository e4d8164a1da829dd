"""The server of figures under those who connect and say nothing, or never stop, over real sockets."""

import contextlib
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, Gauge, make_wsgi_app

from core.net import few_at_once
from core.net.few_at_once import AT_ONCE
from core.worker.metrics_server import MetricsServer
from tests.workers import wait_until

MUCH = 8 << 20
"""Bytes; more than lie in buffers of the system."""


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    registry = CollectorRegistry()
    Gauge("hearth_answer", "An answer.", registry=registry).set(42)
    with MetricsServer("127.0.0.1", 0, make_wsgi_app(registry)) as server:
        yield "127.0.0.1", server.server_port


def asked(address: tuple[str, int]) -> str:
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/metrics", timeout=20) as answer:
        return str(answer.read().decode())


def requests() -> int:
    return sum("process_request" in thread.name for thread in threading.enumerate())


def test_many_that_say_nothing_keep_nobody_out_and_few_are_served(address: tuple[str, int]) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(10 * AT_ONCE):
            silent = stack.enter_context(socket.create_connection(address, 20))
            silent.sendall(b"GET /metrics HTTP/1.1\r\n")
            assert requests() <= 2 * AT_ONCE
        assert "hearth_answer 42.0" in asked(address)


def test_who_says_nothing_or_never_ends_is_hung_up_on(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_at_once, "LONGEST_S", 0.1)
    with socket.create_connection(address, 20) as silent, socket.create_connection(address, 20) as slow:
        slow.settimeout(0.01)
        assert silent.recv(1) == b""

        def is_gone() -> bool:
            try:
                slow.sendall(b"a")
                return slow.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        wait_until(is_gone, "the end of one that goes on and on")
    wait_until(lambda: not requests(), "their threads' end")


def test_of_a_request_no_more_is_read_than_its_head(address: tuple[str, int]) -> None:
    header, taken = b"X-A: " + bytes(60_000).replace(b"\0", b"a") + b"\r\n", 0
    with socket.create_connection(address, 20) as greedy, contextlib.suppress(OSError):
        greedy.sendall(b"GET /metrics HTTP/1.1\r\n")
        while taken < MUCH:
            taken += greedy.send(header)
    assert taken < MUCH
    assert "hearth_answer 42.0" in asked(address)


def test_it_serves_by_ipv6_too() -> None:
    with MetricsServer("::1", 0, make_wsgi_app(CollectorRegistry())) as server:
        assert asked(("[::1]", server.server_port)) == ""
