"""The worker's end of the control socket, as clients go in the middle of what they asked for."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from core.contracts.control import PROTOCOL, Hello, Request
from core.control.server import _Session
from core.logs import Ring
from core.worker.peer import Peer

TURNS = 20
"""Of the loop, in which a session has long seen that its client has gone."""


@contextlib.asynccontextmanager
async def serving(tmp_path: Path, *requests: Request) -> AsyncIterator[tuple[Peer, asyncio.StreamReader]]:
    """A worker whose files wait to be written, a session, and what its client says there."""
    peer, blocked = Peer(tmp_path, "digits", Ring()), threading.Event()
    here, there = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=here)
    said = asyncio.StreamReader()
    said.feed_data(b"".join(msgspec.json.encode(request) + b"\n" for request in requests))
    session = _Session(peer, "", said, writer)
    peer._files._writer.submit(blocked.wait)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(session.serve(Hello(PROTOCOL, "", "cli", 1)))
            yield peer, said
            for _ in range(TURNS):
                await asyncio.sleep(0)
            blocked.set()
    finally:
        blocked.set()
        writer.close()
        there.close()
        peer.policy.close()
        peer.ledger.close()
        peer._files.flush()


CHANGE = Request(1, "set_settings", msgspec.Raw(b'{"changes": {"price_kwh": 0.31}}'))


@pytest.mark.parametrize("how", ["reset", "nonsense", "end"])
async def test_a_command_is_carried_out_though_its_client_goes(tmp_path: Path, how: str) -> None:
    async with serving(tmp_path, CHANGE) as (peer, said):
        for _ in range(TURNS):
            await asyncio.sleep(0)
        if how == "reset":
            said.set_exception(ConnectionResetError())
        elif how == "nonsense":
            said.feed_data(b"GET / HTTP/1.1\n")
        else:
            said.feed_eof()
    assert peer.settings.price_kwh == 0.31
    assert "0.31" in (tmp_path / "settings.json").read_text()
