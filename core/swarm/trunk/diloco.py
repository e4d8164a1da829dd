"""DiLoCo among peers: each fragment of the trunk has a syncer, trainers offer it differences and follow its rounds.

Who follows has a copy of the fragment with the syncer's bits, so that any of them can go on when it dies. A trainer
offers the same difference until it is answered, and a syncer counts it once.
"""

import asyncio
import logging
import time
from collections.abc import Collection
from pathlib import Path
from typing import Self

import numpy as np

from core.averaging import fragment as fragments
from core.averaging.fragment import Fragment, OtherVersion
from core.averaging.outer import steps_between
from core.contracts.errors import (
    UNREADABLE,
    CallRefused,
    CallTimeout,
    HearthError,
    PeerUnreachable,
    ProtocolError,
    RemoteFault,
)
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.notices import Notice, notice
from core.contracts.trunk import Agreed, Diloco, Offer
from core.contracts.trunk_calls import OFFER, FragmentAnswer, FragmentOffer, Keeper
from core.contracts.trunk_status import PartStatus, ProgressStatus
from core.identity import parse_peer
from core.net.background import logged
from core.net.recurring import Recurring
from core.pipe.frames import Payload
from core.swarm.members import Members
from core.swarm.trunk import figures
from core.swarm.trunk.agreement import HOSTILE_POINTS, POINTS, Agreement, Most, Who, anything
from core.swarm.trunk.differences import Differences, Trial
from core.swarm.trunk.kept import Kept
from core.swarm.trunk.known import MOST, Known
from core.swarm.trunk.leases import AWAY_S, TICK_S, Leases, mark
from core.swarm.trunk.syncer import CLIPPED_POINTS, Syncer
from core.swarm.trunk.syncs import Syncs
from core.swarm.trunk.together import Together
from core.swarm.trunk.wire import Wire

log = logging.getLogger(__name__)

FOLDER = "fragments"
SLACK_S = 30.0
"""For an offer, beside the time that it waits for others."""


