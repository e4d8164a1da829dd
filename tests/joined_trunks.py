"""Trainers of one process that agree on their trunks without a network: the pipes are real, and so are the syncers."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable

import numpy as np

from core.averaging.fragment import Encoder, Fragment
from core.contracts.pipe import AGREE
from core.contracts.trunk import Agreed, Diloco, Offer
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.swarm.trunk.syncer import Syncer
from tests.joined_calls import join


class JoinedTrunks:
    """Where all trainers' offers meet."""

    def __init__(self, rules: Diloco, delay_s: Callable[[int], float] = lambda size: 0.0) -> None:
        """Nobody has agreed on anything.

        Args:
            rules: of the run.
            delay_s: for how long so many bytes are on their way.
        """
        self.rules, self._delay_s = rules, delay_s
        self.syncers: dict[int, Syncer] = {}
        self.sent: Counter[str] = Counter()
        """Bytes by trainer, both ways."""
        self.hashes: dict[tuple[int, int], set[str]] = {}
        """Of what trainers were told of each part and version."""

    def calls_of(self, trainer: str) -> Calls:
        """Compute's end of a trainer's pipe."""
        worker, compute = Calls(), Calls()
        encoders: dict[int, Encoder] = {}

        async def agree(offer: Offer, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
            pieces = [payload] if isinstance(payload, bytes | bytearray | memoryview) else payload
            numbers = np.frombuffer(b"".join(pieces), "<f4").copy()
            encoder = encoders.setdefault(offer.part, Encoder())
            return await self._agree(trainer, encoder, offer, numbers)

        worker.register_carrier(AGREE, agree)
        join(worker, compute)
        return compute

    async def _agree(
        self, trainer: str, encoder: Encoder, offer: Offer, numbers: np.ndarray[tuple[int], np.dtype[np.float32]]
    ) -> tuple[Agreed, Payload]:
        if offer.part not in self.syncers:
            self.syncers[offer.part] = Syncer(Fragment(numbers, offer.fine), self.rules)
        syncer, counted, name = self.syncers[offer.part], True, hashlib.sha256(trainer.encode()).digest()
        if offer.version and offer.samples:
            message = encoder.encode(numbers, offer.fine, is_sparse=self.rules.wire == "sparse")
            self.sent[trainer] += len(message)
            await asyncio.sleep(self._delay_s(len(message)))
            counted = await syncer.offer(name, offer.version, offer.samples, message)
            if counted:
                encoder.counted()
        else:
            syncer.expect(name)
            counted = bool(offer.samples) or syncer.fragment.is_settled(name, offer.version)
        fragment = syncer.fragment
        behind = fragment.version - offer.version
        size = 8 * len(fragment.numbers)
        if behind <= len(fragment.rounds):
            size = sum(len(message) for made in [*fragment.rounds][-behind:] for _, message in made.parts)
        self.sent[trainer] += size
        agreed = fragment.numbers.tobytes()
        told = Agreed(offer.part, fragment.version, fragment.samples, len(fragment.usual()), counted)
        self.hashes.setdefault((offer.part, fragment.version), set()).add(hashlib.sha256(agreed).hexdigest())
        await asyncio.sleep(self._delay_s(size))
        return told, agreed
