"""Text as tokens: the tokenizer, a new run of them, and what its model is asked and told."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from core.contracts import manifest as manifests
from core.contracts.errors import DataError, ManifestError, QuestionError
from core.contracts.manifest import Manifest
from core.contracts.pipe import Generate, Written
from core.store import shards, tokens
from core.store.tokens import END, ITEM, Tokens
from core.training.asking import ask
from core.training.data.stream import open_stream
from core.training.data.text import Windows
from tests.decoders import organised
from tests.unit.text_run import Setup

MIXED = "naïve 漢字 😀 ខ្មែរ 123 'll\r\n\x00  \t x".encode()
ODD: list[tuple[str, Any, str]] = [
    ("model.type", "Unigram", "no kind that Hearth knows"),
    ("model.dropout", 0.5, "no kind that Hearth knows"),
    ("model.vocab", {"a": 0, "b": 7}, "numbered one by one"),
    ("model.vocab", {"a": -1}, "damaged"),
    ("model.merges", [["no", "such"]], "damaged"),
    ("normalizer", {"type": "NFC"}, "no kind that Hearth knows"),
    ("pre_tokenizer", {"type": "Whitespace"}, "no kind that Hearth knows"),
    ("added_tokens", [], "no token <|endoftext|>"),
]


@pytest.fixture(scope="module")
def learnt() -> Tokens:
    return tokens.train(shards.local_text().split(b"\n\n"), 512)


def test_every_text_has_tokens_and_comes_back_from_them(learnt: Tokens) -> None:
    numbers = learnt.encode(MIXED)
    assert b"".join(learnt.pieces[number] for number in numbers) == MIXED
    assert len(learnt) == 512 and len(learnt.encode(b"The function returns")) < 12
    assert learnt.end not in learnt.encode(END.encode()), "a text that names the end of texts would end there"
    assert Tokens(learnt.file()).vocabulary == learnt.vocabulary


def test_documents_end_with_their_token(learnt: Tokens) -> None:
    first, second = (memoryview(one).cast("H").tolist() for one in learnt.documents([b"One.", b"Two."]))
    assert first == [*learnt.encode(b"One."), learnt.end] and second[-1] == learnt.end


@pytest.mark.parametrize(("place", "value", "told"), ODD)
def test_a_tokenizer_of_another_kind_or_damaged_is_refused(learnt: Tokens, place: str, value: Any, told: str) -> None:
    document = json.loads(learnt.file())
    at, _, name = place.rpartition(".")
    (document[at] if at else document)[name] = value
    with pytest.raises(DataError, match=told.replace("|", r"\|")):
        Tokens(json.dumps(document).encode())


def test_a_merge_longer_than_all_tokens_is_refused_and_ends_no_process(learnt: Tokens) -> None:
    """The library panics, which is no `Exception`."""
    document = json.loads(learnt.file())
    letters = sorted(token for token in document["model"]["vocab"] if len(token) == 1)
    document["model"] |= {"vocab": {letter: n for n, letter in enumerate(letters)}, "merges": [["a", "é"]]}
    document["added_tokens"][0]["id"] = len(letters)
    with pytest.raises(DataError, match="not in it"):
        Tokens(json.dumps(document).encode())


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff", b" " * (5 << 20)])
def test_what_is_no_tokenizer_is_refused(content: bytes) -> None:
    with pytest.raises(DataError, match="tokenizer"):
        Tokens(content)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Manifest, Path]:
    return organised(tmp_path_factory.mktemp("organiser"))


def test_a_new_run_learns_its_vocabulary_and_cuts_its_text_into_tokens(run: tuple[Manifest, Path]) -> None:
    manifest, folder = run
    assert manifest.tokenizer and manifest.data == "tokens" and manifest.task.unit == "tokens"
    content = shards.read(folder, manifest.tokenizer)
    known = tokens.opened(manifest, content)
    assert len(known) == 512 == manifest.ends.classes
    train, held_out = shards.open_text(manifest, folder)
    numbers = memoryview(train.read(0, len(train))).cast("H").tolist()
    assert numbers[-1] == known.end and max(numbers) < 512
    text = b"".join(known.pieces[number] for number in numbers)
    assert text[:500] in shards.local_text() and 1.5 < len(text) / len(numbers) < 6
    assert len(held_out) % ITEM == 0


def test_a_window_begins_with_a_document_if_one_begins_within_it(tmp_path: Path) -> None:
    manifest = manifests.load("stories")
    stream = open_stream(manifest, tmp_path)
    assert stream.tokens
    begin = stream.tokens.encode(b"Tell me")
    shard = manifest.shards[0]
    cut = Windows(manifest, ITEM).cut(shards.read(tmp_path, shard) or b"", torch.Generator())
    drawn = torch.cat([stream[number].inputs for number in range(20)])
    unmoved = 1  # where the text ends, no later window has room
    for windows in (drawn, stream.held_out.inputs[:-unmoved], cut.view(torch.uint16).long()[:-unmoved, :-1]):
        begins = [row[:2].tolist() == begin for row in windows]
        assert sum(begins) > 0.7 * len(windows), "a story takes more than a hundred tokens"
        assert all(begun or stream.tokens.end not in row[:-1] for begun, row in zip(begins, windows, strict=True))


def test_another_s_tokenizer_is_taken_as_it_is(learnt: Tokens, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(learnt.file())
    manifest, folder = organised(tmp_path / "run", tmp_path / "tokenizer.json")
    assert manifest.tokenizer
    assert Tokens(shards.read(folder, manifest.tokenizer) or b"").vocabulary == learnt.vocabulary


def test_a_vocabulary_that_does_not_fit_the_trunk_is_refused(run: tuple[Manifest, Path]) -> None:
    manifest, folder = run
    small = msgspec.structs.replace(manifest, model=msgspec.structs.replace(manifest.model, vocabulary=500))
    with pytest.raises(DataError, match="500"):
        Setup(small, folder)
    assert manifest.tokenizer
    with pytest.raises(DataError, match="512 tokens, and the model has room for 500"):
        tokens.opened(small, shards.read(folder, manifest.tokenizer))


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"tokenizer": None}, "need a `tokenizer`"), ({"data": "text"}, "are no tokens")],
)
def test_tokens_and_tokenizer_go_together(run: tuple[Manifest, Path], changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ManifestError, match=told):
        manifests.decode(msgspec.json.encode(msgspec.structs.replace(run[0], **changes)), "mine")


async def test_a_model_of_tokens_learns_and_continues_a_text(run: tuple[Manifest, Path]) -> None:
    setup = Setup(*run)
    setup.kernel_gate.open()
    async with setup.running():
        await setup.trained(120)
        setup.kernel_gate.open()
        point = await setup.trainer.evaluate()
        assert point.loss < math.log(512) - 1
        known = setup.data.tokens
        assert known and point.bits is not None
        labels = setup.data.held_out.labels
        size = sum(len(known.pieces[number]) for number in labels.flatten().tolist())
        assert point.bits == pytest.approx(point.loss * labels.numel() / size / math.log(2))
        pieces = [piece async for piece in ask(setup.trainer, Generate(b"The ", 8, 0.7, 1))]
        assert 1 <= len(pieces) <= 8 and all(isinstance(piece.answer, Written) for piece in pieces)
        with pytest.raises(QuestionError, match="at most 31"):
            [piece async for piece in ask(setup.trainer, Generate(b"x y " * 40, 8, 0.7, 1))]
        talk = Generate(b"x y " * 40, 8, 0.7, 1, goes_on=True)
        assert [piece async for piece in ask(setup.trainer, talk)], "what is too long of a conversation is forgotten"


async def test_a_model_that_ends_the_text_says_no_more(run: tuple[Manifest, Path]) -> None:
    setup = Setup(*run)
    known = setup.data.tokens
    assert known
    exchange = setup.trainer.task.encode(Generate(b"The ", 8, 0.0, 1), setup.trainer.ends)
    scores = torch.zeros(1, 1, 512)
    scores[..., known.end] = 1.0
    told = exchange.decode(scores)
    assert isinstance(told, Written) and told.choice.text == b"" and exchange.inputs is None
    await asyncio.sleep(0)
