"""Large vectors that one peer gives another piece by piece, between real endpoints on loopback."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from core.contracts.errors import CallRefused, CallTimeout, RemoteFault
from core.contracts.net import Payload, of_run
from core.contracts.trunk_rounds import AskVector, Vector
from core.identity import Identity
from core.net.endpoint import LOOPBACK
from core.net.method import Context
from core.net.rpc import RpcNode
from core.swarm.trunk import vectors
from core.swarm.trunk.vectors import Vectors, Whole

PIECE, SIZE = 100, 1000
RUN = "run-1"
DATA = os.urandom(SIZE)
MEAN = Vector(7, 70, 2, SIZE)


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "PIECE", PIECE)


@pytest.fixture
async def nodes() -> AsyncIterator[tuple[RpcNode, RpcNode]]:
    async with (
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as asks,
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as gives,
    ):
        asks.learn(gives.address())
        yield asks, gives


async def no_trunk() -> Whole:
    raise CallRefused("No trunk is trained here.")


async def fetch(nodes: tuple[RpcNode, RpcNode], mean: Callable[[int], Whole | None]) -> Whole:
    """A mean that one gives the other."""
    asks, gives = nodes
    Vectors(gives, RUN, mean, lambda: 0, no_trunk)
    there = Vectors(asks, RUN, lambda version: None, lambda: 0, no_trunk)
    return await there.fetch(gives.peer, AskVector("mean", MEAN.version, 0), SIZE)


def struck(nodes: tuple[RpcNode, RpcNode]) -> float:
    """What is held against the one who gives."""
    return nodes[0].bans.score(nodes[1].peer, time.monotonic())


async def test_who_learns_meanwhile_what_a_mean_follows_has_not_lied(nodes: tuple[RpcNode, RpcNode]) -> None:
    asked = list[int]()

    def mean(version: int) -> Whole:
        asked.append(version)
        return Whole(msgspec.structs.replace(MEAN, before=b"" if len(asked) < 5 else bytes(32)), DATA)

    told, data = await fetch(nodes, mean)
    assert data == DATA and len(asked) == SIZE // PIECE and told.before == bytes(32)
    assert struck(nodes) == 0


@pytest.mark.parametrize("change", [{"samples": 71}, {"peers": 3}, {"version": 8}, {"size": SIZE + 4}])
async def test_who_gives_pieces_of_two_vectors_has_lied(nodes: tuple[RpcNode, RpcNode], change: dict[str, int]) -> None:
    asked = list[int]()

    def mean(version: int) -> Whole:
        asked.append(version)
        return Whole(MEAN if len(asked) < 5 else msgspec.structs.replace(MEAN, **change), DATA)

    with pytest.raises(RemoteFault):
        await fetch(nodes, mean)
    assert struck(nodes) > 0


async def test_who_gives_each_piece_just_in_time_is_given_up_unless_it_is_the_last(
    nodes: tuple[RpcNode, RpcNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    asks, gives = nodes
    monkeypatch.setattr(vectors, "PIECE", SIZE // 50)
    monkeypatch.setattr(vectors, "PIECE_S", 2.0)

    async def drips(request: AskVector, payload: Payload, context: Context) -> tuple[Vector, Payload]:
        await asyncio.sleep(0.1)  # the lie
        return MEAN, DATA[request.start : request.start + SIZE // 50]

    gives.register(of_run("trunk.vector", RUN), AskVector, drips)
    there = Vectors(asks, RUN, lambda version: None, lambda: 0, no_trunk)
    with pytest.raises(CallTimeout):
        await there.fetch(gives.peer, AskVector("mean", MEAN.version), SIZE)
    assert (await there.fetch(gives.peer, AskVector("mean", MEAN.version), SIZE, is_last=True)).data == DATA


async def test_who_asks_at_each_version_takes_the_trunk_from_nobody_who_is_in_the_middle_of_it(
    nodes: tuple[RpcNode, RpcNode],
) -> None:
    asks, gives = nodes
    version = 10

    async def trunk() -> Whole:
        return Whole(Vector(version, 70, 0, SIZE), DATA)

    Vectors(gives, RUN, lambda version: None, lambda: version, trunk)

    async def ask(node: RpcNode, of: int, start: int) -> int:
        """The version of which a piece comes."""
        request = AskVector("trunk", of, start)
        told, piece = await node.call(gives.peer, of_run("trunk.vector", RUN), request, Vector, deadline_s=60.0)
        assert piece == DATA[start : start + PIECE]
        return told.version

    async with contextlib.AsyncExitStack() as stack:
        others = [await stack.enter_async_context(RpcNode(Identity.generate(), listen=LOOPBACK[:1])) for _ in range(2)]
        for each in others:
            each.learn(gives.address())
        assert await ask(asks, 0, 0) == 10
        for version in (11, 12):
            assert await ask(others[0], 0, SIZE - 1) == version
        assert await ask(asks, 10, PIECE) == 10, "it goes on"
        assert await ask(others[0], 0, 0) == 12
        version = 13
        assert await ask(others[1], 0, 0) == 12, "the newest of those that there is room for"
        assert await ask(asks, 10, 2 * PIECE) == 10 and await ask(others[0], 12, PIECE) == 12


async def test_what_is_gone_is_refused_and_is_no_lie(nodes: tuple[RpcNode, RpcNode]) -> None:
    with pytest.raises(CallRefused):
        await fetch(nodes, lambda version: None)
    assert struck(nodes) == 0
