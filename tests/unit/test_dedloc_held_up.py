"""Real peers on loopback, in this process: who only says that it trains holds the others up for a while, no longer."""

import asyncio
import contextlib
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest
import torch

from core.contracts.dht import Store, Stored
from core.contracts.errors import CallRefused, NetworkError
from core.contracts.net import Payload, PeerAddress, of_run
from core.contracts.trunk import Agreed, Gathered, Offer, Reached
from core.contracts.trunk_rounds import AskVector, Group, Standing, Vector
from core.dht.records import make, own_subkey
from core.identity import Identity, PeerId
from core.net import crowds
from core.net.method import Context
from core.swarm.trunk import dedloc
from core.swarm.trunk.matchmaking import Invitation, Wish
from core.swarm.trunk.past import Taken
from core.swarm.trunk.planning import planned_shares, wish_of
from tests.dht_peers import peers, until
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.unit.test_dedloc_peers import DIGITS, NUMBERS, ROWS, Trainer, all_known

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.timeout(900)]
FORMING_S, GRACE_S = 1.0, 2.0
TELLS_S = 0.2
"""Between two lies."""


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dedloc, "FORMING_S", FORMING_S)
    monkeypatch.setattr(dedloc, "GRACE_S", GRACE_S)


@contextlib.asynccontextmanager
async def meanwhile(lie: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Lie again and again."""

    async def lies() -> None:
        while True:
            with contextlib.suppress(NetworkError):
                await lie()
            await asyncio.sleep(TELLS_S)

    task = asyncio.create_task(lies())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def step(trainer: Trainer) -> Agreed:
    numbers = torch.ones(NUMBERS).numpy().tobytes()
    while True:  # as compute does
        with contextlib.suppress(NetworkError):
            return (await trainer.worker.agree(Offer(0, 0, ROWS), numbers, 1e9))[0]


async def telling(liar: Trainer, version: int = 0) -> None:
    """News each time."""
    liar.worker._note(Gathered(version, 1 + liar.worker._standing(Gathered(version, 0)).samples))
    liar.worker._standings._told = 0.0, None
    await liar.worker._tend()


@pytest.mark.parametrize("lie", ["it never comes", "it comes, and does nothing"])
async def test_one_liar_holds_up_a_lone_trainer_for_two_rounds(
    tmp_path: Path, lie: Literal["it never comes", "it comes, and does nothing"]
) -> None:
    async with honest_and_liar(tmp_path) as (honest, liar):
        honest.worker._tending.start()

        async def lies() -> None:
            await telling(liar)
            if lie != "it never comes":
                await liar.worker._meeting.group(0, FORMING_S, sends=True)

        async with meanwhile(lies), asyncio.timeout(60.0):
            agreed = await step(honest)
        await honest.worker._tending.stop()
    assert (agreed.version, agreed.peers) == (1, 1)


@pytest.mark.parametrize("gives", ["nothing", "another one", "a byte at a time"])
async def test_who_names_a_trunk_and_does_not_give_it_keeps_a_lone_trainer_from_no_step(
    tmp_path: Path, gives: Literal["nothing", "another one", "a byte at a time"]
) -> None:
    async with honest_and_liar(tmp_path) as (honest, liar):

        async def give(request: AskVector, payload: Payload, context: Context) -> tuple[Vector, Payload]:
            if gives == "nothing":
                raise CallRefused("Not now.")
            if gives == "a byte at a time":
                await asyncio.sleep(1.0)
            return Vector(8, ROWS, 0, 12 * NUMBERS), bytes(1 if gives == "a byte at a time" else 12 * NUMBERS)

        liar.peer.rpc.register(of_run("trunk.vector", DIGITS.run_id), AskVector, give)

        def name() -> None:
            liar.worker._settled = True
            liar.worker._reached(Reached(9, b"none"))

        assert await stepped_beside(honest, liar, name, 9) == (1, 1)


@pytest.mark.parametrize("means", ["one", "many", "one that does not follow"])
async def test_who_names_a_mean_and_gives_none_of_use_keeps_a_lone_trainer_from_no_step(
    tmp_path: Path, means: Literal["one", "many", "one that does not follow"]
) -> None:
    async with honest_and_liar(tmp_path) as (honest, liar):

        def name() -> None:
            if means == "one that does not follow":
                honest.worker._past.line[-1] = bytes(32)
                liar.worker._past.take(0, Taken.by(Agreed(0, 1, ROWS, 2), bytes(4 * NUMBERS), b"another line"))
            else:
                for step in range(1 if means == "one" else 8):
                    liar.worker._past.line[step] = bytes(32)

        assert await stepped_beside(honest, liar, name, 0) == (1, 1)


async def test_who_names_another_trunk_each_time_keeps_a_lone_trainer_from_no_step(tmp_path: Path) -> None:
    """What it names it never gives, and never for long enough to be blamed."""
    async with honest_and_liar(tmp_path) as (honest, liar):

        async def give(request: AskVector, payload: Payload, context: Context) -> tuple[Vector, Payload]:
            return Vector(9, ROWS, 0, 12 * NUMBERS), bytes(12 * NUMBERS)

        liar.peer.rpc.register(of_run("trunk.vector", DIGITS.run_id), AskVector, give)

        def name() -> None:
            liar.worker._settled = True
            liar.worker._reached(Reached(9, secrets.token_bytes(16)))

        assert await stepped_beside(honest, liar, name, 9) == (1, 1)


@contextlib.asynccontextmanager
async def honest_and_liar(folder: Path) -> AsyncIterator[tuple[Trainer, Trainer]]:
    """Two that know each other."""
    async with peers(2) as nodes:
        honest, liar = [Trainer(node, folder, defaultdict(set)) for node in nodes]
        await all_known([honest, liar])
        yield honest, liar


async def stepped_beside(honest: Trainer, liar: Trainer, name: Callable[[], None], version: int) -> tuple[int, int]:
    """To which version, and with how many, the honest one comes as soon as it believes what the liar names."""

    async def lies() -> None:
        name()
        await telling(liar, version)

    def is_believed() -> bool:
        told = honest.worker._standings.trainers.get(liar.peer.id)
        return told is not None and bool(told.means or told.trunks)

    honest.worker._tending.start()
    async with meanwhile(lies), asyncio.timeout(60.0):
        await until(is_believed, "a lie")
        agreed = await step(honest)
    await honest.worker._tending.stop()
    return agreed.version, agreed.peers


async def test_one_that_gathers_the_others_to_no_purpose_gathers_each_step_once(tmp_path: Path) -> None:
    """It gives each of them a group in which nobody is but the two."""
    async with peers(4) as nodes:
        swarm = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(swarm)
        liar, *honest = sorted(swarm, key=lambda one: one.worker._matchmaking._rank(0, one.peer.id))
        matchmaking, given = liar.worker._matchmaking, Counter[bytes]()
        mine = await wish_of(liar.peer.rpc, 0, NUMBERS, 4, sends=True)

        def join(theirs: Wish, payload: Payload, context: Context) -> Invitation:
            given[context.peer] += 1
            wishes = mine, theirs
            members, abilities = tuple(one.address for one in wishes), tuple(one.ability for one in wishes)
            shares, key = tuple(planned_shares(wishes)), secrets.token_bytes(32)
            return Invitation(Group(key, members, (True, True), shares, "fp16", GRACE_S, dedloc.CLIP, abilities))

        liar.peer.rpc.register(of_run("trunk.join", DIGITS.run_id), Wish, join)

        async def lies() -> None:
            await telling(liar)
            await matchmaking._publish(f"{DIGITS.run_id}.round.0", mine, 60.0)

        for each in honest:
            each.worker._tending.start()
        async with meanwhile(lies), asyncio.timeout(60.0):
            await until(lambda: liar.worker._standings._told[1], "a lie")
            agreed = await asyncio.gather(*map(step, honest))
        for each in honest:
            await each.worker._tending.stop()
    assert {each.peers for each in agreed} <= {2, 3} and {each.version for each in agreed} == {1}
    assert max(given.values()) <= 2


@pytest.mark.parametrize("new", [False, True])
async def test_trainers_that_nobody_has_met_hold_up_no_step(tmp_path: Path, new: bool) -> None:
    """Keys cost nothing, and one peer can bring the records of hundreds: the same again and again, or new ones."""
    async with peers(3) as nodes:
        *honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(honest)
        key, ghosts = honest[0].worker._standings._key, [Identity.generate() for _ in range(8)]
        value = msgspec.msgpack.encode(Standing(0, 0, 0, settled=True))

        async def lies() -> None:
            now = time.time()
            those = [Identity.generate() for _ in ghosts] if new else ghosts
            raws = [make(one, key, own_subkey(one.peer), value, int(now * 1000), now + 25.0).raw for one in those]
            for one in honest:
                store = Store(raws, False)
                await liar.peer.rpc.call(one.peer.id, "dht.store", store, Stored, deadline_s=10.0)

        async def are_told() -> bool:
            told_of = await asyncio.gather(*(one.peer.dht.get(key) for one in honest))
            return all(len(found) > len(ghosts) for found in told_of)

        for one in honest:
            one.worker._tending.start()
        async with meanwhile(lies), asyncio.timeout(60.0):
            await until(are_told, "ghosts")
            agreed = await asyncio.gather(*map(step, honest))
            for one in honest:
                one.worker._note(Gathered(1, ROWS))
            together = honest[0].worker._together
            await until(lambda: together(Gathered(1, ROWS)) == 2 * ROWS, "samples that ghosts do not make few")
        for one in honest:
            await one.worker._tending.stop()
    assert [each.peers for each in agreed] == [2, 2]


async def test_whom_nobody_has_met_gathers_nobody(tmp_path: Path) -> None:
    """Each of them costs a dial, and there are more of them than a search has time for; they wish again and again."""
    async with peers(3) as nodes:
        *honest, liar = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known(honest)
        key, matchmaking = f"{DIGITS.run_id}.round.0", honest[0].worker._matchmaking
        ghosts = sorted((Identity.generate() for _ in range(64)), key=lambda one: matchmaking._rank(0, one.peer))[:4]
        mine = await wish_of(liar.peer.rpc, 0, NUMBERS, 3, sends=True)

        async def lies() -> None:
            for one in honest:  # they show life, as compute does
                one.worker._note(Gathered(0, ROWS))
            now, raws = time.time(), []
            for ghost in ghosts:
                wish = msgspec.structs.replace(mine, address=PeerAddress(ghost.peer, ("127.0.0.1:9",)))
                value = msgspec.msgpack.encode(wish)
                raws.append(make(ghost, key, own_subkey(ghost.peer), value, int(now * 1000), now + 25.0).raw)
            for one in honest:
                await liar.peer.rpc.call(one.peer.id, "dht.store", Store(raws, False), Stored, deadline_s=10.0)

        async def are_told() -> bool:
            told_of = await asyncio.gather(*(one.peer.dht.get(key) for one in honest))
            return all(len(found) >= len(ghosts) for found in told_of)

        for one in honest:
            one.worker._tending.start()
        async with meanwhile(lies), asyncio.timeout(60.0):
            await until(are_told, "ghosts")
            agreed = await asyncio.gather(*map(step, honest))
        for one in honest:
            await one.worker._tending.stop()
    assert [each.peers for each in agreed] == [2, 2]


async def test_strangers_do_not_say_when_there_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "branch_of", lambda network, peer: ("one block", "one house", peer))
    async with peers(5) as nodes:
        one, *others = [Trainer(node, tmp_path, defaultdict(set)) for node in nodes]
        await all_known([one, *others])
        standings, honest = one.worker._standings, (PeerId(others[0].peer.id), PeerId(b"another block"))
        strangers = [PeerId(each.peer.id) for each in others[1:]]
        for lie in (Standing(10**9, 0, 10**9), Standing(6, 0, 10**9)):
            for known in (honest, honest[1:]):
                standings.trainers = {peer: Standing(6, 0, 7) for peer in known} | dict.fromkeys(strangers, lie)
                assert standings.enough(6) == 7
        standings.trainers = dict.fromkeys(map(PeerId, (b"one", b"two", b"three")), Standing(9, 0, 10, settled=True))
        assert standings.enough(6) == 10  # the others are ahead
