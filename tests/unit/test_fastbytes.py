import hashlib
import inspect
from importlib.metadata import version
from typing import Any

import iroh.iroh_ffi
import pytest

from core.net import fastbytes

binding: Any = iroh.iroh_ffi

KNOWN = "ef39571ba0599fc3395c6b76e82035994927554504df216cb196620c80bf8b57"
"""SHA-256 of the binding's code that fastbytes.py builds on, in iroh 1.2.0."""


def lowered(value: bytes) -> bytes:
    """A byte string as the binding hands it to Rust: its length and its bytes."""
    buffer = binding._UniffiFfiConverterBytes.lower(value)
    try:
        return bytes(buffer.data[: buffer.len])
    finally:
        buffer.free()


def test_the_binding_is_the_one_this_was_written_for() -> None:
    """If this fails: read the binding's new builder, adapt core/net/fastbytes.py, measure, then renew KNOWN."""
    source = inspect.getsource(binding._UniffiRustBuffer) + inspect.getsource(binding._UniffiRustBufferBuilder)
    converter = inspect.getsource(binding._UniffiFfiConverterBytes)
    assert (version("iroh"), hashlib.sha256((source + converter).encode()).hexdigest()) == ("1.2.0", KNOWN)


def test_bytes_are_copied_at_once() -> None:
    assert fastbytes.apply()
    assert binding._UniffiRustBufferBuilder.write is fastbytes._write
    assert fastbytes.apply()  # again does no harm


@pytest.mark.parametrize("value", [b"", b"a", bytes(range(256)) * 4000], ids=len)
def test_the_copy_is_exact(value: bytes) -> None:
    assert fastbytes.apply()
    assert lowered(value) == len(value).to_bytes(4) + value


def test_a_changed_binding_is_left_alone(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    fields = [("capacity", int), ("length", int), ("data", int)]

    class Changed:
        _fields_ = fields

    monkeypatch.setattr(binding, "_UniffiRustBuffer", Changed)
    before = binding._UniffiRustBufferBuilder.write
    assert not fastbytes.apply()
    assert binding._UniffiRustBufferBuilder.write is before
    assert "slow" in caplog.text


def test_a_binding_that_writes_otherwise_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fastbytes.apply()

    def reversed_write(self: Any, value: bytes) -> None:
        fastbytes._write(self, bytes(reversed(value)))

    monkeypatch.setattr(binding._UniffiRustBufferBuilder, "write", reversed_write)
    assert not fastbytes.apply()
    assert binding._UniffiRustBufferBuilder.write is reversed_write
