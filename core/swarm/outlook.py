"""What this PC knows of the swarm before it plans: who hosts what, what is vacant, and whose checkpoints there are."""

import random
import time
from collections.abc import Iterable, Mapping, Sequence

from core.contracts.hosting import Member
from core.experts.dht_directory import DHTDirectory
from core.experts.directory import MIRROR_LIMIT
from core.experts.grid import Uid
from core.identity import PeerId, peer_text
from core.swarm.leavers import Leaving
from core.swarm.members import Members
from core.swarm.placement import View
from core.swarm.replication import Copies, Copy

GRACE_S = 5.0
"""From the end of an expert's host to the first claim: it may have left, and still be saving and handing out copies."""
LEAVING_S = 30.0
"""For a host that leaves to save what it left, and for its newest state to be fetched; then what there is will do."""
LOOKED_UP = 512
"""Cells whose hosts and checkpoints are looked for at once."""


class Outlook:
    """Looks again and again, and remembers since when cells are vacant."""

    def __init__(self, members: Members, directory: DHTDirectory, copies: Copies, leaving: Leaving) -> None:
        self._members, self._directory, self._copies, self._leaving = members, directory, copies, leaving
        self._grid = directory.grid
        self._vacant: dict[Uid, float] = {}
        self._waited: dict[Uid, float] = {}
        """Until when the former hosts of vacant cells are waited for."""
        self._active: set[Uid] = set()
        self.copies: dict[Uid, list[Copy]] = {}
        """Of the vacant cells, as of the last look."""

    async def look(self, known: Mapping[str, Member], versions: Mapping[Uid, int]) -> View:
        """The swarm as of now.

        Args:
            known: the living members, by key.
            versions: of what is hosted here.

        Raises:
            NetworkError: the directory could not be read.
        """
        if not self._active:
            await self._directory.refresh()
        me, cells, now = self._members.me, self._cells(versions), time.monotonic()
        if len(cells) < self._grid.layers * self._grid.cells:
            known = {me: known[me]}  # the others look at other cells
        unsure = [uid for uid in self._unsure(cells) if uid not in versions]
        hosts = await self._members.hosts([*unsure, *versions])
        vacant = [uid for uid in unsure if not hosts[uid].hosts]
        self._vacant = {uid: self._vacant.get(uid, now + GRACE_S if uid in self._active else now) for uid in vacant}
        self._active = set(cells) - self._vacant.keys()
        self.copies = {}
        if known[me].capacity > len(versions):
            self.copies = await self.find_copies(vacant)
            await self._hear_leavers({uid: left for uid in vacant if (left := hosts[uid].left)})
        keepers = {uid: self._newest_keepers(uid) for uid in vacant}
        rivals = {uid: hosts[uid].hosts for uid in versions}
        return View(cells, known, versions, rivals, self._vacant, {uid: held for uid, held in keepers.items() if held})

    def ended(self, uids: Iterable[Uid]) -> None:
        """This PC's own compute ended or stopped with these: when it is back, nobody has to be waited for."""
        self._active.difference_update(uids)

    async def _hear_leavers(self, left: Mapping[Uid, Sequence[PeerId]]) -> None:
        """Wait for who is still saving an expert that it left; who has done so need not be waited for."""
        words, now = await self._leaving.ask(left), time.monotonic()
        self._waited = {uid: self._waited.get(uid, now + LEAVING_S) for uid in self._vacant}
        for uid, word in words.items():
            known = [*word.copies, *self.copies.get(uid, [])]
            self.copies[uid] = sorted(known, key=lambda copy: copy.file.version, reverse=True)
            if not word.coming:
                self._vacant[uid] = min(self._vacant[uid], now)
            else:
                self.put_off(uid)

    def put_off(self, uid: Uid) -> bool:
        """Leave a cell vacant for `GRACE_S` more, as its newest state is not to be had yet; not after `LEAVING_S`."""
        now = time.monotonic()
        waits = now < self._waited.get(uid, now)
        if waits:
            self._vacant[uid] = now + GRACE_S
        return waits

    async def find_copies(self, uids: Sequence[Uid]) -> dict[Uid, list[Copy]]:
        """The copies of experts on living members; others' only where there are none."""
        found = await self._copies.find(map(str, uids))
        copies = {uid: found.get(str(uid), []) for uid in uids}
        return {
            uid: [copy for copy in those if peer_text(copy.peer) in self._members.known] or those
            for uid, those in copies.items()
            if those
        }

    def _cells(self, mine: Mapping[Uid, int]) -> list[Uid]:
        """All cells of a small grid; of a large one, mostly empty, what is hosted here and some by chance."""
        if self._grid.layers * self._grid.cells <= MIRROR_LIMIT:
            return list(self._grid.uids())
        chance = random.Random(self._members.me)
        some = {self._grid.random_uid(chance) for _ in range(LOOKED_UP)}
        return sorted(some | mine.keys())

    def _unsure(self, cells: Sequence[Uid]) -> list[Uid]:
        """The cells that may be vacant: not in the directory, or hosted by the dead as far as it knows."""
        known = {layer: set(self._directory.mirror(layer) or ()) for layer in range(self._grid.layers)}
        absent = [uid for uid in cells if uid.coords not in known[uid.layer]]
        if self._members.any_dead:
            absent += [uid for uid in cells if uid.coords in known[uid.layer]]
        return absent[:LOOKED_UP]

    def _newest_keepers(self, uid: Uid) -> set[str]:
        held = {peer_text(copy.peer): copy.file.version for copy in self.copies.get(uid, ())}
        if own := self._copies.own(str(uid)):
            held[self._members.me] = own.version
        return {peer for peer, version in held.items() if version == max(held.values())}
