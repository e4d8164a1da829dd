"""Numbers survive the way between peers, as exactly as their codec promises, in as many bytes as it says."""

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.contracts.errors import ProtocolError
from core.contracts.expert_calls import BLOCK, Codec, encoded_size
from core.experts.codec import decode, encode

CODECS: tuple[Codec, ...] = get_args(Codec)
SHAPES = st.lists(st.integers(0, 40), min_size=1, max_size=3).map(tuple)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(CODECS), SHAPES, st.floats(1e-3, 1e3))
def test_numbers_come_back_within_the_error_of_their_codec(codec: Codec, shape: tuple[int, ...], scale: float) -> None:
    tensor = scale * torch.randn(shape)
    data = encode(tensor, codec)
    assert len(data) == encoded_size(codec, tensor.numel())
    back = decode(bytes(data), codec, shape)
    assert back.shape == tensor.shape and back.dtype == torch.float32
    flat = tensor.flatten()
    largest = (
        torch.cat([block.abs().amax().expand(len(block)) for block in torch.split(flat, BLOCK)]) if len(flat) else flat
    )
    allowed = {"fp32": 0 * flat, "fp16": flat.abs() * 2**-11 + 2**-24, "int8": largest * (0.5001 / 127)}[codec]
    assert ((back.flatten() - flat).abs() <= allowed).all()


@pytest.mark.parametrize("codec", CODECS)
def test_views_transposed_and_strided_tensors_are_read_in_their_own_order(codec: Codec) -> None:
    tensor = torch.arange(24.0).view(4, 6)
    for view in (tensor.T, tensor[::2], tensor[:, 1:4], tensor.double()):
        torch.testing.assert_close(
            decode(encode(view, codec), codec, tuple(view.shape)), view.float(), atol=0.1, rtol=0
        )


@pytest.mark.parametrize("codec", CODECS)
def test_nan_and_infinity_stay_visible_and_large_numbers_stay_finite(codec: Codec) -> None:
    for bad in (torch.nan, torch.inf, -torch.inf):
        back = decode(encode(torch.tensor([1.0, bad, 2.0]), codec), codec, (3,))
        assert not back.isfinite().all() or (codec == "fp16" and back[1].abs() == 65504)
    assert decode(encode(torch.tensor([1e30, -1e30]), codec), codec, (2,)).isfinite().all()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("change", [-1, 1, 1000])
def test_a_size_that_does_not_fit_is_refused(codec: Codec, change: int) -> None:
    size = encoded_size(codec, 2000)
    with pytest.raises(ProtocolError, match="bytes do not hold"):
        decode(bytes(size + change), codec, (20, 100))


def test_decoded_numbers_have_memory_of_their_own() -> None:
    data = memoryview(bytearray(encode(torch.ones(4), "fp32")))
    decode(data, "fp32", (4,)).zero_()
    assert decode(data, "fp32", (4,)).tolist() == [1.0] * 4


@pytest.mark.parametrize("codec", CODECS)
def test_part_of_a_message_may_begin_anywhere_and_is_only_read(codec: Codec) -> None:
    tensor = torch.arange(3.0 * BLOCK + 1) - 100
    data = encode(tensor, codec)
    whole = decode(data, codec, tuple(tensor.shape))
    for offset in range(4):
        message = bytes(offset) + bytes(data)
        part = decode(memoryview(message)[offset:], codec, tuple(tensor.shape))
        part.neg_()
        assert message[offset:] == bytes(data)
        torch.testing.assert_close(part, -whole, atol=0, rtol=0)
