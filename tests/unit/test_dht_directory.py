"""The directory over the DHT: who hosts what, on real peers on loopback."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import pytest

from core.dht import protocol
from core.dht.records import own_subkey
from core.experts import dht_directory
from core.experts.dht_directory import DHTDirectory
from core.experts.directory import HostState
from core.experts.grid import Coords, Grid, Uid
from core.identity import PeerId
from tests.dht_peers import Peer, peer, peers, until
from tests.workers import PATIENCE_S

GRID = Grid("digits", 2, (4, 8))
UIDS = [GRID.uid(0, (0, 3)), GRID.uid(0, (2, 1)), GRID.uid(1, (3, 7))]


@asynccontextmanager
async def directory(at: Peer, *uids: Uid, load: float = 0.0, mirror_limit: int = 4096) -> AsyncIterator[DHTDirectory]:
    made = DHTDirectory(at.dht, at.rpc, GRID, "digits", mirror_limit)
    made.host_here(dict.fromkeys(uids, HostState(load, 7)))
    async with made:
        if uids:
            await until(lambda: len(at.dht._own) >= len(uids), "the announcement")
            await made.announce()
        yield made
    await at.dht.leave("digits.")


@pytest.fixture
async def trio() -> AsyncIterator[list[Peer]]:
    async with peers(3) as made:
        yield made


NO_TEXT = msgspec.msgpack.encode([0.0, 0, {"peer": b"p" * 32, "addresses": ["x"]}]).replace(b"\xa1x", b"\xa1\xff")
"""An address that is not UTF-8."""


async def hosts_of(uid: Uid, at: DHTDirectory) -> list[PeerId]:
    return [info.peer for info in (await at.hosts([uid])).get(uid, ())]


async def test_announced_experts_are_in_every_mirror(trio: list[Peer]) -> None:
    async with directory(trio[0], *UIDS), directory(trio[1]) as other:
        await other.refresh()
        assert other.mirror(0) == ((0, 3), (2, 1)) and other.mirror(1) == ((3, 7),)
        found = await other.hosts([*UIDS, GRID.uid(0, (1, 1))])
        assert found.keys() == set(UIDS)
        [info] = found[UIDS[0]]
        assert (info.peer, info.load, info.version) == (trio[0].id, 0.0, 7)
        assert other._rpc.pool.book[info.peer].addresses == trio[0].rpc.address().addresses
        assert info.rtt_ms is not None and 0 < info.expires - time.time() <= 60


async def test_the_mirror_is_the_same_object_until_it_changes(trio: list[Peer]) -> None:
    async with directory(trio[0], UIDS[0]) as one, directory(trio[1]) as other:
        await other.refresh()
        before = other.mirror(0)
        await other.refresh()
        assert other.mirror(0) is before
        one.host_here({UIDS[1]: HostState()})
        await one.announce()
        await other.refresh()
        assert other.mirror(0) == ((0, 3), (2, 1))


async def test_local_experts_are_known_at_once(trio: list[Peer]) -> None:
    async with directory(trio[0], UIDS[0]), directory(trio[1]) as other:
        other.host_here({UIDS[0]: HostState(), UIDS[2]: HostState()})
        assert (3, 7) in (other.mirror(1) or ())
        assert await hosts_of(UIDS[0], other) == [trio[0].id], "others are named all the same"


async def test_what_is_taken_over_is_announced_before_the_next_round(
    trio: list[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dht_directory, "ANNOUNCE_EXPERTS_S", 1e6)  # no round comes while this runs
    async with (
        directory(trio[0], UIDS[0], UIDS[1]) as giver,
        directory(trio[1], UIDS[2]) as taker,
        directory(trio[2]) as other,
    ):
        await giver.withdraw([UIDS[0]])
        taker.host_here({UIDS[0]: HostState()})

        async def hosts() -> list[bytes]:
            return [info.peer for info in (await other.read_hosts([UIDS[0]]))[UIDS[0]].living]

        await until(hosts, "the announcement")
        assert await hosts() == [trio[1].id]


async def test_a_leaving_host_is_gone_at_once(trio: list[Peer]) -> None:
    async with directory(trio[1]) as other, directory(trio[2], UIDS[1]):
        async with directory(trio[0], *UIDS):
            await other.refresh()
            assert len(other.mirror(0) or ()) == 2
        await other.refresh()
        assert (other.mirror(0), other.mirror(1)) == (((2, 1),), ())
        assert not await hosts_of(UIDS[0], other)


async def test_what_was_being_withdrawn_at_the_end_is_withdrawn(trio: list[Peer]) -> None:
    async with directory(trio[1]) as other:
        async with directory(trio[0], *UIDS) as leaving:
            await other.refresh()
            withdrawal = asyncio.create_task(leaving.withdraw(UIDS))
            await asyncio.sleep(0)
            withdrawal.cancel()
        await other.refresh()
        assert (other.mirror(0), other.mirror(1)) == ((), ())


async def test_withdrawing_one_leaves_the_others_under_its_prefix(trio: list[Peer]) -> None:
    both = [GRID.uid(0, (2, 1)), GRID.uid(0, (2, 5))]
    async with directory(trio[0], *both) as one, directory(trio[1]) as other:
        await one.withdraw(both[:1])
        await other.refresh()
        assert other.mirror(0) == ((2, 5),)


async def test_a_dead_host_expires_from_mirror_and_hosts(trio: list[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dht_directory, "EXPIRY_S", 1.5)
    async with AsyncExitStack() as stack:
        dying = await stack.enter_async_context(peer(*trio))
        made = DHTDirectory(dying.dht, dying.rpc, GRID, "digits")
        made.host_here({UIDS[0]: HostState()})
        other = await stack.enter_async_context(directory(trio[0]))
        assert await made.announce() > 0  # and never again: it leaves without a word
        await other.refresh()
        assert other.mirror(0) == ((0, 3),) and await hosts_of(UIDS[0], other)

        async def gone() -> bool:
            await other.refresh()
            return other.mirror(0) == () and not await hosts_of(UIDS[0], other)

        await until(gone, "the dead host's expiry", 10)


def test_a_dead_host_is_gone_within_ninety_seconds() -> None:
    assert dht_directory.EXPIRY_S + dht_directory.REFRESH_S + 2.5 * len(GRID.shape) < 90
    assert dht_directory.EXPIRY_S >= 3 * dht_directory.ANNOUNCE_EXPERTS_S


async def test_large_grids_are_looked_up_by_prefix_and_remembered(trio: list[Peer]) -> None:
    async with directory(trio[0], *UIDS), directory(trio[1], mirror_limit=8) as other:
        assert other.mirror(0) is None
        prefixes: list[Coords] = [(), (0,), (2,), (1,)]
        assert await other.active_suffixes(0, prefixes) == [[0, 2], [3], [1], []]
        calls = other._rpc.metrics["dht.find_value"].calls if "dht.find_value" in other._rpc.metrics else 0
        asked = 0

        async def counting(names: object) -> dict[str, dict[str, float]]:
            nonlocal asked
            asked += 1
            return {}

        other._dht.find_suffixes = counting  # type: ignore[method-assign, assignment]
        assert await other.active_suffixes(0, prefixes) == [[0, 2], [3], [1], []]
        assert asked == 0 and calls >= 0, "positive and negative answers are remembered"


async def test_hosts_come_by_load_then_round_trip(trio: list[Peer]) -> None:
    a, b, reader = trio
    async with directory(a, UIDS[0], load=0.9), directory(b, UIDS[0], load=0.1), directory(reader) as other:
        assert await hosts_of(UIDS[0], other) == [b.id, a.id]
        other.not_hosted(UIDS[0], b.id)
        assert await hosts_of(UIDS[0], other) == [a.id]


async def test_an_announced_expert_that_nobody_hosts_costs_one_look_up(trio: list[Peer]) -> None:
    """A liar publishes a suffix without a leaf, another one with a leaf of a host that is not its own."""
    liar, _, reader = trio
    uid = GRID.uid(0, (1, 5))
    await liar.dht.store("digits.0.", b"", 60, subkey="1")
    await liar.dht.store("digits.0.1.", b"", 60, subkey="5")
    wrong = dht_directory._HostRecord(0.0, 0, trio[1].rpc.address())
    await liar.dht.store(str(uid), msgspec.msgpack.encode(wrong), 60, subkey=own_subkey(liar.id))
    async with directory(reader) as other:
        await other.refresh()
        assert other.mirror(0) == ((1, 5),)
        assert await other.hosts([uid]) == {}
        assert other.mirror(0) == (), "it is no longer offered to the gate"
        await other.refresh()
        assert other.mirror(0) == ()


async def test_who_is_cut_off_does_not_take_silence_for_an_absent_expert() -> None:
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(peer())
        announcing = await stack.enter_async_context(directory(host, UIDS[0]))
        async with peer(host, serving=False) as reader, directory(reader) as other:  # it keeps no records itself
            await announcing.announce()
            await until(lambda: other.mirror(0) == ((0, 3),), "the mirror")
            reader.rpc.hush("A test cuts it off.")
            assert await other.hosts([UIDS[0]]) == {} and not reader.dht.contacts()
            assert other.mirror(0) == ((0, 3),), "nobody said that it has gone"


@pytest.mark.parametrize("value", [b"", b"\xff", msgspec.msgpack.encode([float("nan"), 0, {"peer": b"p" * 32}]),
                                   msgspec.msgpack.encode([0.0, -1, {"peer": b"p" * 32}]), b"\x91" * 500,
                                   NO_TEXT])  # fmt: skip
async def test_nonsense_in_a_leaf_names_no_host(trio: list[Peer], value: bytes) -> None:
    liar, _, reader = trio
    await liar.dht.store(str(UIDS[0]), value, 60, subkey=own_subkey(liar.id))
    async with directory(reader) as other:
        assert await other.hosts([UIDS[0]]) == {}


async def test_suffixes_that_are_no_coordinates_are_left_out(trio: list[Peer]) -> None:
    liar, _, reader = trio
    await liar.dht.store_many({"digits.0.": dict.fromkeys(["3", "4", "-1", "03", "x", "", "٣", "9" * 100], b"")}, 60)
    async with directory(reader, mirror_limit=8) as other:
        assert await other.active_suffixes(0, [()]) == [[3]]


async def test_512_experts_are_announced_and_found(trio: list[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "CALL_S", "STORE_S", "LATE_S":
        monkeypatch.setattr(protocol, name, PATIENCE_S)  # all three peers check a thousand signatures in this process
    grid = Grid("text", 1, (32, 32))
    uids = [grid.uid(0, divmod(cell, 32)) for cell in range(0, 1024, 2)]
    host, _, reader = trio
    async with (
        DHTDirectory(host.dht, host.rpc, grid, "digits") as one,
        DHTDirectory(reader.dht, reader.rpc, grid, "digits") as other,
    ):
        one.host_here(dict.fromkeys(uids, HostState()))
        assert await one.announce() == 2
        await other.refresh()
        assert len(other.mirror(0) or ()) == 512
        assert len(await other.hosts(uids)) == 512


async def test_tasks_end_with_the_directory(trio: list[Peer]) -> None:
    before = asyncio.all_tasks()
    async with directory(trio[0], *UIDS):
        pass
    names = {task.get_name() for task in asyncio.all_tasks() - before}
    assert not names & {"announcing", "directory"}
