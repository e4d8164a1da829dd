"""The pipe's frames: what was sent arrives; anything else is refused before it is allocated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.contracts import manifest
from core.contracts import pipe as messages
from core.contracts.control import ExpertStatus
from core.contracts.errors import ProtocolError
from core.contracts.pipe import Configure, Predict, Progress, Shape, Tensor, ToCompute, ToWorker


def send(message: ToCompute | ToWorker, tensors: list[Tensor]) -> tuple[ToCompute | ToWorker, list[Tensor]]:
    stream = b"".join(messages.encode(message, tensors))
    header, payload = messages.sizes(stream[:8])
    assert len(stream) == 8 + header + payload
    return messages.decode(stream[8 : 8 + header], stream[8 + header :])


def test_messages_and_tensors_arrive_as_they_were_sent() -> None:
    picture = Tensor(Shape("uint8", (2, 3)), b"abcdef")
    numbers = Tensor(Shape("float32", (1, 2)), b"12345678")
    message, tensors = send(Predict(7), [picture, numbers])
    assert message == Predict(7)
    assert [(tensor.shape, bytes(tensor.data)) for tensor in tensors] == [tuple(picture), tuple(numbers)]
    progress = Progress(1, 2, 3.0, 4.0, 5, 1, None, [ExpertStatus("digits.0.1.2", 3, 4)])
    assert send(progress, []) == (progress, [])
    configure = Configure(manifest.load("digits"), "folder", 2)
    assert send(configure, [])[0] == configure


def test_an_oversized_frame_is_refused_by_its_prefix() -> None:
    with pytest.raises(ProtocolError):
        messages.sizes(messages.PREFIX.pack(messages.MAX_HEADER + 1, 0))
    with pytest.raises(ProtocolError):
        messages.sizes(messages.PREFIX.pack(10, messages.MAX_PAYLOAD + 1))


def test_tensors_that_do_not_fill_the_payload_are_refused() -> None:
    frame = messages.encode(Predict(1), [Tensor(Shape("uint8", (4,)), b"abcd")])
    with pytest.raises(ProtocolError):
        messages.decode(bytes(frame[0])[8:], b"abc")


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(ProtocolError):
        messages.decode(b"\x92\x82\xa4type\xa4Quit\xa1x" + b"\x91" * 100_000, b"")


@given(st.binary(max_size=300), st.binary(max_size=30))
def test_garbage_is_refused_and_never_crashes(header: bytes, payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        messages.decode(header, payload)
