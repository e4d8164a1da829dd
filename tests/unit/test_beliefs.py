"""What is believed of the states and claims of other peers, and what has to be tried first."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import torch

from core.compute import trials
from core.compute.hosting import Residents
from core.compute.trials import Place, Trials, are_related, believed, check_usual, norm_of, not_worse
from core.contracts import manifest
from core.contracts.errors import CheckpointError
from core.contracts.files import TRUNK, PartFile
from core.contracts.taking_on import Reach, TakeOn
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import LOCAL
from core.experts.grid import Uid
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.part_files import Part
from core.store.checkpoints import CheckpointStore
from core.swarm.beliefs import FASTEST, SINCE_S, Beliefs, Said
from tests.experts import MALFORMED, pack, pack_malformed
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_trainer import Setup, digits

PATIENCE_S = 240.0
EXPERT = "digits.0.1.3"
FAR = Reach(10**9, 10**9)


def state(part: str, version: int, samples: int | None = None) -> PartFile:
    return PartFile(part, version, version * 8 if samples is None else samples, "0" * 64, 1000)


def told(*versions: int, part: str = EXPERT, age_s: float = 0.0) -> dict[str, list[Said]]:
    return {f"peer {number}": [Said(state(part, version), age_s)] for number, version in enumerate(versions)}


class TestBeliefs:
    now = 1000.0

    @pytest.fixture
    def beliefs(self) -> Beliefs:
        return Beliefs(lambda: self.now)

    def test_a_version_counts_only_as_far_as_most_vouch_for_it_and_training_leads_since(self, beliefs: Beliefs) -> None:
        beliefs.hear(told(900, 1000, 1100, 2**52))
        most = 1000 + FASTEST * SINCE_S
        assert beliefs.most(EXPERT) == Reach(int(most), int(most) * 8 + (64 - 8) * int(FASTEST * SINCE_S))
        assert [beliefs.counts(EXPERT, version) for version in (0, 1100, int(most), int(most) + 1, 2**52)] == [
            0, 1100, int(most), 1, 1,
        ]  # fmt: skip
        self.now += 60.0
        assert beliefs.counts(EXPERT, int(most + 60 * FASTEST)) > 1
        beliefs.hear(told(3, 4, 2**52))
        assert beliefs.most(EXPERT).steps > most, "what was vouched for stays so"

    def test_of_two_the_lower_one_is_sure_and_counts_since_it_was_made(self, beliefs: Beliefs) -> None:
        """A PC that was away for hours comes back to one that has gone on alone."""
        beliefs.hear({"": [Said(state(EXPERT, 1000), 3 * 3600.0)], "other": [Said(state(EXPERT, 500_000), 5.0)]})
        assert beliefs.counts(EXPERT, 500_000) == 500_000 and beliefs.counts(EXPERT, 2**52) == 1

    def test_trunks_and_experts_are_not_measured_by_each_other(self, beliefs: Beliefs) -> None:
        beliefs.hear(told(10, 10, part=TRUNK))
        assert beliefs.counts(EXPERT, 10**6) == 10**6 and beliefs.counts(TRUNK, 10**6) == 1

    def test_what_is_possible_at_all_is_the_limit_of_who_knows_nothing(self, beliefs: Beliefs) -> None:
        assert beliefs.counts(EXPERT, 10**9) == 10**9 and beliefs.counts(EXPERT, 2**53 - 1) == 1


def test_states_that_do_worse_than_the_best_are_found() -> None:
    assert not_worse([0.30, 0.35, 0.29, 0.60, math.inf, math.nan]) == [True, True, True, False, False, False]


def test_a_state_counts_as_no_further_than_it_can_be() -> None:
    lie = {"version": torch.tensor(2**53), "samples": torch.tensor(2**53), "weights.w": torch.ones(1)}
    assert {name: int(value) for name, value in believed(lie, Reach(70, 560)).items()} == {
        "version": 70, "samples": 560, "weights.w": 1,
    }  # fmt: skip


class Host:
    """The experts of a process whose network was trained for a moment."""

    def __init__(self, folder: Path, setup: Setup) -> None:
        self.setup, self.folder = setup, folder
        self.manifest = digits()
        store = CheckpointStore(folder / "store", self.manifest.run)
        self.residents = Residents(self.manifest, (), store, setup.runtime)
        self.trials = Trials(setup.trainer, setup.directory, {LOCAL: setup.runtime})

    def file(self, uid: Uid, weights: dict[str, torch.Tensor], version: int) -> str:
        """A state as another peer gives it."""
        counts = {"version": torch.tensor(version), "samples": torch.tensor(8 * version)}
        path = self.folder / f"{uid}-{version}-{norm_of(weights):.3f}.safetensors"
        path.write_bytes(pack("digits", str(uid), Part({**weights, **counts}, version, 8 * version)))
        return str(path)

    async def take(self, files: dict[Uid, list[str]], most: Reach = FAR) -> tuple[dict[Uid, int], set[str]]:
        """The versions that the experts went on from, and the files that were of no use."""
        taken = await self.residents.host(TakeOn({str(uid): paths for uid, paths in files.items()}, most), self.trials)
        assert not taken.failed
        return {uid: self.residents.backends[uid].version for uid in files}, set(taken.refused)


Trained = tuple[dict[str, torch.Tensor], dict[Uid, dict[str, torch.Tensor]]]
"""A trunk, and experts."""


@pytest.fixture(scope="module")
def trained() -> Trained:
    """What 125 steps come to."""
    setup = Setup(digits(batch=64))
    setup.kernel_gate.open()

    async def train() -> None:
        async with setup.running():
            await setup.until(lambda: setup.trainer.samples >= 8000)

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    asyncio.run(train())
    torch.set_num_threads(before)
    return setup.trainer.state(), {uid: backend.state() for uid, backend in setup.backends.items()}


@pytest.fixture
async def host(tmp_path: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Host]:
    monkeypatch.setattr(trials, "WITHIN_S", PATIENCE_S)  # a busy machine is no reason to believe states untried
    setup = Setup(digits())
    setup.trainer.load_state(trained[0])
    for uid, backend in setup.backends.items():
        backend.load_state(trained[1][uid])
    setup.kernel_gate.open()
    serving = asyncio.create_task(setup.runtime.run())
    yield Host(tmp_path, setup)
    serving.cancel()


def noise(good: dict[str, torch.Tensor], size: float = 1.0) -> dict[str, torch.Tensor]:
    """A state of the usual norm, or somewhat more, without any sense."""
    is_mixed = {name: name.startswith("weights.") and x.dim() > 1 for name, x in good.items()}
    return {name: size * x[torch.randperm(len(x))] if is_mixed[name] else x for name, x in good.items()}


async def test_states_of_no_use_are_set_aside_and_the_others_serve(host: Host) -> None:
    good = {uid: backend.state() for uid, backend in host.setup.backends.items()}
    zeros = {uid: {name: torch.zeros_like(x) for name, x in one.items()} for uid, one in good.items()}
    fakes = {uid: host.file(uid, noise(one), 900) for uid, one in good.items()}
    honest = {uid: host.file(uid, one, 500) for uid, one in good.items()}

    before = (await host.setup.trainer.evaluate()).loss
    versions, refused = await host.take({uid: [fakes[uid], honest[uid]] for uid in good})
    liars = [uid for uid in good if fakes[uid] in refused]
    assert liars and not refused & {*honest.values()}, "noise was found to be worse"
    assert all(versions[uid] == 500 for uid in liars)
    for uid in good:
        host.setup.backends[uid].load_state(host.residents.backends[uid].state())
    assert (await host.setup.trainer.evaluate()).loss < before + 0.1, "what was not does no harm"

    first = next(iter(good))
    newer = {first: [host.file(first, zeros[first], 1000), host.file(first, good[first], 950)]}
    versions, refused = await host.take(newer)
    assert versions == {first: 950} and refused == {newer[first][0]}

    far = {first: [host.file(first, good[first], 2**49)]}
    versions, refused = await host.take(far, Reach(2000, 16_000))
    assert versions == {first: 2000} and not refused
    assert host.residents.backends[first].samples == 16_000, "its rate goes by the samples"


@pytest.mark.parametrize("size", [1.0, 4.0])
async def test_noise_in_the_place_of_one_expert_after_the_other_does_hardly_any_harm(host: Host, size: float) -> None:
    """Many peers meet it at once, of which each has a few experts. Answers of large noise are far beyond all others."""
    before = (await host.setup.trainer.evaluate()).loss
    taken = list[Uid]()
    for uid, backend in host.setup.backends.items():
        good = backend.state()
        fake = host.file(uid, noise(good, size), 900)
        _, refused = await host.take({uid: [fake, host.file(uid, good, 500)]})
        if fake not in refused:
            backend.load_state(host.residents.backends[uid].state())
            taken.append(uid)
    after = (await host.setup.trainer.evaluate()).loss
    assert after < before + 0.05
    assert len(taken) < len(host.setup.backends) / 5, "some experts are worth so little that no sample tells"


async def test_states_that_are_half_noise_show_when_no_other_experts_count(host: Host) -> None:
    """What they are related to does not excuse them."""
    bad, refused = list[str](), set[str]()
    for uid, backend in host.setup.backends.items():
        if uid.layer == 0:
            good, useless = backend.state(), noise(backend.state())
            half = {name: 0.6 * x + 0.8 * useless[name] for name, x in good.items() if name.startswith("weights.")}
            assert are_related(half, good)
            bad.append(host.file(uid, good | half, 900))
            refused |= (await host.take({uid: [bad[-1], host.file(uid, good, 500)]}))[1]
    assert len(refused) > len(bad) / 2


async def test_trunks_of_a_model_without_experts_are_tried_as_well() -> None:
    setup = Setup(manifest.load("digits-vc"))
    setup.kernel_gate.open()
    trials = Trials(setup.trainer, setup.directory, {LOCAL: setup.runtime})
    assert await trials.losses([setup.trainer.trial]) == [pytest.approx(math.log(10), rel=0.1)]


@pytest.mark.parametrize("why", ["nothing learnt", "nobody answers"])
async def test_the_greatest_number_does_not_count_where_states_cannot_be_tried(host: Host, why: str) -> None:
    setup = host.setup
    uid = next(iter(setup.backends))
    good = setup.backends[uid].state()
    trainer = Setup(digits()).trainer if why == "nothing learnt" else setup.trainer
    others = Other({}, setup.kernel_gate) if why == "nobody answers" else setup.runtime
    host.trials = Trials(trainer, setup.directory, {LOCAL: others})
    files = [host.file(uid, noise(good), 900), host.file(uid, good, 500)]
    assert await host.take({uid: files}) == ({uid: 500}, set()), "none is blamed"
    newer = host.file(uid, {name: 1.01 * x for name, x in good.items()}, 910)
    assert await host.take({uid: [newer]}) == ({uid: 500}, set()), "what is here stays"
    useless = [host.file(uid, noise(good), 920), *files[:1]]
    assert await host.take({uid: useless}) == ({uid: 500}, {*useless}), "training cannot have led to them"


@pytest.mark.parametrize("what", MALFORMED)
async def test_what_is_no_state_of_an_expert_is_refused_before_anything_is_done_with_it(host: Host, what: str) -> None:
    """A process that ends by it would be given it again at its next start."""
    uid = next(iter(host.setup.backends))
    good = host.setup.backends[uid].state() | {"version": torch.tensor(900), "samples": torch.tensor(7200)}
    bad, honest = host.folder / "bad.safetensors", host.file(uid, good, 500)
    bad.write_bytes(pack_malformed("digits", str(uid), MALFORMED[what](good), 900))
    assert await host.take({uid: [str(bad), honest]}) == ({uid: 500}, {str(bad)})


async def test_where_nothing_can_be_tried_a_state_that_first_weights_can_have_become_is_preferred(host: Host) -> None:
    host.trials = Trials(Setup(digits()).trainer, host.setup.directory, {LOCAL: host.setup.runtime})
    uid, other = [*host.setup.backends][:2]
    good = host.setup.backends[uid].state()
    files = [host.file(uid, noise(good), version) for version in (902, 901)]
    assert await host.take({uid: [*files, host.file(uid, good, 500)]}) == ({uid: 500}, set())
    alone = [host.file(other, noise(host.setup.backends[other].state()), 900)]
    assert await host.take({other: alone}) == ({other: 900}, set()), "long training may have led to it"


async def test_a_new_expert_is_not_begun_where_all_that_is_told_of_it_is_of_no_use(host: Host) -> None:
    uid = next(iter(host.setup.backends))
    zeros = {name: torch.zeros_like(x) for name, x in host.setup.backends[uid].state().items()}
    asked = TakeOn({str(uid): [host.file(uid, zeros, 7)]}, FAR)
    taken = await host.residents.host(asked, host.trials)
    assert taken.failed.keys() == {str(uid)} and len(taken.refused) == 1
    assert uid not in host.residents.backends


def test_weights_and_moments_that_training_does_not_lead_to_are_refused() -> None:
    manifest = digits()
    backend = ExpertBackend(Uid.parse(EXPERT), manifest.model, manifest.training)
    x, norm = torch.randn(16, 64), backend.norm
    for _ in range(3):
        backend.backward(x, torch.randn(16, 64))
    good = backend.state()
    check_usual(good, norm)
    loud = {name: x * (100.0 if name.startswith("weights.") else 1.0) for name, x in good.items()}
    quiet = {name: torch.zeros_like(x) for name, x in good.items()}
    steep = {name: x + (1.0 if name.startswith("mean.") else 0.0) for name, x in good.items()}
    for state in (loud, quiet, steep):
        with pytest.raises(CheckpointError):
            check_usual(state, norm)


class Other(ExpertHost):
    """A peer with some experts; it does not answer for any others."""

    standing = None

    def __init__(self, experts: dict[Uid, ExpertBackend], gate: KernelGate) -> None:
        self.places = {uid: Place({uid: backend}, gate, self) for uid, backend in experts.items()}

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        places = [self.places.get(call.uid) for call in calls]
        return [
            (await place.forward([call], passage, deadline))[0] if place else None
            for place, call in zip(places, calls, strict=True)
        ]

    async def backward(self, calls: Sequence[Call], passage: int, deadline: float) -> list[torch.Tensor | None]:
        raise NotImplementedError


async def test_who_answers_noise_for_experts_that_are_here_as_well_does_not_serve_them(host: Host) -> None:
    gate, backends = host.setup.kernel_gate, host.setup.backends
    few = [*backends][::16]
    spoilt = {uid: ExpertBackend(uid, host.manifest.model, host.manifest.training) for uid in few}
    for uid, other in spoilt.items():
        other.load_state(noise(backends[uid].state()))
    hosts = {LOCAL: host.setup.runtime, "honest": Other(backends, gate), "liar": Other(spoilt, gate)}
    trials = Trials(host.setup.trainer, host.setup.directory, {**hosts, "silent": Other({}, gate)})
    assert [await trials.serve(few, name) for name in ("honest", "liar", "silent")] == [True, False, False]


class Babbler(Other):
    """Answers at once, and without any sense."""

    async def forward(
        self, calls: Sequence[Call], passage: int, deadline: float, inference: bool = False
    ) -> list[Output | None]:
        return [Output(0.5 * torch.randn_like(call.inputs), 0) for call in calls]


async def test_who_answers_noise_does_not_serve_even_where_nothing_can_be_tried(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are too busy for enough samples, or no sample asks these experts."""
    monkeypatch.setattr(trials, "LEAST", 2.0)
    gate, backends = host.setup.kernel_gate, host.setup.backends
    hosts = {LOCAL: host.setup.runtime, "honest": Other(backends, gate), "liar": Babbler({}, gate)}
    tries = Trials(host.setup.trainer, host.setup.directory, hosts)
    assert [await tries.serve([*backends][:2], name) for name in ("honest", "liar")] == [None, False]
