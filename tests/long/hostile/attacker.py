"""A peer made of the shipped modules that means ill, as a process of its own, and honest workers to be measured.

`python -m tests.long.hostile.attacker JSON` does the attacks that the JSON names (`Order`), until its input is closed.
It says `ready` once all of them are under way.
"""

import asyncio
import contextlib
import hashlib
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
import torch

from core.contracts import manifest
from core.contracts.errors import HearthError
from core.contracts.expert_calls import METHODS, ExpertReply, ExpertRequest, encoded_size
from core.contracts.files import TRUNK, PartFile
from core.contracts.hosting import (
    FileKept,
    FileRead,
    Handover,
    HandoverReply,
    Hello,
    HelloReply,
    KeepFile,
    Member,
    ReadFile,
)
from core.contracts.net import READ_FILE, Payload, of_run
from core.dht.node import DHTNode
from core.dht.records import own_subkey
from core.experts import codec
from core.experts.dht_directory import DHTDirectory
from core.experts.directory import HostState, LocalDirectory
from core.experts.grid import Grid
from core.identity import Identity, PeerId, parse_peer
from core.net.addresses import parse_address
from core.net.method import Context
from core.net.rpc import RpcNode
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.part_files import Part
from core.swarm.members import Members
from core.swarm.signatures import Signatures
from core.training.data.stream import open_stream
from core.training.trainer import Trainer
from tests.dht_peers import until
from tests.experts import pack
from tests.long.hostile.trunk_liar import liar_of
from tests.worked_peers import worked_peer
from tests.workers import ROOT

Kind = Literal["zeros", "noise", "exploding"]
ROOM = 16
"""Experts that it says it could host."""
EVERY_S = 5.0
"""It does again what has to be renewed, and says what it was asked for."""


class Order(msgspec.Struct, forbid_unknown_fields=True):
    """What an attacker is to do."""

    bootstrap: str
    """A peer of the network, with its address."""
    trunk: Kind | None = None
    """Tell, give and push a trunk like that, ..."""
    experts: Kind | None = None
    """... and states of all experts like that, ..."""
    version: int = 1
    """... which have taken so many steps, they say."""
    claims: Literal["silent", "refused", "noise"] | None = None
    """Announce all experts at that version, and do not answer, refuse or answer noise when they are asked for."""
    begs: bool = False
    """Ask every member for its experts, again and again."""
    ghosts: int = 0
    """Members of the run that are none, each with room for as many experts as one can have."""
    leads: bool = False
    """Say that the trunk that trainers agree on is here, and give noise; the ghosts say so, too."""
    run: str = "digits"


