"""Other peers' calls to the experts of this PC: passed on to compute and back, undecoded.

What is checked here needs no more than lengths, rates and who asks; what is asked is checked by compute.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from core.contracts.errors import CallRefused
from core.contracts.expert_calls import MAX_BYTES, METHODS, Direction, encoded_size
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.remote_experts import SERVE, ExpertCall
from core.pipe.calls import Calls
from core.pipe.frames import Payload

if TYPE_CHECKING:  # a worker that is alone loads nothing of the network
    from core.contracts.net import Parts
    from core.net.method import Context
    from core.net.rpc import RpcNode

IN_COMPUTE, IN_COMPUTE_PEER = 256, 64
"""Requests given to compute at once, and those of one peer; more are told that this peer is busy. Beyond the first
limit each peer still has its equal part of as many again, so that a few cannot keep out all others."""
BYTES, LARGEST = 64 << 20, 4
"""Likewise of their payloads, of one peer or of all; no more than so many of the largest that the run needs."""
EVALUATED, LEAST = 2048, 4 << 20
"""Rows that an evaluation may ask for at once, and bytes that any request may have."""


def request_bytes(manifest: Manifest) -> int:
    """The largest payload that an honest peer of a run sends for one layer, twice.

    Args:
        manifest: the run's.
    """
    model, training = manifest.model, manifest.training
    rows = max(EVALUATED, training.batch * MODELS[model.kind].rows(model)) * model.k
    whole = 2 * rows * encoded_size(training.codec, model.width)  # gradients, and inputs that are not kept any more
    return min(MAX_BYTES, max(LEAST, 2 * whole))


Reply = tuple[bytes, Payload]
Spend = Callable[[bytes, int], None]
"""Peer, and bytes of what it asks; refuses by an `AllowanceSpent`."""
CrowdOf = Callable[[str | None], str]
"""Of a caller's outside address, see `ExpertCall.crowd`."""


class IncomingCalls:
    """Requests of other peers that compute works on."""

    def __init__(self, calls: Calls, is_at_work: Callable[[], bool]) -> None:
        """Nobody asks yet.

        Args:
            calls: to compute.
            is_at_work: whether compute serves now.
        """
        self._calls, self._is_at_work = calls, is_at_work
        self.first_asker: bytes | None = None
        """The first peer that got an answer."""
        self._under_way: set[asyncio.Future[Reply]] = set()
        self._requests: Counter[bytes] = Counter()
        self._bytes: Counter[bytes] = Counter()
        self._most_bytes = BYTES

    def register(self, node: "RpcNode", run_id: str, spend: Spend, crowd_of: CrowdOf, most: int = MAX_BYTES) -> None:
        """Serve the run's methods to all peers.

        Args:
            node: this peer's connections.
            run_id: the run that is asked by them.
            spend: what a question costs who asks it (`core.swarm.allowance`).
            crowd_of: with whom a caller counts as one (`core.swarm.crowd`).
            most: bytes of the largest payload.
        """
        self._most_bytes = min(BYTES, LARGEST * most)
        for direction, name in METHODS.items():
            handler = partial(self._serve, direction, spend if direction == "inference" else None, crowd_of)
            node.register(of_run(name, run_id), bytes, handler, max_payload=most, cost=4.0)

    def _serve(
        self,
        direction: Direction,
        spend: Spend | None,
        crowd_of: CrowdOf,
        request: bytes,
        payload: "Parts",
        context: "Context",
    ) -> asyncio.Future[Reply]:
        """Compute's answer. Without a task or a wait in between: each would take longer than a tiny expert.

        Raises:
            CallRefused: compute does not work now, or has enough to do.
            AllowanceSpent: the peer has asked enough questions for now.
            ComputeError: it has just gone.
        """
        if not self._is_at_work():
            raise CallRefused("This peer does not compute now. Ask another one.")
        peer, size = context.peer, sum(map(len, payload))
        if not self._has_room(peer, size):
            raise CallRefused("This peer is busy with other requests. Ask another one.")
        if spend:
            spend(peer, size)
        call = ExpertCall(peer.hex(), direction, request, crowd_of(context.address))
        answer = self._calls.exchange(SERVE, call, payload, context.deadline)
        self._count(peer, 1, size)
        self._under_way.add(answer)
        answer.add_done_callback(partial(self._answered, peer, size))
        return answer

    def _has_room(self, peer: bytes, size: int) -> bool:
        requests, total = self._requests[peer] + 1, self._bytes[peer] + size
        if len(self._under_way) >= IN_COMPUTE or self._bytes.total() + size > self._most_bytes:
            askers = len(self._requests.keys() | {peer})
            return requests <= IN_COMPUTE // askers and total <= self._most_bytes // askers
        return requests <= IN_COMPUTE_PEER

    def _answered(self, peer: bytes, size: int, answer: asyncio.Future[Reply]) -> None:
        self._under_way.discard(answer)
        if self.first_asker is None and not answer.cancelled() and answer.exception() is None:
            self.first_asker = peer
        self._count(peer, -1, -size)

    def _count(self, peer: bytes, requests: int, size: int) -> None:
        self._requests[peer] += requests
        self._bytes[peer] += size
        if not self._requests[peer]:
            del self._requests[peer], self._bytes[peer]

    def refuse(self, why: str) -> None:
        """Compute works no more: have all who wait ask elsewhere."""
        for answer in list(self._under_way):
            if not answer.done():
                answer.set_exception(CallRefused(why))
