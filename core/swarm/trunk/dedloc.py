"""DeDLOC among peers (Diskin et al., 2021): all trainers together gather a batch, and average their gradients.

Each trainer tells in the DHT how many samples it has gathered; when all together have the target, each offers what it
has. They come to one group and average by a butterfly all-reduce. Only a group of more than half of the trainers takes
the step, so that there are never two trunks of one step. Who missed a round asks for its mean and takes what most of
those who have it name by its digest; who missed more is told so, and goes on with another trainer's trunk.

All reduce equal shares: the plan by bandwidths (`core.averaging.plan`) needs scipy, 47 MiB that a worker does without.
"""

import asyncio
import contextlib
import hashlib
import logging
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import msgspec
import numpy as np

from core.averaging.codecs import Numbers
from core.contracts.errors import CallRefused, CallTimeout, HearthError, NetworkError, ProtocolError
from core.contracts.kinds import DATA, MODELS
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.notices import Notice
from core.contracts.pipe import ENOUGH, GATHERED
from core.contracts.trunk import Agreed, Dedloc, Gathered, Offer
from core.contracts.trunk_rounds import MEANS, MEMBERS, AskMean, Mean, Standing
from core.dht.records import own_subkey, told
from core.identity import PeerId
from core.net.limits import MAX_PAYLOAD, Newest
from core.net.recurring import Recurring
from core.net.rpc import Context
from core.pipe.calls import Calls
from core.pipe.frames import Payload
from core.swarm.members import Members
from core.swarm.trunk.agreement import Agreement
from core.swarm.trunk.all_reduce import AllReduce
from core.swarm.trunk.matchmaking import Matchmaking, Wish, equal_shares

log = logging.getLogger(__name__)

TICK_S = 1.0
"""Between two looks at how much all have gathered: a step is late by so much."""
RENEW_S = 8.0
EXPIRY_S = 25.0
"""A trainer that has told nothing for so long is not waited for."""
FORMING_S = 10.0
"""After it a group is what it is; it is formed sooner if all trainers are there."""
GRACE_S = 15.0
"""That a member of a round may cost the others."""
MEAN_S = 60.0
"""For the mean of a round that was missed."""
LIE = 5.0
"""Points for a mean that is not the one that was named: the second time soon after means a ban."""


class _Kept(NamedTuple):
    """What a step was taken by."""

    agreed: Agreed
    mean: bytes
    digest: bytes