class Attacker:
    """One peer of a run, which real workers let in."""

    def __init__(self, order: Order, node: RpcNode, dht: DHTNode) -> None:
        self.manifest = manifest.load(order.run)
        self.order, self.node, self.dht = order, node, dht
        run_id, model = self.manifest.run_id, self.manifest.model
        self.grid = Grid(self.manifest.run, model.layers, model.grid)
        self.directory = DHTDirectory(dht, node, self.grid, run_id)
        self.members = Members(node, dht, self.directory)
        self.files: dict[str, bytes] = {}
        """What it gives, by hash."""
        self.given: list[PartFile] = []
        self.signatures = Signatures(run_id, node.identity, Path())
        self.taken: set[str] = set()
        """Experts that others have handed over to it."""
        self.asked = 0
        """Samples for which its experts were asked."""
        node.register(self._method(READ_FILE), ReadFile, self._read)
        node.register(self._method("host.hello"), Hello, self._hello)

    def _method(self, name: str) -> str:
        return of_run(name, self.manifest.run_id)

    # states

    def make(self) -> None:
        """Make the files that the order names."""
        order = self.order
        if order.trunk:
            stream = open_stream(self.manifest, Path())
            trainer = Trainer(self.manifest, {}, LocalDirectory(()), KernelGate(), stream)
            self._add(TRUNK, spoilt(trainer.state(), order.trunk, order.version))
        for uid in self.grid.uids() if order.experts else ():
            assert order.experts
            state = ExpertBackend(uid, self.manifest.model, self.manifest.training).state()
            self._add(str(uid), spoilt(state, order.experts, order.version))

    def _add(self, part: str, state: dict[str, torch.Tensor]) -> None:
        data = pack(self.manifest.run, part, Part(state, self.order.version, int(state["samples"])))
        sha256 = hashlib.sha256(data).hexdigest()
        self.files[sha256] = data
        self.given.append(PartFile(part, self.order.version, int(state["samples"]), sha256, len(data)))

    async def tell_states(self) -> None:
        """As a keeper tells what it keeps."""
        mine = own_subkey(self.node.peer)
        entries = {f"{self.manifest.run_id}.ckpt.{f.part}": {mine: msgspec.msgpack.encode(f)} for f in self.given}
        if entries:
            await self.dht.store_many(entries, 3600.0)

    async def push(self) -> None:
        """Ask every member to keep all that is given."""
        for peer in [*self.members.known]:
            for file in self.given if peer != self.members.me else ():
                with contextlib.suppress(HearthError):
                    keep = self._method("file.keep")
                    signed = KeepFile(self.signatures.given(file))
                    await self.node.call(parse_peer(peer), keep, signed, FileKept, deadline_s=20.0)

    def _read(self, request: ReadFile, payload: Payload, context: Context) -> tuple[FileRead, bytes]:
        data = self.files[request.sha256]
        return FileRead(len(data)), data[request.offset : request.offset + request.length]

    # claims

    async def claim(self) -> None:
        """Tell all that every expert is hosted here."""
        if self.order.claims:
            self.directory.host_here({uid: HostState(0.0, self.order.version) for uid in self.grid.uids()})
            await self.directory.announce()

    def serve(self) -> None:
        """Answer as ordered who believes the claims."""

        async def answer(direction: str, request: bytes, payload: Payload, context: Context) -> tuple[bytes, bytes]:
            asked = msgspec.msgpack.decode(request, type=ExpertRequest)
            self.asked += sum(asked.rows)
            if self.order.claims == "noise":
                return noise(direction, asked, self.order.version)
            await asyncio.sleep(math.inf)
            raise AssertionError

        for direction, name in METHODS.items() if self.order.claims in ("silent", "noise") else ():
            self.node.register(self._method(name), bytes, partial(answer, direction), max_payload=1 << 24)

    def _hello(self, request: Hello, payload: Payload, context: Context) -> HelloReply:
        return HelloReply((self.order.version,) * len(request.uids))

    async def beg(self) -> None:
        """Ask every member to hand its experts over."""
        handover, room = self._method("host.handover"), Handover(4)
        for peer in self.members.known.keys() - {self.members.me}:
            with contextlib.suppress(HearthError):
                reply, _ = await self.node.call(parse_peer(peer), handover, room, HandoverReply, deadline_s=20.0)
                self.taken.update(one.uid for one in reply.given)

    # all of it

    async def run(self) -> None:
        """Do all of it, and then again and again what has to be renewed."""
        await asyncio.to_thread(self.make)
        self.serve()
        mine = Member(ROOM, 0)
        told = False
        async with Ghosts(self) as ghosts:
            lead = liar_of(self.manifest, self.members, lambda: ghosts.members) if self.order.leads else None
            while True:
                await self.members.introduce(mine)
                await self.members.look(mine)
                await asyncio.gather(self.tell_states(), self.claim(), ghosts.appear())
                if lead:
                    await lead()
                if not told:
                    print("ready", flush=True)
                told = True
                await self.push()
                if self.order.begs:
                    await self.beg()
                    print(f"taken {len(self.taken)}", flush=True)
                print(f"asked {self.asked}", flush=True)
                await asyncio.sleep(EVERY_S)


class Ghosts(contextlib.AsyncExitStack):
    """Members that are none: keys that tell of themselves and answer nothing."""

    def __init__(self, attacker: Attacker) -> None:
        super().__init__()
        self._attacker, self.members = attacker, list[Members]()

    async def appear(self) -> None:
        """Tell that they are there."""
        attacker = self._attacker
        for _ in range(attacker.order.ghosts - len(self.members)):
            node = await self.enter_async_context(worked_peer(attacker.manifest.run_id, identity=Identity.generate()))
            dht = await self.enter_async_context(DHTNode(node, node.identity))
            await join(node, dht, attacker.order.bootstrap)
            directory = DHTDirectory(dht, node, attacker.grid, attacker.manifest.run_id)
            self.members.append(Members(node, dht, directory))
        await asyncio.gather(*(members.introduce(Member(1_000_000, 0)) for members in self.members))