class DiLoCo(Agreement):
    """What this PC does for the fragments of one run: it follows those that its trainer works on, and syncs some."""

    def __init__(self, manifest: Manifest, members: Members, folder: Path, most: Most = anything) -> None:
        super().__init__(manifest, members, folder, most)
        assert isinstance(manifest.trunk, Diloco)
        self._rules, self._members, self._node = manifest.trunk, members, members.node
        run_id = manifest.run_id
        self._offer = of_run(OFFER, run_id)
        self._known = Known(manifest, self._rules)
        self._fragments, self._heard = self._known.fragments, self._known.heard
        self._asking: dict[int, asyncio.Lock] = {}
        self._trained = set[int]()
        """Fragments of which the trainer here has told."""
        self._differences = Differences()
        self._leads: dict[int, bytes] = {}
        """Marks of the syncers that told of each fragment."""
        self._syncers: dict[int, Syncer | None] = {}
        self._together = Together(self.compare, self._parts, self._heard, self._syncers, self._fragments)
        self._syncs = Syncs(
            self._node, run_id, self._rules, self._known, self._syncers, self._together, self._note_given
        )
        self._goes_on = False  # with what the trainer here has, as nobody could tell it what is agreed
        self._wire = Wire(self._rules.wire)
        self._kept = Kept(folder / FOLDER)
        self._tending = Recurring("trunk", self._tend, lambda: TICK_S)
        self._leases = Leases(run_id, members, self._self, self._tending.wake)

    async def __aenter__(self) -> Self:
        for part, fragment in (await asyncio.to_thread(self._kept.load, MOST)).items():
            try:
                self._known.check_size(part, len(fragment.numbers), fragment.fine)
                self._fragments[part] = fragment
            except OtherVersion as error:  # the manifest was revised
                log.warning("A fragment of the trunk on this disk cannot be used: %s", error)
        self._tending.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tending.stop()
        for part in [*self._syncers]:
            self._syncs.leave(part)
        await self._kept.save(self._fragments)
        await self._leases.leave()

    def notes(self) -> list[Notice]:
        return self._tending.notes

    def status(self) -> list[PartStatus]:
        return figures.of_parts(self._fragments, self._leases.keepers, self._heard)

    def who(self) -> Who:
        return figures.of_fragments(self._fragments, self._leases.keepers)

    def progress(self, step: int) -> ProgressStatus | None:
        if not self._trained:
            return None
        agreed = min(self._fragments[part].version if part in self._fragments else 0 for part in self._trained)
        return figures.to_next_turn(step, steps_between(agreed, self._rules.inner_steps), len(self._trained))

    def waits(self) -> Notice | None:
        """Only a newcomer does, until it knows all that is agreed or could not be told."""
        unknown = (lock for part, lock in self._asking.items() if part not in self._fragments)
        return notice("trunk.waits_trunk") if not self._goes_on and any(lock.locked() for lock in unknown) else None

    # --- who syncs what

    async def _tend(self) -> None:
        """Tell what is here, see who syncs what, claim what nobody does."""
        await self._kept.save_now_and_then(self._fragments)
        if self._node.hushed or not await self._leases.look():
            return
        kept = {part for one in self._leases.keepers.values() for part in one.versions if part < len(self._known.sizes)}
        claims, leaves = self._leases.due(kept)
        for part in claims:
            self._syncs.claim(part)
        for part in leaves:
            self._syncs.leave(part)
        await self._leases.tell()

    def _self(self) -> Keeper:
        versions = dict.fromkeys(sorted(self._trained | self._syncers.keys()), 0)
        versions |= {part: fragment.version for part, fragment in self._fragments.items()}
        since = time.time() - AWAY_S
        follows = {part: lead for part, lead in self._leads.items() if self._heard.get(part, 0.0) >= since}
        follows |= dict.fromkeys(self._syncers, mark(self._members.me))
        return Keeper(versions, sorted(self._syncers), not self._node.dial_only, follows)

    async def agree(self, offer: Offer, payload: bytes, deadline: float) -> tuple[Agreed, Payload]:
        async with self._asking.setdefault(offer.part, asyncio.Lock()):  # a process that was just killed may wait yet
            try:
                return await self._agree(offer, payload)
            except HearthError:
                self._goes_on = True
                raise

    async def _agree(self, offer: Offer, payload: bytes) -> tuple[Agreed, Payload]:
        numbers = np.frombuffer(payload, "<f4")
        if len(numbers):
            self._trained.add(offer.part)
        if not offer.version or not offer.samples:
            answer = await self._ask(FragmentOffer(offer.part, 0, b"", 0, offer.fine, "ask"))
            if answer.kind == "none" and len(numbers):
                begin = FragmentOffer(offer.part, 0, b"", offer.samples, offer.fine, "begin")
                answer = await self._ask(begin, payload)
        else:
            message = await asyncio.to_thread(self._differences.message, offer, numbers, self._wire)
            known = self._fragments.get(offer.part)
            line = known.line if known else b""
            difference = FragmentOffer(offer.part, offer.version, line, offer.samples, offer.fine, "difference")
            answer = await self._ask(difference, message)
        fragment = self._fragments.get(offer.part)
        if answer.kind == "none" or fragment is None:
            return Agreed(offer.part, 0, 0, 0, counted=False), b""
        self._heard[offer.part] = time.time()
        peer, version = self._node.peer, offer.version
        is_in = fragment.counted(peer, version)
        counted = not version or (is_in if offer.samples else fragment.is_settled(peer, version))
        earlier = False
        if version and (offer.samples or is_in):
            earlier = self._differences.answered(offer.part, counted=is_in)
        samples = min(fragment.samples, self._most().samples)
        agreed = Agreed(offer.part, fragment.version, samples, answer.peers, counted, earlier=earlier)
        return agreed, fragment.numbers.tobytes()

    async def _ask(self, offer: FragmentOffer, payload: bytes = b"") -> FragmentAnswer:
        """Have the fragment's syncer answer, and follow it.

        Raises:
            NetworkError: there is no syncer yet, or it did not answer.
        """
        syncer = await self._leases.syncer(offer.part, SLACK_S)
        if syncer == self._members.me:
            return (await self._syncs.answer(self._node.peer, offer, payload))[0]
        call, wait, began = self._node.call, 2 * self._rules.grace_s + SLACK_S, time.monotonic()
        try:
            answer, data = await call(parse_peer(syncer), self._offer, offer, FragmentAnswer, payload, deadline_s=wait)
        except (PeerUnreachable, CallTimeout):
            self._leases.failed(syncer)
            raise
        except (CallRefused, RemoteFault):
            self._leases.refused(syncer)  # it is no syncer any more, or of no use
            raise
        self._wire.note(len(payload) + len(data), time.monotonic() - began - answer.waited_s)
        if answer.kind == "none" and (payload or offer.part in self._fragments):
            self._leases.refused(syncer)
            raise CallRefused(f"Peer {syncer[:8]} begins fragment {offer.part} of the trunk with nothing.")
        try:
            await self._follow(offer, syncer, answer, data)
        except (ProtocolError, *UNREADABLE) as error:
            self._leases.refused(syncer)
            if not isinstance(error, OtherVersion):
                self._node.strike(parse_peer(syncer), HOSTILE_POINTS)
            raise CallRefused(f"Peer {syncer[:8]} answered with no fragment of the trunk: {error}") from error
        known = self._fragments.get(offer.part)
        if offer.kind != "difference" or (known and known.is_settled(self._node.peer, offer.version)):
            self._leases.served(syncer)
            self._leads[offer.part] = mark(syncer)
        else:  # whatever it says
            self._leases.refused(syncer)
            self._leads.pop(offer.part, None)
        return answer

    async def _follow(self, offer: FragmentOffer, syncer: str, answer: FragmentAnswer, data: bytes) -> None:
        part, known, newer = offer.part, self._fragments.get(offer.part), None
        if answer.kind == "state":
            newer = await self._known.load(part, data)
            is_led = self._leases.is_led_by(part, syncer)
            if not (self._known.can_be(part, newer) if is_led is None else is_led):
                log.warning("Peer %s has no fragment %d of the trunk that others know.", syncer[:8], part)
                if self._leases.is_followed(part):
                    self._node.strike(parse_peer(syncer), CLIPPED_POINTS)
                self._leases.failed(syncer)
                raise CallRefused(f"Peer {syncer[:8]} is not followed by others.")
            if known and newer.version > known.version + fragments.STALE and self._together.comes_back(part):
                for other in self._trained - self._syncers.keys() - {part}:
                    self._node.start(logged(self._look(other), "fragment"), "fragments after a while")
        elif answer.kind == "rounds":
            if not known or not offer.line:
                raise ProtocolError("Rounds came that were not asked for.")
            if known.line != offer.line:
                raise CallRefused("It has gone on here meanwhile.")
            newer = await asyncio.to_thread(known.copy().after, fragments.ROUNDS.decode(data))
            if newer.line != answer.line:  # who gave it these rounds may have lied to it
                await self._ask(FragmentOffer(part, 0, b"", 0, offer.fine, "ask"))
                return
        if newer:
            trial: Trial = (
                "first" if known is None or answer.kind == "state" else self._differences.trial_of(part, known, newer)
            )
            if trial != "none":
                await self._try(part, newer, syncer, trial)
            if part in self._syncers or self._fragments.get(part) is not known:
                raise CallRefused("There is another syncer by now.")
            self._fragments[part] = newer

    async def _look(self, part: int) -> None:
        """Ask what is agreed of a fragment, for a trial of another one."""
        await self.agree(Offer(part, 0, 0, self._known.sizes[part][1]), b"", 0.0)

    async def _try(self, part: int, newer: Fragment, syncer: str, trial: Trial) -> None:
        """Have the trainer here try a fragment that it has of its syncer's word.

        Raises:
            NetworkError: it is of no use; or that cannot be told, and has to be.
        """
        try:
            verdict = await self._together.verdict(part, newer.numbers.tobytes())
        except CallTimeout:
            if trial == "first":
                raise
            return
        if verdict is None and trial == "first":
            raise CallRefused(f"Fragment {part} of the trunk does not fit what is old here.")
        if verdict in POINTS:
            log.warning("Fragment %d of the trunk that peer %s gave is %s.", part, syncer[:8], verdict)
            if newer.version > 1:  # what is agreed first somebody else has begun with
                self._node.strike(parse_peer(syncer), POINTS[verdict])
            self._leases.distrust(syncer)
            self._leads.pop(part, None)
            raise CallRefused(f"Peer {syncer[:8]} gave a fragment of the trunk that is of no use.")

    def _parts(self) -> Collection[int]:
        """All that the trunk is cut into; none: the trainer here has not told of all yet."""
        return self._trained if len(self._trained) == len(self._known.sizes) else ()

    def _note_given(self, part: int, peer: bytes, samples: int, size: int) -> None:
        self.saw(peer, samples, part)
        self.reduced += size if peer != self._node.peer else 0


AGREEMENT = DiLoCo
