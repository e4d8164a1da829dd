"""Every decoder that reads bytes of others, on many documents that are nearly right: `HEARTH_FUZZ_EACH=1000000` makes
it a million for each, some hours. The documents of `test_fuzz.py` are among them.
"""

import contextlib
import os
import random
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
import torch

from core.averaging import codecs, dense, fragment, packing, sparse
from core.community import payloads
from core.contracts import control, dht, manifest, trunk_calls, trunk_rounds
from core.contracts import hosting as hosting_calls
from core.contracts.access import AskRevoked, Introduction, RevokedFollow
from core.contracts.credit import Countersigned, Show, SignedBundle
from core.contracts.errors import ProtocolError
from core.contracts.expert_calls import Codec, ExpertReply, ExpertRequest, payload_size
from core.contracts.hosting import Handover
from core.contracts.net import Header
from core.contracts.settings import Settings
from core.contracts.telemetry import Enrol, Progress, Rights, Signed
from core.contracts.trunk import VcAsgd
from core.control import server
from core.dht.store import load_state
from core.experts import codec
from core.experts.grid import Grid
from core.identity import Identity
from core.net.addresses import address_text, parse_address
from core.pipe import frames
from core.runtime.backend import ExpertBackend
from core.runtime.part_files import Part, unpack
from core.store import backup, settings_file
from core.store.checkpoint_files import Checkpoint, manifest_of, read_manifest
from core.store.part_header import read_metadata
from core.store.tokens import END, Tokens
from core.swarm.trunk.matchmaking import Invitation, Wish
from core.swarm.trunk.server_copy import Copy, dump, load
from core.swarm.trunk.work_generator import Work, WorkGenerator
from core.update import feed, packs, releases
from tests.experts import pack
from tests.fuzzing import GROWTH, fuzz, sample, samples
from tests.long import test_fuzz
from tests.unit.test_network_parsers import CALLS

EACH = int(os.environ.get("HEARTH_FUZZ_EACH", "5000"))
SET_ASIDE = ("settings", "state of the DHT", "notice")
"""What cannot be read of these is done without, and nothing is refused."""
OWN = "manifest in TOML"
"""What an organiser wrote by hand: its parser may take longer."""
FILES = ("manifest in JSON", "shard", "certificate", "sums of a board")
"""Of `test_fuzz.CASES` those that write a file for each document: they are read a twentieth as often."""

pytestmark = pytest.mark.timeout(12 * 3600)
Read = Callable[[bytes], Any]
NUMBERS = np.linspace(-3, 3, 5000, dtype=np.float32)
FOLDERS: list[Any] = []
"""Of decoders that read files; they go with this process."""
ME = Identity(bytes(31) + b"z")


class Case(NamedTuple):
    """A decoder, and documents that it takes."""

    documents: list[bytes]
    read: Read
    every: int = 1
    """It is read `EACH` times divided by this."""


def message(kind: Any, json: bool = False) -> Case:
    """A message of the type, as it comes from a peer or a client."""
    if json:
        return Case(samples(kind, encode=msgspec.json.encode), partial(msgspec.json.decode, type=kind))
    return Case(samples(kind), msgspec.msgpack.Decoder(kind).decode)


