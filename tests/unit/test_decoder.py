"""The kind `decoder`: from its first batch to what other programs make of the same numbers."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch import Tensor

from core.contracts import manifest as manifests
from core.contracts.errors import ComputeError, ManifestError
from core.contracts.kinds import EXPERTS, MODELS
from core.contracts.manifest import Manifest
from core.contracts.model import TokenizerFile
from core.training.models.decoder import Attention
from core.training.models.memory import Memory
from core.training.models.network import build
from tests.unit.text_run import Setup, text_run

DECODER: dict[str, Any] = {
    "kind": "decoder",
    "expert": "swiglu",
    "layers": 2,
    "grid": (2, 3),
    "width": 16,
    "hidden": 12,
    "heads": 4,
    "kv_heads": 2,
    "sequence": 16,
}
END = 10
"""The byte that ends a text here."""


def decoder_run(**model: Any) -> Manifest:
    run = text_run(DECODER | model, batch=4, target_samples=16, warmup_samples=500, trunk_rate=0.01)
    return msgspec.structs.replace(run, tokenizer=TokenizerFile("0" * 64, 1, END))


@pytest.mark.parametrize("model", [{}, {"tied": True, "dense": 1}, {"dense": 2, "layers": 0, "grid": (), "k": 0}])
async def test_a_decoder_learns(model: dict[str, Any], tmp_path: Path) -> None:
    changes = {"expert": None} if model.get("layers") == 0 else {}
    setup = Setup(decoder_run(**model, **changes), tmp_path)
    async with setup.running():
        before = await judged(setup)
        await setup.trained(60)
        assert setup.trainer.lost == 0
        assert await judged(setup) < before - 0.5


async def judged(setup: Setup) -> float:
    setup.kernel_gate.open()
    point = await setup.trainer.evaluate()
    setup.kernel_gate.close()
    return point.loss


@pytest.mark.parametrize("tied", [False, True])
async def test_the_trainer_s_gradients_are_those_of_the_whole_network(
    tied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One step of Adam shows each gradient's sign; so they are caught on the way."""
    run = decoder_run(tied=tied, dense=1)
    run = msgspec.structs.replace(run, training=msgspec.structs.replace(run.training, balance=0.0))
    setup = Setup(run, tmp_path)
    trainer, batch = setup.trainer, setup.data[0]
    caught: list[Tensor] = []
    loss = trainer.task.losses(whole(setup, run, batch.inputs), batch.labels).sum()
    expected = torch.autograd.grad(loss, trainer._trunk.parameters)
    monkeypatch.setattr(trainer._trunk, "contribute", lambda number, flat, samples: caught.append(flat))
    setup.kernel_gate.open()
    serving = asyncio.create_task(setup.runtime.run())
    await trainer._train(0, batch)
    serving.cancel()
    torch.testing.assert_close(caught[0], torch.cat([g.flatten() for g in expected]), rtol=1e-3, atol=1e-4)


def whole(setup: Setup, run: Manifest, tokens: Tensor) -> Tensor:
    """The network's scores in one graph, with the gate written out."""
    network: Any = setup.trainer._network
    backends = setup.backends
    h, beside = tokens, network.beside(tokens)
    for layer, (segment, gate) in enumerate(zip(network.segments, network.gates, strict=False)):
        past, x = segment(h, *beside)
        rows = x.flatten(0, -2)
        first, second = gate.heads.weight.split(run.model.grid)
        router = (first[:, None] + second[None]).flatten(0, 1)
        weights, chosen = (rows @ router.T).softmax(1).topk(run.model.k)
        weights = weights / weights.sum(1, keepdim=True)
        mine = [backends[uid].module for uid in sorted(backends) if uid.layer == layer]
        answers = torch.stack([expert(rows) for expert in mine], 1)
        mixed = torch.einsum("bk,bkw->bw", weights, answers.gather(1, chosen[..., None].expand(-1, -1, x.shape[-1])))
        h = past + mixed.view_as(past)
    scores: Tensor = network.segments[-1](h, *beside)
    return scores


def test_no_token_sees_another_document() -> None:
    run = decoder_run(dense=1, layers=0, grid=(), k=0, expert=None)
    [head] = build(run, run.ends).segments
    beside = build(run, run.ends).beside
    text = torch.tensor([[5, 6, END, 7, 8, 9]])
    other = torch.tensor([[1, 2, END, 7, 8, 9]])
    seen, others = (head(tokens, *beside(tokens)) for tokens in (text, other))
    torch.testing.assert_close(seen[:, 2:], others[:, 2:])
    assert not torch.allclose(seen[:, 1], others[:, 1])


async def test_a_text_is_continued_alike_with_and_without_what_was_kept_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(decoder_run(dense=1), tmp_path)
    text, memory = torch.tensor([[END, 5, 6, END, 7]]), Memory()
    rows: list[int] = []
    async with setup.running():
        await setup.trained(20)
        trainer, asked = setup.trainer, setup.trainer._network.segments[0].register_forward_hook
        asked(lambda _, inputs, __: rows.append(inputs[0].shape[1]))
        for number in range(12):
            if number == 3:
                with pytest.raises(ComputeError), monkeypatch.context() as changed:
                    changed.setattr(trainer._layers[-1], "forward", lost)
                    await trainer.infer(text, memory)
                rows.pop()
            alone = (await trainer.infer(text))[0][0, -1]
            kept = (await trainer.infer(text, memory))[0][0, -1]
            torch.testing.assert_close(kept, alone, rtol=1e-4, atol=1e-5)
            assert kept.argmax() == alone.argmax(), "token for token"
            text = torch.cat((text, alone.argmax().view(1, 1)), 1)[:, -16:]
    assert rows[1::2] == [5, *[1] * 11], "a further token costs a pass of one row"


async def lost(*_: object, **__: object) -> Any:
    """No expert of a layer answers."""
    raise ComputeError("no expert.")


def test_places_are_turned_by_halves() -> None:
    """As transformers does it: x * cos + rotate_half(x) * sin, with the angles written twice."""
    attention = Attention(decoder_run().model)
    x = torch.randn(1, 4, 9, 4)
    angles = torch.outer(torch.arange(9.0), 10_000.0 ** (-torch.arange(0, 4, 2) / 4)).repeat(1, 2)
    first, second = x.chunk(2, -1)
    expected = x * angles.cos() + torch.cat((-second, first), -1) * angles.sin()
    torch.testing.assert_close(attention._turn(x), expected)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"kv_heads": 3}, "4 heads .* 3"),
        ({"heads": 3}, "heads"),
        ({"expert": "ffn"}, "swiglu"),
        ({"layers": 0, "grid": (), "k": 0, "expert": None}, "layer"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(model: dict[str, Any], told: str) -> None:
    document = msgspec.json.encode(msgspec.structs.replace(decoder_run(**model), tokenizer=None))
    with pytest.raises(ManifestError, match=told):
        manifests.decode(document, "mine")


def test_a_dense_layer_costs_what_the_experts_of_another_do() -> None:
    run = decoder_run()
    sparse, dense = (
        msgspec.structs.replace(run, model=msgspec.structs.replace(run.model, layers=layers, dense=2 - layers))
        for layers in (2, 1)
    )
    gate = 2 * run.model.width * sum(run.model.grid)
    assert _flops(sparse) - _flops(dense) == gate


def _flops(run: Manifest) -> int:
    """Of a forward pass for each token: trunk, gates and the experts that are asked."""
    model = run.model
    trunk = MODELS[model.kind].multiplications(model, run.ends)
    return 2 * (trunk + model.layers * model.k * EXPERTS[str(model.expert)].multiplications(model))
