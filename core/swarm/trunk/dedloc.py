"""DeDLOC among peers (Diskin et al., 2021): all trainers together gather a batch, and average their gradients.

Each trainer tells in the DHT how many samples it has gathered; when all together have the target, each offers what it
has. They come to one group and average by a butterfly all-reduce. Only a group of more than half of the trainers takes
the step, so that there are never two trunks of one step. Who missed a round asks for its mean and takes what most of
those who have it name by its digest. Who missed more, or took other steps than most (`core.swarm.trunk.past`), goes on
with parameters and optimizer of one of them, whose digest the others name, too (`core.swarm.trunk.lineage`).

Peers without a trainer at work, backbone peers among them, help to reduce. Who has a fast line reduces more than
others, by a plan that all members of a round make (`core.swarm.trunk.planning`).
"""

import asyncio
import contextlib
import logging
import math
import time
from pathlib import Path
from typing import Self

import msgspec

from core.contracts.errors import CallTimeout, ComputeError, NetworkError, ProtocolError, RoundVoid
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.contracts.pipe import COMPANY, ENOUGH, GATHERED, REACHED
from core.contracts.trunk import Agreed, Dedloc, Gathered, Offer, Reached
from core.contracts.trunk_rounds import Standing
from core.contracts.trunk_status import PartStatus, ProgressStatus
from core.identity import peer_text
from core.net.recurring import Recurring
from core.pipe.calls import Calls
from core.pipe.frames import Payload
from core.swarm.members import Members
from core.swarm.trunk import figures
from core.swarm.trunk.agreement import NOBODY, Agreement, Most, Who, anything
from core.swarm.trunk.all_reduce import AllReduce
from core.swarm.trunk.catching_up import CatchingUp
from core.swarm.trunk.lineage import by_most, is_away, names, newest
from core.swarm.trunk.matchmaking import Matchmaking
from core.swarm.trunk.meeting import Meeting
from core.swarm.trunk.past import Past, Taken, own_mean
from core.swarm.trunk.planning import planned_shares
from core.swarm.trunk.standings import EXPIRY_S, Standings
from core.swarm.trunk.vectors import Vectors, trunk_of

log = logging.getLogger(__name__)

TICK_S = 1.0
"""Between two looks at how much all have gathered: a step is late by so much."""
FORMING_S = 10.0
"""After it a group is what it is; it is formed sooner if all trainers are there."""
GRACE_S = 15.0
"""That a member of a round may cost the others."""
CLIP = 2.0
"""Where three or more average, nobody moves the mean by more than so many times what the median of them does."""


