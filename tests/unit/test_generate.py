"""The model goes on with a text: the same draws give the same text, and who answered is told."""

import asyncio
import math
from collections import Counter
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest
import torch
from jinja2.sandbox import SandboxedEnvironment

from core.contracts import manifest as manifests
from core.contracts.chat import Chat
from core.contracts.errors import ComputeError, ManifestError
from core.contracts.pipe import Answered, Generate, Written
from core.contracts.status import CurvePoint
from core.training import asking
from core.training.asking import ask
from core.training.tasks import task
from core.worker.prompts import Text
from tests.unit.text_run import SMALL, Setup, text_run
from tests.workers import PATIENCE_S


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(text_run(SMALL), tmp_path)


async def written(
    setup: Setup, prompt: bytes, length: int = 20, temperature: float = 0.7, seed: int = 1
) -> list[Answered]:
    return [byte async for byte in ask(setup.trainer, Generate(prompt, length, temperature, seed))]


def text_of(answers: list[Answered]) -> bytes:
    return b"".join(step.answer.choice.text for step in answers if isinstance(step.answer, Written))


async def test_the_seed_says_what_is_drawn_and_experts_of_every_layer_are_told(setup: Setup) -> None:
    async with setup.running():
        first, again, other = [await written(setup, b"The for statement", seed=seed) for seed in (1, 1, 2)]
    texts = [text_of(answers) for answers in (first, again, other)]
    assert texts[0] == texts[1] != texts[2]
    assert len(texts[0]) == 20
    for step in first:
        assert [answer.layer for answer in step.experts] == [0, 0, 1, 1]
        assert len({answer.uid for answer in step.experts}) == 4
        assert all(answer.answered and answer.host == "local" and answer.ms > 0 for answer in step.experts)
        assert sum(answer.weight for answer in step.experts) == pytest.approx(2)
    assert setup.kernel_gate.last_kernel_end == 0, "no training kernel ran"


async def test_without_temperature_each_byte_is_the_likeliest_after_those_before(setup: Setup) -> None:
    """Also when the text has become longer than what the model sees at once."""
    async with setup.running():
        text = b"for x in range"
        added = text_of(await written(setup, text, 10, temperature=0.0))
        for byte in added:
            outputs, _ = await setup.trainer.infer(torch.tensor([list(text[-16:])]))
            assert int(outputs[0, -1].argmax()) == byte
            text += bytes([byte])


async def test_it_is_told_how_sure_the_model_was_and_what_else_it_found_likely(setup: Setup) -> None:
    async with setup.running():
        outputs, _ = await setup.trainer.infer(torch.tensor([list(b"for x in")]))
        cold, hot = [await written(setup, b"for x in", 1, temperature) for temperature in (0.0, 5.0)]
    shares = outputs[0, -1].double().softmax(0)
    for answer in (cold[0].answer, hot[0].answer):
        assert isinstance(answer, Written)
        assert answer.choice.share == pytest.approx(float(shares[ord(answer.choice.text)]), rel=1e-4)
        assert [ord(one.text) for one in answer.best] == shares.topk(4).indices.tolist()
        assert [one.share for one in answer.best] == pytest.approx(shares.topk(4).values.tolist(), rel=1e-4)


async def test_an_evaluation_tells_what_guessing_by_frequency_would_give(setup: Setup) -> None:
    async with setup.running():
        setup.kernel_gate.open()
        point = await setup.trainer.evaluate()
    held_out = setup.data.held_out.labels.flatten().tolist()
    shares = [count / len(held_out) for count in Counter(held_out).values()]
    assert point.chance == pytest.approx(-sum(share * math.log(share) for share in shares))
    assert not point.learnt, "after a few steps it is worse than that"
    assert CurvePoint(1, 1, 2.0, 0.5, chance=2.5).learnt and CurvePoint(1, 1, 9.0, 0.1).learnt


async def test_any_beginning_will_do(setup: Setup) -> None:
    async with setup.running():
        for prompt in (b"", b"\xff\x00", "é".encode(), b"x" * 1000):
            assert len(await written(setup, prompt, 2)) == 2


