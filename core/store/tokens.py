"""A run's tokenizer: which pieces of text its model reads and writes as one token each.

It is a byte-level BPE, so that every text has tokens, in the file format of Hugging Face's `tokenizers`. The file may
be a stranger's: of what it says only the vocabulary, the merges and the names of special tokens are used, and of its
ways to cut a text into words only those that are known here, as other programs know them by name.
"""

import functools
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from core.contracts.errors import UNREADABLE, DataError
from core.contracts.manifest import Manifest
from core.contracts.model import MOST_TOKENIZER, MOST_TOKENS
from core.contracts.notices import notice
from core.regular_files import read_regular

END = "<|endoftext|>"
"""The token that ends a text."""
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How a text is cut into words, within which tokens stay."""
ITEM = 2
"""Bytes of a token in a shard, the lower one first."""
AT_ONCE = 512
"""Documents whose tokens are found by all cores together."""
SPECIAL = 256
"""Special tokens of a file, at most."""
LONGEST = 1024
"""Characters of a token."""


def _qwen2() -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _gpt2() -> Any:
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


WORDS: dict[str, Callable[[], Any]] = {"qwen2": _qwen2, "gpt-2": _gpt2}
"""Ways to cut a text into words, by the names that llama.cpp gives them."""

Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]


class _Step(msgspec.Struct):
    type: str
    pattern: dict[str, str] = {}
    behavior: str = ""
    invert: bool = False
    add_prefix_space: bool = True
    use_regex: bool = True
    pretokenizers: list["_Step"] = []


class _Added(msgspec.Struct):
    id: Number
    content: Text


class _Bpe(msgspec.Struct):
    vocab: Annotated[dict[Text, Number], msgspec.Meta(max_length=MOST_TOKENS)]
    merges: Annotated[list[str | tuple[str, str]], msgspec.Meta(max_length=MOST_TOKENS)]
    """Older files have a text with a blank for a pair. With a limit of `str` here msgspec 0.22 crashes."""
    type: str = "BPE"
    dropout: float | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    byte_fallback: bool = False


class _File(msgspec.Struct):
    model: _Bpe
    pre_tokenizer: _Step
    normalizer: Any = None
    added_tokens: Annotated[list[_Added], msgspec.Meta(max_length=SPECIAL)] = []


class Tokens:
    """A tokenizer that can be used."""

    def __init__(self, content: bytes) -> None:
        """Read a file.

        Args:
            content: of a `tokenizer.json`.

        Raises:
            DataError: it is damaged, or none that is known here.
        """
        if len(content) > MOST_TOKENIZER:
            raise DataError(notice("tokens.too_large", most=MOST_TOKENIZER))
        try:
            read = msgspec.json.decode(content, type=_File)
            self.words = _words_of(read)
            self.vocabulary = _vocabulary(read)
            merges = [pair if isinstance(pair, tuple) else _pair(pair) for pair in read.model.merges]
            self._tokenizer = _built(read, merges, self.words)
        except UNREADABLE as error:
            raise DataError(notice("tokens.damaged", why=str(error))) from error
        self.merges = merges
        self.special = {one.id for one in read.added_tokens}
        """Numbers of the tokens that are no text."""
        self.end = next((one.id for one in read.added_tokens if one.content == END), -1)
        if self.end < 0:
            raise DataError(notice("tokens.no_end", end=END))
        byte_of = {letter: byte for byte, letter in enumerate(_letters())}
        if missing := byte_of.keys() - set(self.vocabulary):
            raise DataError(notice("tokens.damaged", why=f"{len(missing)} of 256 bytes are missing"))
        self.pieces = [
            b"" if number in self.special else bytes(byte_of.get(letter, 63) for letter in token)
            for number, token in enumerate(self.vocabulary)
        ]
        """The bytes of each token."""

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, text: bytes) -> list[int]:
        """The tokens of a text; what it says of special tokens is text as well."""
        numbers: list[int] = self._tokenizer.encode(text.decode("utf-8", "replace"), add_special_tokens=False).ids
        return numbers

    def documents(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        """Documents as shards have them: each with the token behind it that ends it."""
        waiting = iter(texts)
        while some := [text.decode("utf-8", "replace") for text in islice(waiting, AT_ONCE)]:
            for found in self._tokenizer.encode_batch_fast(some, add_special_tokens=False):
                yield array("H", [*found.ids, self.end]).tobytes()

    def file(self) -> bytes:
        """A `tokenizer.json` with all that is used of the one that was read."""
        text: str = self._tokenizer.to_str()
        return text.encode()

    def file_with_start(self) -> bytes:
        """The same for other programs: each text begins with the token that ended the one before, as in training."""
        tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{END} $A", pair=f"{END} $A {END} $B", special_tokens=[(END, self.end)]
        )
        text: str = tokenizer.to_str()
        return text.encode()


def train(texts: Iterable[bytes], vocabulary: int) -> Tokens:
    """A tokenizer for texts like these.

    Args:
        texts: documents, UTF-8.
        vocabulary: tokens at most, the 256 bytes and the end of a text among them.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = _qwen2()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        max_token_length=64,
    )
    tokenizer.train_from_iterator((text.decode("utf-8", "replace") for text in texts), trainer)
    return Tokens(tokenizer.to_str().encode())