class DeDLOC(Agreement):
    """What this PC does for the steps of one run's trainers."""

    def __init__(self, manifest: Manifest, members: Members, folder: Path, most: Most = anything) -> None:
        super().__init__(manifest, members, folder, most)
        rules = manifest.trunk
        assert isinstance(rules, Dedloc)
        self._target, self._delayed, self._node = rules.target_samples, rules.delayed, members.node
        self._goes_alone = rules.alone_samples is not None
        """Whether a trainer here without others takes steps by itself."""
        run_id = manifest.run_id
        self._standings = Standings(run_id, members, self._decide)
        self._gathered: Gathered | None = None
        """By the trainer here; None: there is none."""
        self._given_up: Gathered | None = None
        """What it tells while the trunk of the others is fetched; only the samples are others."""
        self._heard, self._met = 0.0, -math.inf
        """When it told that, and when another trainer was seen last."""
        self._enough = 0
        """Steps for which there is enough."""
        self._past = Past()
        """Of the trainer here."""
        self._settled = self._alone = False
        """Whether the trainer here has agreed with others since it came; and whether it took a step alone since."""
        self._agreed: tuple[float, Agreed] | None = None
        """The last agreement here, and its unix time."""
        self._who = NOBODY
        """Of it."""
        self._helped = -1
        """The last step that was reduced for others."""
        self._offered = self._answered = self._overtaken = -1
        """The step that the trainer here has an offer for on its way, the last one that was answered, and one that the
        others took while a group was looked for here: its mean is to be had at once. -1: none."""
        self._failed: tuple[int, Notice] | None = None
        """How many rounds of that step came to nothing, and why the last one did."""
        self._asking = asyncio.Lock()
        self._tending = Recurring("gathering", self._tend, lambda: TICK_S)
        self._helping = Recurring("reducing", self._help, lambda: TICK_S)
        training, rows = manifest.training, MODELS[manifest.model.kind].rows(manifest.model)
        self._most_samples = self._target + training.in_flight * training.batch * rows
        """Of one trainer that count for a step."""
        self._rounds = AllReduce(self._node, run_id, self._most_samples, self._asking.locked)
        self._matchmaking = Matchmaking(
            self._node, members.dht, run_id, codec="fp16", grace_s=GRACE_S, share=planned_shares, clip=CLIP
        )
        self._meeting = Meeting(self._node, self._standings, self._matchmaking, self._rounds, self._numbers)
        self._vectors = Vectors(self._node, run_id, self._past.mean, self._past.version, lambda: trunk_of(self._calls))
        self._others = CatchingUp(self._node, self._standings, self._vectors, self._numbers, self.compare, most)

    async def __aenter__(self) -> Self:
        self._tending.start()
        self._helping.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tending.stop()
        await self._helping.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._standings.leave()

    def notes(self) -> list[Notice]:
        return [*self._tending.notes, *self._helping.notes]

    def status(self) -> list[PartStatus]:
        if not self._past.trunks or self._gathered is None or self._gathered.version + 1 < self._enough:
            return []  # a trainer that goes on from an older checkpoint is to catch up first
        version, digest = max(self._past.trunks.items())
        at, agreed = self._agreed or (None, Agreed(0, 0, 0, 0))
        trained, lately = self._gathered.trained, [(number, trunk.hex()) for number, trunk in self._past.trunks.items()]
        return [PartStatus(0, version, digest.hex(), trained, agreed.peers, at, None, self._numbers, lately)]

    def who(self) -> Who:
        return self._who

    def progress(self, step: int) -> ProgressStatus | None:
        if not self._is_at_work or self._gathered is None or self._gathered.alone:
            return None
        return ProgressStatus(min(self._together(self._gathered), self._target), self._target, "samples")

    def waits(self) -> Notice | None:
        """A trainer that has told how much it has for a step gathers no more for it once all together have enough; and
        nothing for the next one while its offer is on its way, unless steps are delayed."""
        if not self._is_at_work or (mine := self._gathered) is None:
            return None
        if self._others.is_resting:
            return notice("trunk.waits_line", n=max(1, math.ceil(self._others.rest_s / 60)))
        if mine.version >= self._enough and (self._delayed or mine.version != self._offered + 1):
            return None
        if self._failed:
            return notice("trunk.waits_again", n=self._failed[0], why=self._failed[1])
        others = self._standings.voters(mine.version)
        return notice("trunk.waits_round", n=len(others)) if others else None

    def serve(self, calls: Calls) -> None:
        """As `Agreement.serve`; its trainer's samples are counted, too."""
        super().serve(calls)
        calls.when_detached(self._lose)
        calls.listen(GATHERED, self._note)
        calls.listen(REACHED, self._reached)

    # --- who has gathered how much

    def _note(self, gathered: Gathered) -> None:
        before, now = self._gathered, time.monotonic()
        if before is not None and before.alone and gathered.version > before.version:  # by steps of its own
            self._alone, self._agreed, self._who = True, None, NOBODY
            self._past.forget_steps()
            self._past.trunks.clear()
        if before and gathered.version < before.version and gathered.trained < before.trained:  # an older checkpoint
            self._agreed, self._who = None, NOBODY
        if now - self._heard > EXPIRY_S:  # the others may be far ahead
            self._settled = False
        self._heard = now
        self._past.back_to(gathered.version)
        self._vectors.forget(gathered.version + 1)
        if (given_up := self._given_up) and msgspec.structs.replace(gathered, samples=0) == given_up:
            gathered = given_up
        if before and (before.version, before.trained) == (gathered.version, gathered.trained):
            gathered = msgspec.structs.replace(gathered, samples=max(before.samples, gathered.samples))
        else:
            self._tending.wake.set()
        self._gathered = gathered
        lost = before and (gathered.version, gathered.samples) < (before.version, before.samples)  # with its trunk
        if (gathered.samples or lost) and gathered != before and not self._node.hushed:
            self._standings.spread(gathered)
        self._decide()

    def _lose(self) -> None:
        """What the trainer here has gathered comes to nothing."""
        if self._gathered is not None:
            self._gathered = msgspec.structs.replace(self._gathered, samples=0)
            if not self._node.hushed:
                with contextlib.suppress(NetworkError):  # this peer leaves
                    self._standings.spread(self._gathered)

    def _reached(self, reached: Reached) -> None:
        self._given_up = None
        if self._past.reach(reached):
            self._vectors.forget(reached.version)
        self._tending.wake.set()

    @property
    def _is_at_work(self) -> bool:
        """Whether the trainer here trains."""
        return self._gathered is not None and time.monotonic() - self._heard < EXPIRY_S

    async def _tend(self) -> None:
        self._vectors.tidy()
        if not self._node.hushed:
            if self._is_at_work and self._gathered is not None:
                self._standings.tell(self._standing(self._gathered))
            await self._standings.look()
            if self._standings.trainers:
                self._met = time.monotonic()
            self._decide()

    async def _help(self) -> None:
        """Reduce for the others, as far as they can call this peer and no trainer is at work here."""
        if self._node.hushed or self._node.dial_only or self._is_at_work:
            return
        trainers = self._standings.trainers.values()
        if len(trainers) < 2:
            return
        gathering = by_most([each.version for each in trainers])
        self._standings.tell(Standing(gathering, 0, 0, helps=True))
        step = by_most([each.enough for each in trainers]) - 1
        if step != self._helped and not self._standings.is_taken(step):
            async with self._asking:  # its trainer may begin meanwhile
                group = await self._meeting.group(step, FORMING_S, sends=False, helps=True)
                if group is not None and any(group.sends):
                    result = await self._meeting.average(step, group, None, 0)
                    self.reduced += result.reduced
                    self._helped, self._who = step, figures.of_group(group, result.counted)
                    log.info("Reduced for step %d of %d others.", step, len(group.members) - 1)

    def _standing(self, gathered: Gathered) -> Standing:
        line, trunks = tuple(self._past.line.items()), tuple(self._past.trunks.items())
        return Standing(gathered.version, gathered.samples, self._enough, line, trunks, self._settled)

    def _decide(self) -> None:
        """Tell compute if others have come or gone, or if there is enough for the step that it gathers for."""
        mine = self._gathered
        if mine is None or self._calls is None:
            return
        others = time.monotonic() - self._met < EXPIRY_S  # a moment without is none: it costs everybody a trunk
        if self._goes_alone and mine.alone == others:
            self._calls.tell(COMPANY, others)
        if mine.alone:
            return
        has_enough = mine.version < max(self._enough, self._standings.enough(mine.version))
        if has_enough or self._together(mine) >= self._target:
            self._enough = max(self._enough, mine.version + 1)
            self._calls.tell(ENOUGH, mine.version)
        elif self._alone and mine.version in self._past.trunks and self._is_away(mine.version):
            self._calls.tell(ENOUGH, mine.version)  # to be given the trunk of the others, who are told nothing of that

    def _together(self, mine: Gathered) -> int:
        """Samples that all have gathered for the step that the trainer here gathers for."""
        return self._standings.together(mine.version, mine.samples, self._target)

    # --- what the trainer here offers

    async def agree(self, offer: Offer, payload: bytes, deadline: float) -> tuple[Agreed, Payload]:
        if offer.version != self._offered:
            self._offered, self._failed = offer.version, None
        try:
            try:
                answer = await self._agree(offer, payload)
            except CallTimeout:
                if self._overtaken != offer.version:
                    raise
                self._overtaken = -1
                answer = await self._agree(offer, payload)
        except NetworkError as error:
            self._failed = (self._failed[0] if self._failed else 0) + 1, error.notice
            raise
        self._offered, self._failed = -1, None
        return answer

    async def _agree(self, offer: Offer, payload: bytes) -> tuple[Agreed, Payload]:
        if len(payload) != (4 * self._numbers if offer.samples else 0):
            raise ProtocolError(f"{len(payload)} bytes were offered for a trunk of {self._numbers} numbers.")
        gathered, self._given_up = self._gathered or Gathered(offer.version, 0), None
        async with self._asking:  # a process that was just killed may wait yet
            await self._standings.look()
            self._compare_steps(offer.version)
            if self._answered == offer.version:  # compute could not use it
                self._past.means.pop(offer.version, None)
            kept, counted = self._past.means.get(offer.version), False
            if kept is None and self._is_like_theirs(offer.version):
                kept = await self._mean_of_theirs(offer.version, gathered.trained)
            if kept is None:
                if self._is_away(offer.version):
                    return await self._taken_over()
                self._others.asked_in_vain(self._standings.mean_of_most(offer.version)[1])
                kept, counted = await self._step_with_others(offer, payload, gathered.trained), bool(offer.samples)
        if offer.version + 1 >= by_most([each.version for each in self._standings.trainers.values()]):
            self._others.caught_up()
        self._past.take(offer.version, kept)
        self._answered, self._agreed = offer.version, (time.time(), kept.agreed)
        self._tending.wake.set()
        return msgspec.structs.replace(kept.agreed, counted=counted, alone=self._alone), kept.mean

    async def _taken_over(self) -> tuple[Agreed, bytes]:
        """Parameters and optimizer of the others.

        Raises:
            NetworkError: nobody gave them; to be asked again.
        """
        self._lose()
        self._given_up = self._gathered
        if self._others.rest_s:
            self._settled = False  # nobody waits for it
        told, trunk = await self._others.trunk()
        self._settled, self._alone = True, False
        self._past.forget_steps()  # what led the others there they tell
        self._enough = told.version
        self._agreed = time.time(), Agreed(0, told.version, told.samples, 0)
        return Agreed(0, told.version, told.samples, 0, counted=False), trunk

    def _compare_steps(self, version: int) -> None:
        """Find out whether the trainer here came to a version by the steps of most."""
        step, digest = self._standings.last_of_most(version) or (-1, b"")
        if step >= 0 and (self._past.follows(step + 1, digest) or self._has_trunk_of_most(step + 1)):
            self._past.came_by(step, digest)
        elif step >= 0:
            log.info("Step %d, or one before it, was taken here by another mean than that of most.", step)
            self._past.means.clear()
            self._settled = False

    async def _mean_of_theirs(self, version: int, trained: int) -> Taken | None:
        """By which the others have taken a step, if it can be taken here by that."""
        if (kept := await self._others.mean(version)) is not None:
            most = trained + kept.agreed.peers * self._most_samples
            self._settled = self._past.follows(version, kept.before) and kept.agreed.samples <= most
            if self._settled:
                self._who, self._alone = NOBODY, False
                return kept
        return None

    def _is_away(self, version: int) -> bool:
        found = newest([self._standing(Gathered(version, 0)), *self._standings.trainers.values()])
        return is_away(self._past.trunks, version, found, trusts=self._settled and not self._alone)

    def _has_trunk_of_most(self, version: int) -> bool:
        named = [digest for digest, _ in names(self._standings.trainers.values(), version).most_common(1)]
        return named == [self._past.trunks.get(version)]

    def _is_like_theirs(self, version: int) -> bool:  # so that their means lead to where they are
        return not version or (self._settled and not self._alone) or self._has_trunk_of_most(version)

    async def _step_with_others(self, offer: Offer, payload: bytes, trained: int) -> Taken:
        """What the sums of all come to.

        Raises:
            NetworkError: too few came, or there is no result; a ComputeError: nobody has anything, or this is no mean.
        """
        vector = await asyncio.to_thread(own_mean, payload, offer.samples) if payload else None
        before = self._past.line.get(offer.version - 1, b"")
        if not self._standings.voters(offer.version):
            if vector is None:  # those that had enough have gone, or were no trainers
                raise await self._nothing(offer.version)
            self._alone, self._who = True, figures.alone(peer_text(self._node.peer), offer.samples)
            return Taken.by(Agreed(0, offer.version + 1, trained + offer.samples, 1), vector.tobytes(), before)
        samples = min(offer.samples, self._most_samples)
        was_taken = self._standings.is_taken(offer.version)
        group = await self._meeting.group(offer.version, FORMING_S, sends=vector is not None)
        if group is None and not was_taken and self._standings.is_taken(offer.version):
            self._overtaken = offer.version
        voters = self._standings.voters(offer.version)  # some may have come, or gone, meanwhile
        has_all = group is not None and (any(group.sends) or voters <= {*group.trainers()})
        if group is None or not has_all or not self._standings.are_most(group.trainers(), offer.version):
            if group is not None:  # the others may count otherwise
                self._matchmaking.spoilt()
                with contextlib.suppress(RoundVoid):
                    await self._rounds.average(group, vector, samples, limit_s=0.0)
            raise CallTimeout(notice("trunk.too_few", n=1 + len(voters), step=offer.version))
        if not any(group.sends):
            raise await self._nothing(offer.version)
        result = await self._meeting.average(offer.version, group, vector, samples)
        self.reduced += result.reduced
        self._settled, self._alone = True, False
        self._who = figures.of_group(group, result.counted)
        for peer, counted in result.counted.items():
            self.saw(peer, counted)
        if result.vector is not None:
            agreed = Agreed(0, offer.version + 1, trained + result.samples, result.peers)
            return await asyncio.to_thread(Taken.by, agreed, result.vector.tobytes(), before)
        kept = await self._others.mean_of_round(offer.version, group.givers())  # it had nothing to give itself
        return Taken.by(kept.agreed, kept.mean, before)

    async def _nothing(self, step: int) -> ComputeError:
        """Nobody has anything for a step that there was enough for: it is gathered for anew when all have told so."""
        self._enough = min(self._enough, step)
        self._tending.wake.set()
        await asyncio.sleep(3 * TICK_S)  # until they have, and it is read
        return ComputeError(f"Nobody has anything for step {step}: it is gathered for anew.")


AGREEMENT = DeDLOC
