"""Brokers that say what no broker says, over real sockets: Hearth takes little of it, leaves them alone, and says so
once."""

import asyncio
import logging

import aiomqtt
import pytest

from core.community import connection
from core.community.lines import Joined
from core.community.telemetry import Telemetry
from core.contracts.telemetry import MAX_PACKET, Rights
from core.identity import Identity
from tests.dht_peers import until

RUN = "a-run-12345678"
MUCH = 64 << 20
"""Bytes; what lies in buffers of the system is less."""


def published(topic: bytes, kind: int = 0x30) -> bytes:
    """A short message, with the number that one of QoS 1 or 2 has."""
    body = len(topic).to_bytes(2) + topic + b"\0\7"
    return bytes([kind, len(body)]) + body


SAID = {
    "a topic that is no text": published(b"hearth/1/\xff\xfe"),
    "a topic of many": published(b"hearth/1/#"),
    "a topic of many, to be acknowledged": published(b"hearth/1/#", 0x32),
    "a message of QoS 2": published(b"hearth/1/x", 0x34),
    "a packet of 256 MB": b"\x30\xff\xff\xff\x7f\0\4abcd",
    "a packet that is a little too large": bytes([0x30, 0x80 | (MAX_PACKET + 1) & 127, 0x80 | (MAX_PACKET >> 7) & 127])
    + bytes([MAX_PACKET >> 14]),
}


@pytest.mark.parametrize("kind", SAID)
async def test_a_broker_that_is_none_is_left_alone_and_told_of_once(
    kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "LEFT_S", 0.05)
    caplog.set_level(logging.INFO)
    ends = list[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers as a broker does, says that, and goes on until the other side has gone; notes what it took."""
        taken = 0
        try:
            await reader.read(4096)
            writer.write(b"\x20\2\0\0")
            asked = await reader.readexactly(4)
            writer.write(b"\x90\3" + asked[2:] + b"\1" + SAID[kind])
            while taken < MUCH:
                writer.write(bytes(1 << 16))
                await writer.drain()
                taken += 1 << 16
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            ends.append(taken)
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        address = f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        telemetry = Telemetry(Identity.generate())
        telemetry.follow(Joined(RUN, Rights(None, frozenset()), [address], False, ignored, ignored))
        try:
            await until(lambda: len(ends) >= 3, "three connections")
            assert telemetry.status()[0].trouble
        finally:
            await telemetry.close()
    assert max(ends) < MUCH, "it was left before it had said all"
    told = [one for one in caplog.records if one.levelno > logging.INFO]
    assert len(told) == 1 and "left alone" in told[0].getMessage(), told


def ignored(*_: object) -> None:
    """What is told."""


async def test_what_was_not_read_yet_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "QUEUED_BYTES", 1000)
    made = connection._Queue(100)

    def put(size: int) -> None:
        made.put_nowait(aiomqtt.Message("a", bytes(size), 0, False, 1, None))

    put(600)
    put(600)
    with pytest.raises(asyncio.QueueFull):
        put(1)
    assert len((await made.get()).payload) == 600
    put(1)
