import asyncio
import hashlib
import inspect
from importlib.metadata import version
from typing import Any

import iroh.iroh_ffi
import pytest

from core.contracts.errors import PeerUnreachable
from core.identity import Identity
from core.net import fast_binding
from core.net.endpoint import LOOPBACK, Connection, Endpoint

binding: Any = iroh.iroh_ffi

KNOWN = "7d3ede43fec03c7edd10b0ea89f48844cd391a2195eed2379f470af687cc1e88"
"""SHA-256 of the binding's Python code in iroh 1.2.0."""


def test_the_binding_is_the_one_this_was_written_for() -> None:
    """If this fails: read the binding's new code, adapt core/net/fast_binding.py, measure, then renew KNOWN."""
    source = inspect.getsource(binding).encode()
    assert (version("iroh"), hashlib.sha256(source).hexdigest()) == ("1.2.0", KNOWN)


def test_the_slow_parts_are_replaced() -> None:
    assert fast_binding.apply()
    assert binding._uniffi_rust_call_async is fast_binding._call_async
    assert binding._UniffiFfiConverterBytes.lower is fast_binding._lower
    assert fast_binding.apply()  # again does no harm


@pytest.mark.parametrize("value", [b"", b"a", bytes(range(256)) * 4000], ids=len)
def test_copies_are_exact(value: bytes) -> None:
    assert fast_binding.apply()
    converter = binding._UniffiFfiConverterBytes
    buffer = converter.lower(value)
    assert buffer.data[: buffer.len] == len(value).to_bytes(4) + value
    assert converter.lift(buffer) == value
    assert converter.lift(converter.lower(memoryview(value))) == value


def test_a_changed_binding_is_left_alone(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    class Changed:
        _fields_ = (("capacity", int), ("length", int), ("data", int))

    async def generated(rust_future: Any) -> None:
        pass

    monkeypatch.setattr(binding, "_uniffi_rust_call_async", generated)
    assert not fast_binding.apply()
    monkeypatch.undo()
    monkeypatch.setattr(binding, "_UniffiRustBuffer", Changed)
    assert not fast_binding.apply()
    assert "slow" in caplog.text


def test_a_binding_that_writes_otherwise_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def generated(
        rust_future: Any, ffi_poll: Any, ffi_complete: Any, ffi_free: Any, lift_func: Any, error_ffi_converter: Any
    ) -> None:
        pass

    def reversed_lower(value: bytes) -> Any:
        return fast_binding._lower(bytes(reversed(value)))

    assert fast_binding.apply()
    monkeypatch.setattr(binding, "_uniffi_rust_call_async", generated)
    monkeypatch.setattr(binding._UniffiFfiConverterBytes, "lower", staticmethod(reversed_lower))
    assert not fast_binding.apply()
    assert binding._uniffi_rust_call_async is generated


async def connected(server: Endpoint, client: Endpoint, identity: Identity) -> tuple[Connection, Connection]:
    async def accept() -> Connection:
        incoming = await server.accept()
        assert incoming is not None
        return await incoming.accept()

    there, here = await asyncio.gather(accept(), client.dial(identity.peer, server.addresses() + server.sockets))
    return there, here


def test_a_wait_ends_whoever_ends_it() -> None:
    """With bytes from the transport's thread, with a cancellation, and with a close in this thread."""

    async def run() -> None:
        identity = Identity.generate()
        server, client = await Endpoint.bind(identity.seed, LOOPBACK), await Endpoint.bind(bytes(32), LOOPBACK)
        there, here = await connected(server, client, identity)
        stream = await here.open()
        await stream.write(b"first")
        received = await there.accept()
        assert await received.read(64) == b"first"
        reading = asyncio.create_task(received.read(64))
        await asyncio.sleep(0)
        await stream.write(b"second")
        assert await reading == b"second"
        reading = asyncio.create_task(received.read(64))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        accepting = asyncio.create_task(here.accept())
        await asyncio.sleep(0)
        here.close("enough")
        with pytest.raises(PeerUnreachable):
            await accepting
        await asyncio.gather(server.close(), client.close())
        assert not fast_binding._polls  # nothing is left of those that ended

    asyncio.run(asyncio.wait_for(run(), 10))
