"""A trunk strategy is one file, found by its name; the Trainer gives it gradients and lets it agree beside training."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import msgspec.inspect
import pytest
import torch

from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError
from core.contracts.trunk import Dedloc, Diloco, Local, Trunk, VcAsgd
from core.contracts.trunk_faults import STRATEGIES, fault_of
from core.experts.directory import LOCAL, LocalDirectory
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.training import trunk
from core.training.trainer import Trainer
from core.training.trunk.strategy import TrunkStrategy, strategy_of
from core.training.trunk.vc_asgd import Subtasks
from tests.experts import all_experts
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.workers import PATIENCE_S

IN_FOURS = '''
import asyncio
import torch
from core.training.trunk.local import Local

class InFours(Local):
    """Four batches make a step, which is applied in a round of its own."""

    def __init__(self, network, manifest, calls):
        super().__init__(network, manifest, calls)
        self.gathered, self.batches, self.counts, self.rounds, self.given, self.dropped = None, 0, 0, [], [], []
        self.enough = asyncio.Event()
        self.others = None

    async def next_batch(self):
        self.given.append(await super().next_batch())
        return self.given[-1]

    def contribute(self, batch, gradients, samples):
        self.given.remove(batch)
        self.gathered = gradients if self.gathered is None else self.gathered + gradients
        self.batches, self.counts = self.batches + 1, self.counts + samples
        if self.batches >= 4:
            self.enough.set()

    async def agree(self, run, judge=None):
        while True:
            await self.enough.wait()
            await run(self.apply)

    def apply(self):
        self.rounds.append(self.batches)
        super().contribute(-1, self.gathered, self.counts)
        self.gathered, self.batches, self.counts = None, 0, 0
        self.enough.clear()

    def drop(self, batch):
        self.given.remove(batch)
        self.dropped.append(batch)

    def take_over(self, state):
        self.others = state
        super().take_over(state)

STRATEGY = InFours
'''


class InFours(msgspec.Struct, frozen=True, tag_field="strategy", tag="in_fours"):
    """What a manifest would say of it."""


@pytest.fixture
def in_fours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in_fours.py").write_text(IN_FOURS)
    monkeypatch.setattr(trunk, "__path__", [*trunk.__path__, str(tmp_path)])


def trained_by(strategy: msgspec.Struct) -> tuple[Trainer, Runtime, Any]:
    manifest = msgspec.structs.replace(manifests.load("digits"), trunk=strategy)
    experts = {backend.uid: backend for backend in all_experts(manifest)}
    kernel_gate = KernelGate()
    kernel_gate.open()
    runtime = Runtime(experts, kernel_gate)
    trainer = Trainer(manifest, {LOCAL: runtime}, LocalDirectory(experts), kernel_gate)
    return trainer, runtime, trainer._trunk


@pytest.mark.usefixtures("in_fours", "one_thread")
async def test_a_strategy_gathers_gradients_and_agrees_beside_training() -> None:
    trainer, runtime, strategy = trained_by(InFours())
    begun = trainer.state()
    tasks = [asyncio.create_task(runtime.run()), asyncio.create_task(trainer.run())]
    async with asyncio.timeout(PATIENCE_S):
        while trainer.step < 5:
            assert not any(task.done() for task in tasks)
            await asyncio.sleep(0)
        changed, rounds, samples = trainer.state(), [*strategy.rounds], trainer.samples
        strategy.parameters[-1].data.fill_(math.nan)
        while trainer.lost < 4:  # noqa: ASYNC110  (a count is no event)
            await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(rounds) == 5 and all(batches >= 4 for batches in rounds)
    assert samples == 32 * sum(rounds), "gradients were lost between the rounds"
    assert len(strategy.dropped) >= 4 and len(strategy.given) <= 4, "what was given neither came nor was dropped"
    assert any(not torch.equal(changed[name], begun[name]) for name in begun if name.startswith("weights."))

    newcomer, _, joined = trained_by(InFours())
    newcomer.take_over(changed)
    taken = joined.others
    assert taken and all(tensor is changed[name] for name, tensor in taken.items()) and newcomer.step == 5
    restarted, _, own = trained_by(InFours())
    restarted.load_state(changed)
    assert own.others is None and restarted.step == 5


def test_a_strategy_or_a_parameter_that_is_not_there_is_refused_where_the_manifest_is_read() -> None:
    def decoded(**trunk: object) -> manifests.Manifest:
        document = msgspec.to_builtins(manifests.load("digits")) | {"trunk": trunk}
        return manifests.decode(msgspec.json.encode(document), "mine.json")

    assert decoded(strategy="local") == manifests.load("digits")
    with pytest.raises(ManifestError, match=r'mine\.json cannot be used: .*"gossip".*local, diloco, vc_asgd, dedloc'):
        decoded(strategy="gossip")
    with pytest.raises(ManifestError, match="needs `target_samples`: a whole number from 1"):
        decoded(strategy="dedloc")
    with pytest.raises(ManifestError, match="take `inner_steps` out"):
        decoded(strategy="local", inner_steps=32)


IMPOSSIBLE: dict[type[msgspec.inspect.Type], object] = {
    msgspec.inspect.IntType: 0.5,
    msgspec.inspect.FloatType: "much",
    msgspec.inspect.BoolType: "yes",
    msgspec.inspect.LiteralType: "none such",
    msgspec.inspect.StrType: "sqlite:///a",
    msgspec.inspect.VarTupleType: ["me"],
}
NAMELESS: tuple[object, ...] = "it's no object", ["a list"], None, 7, {}, {"inner_steps": 3}


def test_whatever_an_author_writes_wrong_in_trunk_is_told_in_words() -> None:
    def told(table: object) -> str:
        fault = fault_of(table)
        assert fault is not None, table
        sentence = str(fault)
        assert sentence != fault.code and "$" not in sentence and "{" not in sentence.replace(json.dumps(table), "")
        return sentence

    for table in NAMELESS:
        assert "must be an object with a `strategy`, one of: local, diloco, vc_asgd, dedloc." in told(table)
    for name in ("DeDLOC", "vc-asgd", 3, None, ["local"]):
        assert f"no strategy {msgspec.json.encode(name).decode()}" in told({"strategy": name})
    for strategy, kind in STRATEGIES.items():
        info = msgspec.inspect.type_info(kind)
        assert isinstance(info, msgspec.inspect.StructType)
        whole: dict[str, object] = {"strategy": strategy, **{field.name: 1 for field in info.fields if field.required}}
        assert fault_of(whole) is None
        assert "`inner_stepz`" in told({**whole, "inner_stepz": 3})
        for field in info.fields:
            types = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,)
            [value] = [IMPOSSIBLE[type(each)] for each in types if type(each) in IMPOSSIBLE]
            said = told({**whole, field.name: value})
            assert f"`{field.name}` of its `trunk` is {msgspec.json.encode(value).decode()}; it must be " in said
            if field.required:
                assert f"needs `{field.name}`: " in told({"strategy": strategy})
    assert told({"strategy": "vc_asgd", "accuracy": 0}).endswith("it must be a number above 0, up to 1, or left out.")
    assert told({"strategy": "diloco", "fragments": 65}).endswith("it must be a whole number from 1 to 64.")
    assert len(told({"strategy": "diloco", "wire": "x" * 10_000})) < 300


RULES = {
    rules.__struct_config__.tag: rules for rules in (Local(), Diloco(), VcAsgd(accuracy=0.9), Dedloc(target_samples=4))
}


def of_a_run_by(rules: Trunk) -> TrunkStrategy:
    return strategy_of(torch.nn.Linear(3, 2), msgspec.structs.replace(manifests.load("digits"), trunk=rules), None)


@pytest.mark.parametrize("after", RULES)
@pytest.mark.parametrize("before", RULES)
def test_a_run_whose_strategy_is_revised_goes_on_with_its_trunk_and_optimizer(before: str, after: str) -> None:
    former, next_one = of_a_run_by(RULES[before]), of_a_run_by(RULES[after])
    for number in range(3):
        former.contribute(number, torch.randn(8), 4)
    if isinstance(former, Subtasks):
        former._best = 0.5  # it was measured
    next_one.load_state(former.state())
    assert (next_one.step, next_one.samples) == (3, 12)
    assert all(map(torch.equal, next_one._adam.vectors, former._adam.vectors))
    other_peer = of_a_run_by(RULES[after])
    other_peer.take_over(former.state())
    assert all(map(torch.equal, other_peer._adam.vectors, former._adam.vectors))
