"""Experts of other peers as compute reaches them, with a worker that answers over the pipe's messages."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from typing import cast

import msgspec
import pytest
import torch

from core.compute.peer_directory import Hosts, PeerDirectory
from core.compute.peers import ASKS
from core.contracts import manifest as manifests
from core.contracts.errors import CallTimeout, HearthError, NotServed, PeerUnreachable, RemoteFault
from core.contracts.expert_calls import Direction, ExpertReply, ExpertRequest, encoded_size
from core.contracts.remote_experts import (
    ASK,
    ASKED,
    FOLLOW,
    LOCATE,
    MISSING,
    SILENT,
    SUFFIXES,
    SUSPECT,
    Banned,
    Cells,
    ExpertCall,
    News,
    Place,
    Prefixes,
    Stirred,
    Suspect,
)
from core.experts import codec, proof
from core.experts.beam_search import BeamSearch
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.gating import Gate
from core.experts.grid import Coords, Grid, Uid
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from tests.bench.virtual_time import run
from tests.joined_calls import join

GRID = Grid("digits", 2, (4, 4))
TRAINING = manifests.load("digits").training
PATIENT = 1.0
A, B = "aa" * 32, "bb" * 32
WIDTH = 8


class Worker:
    """The other end of the pipe, and the peers behind it: they add 1 to what they get."""

    def __init__(self) -> None:
        self.calls, self.compute = Calls(), Calls()
        self.asked: list[tuple[str, Direction, ExpertRequest]] = []
        self.forgotten = 0
        self.suspected: Counter[str] = Counter()
        self.missing: list[tuple[str, list[str]]] = []
        self.looked_up: list[list[str] | Prefixes] = []
        self.seconds: dict[str, float | None] = {A: 0.01, B: 0.01}
        """Until a peer answers; None: never."""
        self.refuses: dict[str, str | HearthError] = {}
        self.hosts: dict[str, list[str]] = {}
        self.keeps_inputs = True
        self.reply: ExpertReply | None = None
        self.payload: bytes | None = None
        self.news: asyncio.Queue[News] = asyncio.Queue()
        self.calls.register_carrier(ASK, self._answer)
        self.calls.register(LOCATE, self._locate)
        self.calls.register(SUFFIXES, self._find)
        self.calls.register_stream(FOLLOW, self._tell)
        self.calls.listen(SUSPECT, self._suspect)
        self.calls.listen(MISSING, lambda missing: self.missing.append((missing.peer, missing.uids)))
        join(self.calls, self.compute)

    def _suspect(self, message: Suspect) -> None:
        self.suspected[message.peer] += int(message.points)

    async def _tell(self, _: None) -> AsyncGenerator[News, None]:
        while True:
            yield await self.news.get()

    async def _locate(self, uids: list[str]) -> list[list[Place]]:
        self.looked_up.append(uids)
        await asyncio.sleep(0.3)
        return [[Place(p, 0.0, 0, 1.0) for p in self.hosts.get(uid, [])] for uid in uids]

    async def _find(self, asked: Prefixes) -> list[list[int]]:
        self.looked_up.append(asked)
        await asyncio.sleep(0.3)
        return [[u for u in range(4) if self._is_active(asked.layer, (*p, u))] for p in asked.prefixes]

    def _is_active(self, layer: int, prefix: Coords) -> bool:
        return any(uid.layer == layer and uid.coords[: len(prefix)] == prefix for uid in map(Uid.parse, self.hosts))

    async def _answer(self, call: ExpertCall, parts: Payload, incoming: Incoming) -> tuple[bytes, Payload]:
        request = msgspec.msgpack.decode(call.request, type=ExpertRequest)
        payload = b"".join(cast(list[bytes], parts))
        self.asked.append((call.peer, call.direction, request))
        seconds, left = self.seconds[call.peer], incoming.deadline - asyncio.get_running_loop().time()
        try:
            if call.peer in self.refuses:
                await asyncio.sleep(0.01)
                refused = self.refuses[call.peer]
                raise refused if isinstance(refused, HearthError) else RemoteFault(refused, "because")
            await asyncio.sleep(min(left, 1e9 if seconds is None else seconds))
        except asyncio.CancelledError:
            self.forgotten += 1
            raise
        if seconds is None or seconds > left:
            raise CallTimeout("It was too late.")
        if call.direction == "backward" and not request.with_inputs and not self.keeps_inputs:
            reply, data = ExpertReply((False,) * len(request.uids), forgotten=True), b""
        else:
            numbers = sum(request.rows) * WIDTH
            rows = codec.decode(
                payload[-encoded_size(request.codec, numbers) :], request.codec, (sum(request.rows), WIDTH)
            )
            versions = tuple(range(5, 5 + len(request.uids)))
            reply, data = ExpertReply((True,) * len(request.uids), versions), bytes(codec.encode(rows + 1, "fp16"))
        return msgspec.msgpack.encode(self.reply or reply), data if self.payload is None else self.payload


def setup(worker: Worker, local: Sequence[Uid] = (), mirror_limit: int = 4096) -> PeerDirectory:
    return PeerDirectory(GRID, LocalDirectory(local), worker.compute, TRAINING, mirror_limit)


async def forward(host: ExpertHost, asked: Sequence[Call], passage: int) -> list[Output | None]:
    """Ask with the deadline that a layer would set."""
    assert host.standing is not None
    longest_s = host.standing.longest_s("forward", TRAINING.patience_s)
    return await host.forward(asked, passage, asyncio.get_running_loop().time() + longest_s)


def calls(*cells: Coords, gradients: bool = False) -> list[Call]:
    return [
        Call(GRID.uid(0, cell), torch.full((i + 1, WIDTH), 2.0), torch.zeros(i + 1, WIDTH) if gradients else None, 7)
        for i, cell in enumerate(cells)
    ]


def test_one_request_carries_all_calls_and_their_answers_come_back_with_versions() -> None:
    async def main() -> None:
        worker = Worker()
        host = setup(worker).host(A)
        answers = await forward(host, calls((0, 1), (2, 3)), 9)
        assert [a.rows.tolist() for a in answers if a] == [[[3.0] * WIDTH], [[3.0] * WIDTH] * 2]
        assert [a.version for a in answers if a] == [5, 6]
        [(peer, direction, request)] = worker.asked
        assert (peer, direction, request.uids) == (A, "forward", ("digits.0.0.1", "digits.0.2.3"))
        assert (request.passage, request.codec) == (9, "fp16")

    run(main())


@pytest.mark.parametrize("keeps", [True, False])
def test_backward_sends_the_inputs_only_if_they_were_forgotten_and_keeps_its_passage(keeps: bool) -> None:
    async def main() -> None:
        worker = Worker()
        worker.keeps_inputs = keeps
        answers = await setup(worker).host(A).backward(calls((0, 1), gradients=True), 9, PATIENT)
        assert answers[0] is not None and answers[0].tolist() == [[1.0] * WIDTH]
        assert [request.with_inputs for _, _, request in worker.asked] == ([False] if keeps else [False, True])
        assert {(request.passage, request.versions) for _, _, request in worker.asked} == {(9, (7,))}

    run(main())


@pytest.mark.parametrize("code", ["timeout", "unreachable", "refused", "busy", "nonsense"])
def test_a_peer_that_fails_is_left_alone_until_it_answers_a_question_of_its_own(code: str) -> None:
    async def main() -> None:
        worker = Worker()
        host = setup(worker).host(A)
        assert (await forward(host, calls((0, 1)), 0))[0] is not None
        worker.asked.clear()
        worker.refuses[A] = code
        assert await forward(host, calls((0, 1)), 1) == [None]
        assert host.standing.suspended and await forward(host, calls((0, 1)), 2) == [None]
        assert len(worker.asked) == 1, "it was asked although it is suspended"
        await asyncio.sleep(60.0)
        tries = len(worker.asked) - 1
        assert 3 <= tries <= 9, "the back-off does not grow"
        assert {direction for _, direction, _ in worker.asked[1:]} == {"inference"}
        del worker.refuses[A]
        await asyncio.sleep(31.0)
        assert not host.standing.suspended and (await forward(host, calls((0, 1)), 3))[0] is not None

    run(main())


def test_a_peer_that_is_only_slow_is_asked_again_soon_and_a_frozen_one_ever_later() -> None:
    async def main() -> None:
        worker = Worker()
        host, loop = setup(worker).host(A), asyncio.get_running_loop()
        for round in range(8):
            worker.refuses[A] = "timeout"
            await forward(host, calls((0, 1)), round)
            assert host.standing.suspended
            del worker.refuses[A]
            start = loop.time()
            while host.standing.suspended:  # noqa: ASYNC110  (a virtual clock)
                await asyncio.sleep(0.05)
            assert loop.time() - start <= 2.5

    run(main())


@pytest.mark.parametrize(
    ("seconds", "refuses", "served", "silent"),
    [
        (None, None, False, True),
        (None, NotServed("because"), False, True),
        (None, "internal", False, True),
        (proof.ANSWER_S - 1.0, None, False, False),
        (None, None, True, False),
        (None, PeerUnreachable("because"), False, False),
        (None, "not_hosted", False, False),
        (None, "spent", False, False),
    ],
)
def test_who_does_no_work_of_any_kind_is_silent_and_who_is_only_slow_is_not(
    seconds: float | None, refuses: str | HearthError | None, served: bool, silent: bool
) -> None:
    async def main() -> None:
        worker = Worker()
        told: list[list[str]] = []
        worker.calls.listen(SILENT, told.append)
        worker.calls.listen(ASKED, lambda asked: None)
        directory = setup(worker)
        if served:
            await forward(directory.host(A), calls((0, 1)), 1)
        worker.seconds[A] = seconds
        if refuses:
            worker.refuses[A] = refuses
        for tried in range(60):
            await forward(directory.host(A), calls((0, 1)), tried)
            await asyncio.sleep(1.0)
            directory.tell_answered()
            assert not any(told) or tried > 30
        await asyncio.sleep(0.1)
        assert told[-1] == ([A] if silent else [])
        worker.refuses.clear()
        worker.seconds[A] = 0.1
        await asyncio.sleep(40.0)
        await forward(directory.host(A), calls((0, 1)), 100)
        directory.tell_answered()
        await asyncio.sleep(0.1)
        assert told[-1] == [], "it works"

    run(main())


def test_a_frozen_peer_costs_a_second_once() -> None:
    async def main() -> None:
        worker = Worker()
        worker.seconds[A] = None
        host = setup(worker).host(A)
        start = asyncio.get_running_loop().time()
        for _ in range(8):
            assert await forward(host, calls((0, 1)), 1) == [None]
        assert asyncio.get_running_loop().time() - start <= 1.0

    run(main())


def test_a_request_that_nobody_waits_for_is_forgotten() -> None:
    async def main() -> None:
        worker = Worker()
        host = setup(worker).host(A)
        worker.seconds[A] = 0.4
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                await forward(host, calls((0, 1)), 1)
        await asyncio.sleep(0.01)
        assert worker.forgotten == 1

    run(main())


@pytest.mark.parametrize(
    ("reply", "payload"),
    [
        (None, b"short"),
        (ExpertReply(()), None),
        (ExpertReply((True, True)), None),
        (ExpertReply((False,)), None),
        (ExpertReply((True,), (1, 2)), None),
        (ExpertReply((True,), forgotten=True), None),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_suspected(reply: ExpertReply | None, payload: bytes | None) -> None:
    async def main() -> None:
        worker = Worker()
        worker.reply, worker.payload = reply, payload
        host = setup(worker).host(A)
        assert await forward(host, calls((0, 1)), 1) == [None]
        await asyncio.sleep(0.001)
        assert worker.suspected[A] >= 5 and host.standing.suspended

    run(main())


def test_a_peer_that_the_worker_bans_is_asked_nothing_until_the_ban_ends() -> None:
    async def main() -> None:
        worker = Worker()
        directory = setup(worker)
        host = directory.host(A)
        await forward(host, calls((0, 1)), 1)
        host.distrust(5.0, "twice")
        await asyncio.sleep(0.01)
        assert worker.suspected[A] == 5 and not host.standing.suspended, "it judges for itself"
        following = asyncio.create_task(directory.follow())
        worker.news.put_nowait(Banned(A, 30.0))
        await asyncio.sleep(0.01)
        assert host.standing.suspended
        await asyncio.sleep(10.0)
        worker.news.put_nowait(Stirred(A))
        await asyncio.sleep(19.0)
        assert len(worker.asked) == 1
        assert host.standing.suspended, "honest answers to probes do not end a ban"
        await asyncio.sleep(3.0)
        assert not host.standing.suspended
        following.cancel()

    run(main())


def test_a_frozen_peer_is_asked_at_once_when_it_is_heard_of_again() -> None:
    async def main() -> None:
        worker = Worker()
        directory = setup(worker)
        host = directory.host(A)
        worker.seconds[A] = None
        await forward(host, calls((0, 1)), 1)
        await asyncio.sleep(40.0)
        worker.seconds[A] = 0.01
        await asyncio.sleep(5.0)
        assert host.standing.suspended, "the pause was to be longer"
        following = asyncio.create_task(directory.follow())
        worker.news.put_nowait(Stirred(A))
        await asyncio.sleep(0.1)
        assert not host.standing.suspended
        following.cancel()

    run(main())


def test_a_peer_that_is_banned_before_it_was_ever_asked() -> None:
    async def main() -> None:
        worker = Worker()
        directory = setup(worker)
        following = asyncio.create_task(directory.follow())
        worker.news.put_nowait(Banned(A, 5.0))
        await asyncio.sleep(0.01)
        assert directory.host(A).standing.suspended
        await asyncio.sleep(6.0)
        assert not directory.host(A).standing.suspended
        following.cancel()

    run(main())


def test_requests_under_way_are_bounded() -> None:
    async def main() -> None:
        worker = Worker()
        host = setup(worker).host(A)
        tasks = [asyncio.create_task(forward(host, calls((0, 1)), i)) for i in range(ASKS + 10)]
        await asyncio.sleep(0.005)
        assert len(worker.asked) == ASKS
        assert all(answer[0] is not None for answer in await asyncio.gather(*tasks))

    run(main())


def test_hosts_are_looked_up_once_and_then_in_the_background() -> None:
    async def main() -> None:
        worker = Worker()
        worker.hosts = {"digits.0.0.1": [A, B], "digits.0.0.2": [B]}
        here, near, alone, nowhere = (GRID.uid(0, cell) for cell in [(3, 3), (0, 1), (0, 2), (1, 1)])
        directory = setup(worker, [here])
        clock = asyncio.get_running_loop().time
        first = await directory.hosts([here, near, alone, nowhere])
        assert first == {here: (LOCAL,), near: [A, B], alone: [B]}
        assert worker.looked_up == [["digits.0.0.1", "digits.0.0.2", "digits.0.1.1"]]
        worker.hosts["digits.0.0.2"] = [A]
        await asyncio.sleep(10.0)
        start = clock()
        assert await directory.hosts([here, near, alone]) == {here: (LOCAL,), near: [A, B], alone: [B]}
        assert clock() == start, "a batch waited for the DHT"
        await asyncio.sleep(1.0)
        assert await directory.hosts([alone]) == {alone: [A]}

    run(main())


def test_suspended_peers_are_not_named_and_cells_that_only_they_host_are_not_offered() -> None:
    async def main() -> None:
        worker = Worker()
        worker.hosts = {"digits.0.0.1": [A, B], "digits.0.0.2": [B]}
        directory = setup(worker, [GRID.uid(0, (3, 3))])
        running = asyncio.create_task(directory.run())
        following = asyncio.create_task(directory.follow())
        worker.news.put_nowait(Cells([[(0, 1), (0, 2), (3, 3)], []]))
        await asyncio.sleep(4.0)
        assert directory.mirror(0) == ((0, 1), (0, 2), (3, 3)) and directory.mirror(1) == ()
        assert directory.mirror(0) is directory.mirror(0)
        worker.refuses[B] = "unreachable"
        await forward(directory.host(B), calls((0, 2)), 1)
        assert directory.mirror(0) == ((0, 1), (3, 3))
        assert await directory.hosts([GRID.uid(0, (0, 1)), GRID.uid(0, (0, 2))]) == {GRID.uid(0, (0, 1)): [A]}
        worker.hosts["digits.0.0.2"] = [A]  # adopted
        await asyncio.sleep(8.0)
        assert directory.mirror(0) == ((0, 1), (0, 2), (3, 3))
        del worker.refuses[B]
        await asyncio.sleep(31.0)
        assert (await directory.hosts([GRID.uid(0, (0, 1))]))[GRID.uid(0, (0, 1))] == [A, B]
        running.cancel()
        following.cancel()

    run(main())


@pytest.mark.parametrize("whole", [True, False], ids=["the request is refused", "its only call is"])
def test_an_expert_that_a_peer_does_not_host_is_not_asked_of_it_again_for_a_while(whole: bool) -> None:
    async def main() -> None:
        worker = Worker()
        worker.hosts = {"digits.0.0.1": [A, B]}
        if whole:
            worker.refuses[A] = "not_hosted"
        worker.reply, worker.payload = ExpertReply((False,)), b""
        directory = setup(worker)
        uid = GRID.uid(0, (0, 1))
        await directory.hosts([uid])
        assert await forward(Hosts(directory.host(B), directory)[A], calls((0, 1)), 1) == [None]
        assert await directory.hosts([uid]) == {uid: [B]}
        await asyncio.sleep(0.01)
        assert worker.missing == [(A, [str(uid)])]
        assert not directory.host(A).standing.suspended

    run(main())


def test_beam_search_waits_for_a_prefix_only_once() -> None:
    async def main() -> None:
        worker = Worker()
        worker.hosts = {f"digits.0.{i}.{j}": [A] for i in range(4) for j in range(0, 4, 2)}
        directory = setup(worker, mirror_limit=0)
        gate = Gate(WIDTH, GRID.shape)
        clock = asyncio.get_running_loop().time
        heads = torch.randn(16, 8)
        first = await BeamSearch(gate, directory, 0, 4).choose(heads)
        assert all(cell[1] % 2 == 0 for cell in first.cells) and clock() <= 1.5
        await asyncio.sleep(20.0)
        start = clock()
        again = await BeamSearch(gate, directory, 0, 4).choose(heads)
        assert again.cells == first.cells and clock() == start

    run(main())
