"""An attacker that says that it holds the trunk of a run, and gives noise to those who ask for it."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

import msgspec
import numpy as np
import torch

from core.averaging.digests import TrunkDigest
from core.averaging.fragment import Fragment, dump
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.net import Payload, of_run
from core.contracts.trunk import Agreed, Diloco, Offer
from core.contracts.trunk_calls import OFFER, STATE, AskState, FragmentAnswer, FragmentOffer, Keeper, State
from core.contracts.trunk_rounds import Standing, Vector
from core.identity import peer_text
from core.net.method import Context
from core.swarm.members import Members
from core.swarm.trunk.leases import Leases, mark
from core.swarm.trunk.server_copy import Copy
from core.swarm.trunk.server_copy import dump as dump_copy
from core.swarm.trunk.server_lease import COPY, AskCopy
from core.swarm.trunk.standings import Standings
from core.swarm.trunk.vectors import Vectors, Whole
from core.swarm.trunk.work_generator import Work
from core.training.models.network import build
from core.training.trunk.diloco import cut

AHEAD = 2
"""Versions before all others: few enough to be true."""


class TrunkLiar(Protocol):
    """By one strategy."""

    async def __call__(self) -> None:
        """Tell it again."""


def liar_of(manifest: Manifest, members: Members, voters: Callable[[], list[Members]]) -> TrunkLiar:
    """One that has noise for everybody.

    Args:
        manifest: the run's.
        members: it is one of them.
        voters: keys that follow it.
    """
    numbers = MODELS[manifest.model.kind].numbers(manifest.model, manifest.ends)
    weights = (0.1 * np.random.default_rng(666).standard_normal(numbers)).astype("<f4")
    if manifest.strategy == "dedloc":
        return Dedloc(manifest, members, weights)
    return Claims(manifest, members, weights, voters)


Weights = np.ndarray[tuple[int], np.dtype[np.float32]]


class Dedloc:
    """A trainer that agreed with others on a trunk that nobody is at, yet."""

    def __init__(self, manifest: Manifest, members: Members, weights: Weights) -> None:
        self._standings = Standings(manifest.run_id, members, lambda: None)
        self._data = weights.tobytes() + bytes(8 * len(weights))
        self._version = 0
        self.vectors = Vectors(members.node, manifest.run_id, lambda _: None, lambda: self._version, self._trunk)

    async def _trunk(self) -> Whole:
        return Whole(Vector(self._version, 100, 0, len(self._data)), self._data)

    async def __call__(self) -> None:
        await self._standings.look()
        self._version = AHEAD + max((each.version for each in self._standings.trainers.values()), default=100)
        digest = TrunkDigest(self._version, 100)
        digest.add(self._data)
        trunks = ((self._version, digest.value),)
        self._standings.tell(Standing(self._version, 0, self._version, (), trunks, settled=True))


class Claims:
    """The syncer of all fragments, or the server of all parameters, with voters."""

    def __init__(
        self,
        manifest: Manifest,
        members: Members,
        weights: Weights,
        voters: Callable[[], list[Members]],
    ) -> None:
        self._run_id, self._me, self._weights, self._voters = manifest.run_id, members.me, weights, voters
        self._parts, node = [0], members.node
        self._versions: dict[int, int] = {}
        if isinstance(manifest.trunk, Diloco):
            self._cut = cut(build(manifest, manifest.ends), manifest.trunk.fragments)
            self._parts = [*range(len(self._cut))]
            node.register(of_run(OFFER, self._run_id), FragmentOffer, self._fragment, max_payload=1 << 24)
            node.register(of_run(STATE, self._run_id), AskState, self._state)
        else:
            node.register(of_run("trunk.subtask", self._run_id), Offer, self._subtask, max_payload=1 << 24)
            node.register(of_run(COPY, self._run_id), AskCopy, self._copy)
        self._leases = Leases(self._run_id, members, self._claimed, asyncio.Event())
        self._following: dict[str, Leases] = {}

    def _claimed(self) -> Keeper:
        return Keeper(self._versions, self._parts, follows=dict.fromkeys(self._parts, mark(self._me)))

    def _follower(self) -> Keeper:
        return Keeper(self._versions, [], able=False, follows=dict.fromkeys(self._parts, mark(self._me)))

    async def __call__(self) -> None:
        await self._leases.look()
        others = [keeper.versions for peer, keeper in self._leases.keepers.items() if peer != self._me]
        newest = {part: max((each.get(part, 0) for each in others), default=0) for part in self._parts}
        self._versions = {part: max(self._versions.get(part, 0), newest[part] + AHEAD) for part in self._parts}
        for members in self._voters():
            name = peer_text(members.node.peer)
            if name not in self._following:
                self._following[name] = Leases(self._run_id, members, self._follower, asyncio.Event())
        await asyncio.gather(*(leases.look() for leases in self._following.values()))

    def _dumped(self, part: int) -> bytes:
        piece = self._cut[part]
        numbers = piece.read(torch.from_numpy(self._weights)).numpy()
        return dump(Fragment(numbers, piece.fine, version=self._versions[part]))

    def _fragment(self, offer: FragmentOffer, payload: Payload, context: Context) -> tuple[FragmentAnswer, bytes]:
        print("asked", flush=True)
        return FragmentAnswer(2, True, "state"), self._dumped(offer.part)

    def _state(self, request: AskState, payload: Payload, context: Context) -> tuple[State, bytes]:
        return State(), self._dumped(request.part)

    def _parameters(self) -> bytes:
        table = Work(turns=self._versions[0] + AHEAD, samples=1000)
        return dump_copy(Copy(msgspec.msgpack.encode(table), self._weights.tobytes(), table.turns))

    def _subtask(self, offer: Offer, payload: Payload, context: Context) -> tuple[Agreed, bytes]:
        print("asked", flush=True)
        return Agreed(0, int(time.time()) % 1000, 1000, 2, counted=True, mixed=10), self._parameters()

    def _copy(self, request: AskCopy, payload: Payload, context: Context) -> tuple[State, bytes]:
        return State(), self._parameters()
