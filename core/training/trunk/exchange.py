"""What a strategy asks of the worker: numbers offered, numbers agreed on."""

import math

import torch
from torch import Tensor

from core.contracts.errors import ComputeError
from core.contracts.pipe import AGREE
from core.contracts.trunk import Agreed, Offer
from core.pipe.calls import Calls


async def agree(
    calls: Calls, offer: Offer, numbers: Tensor | None, size: int, deadline: float = math.inf, or_size: int = 0
) -> tuple[Agreed, Tensor | None]:
    """Offer something to the other trainers, and wait for what is agreed.

    Args:
        calls: to the worker.
        offer: what the numbers are.
        numbers: float32 in the processor's memory, flat; they must not change meanwhile. None: only ask.
        size: how many numbers are agreed on.
        deadline: time.monotonic() after which nobody waits.
        or_size: how many there may be instead, if there is another kind of answer.

    Returns:
        What is agreed, and its numbers in memory of their own; None if nobody has agreed on anything yet.

    Raises:
        NetworkError: the others could not be asked; the same may be offered again.
        ComputeError: what came is of another size, or not finite.
    """
    payload = b"" if numbers is None else numbers.numpy().data.cast("B")
    agreed, answer = await calls.exchange(AGREE, offer, payload, deadline)
    data = bytearray().join([answer] if isinstance(answer, bytes | bytearray | memoryview) else answer)
    if not data:
        return agreed, None
    if len(data) not in (4 * size, 4 * or_size):
        raise ComputeError(f"{len(data)} bytes were agreed on for part {agreed.part} of the trunk, not {4 * size}.")
    vector = torch.frombuffer(data, dtype=torch.float32)
    if not bool(torch.isfinite(vector).all()):
        raise ComputeError(f"What was agreed on for part {agreed.part} of the trunk is not finite.")
    return agreed, vector