@pytest.mark.parametrize("end", ["complete", "left", "cancelled", "failed"])
async def test_training_is_held_while_a_text_is_written_and_goes_on_at_its_end(
    setup: Setup, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_S", 0.0)
    trainer, kernel_gate, texts = setup.trainer, setup.kernel_gate, asyncio.Queue[Answered]()
    setup.kernel_gate.open()

    async def read() -> None:
        async with aclosing(ask(trainer, Generate(b"import", 30 if end == "complete" else 10_000, 0.7, 1))) as text:
            async for byte in text:
                texts.put_nowait(byte)
                if end == "left" and texts.qsize() > 10:
                    break

    async with setup.running(), asyncio.timeout(PATIENCE_S):
        while not trainer.step:  # noqa: ASYNC110  (training goes on)
            await asyncio.sleep(0)
        reading = asyncio.create_task(read())
        await texts.get()
        held = trainer.step, trainer.window.in_flight, kernel_gate.last_kernel_end
        for _ in range(10):
            await texts.get()
            assert (trainer.step, trainer.window.in_flight, kernel_gate.last_kernel_end) == held
        assert held[1], "batches on the way wait as well"
        if end == "cancelled":
            reading.cancel()
        if end == "failed":
            for uid in list(setup.backends):
                setup.directory.remove(uid)
        await asyncio.wait([reading])
        assert end != "failed" or isinstance(reading.exception(), ComputeError)
        for uid in list(setup.backends):
            setup.directory.add(uid)
        while trainer.step == held[0]:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_without_experts_it_says_so(setup: Setup) -> None:
    for uid in list(setup.backends):
        setup.directory.remove(uid)
    async with setup.running():
        with pytest.raises(ComputeError, match="no active expert"):
            await written(setup, b"import")


async def test_a_text_that_nobody_reads_on_is_left(setup: Setup) -> None:
    async with setup.running():
        stream = ask(setup.trainer, Generate(b"import", 10_000, 0.7, 1))
        async with asyncio.timeout(PATIENCE_S):
            await anext(stream)
            await stream.aclose()
            calls = setup.runtime.calls
            await asyncio.sleep(0)
            assert setup.runtime.calls == calls


def drawn(top_p: float, temperature: float = 1.0, times: int = 300) -> Counter[bytes]:
    """What is drawn of four bytes with the probabilities 0.1, 0.5, 0.1 and 0.3."""
    scores, chance = torch.tensor([0.1, 0.5, 0.1, 0.3]).log(), torch.Generator().manual_seed(1)
    how = Generate(b"", 1, temperature, 1, top_p)
    return Counter(task.written(scores, [b"a", b"b", b"c", b"d"], how, chance)[1].choice.text for _ in range(times))


def test_it_is_drawn_from_the_likeliest_that_together_have_top_p() -> None:
    assert set(drawn(1.0)) == {b"a", b"b", b"c", b"d"}
    assert set(drawn(0.8)) == set(drawn(0.51)) == {b"b", b"d"}
    assert set(drawn(0.5)) == set(drawn(0.01)) == set(drawn(1.0, 0.0)) == {b"b"}
    both = drawn(0.8, times=2000)
    assert both[b"b"] / both.total() == pytest.approx(5 / 8, abs=0.04), "their shares stay in proportion"


@pytest.mark.parametrize(
    ("pieces", "stops", "shown", "held"),
    [
        (["one ", "two", " three"], (), ["one ", "two", " three"], ""),
        (["one\nUs", "er: x"], ("\nUser:",), ["one", ""], None),
        (["one\nUs", "ed"], ("\nUser:",), ["one", "\nUsed"], ""),
        (["one\n", "\nU"], ("\nUser:",), ["one", "\n"], "\nU"),
        (["abcd"], ("cd", "bc"), ["a"], None),
        (["aab"], ("ab",), ["a"], None),
    ],
)
def test_a_text_ends_before_its_stop(pieces: list[str], stops: tuple[str, ...], shown: list[str], held: str) -> None:
    text = Text(stops)
    assert [text.add(piece.encode()) for piece in pieces] == shown
    assert text.stopped == (held is None) and text.held == (held or "")


def test_a_conversation_becomes_a_text_by_its_form() -> None:
    said = [("system", "Be kind."), ("user", " Hello? "), ("assistant", "Yes."), ("user", "Who?")]
    plain, marked = Chat(), Chat("<s>{}</s>", "<u>{}</u>\n", "<a>{}</a>\n")
    assert plain.text(said) == "Be kind.\n\nUser: Hello?\nAssistant: Yes.\nUser: Who?\nAssistant:"
    assert plain.stop == "\nUser:"
    assert marked.text(said[2:]) == "<a>Yes.</a>\n<u>Who?</u>\n<a>" and marked.stop == "</a>"


@pytest.mark.parametrize(
    "chat",
    [Chat(), Chat("<s>{}</s>", "'q' \\n: {}\r\t", "é{}</a>\n"), Chat("% x {}", "# {}\n\n", "\n%\n{}%\n")],
    ids=str,
)
def test_other_programs_write_a_conversation_alike(chat: Chat) -> None:
    said = [("system", "{{ Be }} kind. "), ("user", " Hello?\n"), ("assistant", "Yes."), ("user", "{}")]
    like_transformers = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(chat.template())
    messages = [{"role": who, "content": what} for who, what in said]
    written = like_transformers.render(messages=messages, bos_token="<end>", add_generation_prompt=True)
    assert written == "<end>" + chat.text(said)


def test_a_manifest_may_say_its_own_form_and_is_the_same_run() -> None:
    run = manifests.load("text")
    said = msgspec.to_builtins(run) | {"chat": {"user": "<u>{}</u>"}}
    read = manifests.decode(msgspec.json.encode(said), "mine")
    assert read.chat == Chat(user="<u>{}</u>") and read.run_id == run.run_id
    for wrong in ("<u>", "{}{}", "{0}"):
        with pytest.raises(ManifestError, match="chat"):
            manifests.decode(msgspec.json.encode(said | {"chat": {"user": wrong}}), "mine")