def in_file(name: str, read: Callable[[Path], Any]) -> Read:
    """A decoder that reads a file of a folder."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / name

    def with_file(document: bytes) -> None:
        path.write_bytes(document)
        read(path)
        for kept in path.parent.iterdir():
            if kept != path:
                kept.unlink()

    FOLDERS.append(folder)
    return with_file


# the pipe, and calls of experts


def cut(document: bytes) -> None:
    """Frames that come in two pieces, as who passes them on reads them."""
    cutter = frames.Frames(in_parts=True)
    for piece in (document[: len(document) // 3], document[len(document) // 3 :]):
        for frame in cutter.feed(piece):
            assert len(frame.body) + len(frame.method) <= len(document)


def request(document: bytes) -> None:
    """A request and its payload, as compute takes them from a peer."""
    size = int.from_bytes(document[:2], "little")
    asked = msgspec.msgpack.decode(document[2 : 2 + size], type=ExpertRequest)
    payload = memoryview(document)[2 + size :]
    if len(payload) != payload_size(asked, False):
        raise ProtocolError("another size")
    start = 0
    for rows in asked.rows:
        shape = (rows, *asked.shape)
        end = start + payload_size(msgspec.structs.replace(asked, rows=(rows,)), False)
        assert codec.decode(payload[start:end], asked.codec, shape).shape == shape
        start = end


def requests() -> list[bytes]:
    made = []
    kinds: tuple[Codec, ...] = ("fp32", "fp16", "int8")
    for kind in kinds:
        head = msgspec.msgpack.encode(ExpertRequest(("digits.0.0.0", "digits.0.1.2"), (2, 3), (64,), kind))
        body = bytes(codec.encode(torch.randn(2, 64), kind)) + bytes(codec.encode(torch.randn(3, 64), kind))
        made.append(len(head).to_bytes(2, "little") + head + body)
    return made


def tables() -> list[bytes]:
    """Tables of work, as a server has them after some rounds with two trainers."""
    work = WorkGenerator(VcAsgd(parts=4, accuracy=0.9), Work())
    for number in range(20):
        name = str(number % 2)
        if (subtask := work.give(name, float(number))) and work.reserve(name, subtask, float(number)):
            work.finish(name, subtask, 8, 0.5, name)
            work.judge(subtask, 0.4, name)
    return [msgspec.msgpack.encode(table) for table in (Work(), work.work)]


# states

DIGITS = manifest.load("digits")
EXPERT = ExpertBackend(next(iter(Grid("digits", 2, (4, 4)).uids())), DIGITS.model, DIGITS.training)
STATE = EXPERT.state()


def adopt(document: bytes) -> None:
    """An expert's state from elsewhere, up to where it would be used."""
    state = EXPERT.read_state(unpack(document).tensors)
    assert all(bool(vector.isfinite().all()) for vector in state.vectors)


# control, settings, feeds

METHODS = {
    kind: msgspec.json.Decoder(kind)
    for kind in vars(control).values()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__name__.endswith("Params")
}


def line(document: bytes) -> None:
    """A request of a client of the control socket, with the parameters of any method."""
    asked = server._decode(document, control.Request)
    for kind in METHODS:
        with contextlib.suppress(ProtocolError):
            server._decode(asked.params, kind)


def lines() -> list[bytes]:
    """Requests with the parameters of each method."""
    parameters = [document for kind in METHODS for document in samples(kind, 3, msgspec.json.encode)]
    return [msgspec.json.encode(control.Request(1, "status", msgspec.Raw(document))) for document in parameters]


def release(document: bytes) -> None:
    """A list of files of a release."""
    files = list(feed._decoded(document, releases.Part).files)
    feed._check(files)
    assert all(releases.is_inside(file.path) for file in files)


HASH = "ab" * 32
LISTS = [
    msgspec.json.encode(
        releases.Part((releases.File("hearth", 9, HASH, 5, True), releases.File("lib/torch.so", link="torch/x.so")))
    )
]
PACKS = [
    msgspec.json.encode(
        packs.Pack(
            1, "2.13.0", "cp311", (packs.Wheel("torch-2.13.0-py3-none-any.whl", 9, HASH, 20),), ("https://x.y/z",)
        )
    )
]
RELEASES = [msgspec.json.encode(releases.Release(1, "1.2.0", 3, "2", {"app": HASH}, ("https://x.y/z",), "New."))]


