"""A step's round, from the search for its members to its result: who does not come, or spoils it, holds up no other.

A trainer that was waited for in vain twice at one step counts no more for that step. Who came and did nothing, or only
slowly, is let into ever fewer of the next rounds, together with all of its block of addresses. A group that came to
nothing is brought together by another peer the next time, and so is one that was asked for in vain. Whom this peer has
not met, as a record costs nothing, and who did not come to several rounds, is not asked for one. So one that wants
nothing but to hold up the others does it for two rounds, and a few more where more than half of a group are such.
"""

import logging

from core.averaging.codecs import Numbers
from core.contracts.errors import RoundVoid
from core.contracts.trunk_rounds import MEMBERS, Group
from core.identity import PeerId
from core.net.rpc import RpcNode
from core.swarm.trunk.all_reduce import AllReduce
from core.swarm.trunk.ballot import Result
from core.swarm.trunk.matchmaking import Matchmaking
from core.swarm.trunk.planning import wish_of
from core.swarm.trunk.standings import Standings

log = logging.getLogger(__name__)


class Meeting:
    """Of one peer with the others of a run."""

    def __init__(
        self, node: RpcNode, standings: Standings, matchmaking: Matchmaking, rounds: AllReduce, numbers: int
    ) -> None:
        """
        Args:
            node: this peer's connections.
            standings: what the others tell of themselves.
            matchmaking: by which they find each other.
            rounds: in which they take part.
            numbers: of the trunk.
        """
        self._node, self._standings, self._matchmaking = node, standings, matchmaking
        self._rounds, self._numbers = rounds, numbers

    async def group(self, step: int, within_s: float, *, sends: bool, helps: bool = False) -> Group | None:
        """With all that are known to be near a step; None: nobody came, or the others have taken it.

        Args:
            step: the step.
            within_s: the group is what it is after this.
            sends: whether this peer has something to give.
            helps: whether it takes no step itself.
        """
        near = self._standings.near(step)
        most = min(max(2, 1 + len(near)), MEMBERS)
        wish = await wish_of(self._node, step, self._numbers, most, sends=sends, helps=helps)
        known = self._standings
        group = await self._matchmaking.find(
            wish,
            most,
            within_s,
            lambda: known.is_taken(step),
            near=lambda: known.near(step),
            is_idle=lambda peer: known.is_idle(peer, step),
            may_gather=lambda peer: known.is_met(peer) and not known.rests(peer, step),
        )
        came = {PeerId(member.peer) for member in group.members} if group else set()
        gatherer = self._matchmaking.gatherer
        if gatherer == self._node.peer or self._standings.are_most(group.trainers() if group else (), step):
            waited = near - came if 1 + len(came & known.near(step)) < most else set()
        else:  # where the others have gone its gatherer alone knows
            waited = near & {gatherer} - came
        if not self._standings.is_taken(step):
            self._standings.met(step, (), waited)
            for peer in waited:
                log.info("Step %d waited in vain for peer %s.", step, peer.hex()[:8])
        return group

    async def average(self, step: int, group: Group, vector: Numbers | None, samples: int) -> Result:
        """Take part in a group's round.

        Args:
            step: the step.
            group: of it.
            vector: as in `AllReduce.average`.
            samples: likewise.

        Raises:
            RoundVoid: there is no result here.
        """
        members = [PeerId(member.peer) for member in group.members]
        idle = [peer for peer in members if self._standings.is_idle(peer, step)]
        try:
            result = await self._rounds.average(group, vector, samples, idle=idle)
        except RoundVoid as error:
            self._matchmaking.spoilt()
            self._standings.met(step, (), idle=[PeerId(peer) for peer in error.spoilt_by])
            raise
        self._standings.met(step, members, idle=result.late)
        return result