def read(path: Path) -> Tokens:
    """An organiser's own file.

    Raises:
        DataError: it cannot be read, or is none that is known here.
    """
    try:
        return Tokens(read_regular(path, MOST_TOKENIZER))
    except OSError as error:
        raise DataError(notice("data.unreadable", path=str(path), why=str(error.strerror))) from error


def opened(manifest: Manifest, content: bytes | None) -> Tokens:
    """The tokenizer of a run.

    Args:
        manifest: the run's.
        content: of its file; None: it has not come yet.

    Raises:
        DataError: it is not here, cannot be used, or does not fit the model.
    """
    if content is None:
        raise DataError(notice("data.coming", run=manifest.run))
    tokens = Tokens(content)
    if len(tokens) > manifest.ends.classes:
        raise DataError(notice("tokens.too_many", tokens=len(tokens), vocabulary=manifest.ends.classes))
    if manifest.tokenizer is None or tokens.end != manifest.tokenizer.end:
        raise DataError(notice("tokens.other_end", end=tokens.end))
    return tokens


@functools.cache
def _letters() -> str:
    """The character by which each byte is written in a byte-level BPE."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return "".join(chr(byte if byte in plain else next(others)) for byte in range(256))


def _pair(text: str) -> tuple[str, str]:
    first, _, second = text.partition(" ")
    return first, second


def _words_of(read: _File) -> str:
    """How the file cuts a text into words, by its name.

    Raises:
        DataError: in a way that is not known here.
    """
    model, step = read.model, read.pre_tokenizer
    odd = model.dropout or model.continuing_subword_prefix or model.end_of_word_suffix or model.byte_fallback
    if model.type == "BPE" and not odd and read.normalizer is None:
        if step.type == "ByteLevel" and step.use_regex and not step.add_prefix_space:
            return "gpt-2"
        if step.type == "Sequence" and len(step.pretokenizers) == 2:
            split, level = step.pretokenizers
            is_split = split.type == "Split" and split.behavior == "Isolated" and not split.invert
            is_level = level.type == "ByteLevel" and not level.use_regex and not level.add_prefix_space
            if is_split and is_level and split.pattern == {"Regex": QWEN2}:
                return "qwen2"
    raise DataError(notice("tokens.unknown_kind"))


def _vocabulary(read: _File) -> list[str]:
    """All tokens by their numbers.

    Raises:
        DataError: there are gaps, or two tokens of one number.
    """
    numbers = read.model.vocab | {one.content: one.id for one in read.added_tokens}
    if sorted(numbers.values()) != list(range(len(numbers))):
        raise DataError(notice("tokens.damaged", why="its tokens are not numbered one by one"))
    return sorted(numbers, key=numbers.__getitem__)


def _built(read: _File, merges: list[tuple[str, str]], words: str) -> Tokenizer:
    """The tokenizer itself.

    Raises:
        DataError: its parts do not fit each other.
    """
    vocabulary = read.model.vocab
    if not all({one, other, one + other} <= vocabulary.keys() for one, other in merges):  # the library would panic
        raise DataError(notice("tokens.damaged", why="it joins tokens that are not in it"))
    try:
        tokenizer = Tokenizer(models.BPE(vocabulary, merges))
        tokenizer.pre_tokenizer = WORDS[words]()
        tokenizer.decoder = decoders.ByteLevel()
        for one in sorted(read.added_tokens, key=lambda one: one.id):
            tokenizer.add_special_tokens([AddedToken(one.content, special=True, normalized=False)])
            if tokenizer.token_to_id(one.content) != one.id:
                raise DataError(notice("tokens.damaged", why=f"its special token {one.id} has another number"))
    except DataError:
        raise
    except Exception as error:  # the library has no class of its own for what a file may be wrong in
        raise DataError(notice("tokens.damaged", why=str(error))) from error
    tokenizer.encode_special_tokens = True
    return tokenizer