def tokenizer() -> list[bytes]:
    """A small one: all bytes, three merges, and the token that ends a text."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in plain] + [chr(256 + n) for n in range(256 - len(plain))]
    vocabulary = {letter: number for number, letter in enumerate([*letters, "th", "the", "in"])}
    steps = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": True}
    model = {"type": "BPE", "vocab": vocabulary, "merges": ["t h", "th e", ["i", "n"]]}
    added = [{"id": len(vocabulary), "content": END, "special": True}]
    return [msgspec.json.encode({"model": model, "pre_tokenizer": steps, "normalizer": None, "added_tokens": added})]


def tokens(document: bytes) -> None:
    """A run's tokenizer, and now and then a text by it: the library keeps up to 2 KB of each that was used."""
    read = Tokens(document)
    if zlib.crc32(document) % 16 == 0:
        assert all(0 <= one < len(read) for one in read.encode("naïve 漢字 the end".encode()))


def archive() -> list[bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        (folder / "runs" / "digits-12345678").mkdir(parents=True)
        (folder / "identity.key").write_text("ab" * 32)
        (folder / "settings.json").write_bytes(settings_file.encoded(Settings()))
        (folder / "runs" / "digits-12345678" / "manifest.json").write_text("{}")
        backup.back_up(folder, Path(name) / "b.zip")
        return [(Path(name) / "b.zip").read_bytes()]


def restored(document: bytes) -> None:
    """A backup, into an empty folder: nothing of it lies elsewhere."""
    with tempfile.TemporaryDirectory() as name:
        folder, file = Path(name) / "data", Path(name) / "b.zip"
        folder.mkdir()
        file.write_bytes(document)
        try:
            backup.restore(folder, file)
        finally:
            assert {path.name for path in Path(name).iterdir()} == {"data", "b.zip"}


# telemetry, addresses

RUN = "digits-12345678"
RIGHTS = {RUN: Rights(ME.peer.hex(), frozenset())}
TOPIC = f"hearth/1/{RUN}/in/{ME.peer.hex()}/progress"
TOLD = [payloads.sealed(ME, Progress(RUN, ME.peer, 1_790_000_000.0, 5, 2.0, 3, 0.5)), *samples(Signed, 5)]


def address(document: bytes) -> None:
    read = parse_address(document.decode("utf8", "replace"))
    assert parse_address(address_text(read)) == read


ADDRESSES = [f"{ME.peer.hex()}@192.0.2.1:4401,[2001:db8::1]:4401".encode(), ME.peer.hex().encode()]
CHECKPOINT = Checkpoint(RUN, 7, 70, 1.0, {})
TRUNK_CALLS: list[Any] = [
    *(kind for module in (trunk_calls, trunk_rounds, hosting_calls) for kind in vars(module).values()
      if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__module__ == module.__name__),
    *(Wish, Invitation, Show, Countersigned, SignedBundle, AskRevoked, Introduction, RevokedFollow, Enrol),
]  # fmt: skip


def fuzzed(kinds: list[Any]) -> Case:
    """Any of these messages."""
    decoders = {kind: msgspec.msgpack.Decoder(kind) for kind in kinds}
    documents = [bytes([number]) + document for number, kind in enumerate(kinds) for document in samples(kind, 5)]

    def read(document: bytes) -> None:
        kind = kinds[document[0] % len(kinds)] if document else kinds[0]
        found = decoders[kind].decode(document[1:])
        assert len(msgspec.msgpack.encode(found)) <= len(document) + 600, "what is missing costs little"

    return Case(documents, read)


CASES = {
    "frame of the pipe": Case(
        [b"".join(map(bytes, frames.encode(frames.Kind.CALL, 1, b"body" * n, b"payload" * n, b"serve"))) * 2
         for n in (0, 1, 40)], cut),
    "header of a frame": message(Header),
    "message of the network": fuzzed([*CALLS]),
    "message of runs and trunks": fuzzed(TRUNK_CALLS),
    "call of experts": Case(requests(), request),
    "reply of experts": message(ExpertReply),
    "values of the DHT": message(dht.Values),
    "tensors, fp32": Case([codecs.encode(NUMBERS, "fp32")], partial(codecs.decode, codec="fp32", count=len(NUMBERS))),
    "tensors, fp16": Case([codecs.encode(NUMBERS, "fp16")], partial(codecs.decode, codec="fp16", count=len(NUMBERS))),
    "tensors, int8": Case([codecs.encode(NUMBERS, "int8")], partial(codecs.decode, codec="int8", count=len(NUMBERS))),
    "tensors, dense": Case([dense.encode(NUMBERS)], partial(dense.decode, count=len(NUMBERS))),
    "tensors, sparse": Case([sparse.encode(NUMBERS)], partial(sparse.decode, count=len(NUMBERS))),
    "tensors, packed": Case([packing.pack(NUMBERS)], partial(packing.unpack, numbers=len(NUMBERS))),
    "difference of a trunk": Case([fragment.Encoder().encode(NUMBERS, 8, coarse) for coarse in (False, True)],
                                  partial(fragment.decode, count=len(NUMBERS), fine=8)),
    "fragment of a trunk": Case([fragment.dump(fragment.Fragment(NUMBERS[:99], 9))], partial(fragment.load, most=999)),
    "copy of a parameter server": Case([dump(Copy(table, NUMBERS[:99].tobytes(), 1)) for table in tables()],
                                       partial(load, numbers=99, rules=VcAsgd(parts=4), now=9.0, most=9)),
    "table of a parameter server": Case(tables(), msgspec.msgpack.Decoder(Work).decode),
    "header of safetensors": Case([pack("digits", "digits.0.0.0", Part({"a": torch.zeros(3)}, 3, 9))],
                                  lambda document: read_metadata(document, len(document))),
    "state of an expert": Case([pack("digits", "digits.0.0.0", Part(STATE, 3, 9))], adopt),
    "line of the control socket": Case(lines(), line),
    "first line of a client": message(control.Hello, json=True),
    "worker's line": message(control.Welcome, json=True),
    "settings": Case([settings_file.encoded(Settings())],
                     in_file("settings.json", lambda path: settings_file.load(path.parent)), 20),
    "state of the DHT": Case([b'{"version":1,"contacts":[["%s",["192.0.2.1:1"]]],"records":[]}' % HASH.encode()],
                             in_file("dht.json", lambda path: load_state(path, 0.0)), 20),
    "list of a checkpoint": Case([manifest_of(CHECKPOINT)], in_file("checkpoint-7.json", read_manifest), 20),
    "tokenizer": Case(tokenizer(), tokens, 20),
    "files of a release": Case(LISTS, release),
    "release": Case(RELEASES, partial(feed._decoded, kind=releases.Release)),
    "GPU pack": Case(PACKS, partial(feed._decoded, kind=packs.Pack)),
    "backup": Case(archive(), restored, 20),
    "telemetry": Case(TOLD, lambda document: payloads.opened(TOPIC, document, RIGHTS)),
    "address": Case(ADDRESSES, address),
    **{name: Case(case.documents, case.read, 20 if name in FILES else 1) for name, case in test_fuzz.CASES.items()
       if name != OWN},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_decoder_takes_what_is_right_and_nothing_breaks_it(name: str) -> None:
    case = CASES[name]
    for document in case.documents[:1]:
        case.read(document)
    count = max(EACH // case.every, 200)
    done = fuzz(case.documents, case.read, count)
    print(f"{name}: {count:,} documents, {done}")
    assert (done.refused or name in SET_ASIDE) and done.growth < GROWTH


def test_a_sample_is_what_its_type_takes() -> None:
    for kind in (ExpertRequest, Handover, dht.Nodes):
        for number in range(20):
            made = msgspec.msgpack.encode(sample(kind, random.Random(number)))
            msgspec.msgpack.decode(made, type=kind)
