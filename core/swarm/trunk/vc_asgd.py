"""Trainers that agree by VC-ASGD: asks the run's parameter servers, and is one where the manifest names this peer."""

import asyncio
import contextlib
import hashlib
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from core.averaging.packing import NOISE, pack, unpack
from core.contracts.errors import CallRefused, CallTimeout, DataFolderError, NetworkError, ProtocolError, RemoteFault
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.net import of_run
from core.contracts.notices import Notice, notice
from core.contracts.taking_on import Verdict
from core.contracts.trunk import Agreed, Offer, VcAsgd
from core.contracts.trunk_status import GiverStatus, PartStatus, ReducerStatus
from core.identity import parse_peer, peer_text
from core.net.limits import Newest
from core.net.method import Context
from core.pipe.frames import Payload
from core.swarm.members import Members
from core.swarm.placement import rank
from core.swarm.trunk.agreement import HOSTILE_POINTS, NOBODY, POINTS, Agreement, Most, Who, anything
from core.swarm.trunk.merging import merge
from core.swarm.trunk.parameter_server import STOPPED_S, ParameterServer
from core.swarm.trunk.parameter_store import ParameterStore, open_store
from core.swarm.trunk.server_copy import Copy, dump, load
from core.swarm.trunk.server_lease import ServerLease
from core.swarm.trunk.work_generator import CLIENTS, NAME

log = logging.getLogger(__name__)

SERVER_S = 60.0
"""For one server's answer; then the next one is asked."""
FILE = "parameters.sqlite"
FAR_POINTS = 1.0
"""For a result that is far from all others', as an honest one is that comes very late."""
IDLE = 3.0
"""Times the time-out: within it each subtask is done or given to another trainer, so that every one gets some."""
REFUSALS = 3
"""In a row of what the manifest's servers give: then that is the measure, as they have nothing better."""
LEAVE_S = 5.0
"""For closing the store, whose server may not answer."""
COSTS = 250_000
"""Parameters of which a question costs as much as one call."""
STEP = 3.2
"""Learning rates by which a step of Adam changes a number at most (Kingma and Ba, 2015, section 2.1)."""
R = TypeVar("R")


class Untrusted(NetworkError):
    """What a server gave was set aside."""


