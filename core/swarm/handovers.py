"""Experts that go from a host which has more than its share to one that has room.

The taker hosts them first; the giver lets them go once it has tried them there. So nobody loses an expert to a peer
that only says that it has room.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from core.contracts.errors import CallRefused, NetworkError, ProtocolError
from core.contracts.files import PartFile
from core.contracts.hosting import Given, Handover, HandoverReply, Member
from core.contracts.net import of_run
from core.experts.grid import Uid, names
from core.identity import PeerId, parse_peer
from core.net.limits import Newest
from core.swarm import placement
from core.swarm.hosted import HostedExperts
from core.swarm.members import Members
from core.swarm.placement import View
from core.swarm.replication import Copies, Copy

log = logging.getLogger(__name__)

PEERS = 256
"""Remembered to whom something was given, and by whom."""
OWED_S = 120.0
"""For so long nothing more is given to a peer that does not serve what it got; it may have been restarted."""
HANDOVER_S = 30.0
"""For a host to answer."""


class Handed(NamedTuple):
    """Experts that one peer gave."""

    at: float
    """When, time.monotonic()."""
    uids: list[Uid]

    @property
    def counts(self) -> bool:
        """Whether that was not long ago."""
        return time.monotonic() - self.at < OWED_S


class Handovers:
    """Both sides, of one run."""

    def __init__(self, members: Members, copies: Copies, hosted: HostedExperts) -> None:
        """Nothing was given.

        Args:
            members: the peers of the run.
            copies: the states of experts.
            hosted: the experts of this PC.
        """
        self._node, self._grid, self._members = members.node, members.directory.grid, members
        self._copies, self._hosted = copies, hosted
        self.method = of_run("host.handover", members.directory.run_id)
        self._gave, self._got = Newest[str, Handed](PEERS), Newest[str, Handed](PEERS)
        """By peer: to whom, and by whom."""

    # who takes

    async def ask(self, giver: str, count: int) -> dict[Uid, list[Path]]:
        """Have a host that has more than its share give some of its experts.

        Args:
            giver: the host.
            count: how many are wanted.

        Returns:
            Those that are to be hosted here now, with the files to go on from.
        """
        peer = parse_peer(giver)
        try:
            request = Handover(count)
            reply, _ = await self._node.call(peer, self.method, request, HandoverReply, deadline_s=HANDOVER_S)
        except NetworkError as error:
            log.info("Peer %s hands nothing over now: %s", giver[:8], error)
            return {}
        given = {Uid.parse(one.uid): one.state for one in reply.given if self._is_expert(one.uid)}
        paths = await asyncio.gather(*(self._fetch(uid, state, peer) for uid, state in given.items()))
        whole = {uid: path for (uid, state), path in zip(given.items(), paths, strict=True) if path or state is None}
        if whole:
            self._got[giver] = Handed(time.monotonic(), [*whole])
            log.info("Taking over %s from %s, which hosts more than its share.", names(whole), giver[:8])
        return whole

    def givers(self) -> dict[Uid, str]:
        """Who gave experts to this PC not long ago: it lets them go as soon as it has tried them here, and until then
        nobody yields."""
        return {uid: peer for peer, got in self._got.items() if got.counts for uid in got.uids}

    def _is_expert(self, text: str) -> bool:
        """Whether a peer has named an expert of this run, and not one of another or anything else."""
        try:
            return Uid.parse(text) in self._grid
        except ProtocolError:
            return False

    async def _fetch(self, uid: Uid, state: PartFile | None, giver: PeerId) -> list[Path]:
        if state is None or state.part != str(uid):
            return []
        return await self._copies.newest(str(uid), [Copy(giver, state)])

    # who gives

    def give(self, peer: str, count: int, view: View) -> HandoverReply:
        """Experts for a peer that has fewer; they stay here until it serves them.

        Args:
            peer: who asked.
            count: how many it may have.
            view: what is known of the swarm.

        Raises:
            CallRefused: it has to serve first what it was given before.
        """
        taker = view.members.get(peer, Member(0, 0))
        if taker.hosted >= min(taker.capacity, len(view.mine)):
            return HandoverReply(())
        before = self._gave.get(peer)
        if before is not None and before.counts and self._hosted.claimed & {*before.uids}:
            raise CallRefused("You do not serve yet what this peer gave you. Host it first.")
        promised = {uid for gave in self._gave.values() if gave.counts for uid in gave.uids}
        uids = placement.to_give((view.mine.keys() & self._hosted.claimed) - promised, count, peer)
        self._gave[peer] = Handed(time.monotonic(), uids)
        return HandoverReply(tuple(Given(str(uid), self._copies.own(str(uid))) for uid in uids))

    async def hosted_by_now(self) -> list[tuple[str, Mapping[Uid, int]]]:
        """What this PC still hosts although it was given to others, who say that they host it."""
        given = {
            peer: [uid for uid in gave.uids if uid in self._hosted.claimed]
            for peer, gave in self._gave.items()
            if gave.counts
        }
        found = [(peer, await self._members.confirm(peer, uids)) for peer, uids in given.items() if uids]
        return [(peer, hosted) for peer, hosted in found if hosted]
