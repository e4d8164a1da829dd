"""DiLoCo through real pipes and syncers against the same by torch's own optimizers, step by step."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor, nn

from core.averaging import outer
from core.averaging.outer import NESTEROV, Rule
from core.contracts import manifest as manifests
from core.contracts.manifest import Manifest
from core.contracts.trunk import Diloco
from core.training.trunk.diloco import STRATEGY
from tests.bench import virtual_time
from tests.joined_trunks import JoinedTrunks
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture

pytestmark = pytest.mark.usefixtures("one_thread")
TRAINERS, ROWS, ROUNDS = 4, 8, 6
RATE = 0.01


def rules(inner_steps: int) -> Manifest:
    digits = manifests.load("digits")
    training = msgspec.structs.replace(digits.training, batch=ROWS, trunk_rate=RATE, warmup_samples=0, clip=1e9)
    trunk = Diloco(inner_steps=inner_steps, fragments=1, quorum=TRAINERS, wire="dense")
    return msgspec.structs.replace(digits, training=training, trunk=trunk)


def network() -> nn.Module:
    """All of it travels as fp16, so that little is rounded."""
    torch.manual_seed(0)
    return nn.ModuleDict({"gates": nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))})


def loss(module: nn.Module, trainer: int, number: int) -> Tensor:
    """The mean of a trainer's batch."""
    inputs = torch.randn(ROWS, 6, generator=torch.Generator().manual_seed(1000 * trainer + number))
    found: Tensor = module.get_submodule("gates")(inputs).squeeze(1)
    return (found - inputs.sum(1).sin()).square().mean()


def weights(module: nn.Module) -> Tensor:
    return nn.utils.parameters_to_vector(module.parameters()).detach().clone()


def by_the_book(inner_steps: int, rule: Rule) -> Tensor:
    """Algorithm 1 of arXiv 2311.08105: what is agreed after all rounds.

    Differences are no longer than their median, and the rate is raised once trainers know how many they are.
    """
    outer, inner = network(), [network() for _ in range(TRAINERS)]
    step = torch.optim.SGD(outer.parameters(), rule.rate, rule.momentum, nesterov=rule.momentum > 0)
    adams = [torch.optim.AdamW(module.parameters(), RATE, weight_decay=0.0) for module in inner]
    for round_ in range(ROUNDS):
        agreed = weights(outer)
        for trainer, (module, adam) in enumerate(zip(inner, adams, strict=True)):
            nn.utils.vector_to_parameters(agreed.clone(), module.parameters())
            adam.param_groups[0]["lr"] = RATE * math.sqrt(TRAINERS) if round_ else RATE
            for number in range(round_ * inner_steps, (round_ + 1) * inner_steps):
                adam.zero_grad()
                torch.autograd.backward([loss(module, trainer, number)])
                adam.step()
        away = torch.stack([agreed - weights(module) for module in inner])
        norms = away.norm(dim=1, keepdim=True)
        mean = (away * (norms.median() / norms).clamp(max=1.0)).mean(0)
        for parameter, part in zip(
            outer.parameters(), mean.split([p.numel() for p in outer.parameters()]), strict=True
        ):
            parameter.grad = part.view_as(parameter).clone()
        step.step()
    return weights(outer)


def ours(inner_steps: int) -> list[Tensor]:
    """The trainers' weights after all rounds."""

    async def run(kernel: Callable[..., Any], *arguments: Any) -> Any:
        return kernel(*arguments)

    async def train(strategy: Any, module: nn.Module, trainer: int) -> None:
        for number in range(ROUNDS * inner_steps):
            assert await strategy.next_batch() == number
            gradients = torch.autograd.grad(ROWS * loss(module, trainer, number), list(module.parameters()))
            strategy.contribute(number, torch.cat([part.flatten() for part in gradients]), ROWS)
            await asyncio.sleep(1.0)  # all have agreed before anybody goes on

    async def main() -> list[Tensor]:
        manifest = rules(inner_steps)
        assert isinstance(manifest.trunk, Diloco)
        exchange, modules = JoinedTrunks(manifest.trunk), [network() for _ in range(TRAINERS)]
        made = [STRATEGY(module, manifest, exchange.calls_of(str(n))) for n, module in enumerate(modules)]
        agreeing = [asyncio.create_task(strategy.agree(run)) for strategy in made]
        await asyncio.gather(*(train(s, m, n) for n, (s, m) in enumerate(zip(made, modules, strict=True))))
        for task in agreeing:
            task.cancel()
        await asyncio.gather(*agreeing, return_exceptions=True)
        assert exchange.syncers[0].fragment.version == 1 + ROUNDS
        return [weights(module) for module in modules]

    return virtual_time.run(main())


@pytest.mark.parametrize("inner_steps", [1, 4])
def test_trainers_come_to_what_torchs_optimizers_come_to(inner_steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer, "FIRST", inner_steps)
    expected, begun = by_the_book(inner_steps, NESTEROV), weights(network())
    for found in ours(inner_steps):
        assert float((found - expected).norm()) < 0.01 * float((expected - begun).norm())
