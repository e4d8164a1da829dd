"""How much of a vector each member of a group reduces: by the linear program, from what each tells of its line.

A share reaches over all members' lines, so that every one of them makes the same plan, and compares. Where the members'
solvers differ, where nobody knows how fast its line is, and where there is no plan, the shares are equal.

The program needs scipy, 44 MiB of a worker's memory: it is loaded with the first group that has something to plan.
"""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from core.contracts.trunk_rounds import Ability
from core.net.rpc import RpcNode
from core.swarm.trunk.matchmaking import Wish, equal_shares

FEWEST = 3
"""Members that have something to plan: of two each sends and gets a whole vector, however it is divided."""
PLENTY = 1 << 62
"""A batch that is longer in coming than any mean, so that the plan leaves out nobody's gradients (every c_i is 1): a
line was seen to be so fast at least, and nobody's work is dropped because it had little to send so far. How fast each
one computes (s_i) decides nothing then: when a group meets its batch is gathered, the paper plans for those to come."""


async def wish_of(node: RpcNode, step: int, numbers: int, members: int, *, sends: bool, helps: bool = False) -> Wish:
    """What this peer says of itself.

    Args:
        node: its connections.
        step: as in `Wish`.
        numbers: as in `Wish`.
        members: of the group, as far as is known.
        sends: as in `Wish`.
        helps: as in `Wish`.
    """
    upload, download = node.shaper.speeds()
    solver = await asyncio.to_thread(_solver) if members >= FEWEST else ""
    return Wish(step, node.address(), numbers, sends, Ability(upload, download, solver), helps)


def _program() -> ModuleType:
    """Loaded when it is needed: see above."""
    return import_module("core.averaging.plan")


def _solver() -> str:
    solver: str = _program().SOLVER
    return solver


def planned_shares(wishes: Sequence[Wish]) -> Sequence[int]:
    """As `Share`: the same on every peer with the same solver.

    Args:
        wishes: of all members. Whose line is not known is taken for one in the middle of the others.
    """
    solvers = {wish.ability.solver for wish in wishes}
    uploads, downloads = ([getattr(wish.ability, way) for wish in wishes] for way in ("upload", "download"))
    if len(wishes) < FEWEST or len(solvers) > 1 or "" in solvers or not any(uploads + downloads):
        return equal_shares(wishes)
    program = _program()
    lines = zip(wishes, _filled(uploads, program.FASTEST), _filled(downloads, program.FASTEST), strict=True)
    members = [
        program.Member(wish.address.peer, float(wish.sends), upload, download, bool(wish.address.addresses))
        for wish, upload, download in lines
    ]
    found = program.plan(members, {}, wishes[0].numbers, PLENTY)
    if found is None:
        return equal_shares(wishes)
    shares = dict(zip(found.members, found.cut(wishes[0].numbers), strict=True))
    return [shares[wish.address.peer] for wish in wishes]


def _filled(speeds: Sequence[int], fastest: int) -> Sequence[int]:
    """With a number for those that are not known."""
    known = sorted(filter(None, speeds)) or [fastest]
    return [speed or known[(len(known) - 1) // 2] for speed in speeds]