class ParameterServers(Agreement):
    """The servers of a run, of which this peer may be one."""

    def __init__(self, manifest: Manifest, members: Members, folder: Path, most: Most = anything) -> None:
        super().__init__(manifest, members, folder, most)
        rules = manifest.trunk
        assert isinstance(rules, VcAsgd)
        self._rules, self._members, self._run_id, self._folder = rules, members, manifest.run_id, folder
        rate, steps = manifest.training.trunk_rate, rules.batches
        self._reach = STEP * rate * steps * math.sqrt(self._numbers)
        self._most_samples = steps * manifest.training.batch * MODELS[manifest.model.kind].rows(manifest.model)
        self._method = of_run("trunk.subtask", manifest.run_id)
        named = rules.servers or ([members.me] if rules.store else [])
        self._servers = sorted(named, key=lambda server: rank(members.me, server))
        """In the order in which they are asked: other trainers ask others first."""
        self._lease: ServerLease | None = None
        """Where none is named."""
        self._thread = ThreadPoolExecutor(1, "parameters")
        """For packing, and for the store, which waits."""
        self._store: ParameterStore | None = None
        self._left = False
        self._best = b""
        """The best parameters that servers gave, as far as these were tried; none: nobody knows any."""
        self._refused = 0
        """Times in a row that what the manifest's servers gave was refused."""
        self._asking = set[str]()
        """Peers that are served now."""
        self._known: PartStatus | None = None
        self._given = Newest[str, tuple[float, int]](CLIENTS)
        """When the last subtask of each trainer was mixed in, as far as this peer knows, unix time, and its samples."""
        self._idle = ("", 0.0)
        """The server that has no work for this peer, and since when, time.monotonic()."""
        self._asks, self._again = 0, 0.0
        """Questions of the trainer here on their way, and when it asks again for work."""
        if not named:
            self._lease = ServerLease(
                manifest.run_id,
                self._numbers,
                members,
                self._stored,
                self._put,
                self._merge,
                self._verdicts,
                self._load,
            )
        if members.me in rules.servers or not named:
            size = (NOISE + 2) * self._numbers + 1024
            cost = max(1.0, self._numbers / COSTS)
            members.node.register(self._method, Offer, self._answer, max_payload=size, cost=cost)

    async def __aenter__(self) -> "ParameterServers":
        if self._lease:
            self._lease.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._lease:
            await self._lease.stop()
        if self._store is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await self._aside(self._store.close)
        self._left = True
        self._thread.shutdown(wait=False)

    def status(self) -> list[PartStatus]:
        return [self._known] if self._known else []

    def who(self) -> Who:
        """Trainers know of themselves, and a server of those that it served not long ago."""
        last = self._known.syncer if self._known else None
        server = self._members.me if self._is_server else last
        if server is None:
            return NOBODY
        since = time.time() - self._rules.timeout_s
        given = [(peer, samples) for peer, (at, samples) in sorted(self._given.items()) if at >= since]
        return [GiverStatus(peer, samples, 1.0) for peer, samples in given], [ReducerStatus(server, 1.0)]

    def waits(self) -> Notice | None:
        if self._asks >= self._rules.at_once:
            return notice("trunk.waits_server")
        return notice("trunk.waits_work") if time.monotonic() < self._again else None

    def notes(self) -> list[Notice]:
        return self._lease.notes if self._lease else []

    @property
    def _is_server(self) -> bool:
        return self._lease.serves if self._lease else self._members.me in self._servers

    async def agree(self, offer: Offer, payload: bytes, deadline: float) -> tuple[Agreed, Payload]:
        """As `Agreement.agree`; who is a server itself asks no other."""
        self._asks += 1
        try:
            server, agreed, answer = await self._ask(offer, payload, deadline)
        finally:
            self._asks -= 1
        agreed = msgspec.structs.replace(agreed, again_s=min(agreed.again_s, STOPPED_S))
        self._again = time.monotonic() + (0.0 if agreed.reached else agreed.again_s)
        self.reached = agreed.reached
        self._note(self._members.me, offer, agreed)
        if answer:
            self._known = await self._aside(lambda: self._part(server, agreed, answer))
        return agreed, answer

    def _part(self, server: str, agreed: Agreed, answer: bytes) -> PartStatus:
        """What a server answered, as it is told. The trainers of which results are in it are not told apart from those
        that have work now."""
        digest = hashlib.sha256(answer).hexdigest()[:32]
        trainers = max(1, agreed.peers) if agreed.mixed else 0
        return PartStatus(0, agreed.mixed, digest, agreed.samples, trainers, time.time(), server, self._numbers)

    async def _ask(self, offer: Offer, payload: bytes, deadline: float) -> tuple[str, Agreed, bytes]:
        """The first server that answers, and its answer."""
        me, servers = self._members.me, self._servers
        if self._lease and not self._is_server:
            servers = [await self._lease.server(min(SERVER_S, deadline - time.monotonic()))]
        if self._is_server or servers == [me]:
            agreed, answer = await self._at_the_store(lambda: self._serve(me, offer, payload))
            self._best = answer or self._best
            if self._lease and offer.samples and agreed.counted:
                await self._lease.share()
            return me, msgspec.structs.replace(agreed, samples=min(agreed.samples, self._most().samples)), answer
        packed = await self._aside(lambda: pack(np.frombuffer(payload, "<f4")) if payload else b"")
        failed: NetworkError | None = None
        have = list[bool]()
        """Whether they keep anything, of those that answered."""
        for server in servers:
            left_s = min(SERVER_S, deadline - time.monotonic())
            if left_s <= 0:
                break
            try:
                agreed, answer = await self._members.node.call(
                    parse_peer(server), self._method, offer, Agreed, packed, deadline_s=left_s
                )
            except RemoteFault as error:
                if self._lease:
                    self._lease.failed(server, gone=False)
                if error.fault == ProtocolError.code:
                    raise ProtocolError(error.notice) from error
                failed = error
                continue
            except NetworkError as error:
                failed = error
                if self._lease:
                    self._lease.failed(server, gone=not isinstance(error, CallRefused))
                continue
            have.append(bool(answer))
            if not answer and (payload or self._best):
                if self._lease:
                    self._lease.failed(server, gone=False)
                failed = NetworkError(f"Server {server[:8]} keeps nothing of what is learnt.")
                continue
            try:
                vector = await self._taken(server, answer) if answer else b""
                samples = min(agreed.samples, self._most().samples)
                reached = agreed.reached and self._rules.accuracy is not None  # else nothing ends a run
                self._note_work(server, gives=reached or not agreed.again_s)
                return server, msgspec.structs.replace(agreed, samples=samples, reached=reached), vector
            except ProtocolError as error:
                self._members.node.strike(parse_peer(server), HOSTILE_POINTS)
                failed = NetworkError(f"Server {server[:8]} answered with no parameters: {error}")
            except Untrusted as error:
                failed = error
        if have and not any(have) and not self._lease and self._best and payload is not self._best:
            log.warning("The run's servers keep nothing any more. They begin with the best that is known here.")
            return await self._ask(Offer(0, 0, 0), self._best, deadline)
        raise failed or NetworkError("No parameter server could be asked in time.")

    def _note_work(self, server: str, *, gives: bool) -> None:
        """An elected server that has had none for long is left: this peer can do without it."""
        if gives or self._idle[0] != server:
            self._idle = server, time.monotonic()
        elif self._lease and time.monotonic() - self._idle[1] > IDLE * self._rules.timeout_s:
            log.warning("Server %s has had no work for this PC for a long time: another one is looked for.", server[:8])
            self._lease.distrust(server)

    async def _taken(self, server: str, answer: bytes) -> bytes:
        """A server's parameters, if they are about as good as the best ones that are known.

        What this PC's own trainer comes to is no measure: means of several are worse than each at first.

        Raises:
            ProtocolError: they are none.
            NetworkError: they are not, or that cannot be told now.
        """
        copy = await self._aside(partial(self._load, answer)) if self._lease else None
        vector = copy.vector if copy else await self._aside(partial(self._unpacked, answer))
        if not self._best and self._lease and (stored := await self._stored()):
            self._best = stored.vector
        states = [vector, *([self._best] if self._best else [])]
        compared = await self.compare([{0: state} for state in states])
        if (verdict := compared.verdicts[0]) != "good":
            log.warning("The parameters that server %s gave are %s.", server[:8], verdict)
            self._refused += 1
            if self._lease:
                self._members.node.strike(parse_peer(server), POINTS[verdict])
                self._lease.distrust(server)
            if self._lease or self._refused <= REFUSALS:
                raise Untrusted(f"The parameters that server {server[:8]} gave are of no use.")
        self._best, self._refused = vector if verdict != "good" else states[compared.best], 0
        if copy and self._lease:
            self._lease.received(server, copy)
        return vector

    async def _verdicts(self, copies: Sequence[Copy]) -> list[Verdict]:
        """On what other peers may be followed by. Where nobody trains, nobody can try them: who asks this PC does."""
        with contextlib.suppress(CallTimeout):
            return (await self.compare([{0: copy.vector} for copy in copies])).verdicts
        return ["good"] * len(copies)

    async def _answer(self, offer: Offer, payload: bytes, context: Context) -> tuple[Agreed, bytes]:
        """Serve another peer."""
        if not self._is_server:
            raise CallRefused("This peer is not the run's parameter server. Ask another one.")
        peer, node, far = peer_text(context.peer), self._members.node, list[float]()
        if peer in self._asking:
            raise CallRefused("You have asked already. Ask again when you have the answer.")
        voice = node.pool.voter(context.peer).hex()[:NAME]

        def serve() -> tuple[Agreed, bytes, PartStatus | None]:
            given = self._unpacked(payload) if payload else b""
            agreed, answer = self._serve(peer, offer, given, far.append, voice)
            if not answer:
                return agreed, b"", None
            copy = self._server().copy() if self._lease else None
            packed = dump(copy) if copy else pack(np.frombuffer(answer, "<f4"))
            return agreed, packed, self._part(self._members.me, agreed, answer)

        self._asking.add(peer)
        try:
            agreed, packed, part = await self._at_the_store(serve)
        except ProtocolError as error:
            log.warning("Peer %s offered what no network learns with: %s", peer[:8], error)
            node.strike(context.peer, HOSTILE_POINTS)
            raise
        finally:
            self._asking.discard(peer)
        for times in far:
            log.warning("Peer %s offered parameters %.0f times as far away as others.", peer[:8], times)
            node.strike(context.peer, FAR_POINTS)
        self.reached, self._known = agreed.reached, part or self._known
        self._note(peer, offer, agreed)
        if offer.samples and agreed.counted:
            self.reduced += len(payload)
        return agreed, packed

    def _note(self, trainer: str, offer: Offer, agreed: Agreed) -> None:
        if offer.samples and agreed.counted:
            self._given[trainer] = time.time(), offer.samples
            self.saw(parse_peer(trainer), offer.samples)

    def _serve(
        self,
        client: str,
        offer: Offer,
        payload: bytes,
        far: Callable[[float], None] = lambda times: None,
        voice: str = "",
    ) -> tuple[Agreed, bytes]:
        try:
            vector = np.frombuffer(payload, "<f4") if payload else None
            agreed, current = self._server().serve(client, offer, vector, self._members.dht.clock.now(), far, voice)
            if self._lease and current is not None:
                self._lease.turns += 1
        except (NetworkError, DataFolderError):  # it may be back soon, with a new connection
            if self._store is not None:
                self._store.close()
                self._store = None
            raise
        return agreed, b"" if current is None else current.tobytes()

    def _server(self) -> ParameterServer:
        if self._store is None:
            self._store = open_store(self._rules.store, self._run_id, self._folder / FILE)
        epochs = 1 + self._most().samples // (self._most_samples * self._rules.parts)
        return ParameterServer(self._rules, self._numbers, self._store, self._reach, self._most_samples, epochs)

    def _load(self, data: bytes | memoryview) -> Copy:
        return load(data, self._numbers, self._rules, self._members.dht.clock.now(), self._most().samples)

    async def _stored(self) -> Copy | None:
        return await self._aside(lambda: self._server().copy())

    async def _put(self, copy: Copy) -> None:
        await self._aside(lambda: self._server().put(copy))

    async def _merge(self, server: str, copy: Copy) -> None:
        """Have a server mix in what was learnt here while this PC was one."""

        async def ask(offer: Offer, payload: bytes) -> tuple[Agreed, bool]:
            if server == self._members.me:
                agreed, answer = await self._aside(lambda: self._serve(server, offer, payload))
            else:
                packed = await self._aside(lambda: pack(np.frombuffer(payload, "<f4")) if payload else b"")
                call, peer = self._members.node.call, parse_peer(server)
                agreed, answer = await call(peer, self._method, offer, Agreed, packed, deadline_s=SERVER_S)
            return agreed, bool(answer)

        await merge(ask, copy, self._most_samples)

    async def _at_the_store(self, work: Callable[[], R]) -> R:
        """As `_aside`; a server by lease whose store breaks is none any more."""
        try:
            return await self._aside(work)
        except DataFolderError as error:
            if self._lease is None:
                raise
            self._lease.broke()
            raise CallRefused(f"This peer cannot be the run's parameter server any more: {error}") from error

    def _unpacked(self, packed: bytes) -> bytes:
        return unpack(packed, self._numbers).tobytes()

    async def _aside(self, work: Callable[[], R]) -> R:
        if self._left:
            raise NetworkError("This PC has left the run.")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


AGREEMENT = ParameterServers
