"""What compute asks of other peers: its requests go out over the network, the answers back over the pipe."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from core.contracts.errors import CallRefused, ComputeError, HearthError, NetworkError, RemoteFault
from core.contracts.expert_calls import METHODS, ExpertReply
from core.contracts.net import of_run
from core.contracts.pipe import (
    Answered,
    Ask,
    Banned,
    Cells,
    FindSuffixes,
    Forget,
    Locate,
    Located,
    Place,
    Shape,
    Stirred,
    Suffixes,
    Suspect,
    Tensor,
    ToCompute,
    Unanswered,
)
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Coords, Grid, Uid
from core.identity import PeerId, peer_text
from core.net.rpc import RpcNode
from core.swarm.returning_peers import ReturningPeers

log = logging.getLogger(__name__)

AT_ONCE = 1024
"""Requests and look-ups under way; compute sends fewer."""
LOOK_UP_S = 4.0
"""For a question to the DHT."""
WATCH_S = 0.5
"""Between two looks at the directory: it reads the DHT itself every ten seconds."""

Send = Callable[[ToCompute, Sequence[Tensor]], Awaitable[None]]
Question = Ask | Locate | FindSuffixes


class Asking:
    """Serves one compute process after the other."""

    def __init__(self, node: RpcNode, directory: DHTDirectory, grid: Grid, send: Send) -> None:
        """Nobody asks yet.

        Args:
            node: the network.
            directory: who hosts what.
            grid: that of the run.
            send: hands a frame to compute; ComputeError: it is gone.
        """
        self._node, self._directory, self._grid, self._send = node, directory, grid, send
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._watching: asyncio.Task[None] | None = None
        self._returning = ReturningPeers(node, directory)
        self._telling: set[asyncio.Task[None]] = set()
        node.on_banned.append(self._banned)
        self.calls: Counter[str] = Counter()
        """Answered calls to others' experts, by uid."""

    @property
    def reachable(self) -> bool:
        """Whether every layer has an expert, here or elsewhere, as far as is known."""
        return all(self._directory.mirror(layer) != () for layer in range(self._grid.layers))

    def started(self) -> None:
        """Compute is ready: keep it told of the active cells."""
        self.ended()
        self._watching = asyncio.create_task(self._watch(), name="active cells")

    def ended(self) -> None:
        """Compute is gone, nobody waits for an answer."""
        if self._watching:
            self._watching.cancel()
        for task in self._tasks.values():
            task.cancel()

    def received(self, message: Question | Forget | Suspect, tensors: Sequence[Tensor]) -> None:
        """Begin to do what compute asked for."""
        match message:
            case Forget():
                if task := self._tasks.get(message.id):
                    task.cancel()
            case Suspect():
                log.warning("Peer %s: %s", message.peer[:8], message.why)
                self._node.strike(PeerId(bytes.fromhex(message.peer)), message.points)
            case _:
                task = asyncio.create_task(self._answer(message, tensors), name=f"ask {message.id}")
                self._tasks[message.id] = task
                task.add_done_callback(lambda _: self._tasks.pop(message.id, None))

    def _banned(self, peer: PeerId, seconds: float) -> None:
        """There is one list of bans, the node's."""
        self._tell(Banned(peer_text(peer), seconds))

    def _tell(self, message: Banned | Stirred) -> None:
        task = asyncio.create_task(self._send_if_there(message), name="news of a peer")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _send_if_there(self, message: ToCompute) -> None:
        with suppress(ComputeError):
            await self._send(message, ())

    async def _answer(self, message: Question, tensors: Sequence[Tensor]) -> None:
        answer: ToCompute
        data: Sequence[Tensor] = ()
        try:
            if len(self._tasks) > AT_ONCE:
                raise CallRefused("Too many requests of this PC wait for other peers. Try again later.")
            match message:
                case Ask():
                    answer, data = await self._ask(message, tensors[0])
                case Locate():
                    answer = Located(message.id, await self._locate(message.uids))
                case FindSuffixes():
                    answer = Suffixes(message.id, await self._find(message.layer, message.prefixes))
        except HearthError as error:
            code = error.fault if isinstance(error, RemoteFault) else error.code
            answer = Unanswered(message.id, code, str(error))
        except TimeoutError:
            answer = Unanswered(message.id, "timeout", f"The DHT did not answer within {LOOK_UP_S:.0f} s.")
        with suppress(ComputeError):  # it is gone, and its question with it
            await self._send(answer, data)

    async def _ask(self, message: Ask, payload: Tensor) -> tuple[Answered, Sequence[Tensor]]:
        peer = PeerId(bytes.fromhex(message.peer))
        method, request = of_run(METHODS[message.direction], self._directory.run_id), message.request
        asked = asyncio.get_running_loop().time()
        try:
            reply, data = await self._node.call(
                peer, method, request, ExpertReply, payload.data, deadline_s=message.deadline_s
            )
        except RemoteFault as error:
            if error.fault == "not_hosted":
                self._miss(request.uids, peer)
            raise
        except NetworkError:
            self._returning.failed(peer, asked)
            raise
        self._returning.answered(peer)
        self.calls.update(request.uids)
        if message.direction != "backward":
            self._miss([uid for uid, a in zip(request.uids, reply.answered, strict=False) if not a], peer)
        return Answered(message.id, reply), [Tensor(Shape("uint8", (len(data),)), data)]

    def _miss(self, uids: Sequence[str], peer: PeerId) -> None:
        for uid in uids:
            self._directory.not_hosted(Uid.parse(uid), peer)

    async def _locate(self, uids: Sequence[str]) -> list[list[Place]]:
        wanted = [Uid.parse(uid) for uid in uids]
        async with asyncio.timeout(LOOK_UP_S):
            infos = await self._directory.host_infos(wanted)
        return [
            [Place(peer_text(info.peer), info.load, info.version, info.rtt_ms) for info in infos.get(uid, ())]
            for uid in wanted
        ]

    async def _find(self, layer: int, prefixes: Sequence[Coords]) -> list[list[int]]:
        async with asyncio.timeout(LOOK_UP_S):
            found = await self._directory.active_suffixes(layer, prefixes)
        return [list(suffixes) for suffixes in found]

    async def _watch(self) -> None:
        """Tell of the active cells whenever they have changed, and of peers that are heard of again."""
        sent: list[Sequence[Coords] | None] = []
        while True:
            mirrors = [self._directory.mirror(layer) for layer in range(self._grid.layers)]
            if None not in mirrors and [*map(id, mirrors)] != [*map(id, sent)]:
                await self._send_if_there(Cells([list(cells or ()) for cells in mirrors]))
                sent = mirrors
            for peer in self._returning.look():
                await self._send_if_there(Stirred(peer_text(peer)))
            await asyncio.sleep(WATCH_S)
