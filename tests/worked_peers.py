"""Peers in this process whom real workers let into a run that is open to everybody: the work for their keys is done."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from core.contracts.access import Shown
from core.identity import Identity, PeerId
from core.net.rpc import RpcNode
from core.puzzle import solve
from tests.workers import DIGITS, HERE, worked_key


class Worked:
    """A gate that shows the work for a key, and lets in everybody."""

    private = False

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def admits(self, peer: PeerId) -> bool:
        return True

    def showing(self) -> Shown:
        return Shown(self._answer)

    def meet(self, peer: PeerId, shown: Shown) -> None:
        """Whatever it shows."""


@contextlib.asynccontextmanager
async def worked_peer(
    run_id: str = DIGITS, listen: Sequence[str] = (HERE,), identity: Identity | None = None
) -> AsyncIterator[RpcNode]:
    """A bare peer of a run.

    Args:
        run_id: the run.
        listen: where it does.
        identity: its own, for which the work takes a second; None: one of those that only one process may use.
    """
    if identity is None:
        seed, answer = worked_key()
        identity = Identity(seed)
    else:
        answer = await asyncio.to_thread(solve, identity.peer)
    async with RpcNode(identity, listen=listen) as node:
        node.admission.guard(run_id, Worked(answer))
        yield node
