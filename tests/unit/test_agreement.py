"""What compute offers the other trainers goes through the pipe to the run's agreement in the worker, and back."""

import asyncio
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import torch

from core.contracts import manifest as manifests
from core.contracts.errors import CallTimeout, ComputeError
from core.contracts.trunk import Agreed, Offer
from core.pipe.calls import Calls
from core.swarm import trunk
from core.swarm.trunk.agreement import Agreement, agreement_of
from core.training.trunk.exchange import agree
from tests.joined_calls import join
from tests.workers import PATIENCE_S

DOUBLING = '''
import struct
import asyncio
from core.contracts.errors import CallTimeout
from core.contracts.trunk import Agreed
from core.swarm.trunk.agreement import Agreement

class Doubling(Agreement):
    """Each part is agreed to be twice what was offered; part 1 is never answered, part 2 fails, 3 is none, 4 is NaN."""

    def __init__(self, manifest, members, folder, most):
        super().__init__(manifest, members, folder, most)
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def agree(self, offer, payload, deadline):
        agreed = Agreed(offer.part, offer.version + 1, offer.samples, 1)
        if offer.part == 1:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled.set()
        if offer.part == 2:
            raise CallTimeout("too late")
        if offer.part == 3:
            return agreed, b""
        numbers = struct.unpack(f"<{len(payload) // 4}f", payload)
        factor = float("nan") if offer.part == 4 else 2.0
        return agreed, struct.pack(f"<{len(numbers)}f", *(factor * number for number in numbers))

AGREEMENT = Doubling
'''


class Doubling(msgspec.Struct, frozen=True, tag_field="strategy", tag="doubling"):
    """What a manifest would say of it."""


@pytest.fixture
def doubling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "doubling.py").write_text(DOUBLING)
    monkeypatch.setattr(trunk, "__path__", [*trunk.__path__, str(tmp_path)])
    manifest = msgspec.structs.replace(manifests.load("digits"), trunk=cast(Any, Doubling()))
    return agreement_of(manifest, cast(Any, None), tmp_path)


def ends(agreement: Agreement) -> Calls:
    worker, compute = Calls(), Calls()
    agreement.serve(worker)
    join(worker, compute, piece=1000)
    return compute


async def test_numbers_are_offered_and_agreed_on_through_the_pipe(doubling: Any) -> None:
    calls, numbers = ends(doubling), torch.randn(5000)
    agreed, answer = await agree(calls, Offer(0, 7, 320), numbers, 5000)
    assert agreed == Agreed(0, 8, 320, 1) and answer is not None
    assert torch.equal(answer, 2 * numbers)
    assert (await agree(calls, Offer(3, 0, 0), None, 5000))[1] is None, "nobody has agreed on anything yet"


async def test_what_cannot_be_agreed_on_is_an_error_and_who_does_not_wait_cancels(doubling: Any) -> None:
    calls, numbers = ends(doubling), torch.ones(8)
    with pytest.raises(CallTimeout, match="too late"):
        await agree(calls, Offer(2, 0, 1), numbers, 8)
    with pytest.raises(ComputeError, match="32 bytes were agreed on"):
        await agree(calls, Offer(0, 0, 1), numbers, 9)
    with pytest.raises(ComputeError, match="not finite"):
        await agree(calls, Offer(4, 0, 1), numbers, 8)
    waiting = asyncio.create_task(agree(calls, Offer(1, 0, 1), numbers, 8))
    async with asyncio.timeout(PATIENCE_S):
        await doubling.begun.wait()
        waiting.cancel()
        await doubling.cancelled.wait()


def test_a_trainer_with_a_trunk_of_its_own_agrees_with_nobody(tmp_path: Path) -> None:
    assert agreement_of(manifests.load("digits"), cast(Any, None), tmp_path) is None