class DeDLOC(Agreement):
    """What this PC does for the steps of one run's trainers."""

    def __init__(self, manifest: Manifest, members: Members, folder: Path) -> None:
        rules = manifest.trunk
        assert isinstance(rules, Dedloc)
        self._target, self._members, self._node, self._dht = rules.target_samples, members, members.node, members.dht
        self._numbers = MODELS[manifest.model.kind].numbers(manifest.model, DATA[manifest.data].ends(manifest.model))
        run_id = manifest.run_id
        self._key, self._method = f"{run_id}.gathered", of_run("trunk.mean", run_id)
        self._calls: Calls | None = None
        self._gathered: Gathered | None = None
        """By the trainer here; None: there is none."""
        self._heard = 0.0
        self._enough = 0
        """Steps for which there is enough."""
        self._means = Newest[int, _Kept](MEANS)
        """By the step on which they were agreed."""
        self._others: dict[PeerId, Standing] = {}
        self._told: tuple[float, Standing | None] = (0.0, None)
        self._asking = asyncio.Lock()
        self._tending = Recurring("gathering", self._tend, lambda: TICK_S)
        self._rounds = AllReduce(self._node, run_id)
        self._matchmaking = Matchmaking(
            self._node, self._dht, run_id, codec="fp16", grace_s=GRACE_S, share=equal_shares
        )
        self._node.register(self._method, AskMean, self._give, cost=4.0)

    async def __aenter__(self) -> Self:
        self._tending.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tending.stop()
        with contextlib.suppress(HearthError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._dht.remove({self._key: [own_subkey(self._node.peer)]})

    def notes(self) -> list[Notice]:
        return self._tending.notes

    def serve(self, calls: Calls) -> None:
        """As `Agreement.serve`; its trainer's samples are counted, too."""
        super().serve(calls)
        calls.listen(GATHERED, self._note)
        self._calls = calls

    # --- who has gathered how much

    def _note(self, gathered: Gathered) -> None:
        before, self._heard = self._gathered, time.monotonic()
        if before is not None and before.version == gathered.version:  # what is offered now counts until the step
            gathered = msgspec.structs.replace(gathered, samples=max(before.samples, gathered.samples))
        else:
            self._tending.wake.set()
        self._gathered = gathered
        self._decide()

    async def _tend(self) -> None:
        if not self._node.hushed and self._gathered is not None:
            await self._tell(self._gathered)
            await self._look()
            self._decide()

    async def _tell(self, gathered: Gathered) -> None:
        at, said = self._told
        now = time.monotonic()
        means = tuple((version, kept.digest) for version, kept in self._means.items())
        mine = Standing(gathered.version, gathered.samples, self._enough, means)
        if now - self._heard < EXPIRY_S and (mine != said or now - at > RENEW_S):
            record = {own_subkey(self._node.peer): msgspec.msgpack.encode(mine)}
            await self._dht.store_many({self._key: record}, EXPIRY_S)
            self._told = now, mine

    async def _look(self) -> None:
        found = told(await self._dht.get(self._key), Standing)
        self._others = {
            record.peer: standing
            for record, standing in found
            if record.peer != self._node.peer and not self._members.is_dead(record.peer)
        }

    def _decide(self) -> None:
        """Tell compute if there is enough for the step that it gathers for."""
        mine = self._gathered
        if mine is None or self._calls is None:
            return
        standings = [(mine.version, mine.samples), *((each.version, each.samples) for each in self._others.values())]
        together = sum(min(samples, self._target) for version, samples in standings if version == mine.version)
        if together >= self._target:
            self._enough = max(self._enough, mine.version + 1)
        if mine.version < max(self._enough, _by_half([each.enough for each in self._others.values()])):
            self._enough = max(self._enough, mine.version + 1)
            self._calls.tell(ENOUGH, mine.version)

    # --- what the trainer here offers

    async def agree(self, offer: Offer, payload: bytes, deadline: float) -> tuple[Agreed, Payload]:
        if len(payload) != (4 * self._numbers if offer.samples else 0):
            raise ProtocolError(f"{len(payload)} bytes were offered for a trunk of {self._numbers} numbers.")
        trained = self._gathered.trained if self._gathered else 0
        async with self._asking:  # a process that was just killed may wait yet
            await self._look()
            kept, counted = self._means.get(offer.version), False
            if kept is None:
                kept = await self._missed(offer.version)
            if kept is None:
                ahead = _by_half([_step(each) for each in self._others.values()])
                if ahead > offer.version:
                    return Agreed(0, ahead, 0, 0, counted=False), b""
                kept, counted = await self._step_with_others(offer, payload, trained), bool(offer.samples)
        self._means[offer.version] = kept
        self._tending.wake.set()
        return msgspec.structs.replace(kept.agreed, counted=counted), kept.mean

    async def _step_with_others(self, offer: Offer, payload: bytes, trained: int) -> _Kept:
        """What the sums of all come to.

        Raises:
            NetworkError: too few came, or the round has no result here.
        """
        trainers = 1 + len(self._others)
        vector = await asyncio.to_thread(_mean, payload, offer.samples) if payload else None
        if trainers == 1 and vector is not None:
            return _kept(Agreed(0, offer.version + 1, trained + offer.samples, 1), vector.tobytes())
        wish = Wish(offer.version, self._node.address(), self._numbers, vector is not None)
        group = await self._matchmaking.find(wish, min(trainers, MEMBERS), FORMING_S)
        if group is None or 2 * len(group.members) <= trainers:
            raise CallTimeout(f"Too few of {trainers} trainers came to the round of step {offer.version}.")
        result = await self._rounds.average(group, vector, offer.samples)
        if result.vector is not None:
            agreed = Agreed(0, offer.version + 1, trained + result.samples, result.peers)
            return await asyncio.to_thread(_kept, agreed, result.vector.tobytes())
        try:
            async with asyncio.timeout(MEAN_S):  # it had nothing to give, and gets the mean from who had
                while (kept := await self._missed(offer.version)) is None:
                    await asyncio.sleep(TICK_S)
                    await self._look()
                return kept
        except TimeoutError:
            raise CallTimeout(f"Nobody names the mean of step {offer.version}.") from None

    async def _missed(self, version: int) -> _Kept | None:
        """The mean that the others have taken a step by; None: they have not, or it is not to be had any more."""
        named = {peer: dict(each.means).get(version) for peer, each in self._others.items()}
        for digest, _ in Counter(digest for digest in named.values() if digest is not None).most_common(1):
            for peer in (peer for peer, name in named.items() if name == digest):
                try:
                    mean, payload = await self._node.call(peer, self._method, AskMean(version), Mean, deadline_s=MEAN_S)
                except NetworkError as error:
                    log.info("Peer %s did not give the mean of step %d: %s", peer.hex()[:8], version, error)
                    continue
                agreed = Agreed(0, version + 1, mean.samples, mean.peers)
                kept = await asyncio.to_thread(_kept, agreed, bytes(payload))
                if kept.digest == digest and len(kept.mean) == 4 * self._numbers:
                    return kept
                log.warning("Peer %s gave another mean of step %d than it names.", peer.hex()[:8], version)
                self._node.strike(peer, LIE)
        return None

    async def _give(self, request: AskMean, payload: bytes, context: Context) -> tuple[Mean, bytes]:
        kept = self._means.get(request.version)
        if kept is None or len(kept.mean) > MAX_PAYLOAD:
            raise CallRefused("This peer has no such mean, or one that is too large for a message.")
        return Mean(kept.agreed.samples, kept.agreed.peers), kept.mean


def _step(standing: Standing) -> int:
    """That a trainer has reached."""
    return max((version + 1 for version, _ in standing.means), default=0)


def _by_half(values: Sequence[int]) -> int:
    """What at least half of some peers have reached: one of many cannot say so alone."""
    return sorted(values, reverse=True)[(len(values) - 1) // 2] if values else 0


def _mean(payload: bytes, samples: int) -> Numbers:
    mean: Numbers = np.frombuffer(payload, "<f4") * np.float32(1.0 / samples)
    return mean


def _kept(agreed: Agreed, mean: bytes) -> _Kept:
    digest = hashlib.sha256(msgspec.msgpack.encode(agreed))
    digest.update(mean)
    return _Kept(agreed, mean, digest.digest())


AGREEMENT = DeDLOC
