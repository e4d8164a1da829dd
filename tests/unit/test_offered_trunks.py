"""A trunk that one peer gives is tried before anybody here goes on from it, whatever strategy the run has."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest
import torch
from torch import Tensor

from core.compute.offered_trunks import OfferedTrunks
from core.compute.trials import Trials
from core.contracts.errors import ComputeError, ProtocolError
from core.contracts.files import TRUNK
from core.contracts.manifest import Manifest
from core.contracts.taking_on import COMPARE_TRUNKS, Compared, CompareTrunks, Reach, TakeTrunk
from core.contracts.trunk import Dedloc, Diloco, Trunk, VcAsgd
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import LOCAL
from core.pipe.calls import Calls
from core.training.trainer import Trainer
from tests.experts import MALFORMED, pack_malformed
from tests.joined_calls import join
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_beliefs import Trained, trained  # noqa: F401 - fixture
from tests.unit.test_trainer import Setup, digits

STRATEGIES: dict[str, Trunk] = {"dedloc": Dedloc(64), "diloco": Diloco(), "vc_asgd": VcAsgd()}
USELESS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "noise": ("worse", lambda x: x[torch.randperm(len(x))]),
    "another sign": ("worse", torch.neg),
    "zeros": ("unusual", torch.zeros_like),
    "exploding": ("unusual", lambda x: 1e18 * x),
    "not a number": ("unusual", lambda x: x * torch.nan),
}


class Tried:
    """A trained process of some strategy, asked as the worker asks it."""

    def __init__(self, setup: Setup, manifest: Manifest) -> None:
        self.setup, self.worker, compute = setup, Calls(), Calls()
        another = partial(Trainer, manifest, {}, setup.directory, setup.kernel_gate)
        self.hosts: dict[str, ExpertHost] = {LOCAL: setup.runtime}
        trials = Trials(setup.trainer, setup.directory, self.hosts)
        self.offered = OfferedTrunks("digits", setup.trainer, another, trials)
        compute.register_carrier(COMPARE_TRUNKS, self.offered.compare)
        join(self.worker, compute)

    @property
    def sizes(self) -> Sequence[int]:
        return self.setup.trainer.trial.trunk.sizes

    def whole(self, flat: Tensor) -> dict[int, Tensor]:
        """All parts of a trunk, as fragments hold them."""
        trunk = self.setup.trainer.trial.trunk
        if len(self.sizes) == 1:
            return {0: flat}
        return {part: fragment.read(flat) for part, fragment in enumerate(trunk._fragments)}  # type: ignore[attr-defined]

    async def compare(self, states: Sequence[dict[int, Tensor]], *moments: Tensor) -> Compared:
        asked = CompareTrunks([[*parts] for parts in states], bool(moments))
        numbers = [part for parts in states for part in (*parts.values(), *(moments if parts else ()))]
        payload = [part.contiguous().numpy().data.cast("B") for part in numbers]
        return (await self.worker.exchange(COMPARE_TRUNKS, asked, payload, time.monotonic() + 60.0))[0]


@pytest.fixture(params=STRATEGIES)
async def tried(request: pytest.FixtureRequest, trained: Trained) -> AsyncIterator[Tried]:  # noqa: F811
    manifest = msgspec.structs.replace(digits(), trunk=STRATEGIES[request.param])
    setup = Setup(manifest)
    setup.trainer.load_state(trained[0])
    for uid, backend in setup.backends.items():
        backend.load_state(trained[1][uid])
    setup.kernel_gate.open()
    serving = asyncio.create_task(setup.runtime.run())
    yield Tried(setup, manifest)
    serving.cancel()


async def test_what_training_does_not_lead_to_and_what_is_worse_is_told_from_what_is_good(tried: Tried) -> None:
    trunk = tried.setup.trainer.trial.trunk
    own = trunk.with_parts({}).clone()
    newer = own + 0.001 * own.std() * torch.randn_like(own)
    useless = {name: tried.whole(spoil(own)) for name, (_, spoil) in USELESS.items()}
    found = await tried.compare([{}, tried.whole(newer), *useless.values()])
    assert found.verdicts == ["good", "good", *(verdict for verdict, _ in USELESS.values())]
    assert found.best in (0, 1)
    assert torch.equal(trunk.with_parts({}), own), "what is tried is not gone on from"

    alone = await tried.compare([tried.whole(newer)])
    assert alone.verdicts == ["good"], "who has nothing to compare with has to believe it"


@pytest.mark.parametrize("tried", ["diloco"], indirect=True)
async def test_a_single_fragment_is_tried_in_the_trunk_that_is_here(tried: Tried) -> None:
    own = tried.setup.trainer.trial.trunk.with_parts({}).clone()
    parts = tried.whole(own)
    found = await tried.compare([{}, *({part: 8 * -numbers} for part, numbers in parts.items())])
    assert found.verdicts == ["good"] + ["worse"] * len(parts)


@pytest.mark.parametrize("tried", ["dedloc"], indirect=True)
async def test_moments_that_no_gradients_lead_to_are_refused(tried: Tried) -> None:
    own = tried.setup.trainer.trial.trunk.with_parts({}).clone()
    mean, square = torch.full_like(own, 0.01), torch.full_like(own, 0.01)
    for moments, verdict in (
        ((mean, square), "good"),
        ((1000 * mean, square), "unusual"),
        ((mean, -square), "unusual"),
        ((mean * torch.nan, square), "unusual"),
    ):
        assert (await tried.compare([{}, {0: own}], *moments)).verdicts == ["good", verdict]


class Busy(ExpertHost):
    """Answers all calls of one pass of a layer, and but few of the next."""

    standing = None

    def __init__(self, host: ExpertHost) -> None:
        self._host, self._passes = host, 0

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        self._passes += 1
        answers = await self._host.forward(calls, passage, deadline, inference)
        return [answer if self._passes <= 2 or place % 12 else None for place, answer in enumerate(answers)]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[Tensor | None]:
        raise NotImplementedError


@pytest.mark.parametrize("tried", ["vc_asgd"], indirect=True)
async def test_a_trunk_is_not_found_worse_for_what_a_busy_host_left_out(tried: Tried) -> None:
    own = tried.setup.trainer.trial.trunk.with_parts({}).clone()
    tried.hosts[LOCAL] = Busy(tried.setup.runtime)
    assert (await tried.compare([{}, {0: own}])).verdicts == ["good", "good"]


async def test_without_experts_nothing_can_be_told(tried: Tried) -> None:
    trainer = tried.setup.trainer
    own = trainer.trial.trunk.with_parts({}).clone()
    with pytest.raises(ProtocolError):
        await tried.compare([{0: own[1:]}])
    with pytest.raises(ProtocolError):
        await tried.compare([{63: own}])
    for uid in tried.setup.backends:
        tried.setup.directory.remove(uid)
    with pytest.raises(ComputeError):
        await tried.compare([{}, tried.whole(own)])


AHEAD = 1000
"""Steps: the trunk that is offered has so many more than the one here."""
AGREED_ON: dict[str, tuple[Callable[[Tensor], Tensor], int, int]] = {
    "numbers without end": (lambda x: x.double() * 1e300, 5, 1),
    "numbers that explode": (lambda x: 1e30 * x, 5, 1),
    "versions in pairs": (lambda x: x, 5, 2),
    "impossible versions": (lambda x: x, -5, 1),
    "what is good": (lambda x: x, 5, 1),
}
"""Of each fragment the numbers, the version, and how many of these."""


async def offered(tried: Tried, file: Path, state: dict[str, Tensor]) -> bool:
    """Whether a trunk is gone on from that a peer has made of a state."""
    before, version = tried.setup.trainer.trial.trunk.with_parts({}).clone(), tried.setup.trainer.step + AHEAD
    await asyncio.to_thread(file.write_bytes, pack_malformed("digits", TRUNK, state, version))
    taken = await tried.offered.take(TakeTrunk([str(file)], Reach(10**9, 10**9)))
    assert not taken.refused or torch.equal(tried.setup.trainer.trial.trunk.with_parts({}), before)
    return not taken.refused


@pytest.mark.parametrize("what", MALFORMED)
async def test_what_is_no_trunk_is_refused_before_anything_is_done_with_it(
    tried: Tried, tmp_path: Path, what: str
) -> None:
    """A process that ends by it would be given it again at its next start."""
    state = tried.setup.trainer.state() | {"version": torch.tensor(tried.setup.trainer.step + AHEAD)}
    assert not await offered(tried, tmp_path / "bad.safetensors", MALFORMED[what](state))
    assert await offered(tried, tmp_path / "good.safetensors", state)


@pytest.mark.parametrize("tried", ["diloco"], indirect=True)
@pytest.mark.parametrize("what", AGREED_ON)
async def test_what_cannot_have_been_agreed_on_is_refused_as_well(tried: Tried, tmp_path: Path, what: str) -> None:
    change, version, times = AGREED_ON[what]
    state = tried.setup.trainer.state() | {"version": torch.tensor(tried.setup.trainer.step + AHEAD)}
    for part, numbers in tried.whole(tried.setup.trainer.trial.trunk.with_parts({})).items():
        state[f"agreed.{part}"] = change(numbers)
        state[f"agreed.{part}.version"] = torch.tensor(version if times == 1 else [version] * times)
        state[f"agreed.{part}.peers"] = torch.tensor(2)
    assert await offered(tried, tmp_path / "trunk.safetensors", state) is (what == "what is good")