def spoilt(state: Mapping[str, torch.Tensor], kind: Kind, version: int) -> dict[str, torch.Tensor]:
    """A state that fits, and is of no use.

    Args:
        state: a good one.
        kind: what its weights shall be.
        version: the steps, and samples, that it says it has taken.
    """
    make: dict[Kind, Callable[[torch.Tensor], torch.Tensor]] = {
        "zeros": torch.zeros_like,
        "noise": lambda x: torch.randn_like(x) * x.std().nan_to_num(0.1).clamp(min=0.02),
        "exploding": lambda x: torch.randn_like(x) * 1e18,
    }
    counts = {"version", "samples", "batches"}
    weights = {name: make[kind](x) for name, x in state.items() if name.startswith("weights.")}
    return {**state, **weights, **{name: torch.tensor(version) for name in state.keys() & counts}}


def noise(direction: str, asked: ExpertRequest, version: int) -> tuple[bytes, bytes]:
    """An answer that has the right shape and size, and means nothing."""
    rows = [torch.randn(rows, *asked.shape) * 0.5 for rows in asked.rows]
    data = b"".join(bytes(codec.encode(tensor, asked.codec)) for tensor in rows)
    assert len(data) == sum(encoded_size(asked.codec, tensor.numel()) for tensor in rows)
    versions = () if direction == "backward" else (version,) * len(asked.uids)
    reply = ExpertReply((True,) * len(asked.uids), versions=versions)
    return msgspec.msgpack.encode(reply), data


async def join(node: RpcNode, dht: DHTNode, bootstrap: str) -> None:
    """Become a peer of the network.

    Args:
        node, dht: the peer.
        bootstrap: who is asked first.
    """
    where = parse_address(bootstrap)
    node.learn(where)
    peer = PeerId(where.peer)
    await until(lambda: dht.bootstrap([peer]), "an answer of the network")


@contextlib.asynccontextmanager
async def attacker(order: Order) -> AsyncIterator[Attacker]:
    """One in this process, in the network but idle yet."""
    mine = Identity.generate()  # the keys that are worked for already are those of the workers
    async with worked_peer(manifest.load(order.run).run_id, identity=mine) as node, DHTNode(node, mine) as dht:
        await join(node, dht, order.bootstrap)
        yield Attacker(order, node, dht)


async def main(text: str) -> None:
    os.nice(10)  # it is on another machine: what it takes of this one's processors is not what the others feel of it
    async with attacker(msgspec.json.decode(text, type=Order)) as one:
        running = asyncio.create_task(one.run())
        ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await asyncio.wait({running, asyncio.ensure_future(ended)}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        running.cancel()


class Asked:
    """What an attacker was asked for by those who believe its claims."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read what it says, from now on.

        Args:
            lines: of its output; they end with it.
        """
        self.began = time.monotonic()
        self._samples: list[tuple[float, int]] = []
        """When, and how many so far."""
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: Iterable[str]) -> None:
        with contextlib.suppress(ValueError):  # it is closed at the end
            for line in lines:
                if line.startswith("asked "):
                    self._samples.append((time.monotonic(), int(line.split()[1])))

    def per_s(self, start_s: float, end_s: float) -> float:
        """Samples a second.

        Args:
            start_s, end_s: seconds after its beginning.
        """
        some = [(at, samples) for at, samples in self._samples if start_s <= at - self.began <= end_s]
        return (some[-1][1] - some[0][1]) / max(EVERY_S, some[-1][0] - some[0][0]) if some else 0.0


@contextlib.contextmanager
def attacked(order: Order) -> Iterator[Asked]:
    """While an attacker, in a process of its own, does what it was ordered."""
    command = [sys.executable, "-m", "tests.long.hostile.attacker", msgspec.json.encode(order).decode()]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    try:
        assert process.stdout and process.stdout.readline() == "ready\n", "the attacker"
        yield Asked(process.stdout)
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(30.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
