"""What the trainers of a run tell each other in the DHT of their steps, and who helps them to reduce."""

import contextlib
import time
from collections import Counter

import msgspec

from core.contracts.errors import HearthError
from core.contracts.trunk_rounds import Standing
from core.dht.records import own_subkey, told
from core.identity import PeerId
from core.swarm.members import Members

RENEW_S = 8.0
EXPIRY_S = 25.0
"""A peer that has told nothing for so long is not waited for."""


class Standings:
    """Of one run, as this peer knows them."""

    def __init__(self, run_id: str, members: Members) -> None:
        """Nobody is known yet.

        Args:
            run_id: of the run.
            members: its peers, and through what they find each other.
        """
        self._members, self._node, self._dht = members, members.node, members.dht
        self._key = f"{run_id}.gathered"
        self._told: tuple[float, Standing | None] = (0.0, None)
        self.trainers: dict[PeerId, Standing] = {}
        """The others, as of the last look."""
        self.helpers: dict[PeerId, Standing] = {}
        """Likewise."""

    async def tell(self, mine: Standing) -> None:
        """Tell the others, unless they know it already.

        Raises:
            NetworkError: the record could not be stored.
        """
        at, said = self._told
        now = time.monotonic()
        if mine != said or now - at > RENEW_S:
            record = {own_subkey(self._node.peer): msgspec.msgpack.encode(mine)}
            await self._dht.store_many({self._key: record}, EXPIRY_S)
            self._told = now, mine

    async def look(self) -> None:
        """Read what the others tell.

        Raises:
            NetworkError: the DHT could not be read.
        """
        found = {
            record.peer: standing
            for record, standing in told(await self._dht.get(self._key), Standing)
            if record.peer != self._node.peer and not self._members.is_dead(record.peer)
        }
        self.trainers = {peer: each for peer, each in found.items() if not each.helps}
        self.helpers = {peer: each for peer, each in found.items() if each.helps}

    async def leave(self) -> None:
        """This peer takes part no more; if nobody hears it, its record expires."""
        with contextlib.suppress(HearthError):
            await self._dht.remove({self._key: [own_subkey(self._node.peer)]})

    def in_step(self, version: int) -> int:
        """How many others a step waits for: trainers and helpers that are not far from it."""
        return sum(abs(each.version - version) <= 1 for each in [*self.trainers.values(), *self.helpers.values()])

    def voters(self, version: int) -> set[PeerId]:
        """The other trainers of which more than half are to take a step: a little while ago they were not far from it,
        for what is read of them may be old."""
        return {
            peer
            for peer, each in self.trainers.items()
            if each.version <= version + 1 and (each.settled or each.version >= version - 1)
        }

    def mean_of_most(self, version: int) -> tuple[bytes, list[PeerId]]:
        """The digest of the mean that the others took a step by, and who has it; nobody if they did not.

        Only more than half take a step: what fewer than half name, this trainer counted as one that does not, is one
        that a liar has made up.
        """
        means = {peer: dict(each.means).get(version) for peer, each in self.trainers.items()}
        named = {peer: digest for peer, digest in means.items() if digest is not None}
        [(digest, count)] = Counter(named.values()).most_common(1) or [(b"", 0)]
        able = 1 + len(self.voters(version) | named.keys())
        return digest, [peer for peer, name in named.items() if name == digest and 2 * count >= able]
