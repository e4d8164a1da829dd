"""What a host gives up, and to whom: real peers, an honest host whose compute is simulated, and a stranger."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from core.contracts.errors import CallRefused
from core.contracts.files import PartFile
from core.contracts.hosting import FileRead, Given, Handover, HandoverReply, Hello, HelloReply, Member, ReadFile
from core.contracts.net import of_run
from core.contracts.notices import Notice
from core.contracts.pipe import Measured
from core.contracts.status import ExpertStatus
from core.contracts.taking_on import Reach, Taken
from core.dht.records import own_subkey
from core.experts.dht_directory import DHTDirectory
from core.experts.directory import HostState
from core.experts.grid import Grid, Uid
from core.identity import peer_text
from core.net.method import Context
from core.net.rpc import RpcNode
from core.pipe.calls import Calls
from core.store.part_header import Metadata
from core.store.progress import Progress
from core.swarm import handovers, hosting, members, outlook
from core.swarm.hosted import HostedExperts
from core.swarm.hosting import Hosting
from core.swarm.members import Members
from core.swarm.replication import Copies
from core.worker.compute.figures import Figures
from core.worker.compute.owner import Owner
from tests.dht_peers import Peer, peers, until
from tests.disks import files_of

GRID = Grid("digits", 1, (2, 2))
CELLS = list(GRID.uids())
HUGE, IMPOSSIBLE = 2**40, 2**52
"""Steps: the second is more than anything can have taken, ever."""


class Compute:
    """Does at once what it is told."""

    tried_well = True
    """Whether others serve what they claim."""

    def __init__(self) -> None:
        self.hosted = HostedExperts(GRID)
        self.hosted.expert_bytes = 1 << 20
        self.life = 1
        self.figures = Figures(Owner(), Calls(), self.hosted, Progress(), lambda: True)
        self.figures.measured = Measured((), {"cpu": 1e6}, "cpu", 0.0)
        self.wanted = self.at_work = True
        self.saving = False

    async def host(self, experts: Mapping[Uid, Sequence[Path]], most: Reach) -> Taken:
        here = {expert.uid for expert in self.hosted.experts} | set(map(str, experts))
        self.hosted.report([ExpertStatus(uid, 3, 0) for uid in here])
        return Taken()

    async def try_hosts(self, hosts: Mapping[str, Collection[Uid]]) -> dict[str, bool]:
        return dict.fromkeys(hosts, self.tried_well)

    async def unhost(self, uids: Collection[Uid]) -> dict[str, Notice]:
        return {}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "TICK_S", 0.1)
    monkeypatch.setattr(hosting, "SETTLE_S", 0.1)


@asynccontextmanager
async def hosting_at(peer: Peer, directory: DHTDirectory, folder: Path) -> AsyncIterator[Hosting]:
    """A host whose compute is simulated."""
    files, compute = files_of(folder, grid=GRID), Compute()
    members = Members(peer.rpc, peer.dht, directory)
    copies = Copies("digits", files, compute.hosted, members, peer.rpc, peer.dht, trains=True)
    async with Hosting(members, copies, compute.hosted, compute, lambda able: able) as host:
        yield host


@asynccontextmanager
async def a_host_and_a_stranger(tmp_path: Path) -> AsyncIterator[tuple[Hosting, Peer, DHTDirectory]]:
    """The host has all experts; the stranger has a directory of its own."""
    async with (
        peers(2) as (honest, stranger),
        DHTDirectory(honest.dht, honest.rpc, GRID, "digits") as directory,
        DHTDirectory(stranger.dht, stranger.rpc, GRID, "digits") as false,
        hosting_at(honest, directory, tmp_path) as host,
    ):
        await until(lambda: len(host.hosted()) == len(CELLS), "all experts")
        yield host, stranger, false


def claim_all(stranger: RpcNode, version: int = HUGE) -> None:
    """Say that one hosts everything, in a version beyond all others'."""

    def hello(request: Hello, payload: bytes, context: Context) -> HelloReply:
        return HelloReply((version,) * len(request.uids))

    stranger.register(of_run("host.hello", "digits"), Hello, hello)


@pytest.mark.parametrize(
    ("young_s", "serves", "version"),
    [(600.0, True, HUGE), (600.0, False, HUGE), (600.0, True, IMPOSSIBLE), (0.0, True, HUGE)],
)
async def test_a_stranger_with_a_huge_version_takes_nothing_that_it_does_not_serve_or_that_was_hosted_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, young_s: float, serves: bool, version: int
) -> None:
    async with a_host_and_a_stranger(tmp_path) as (host, stranger, false):
        claim_all(stranger.rpc, version)
        false.host_here({uid: HostState(0.0, version) for uid in CELLS})
        await false.announce()
        monkeypatch.setattr(hosting, "YOUNG_S", young_s)
        monkeypatch.setattr(Compute, "tried_well", serves)
        if young_s and serves and version == HUGE:
            await until(lambda: not host.hosted(), "settling of young claims")
            return
        for _ in range(5):
            await host._tick()
        assert len(host.hosted()) == len(CELLS)
        assert host._members.serves(peer_text(stranger.rpc.peer)) == serves, "who does not serve loses its claims"


async def test_who_was_not_tried_takes_nothing_when_one_with_a_better_claim_turns_out_not_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compute, "tried_well", False)
    async with (
        peers(3) as (honest, *strangers),
        DHTDirectory(honest.dht, honest.rpc, GRID, "digits") as directory,
        hosting_at(honest, directory, tmp_path) as host,
        AsyncExitStack() as stack,
    ):
        await until(lambda: len(host.hosted()) == len(CELLS), "all experts")
        for number, stranger in enumerate(strangers):
            claim_all(stranger.rpc, HUGE - number)
            false = await stack.enter_async_context(DHTDirectory(stranger.dht, stranger.rpc, GRID, "digits"))
            false.host_here({uid: HostState(0.0, HUGE - number) for uid in CELLS})
            await false.announce()
        for _ in range(5):
            await host._tick()
            assert len(host.hosted()) == len(CELLS)
        assert not any(host._members.serves(peer_text(stranger.rpc.peer)) for stranger in strangers), "both were tried"


async def test_each_pc_counts_the_same_members_whomever_it_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "HELLO_S", 0.2)
    async with peers(3) as three, AsyncExitStack() as stack:
        all_members = []
        for peer in three:
            directory = await stack.enter_async_context(DHTDirectory(peer.dht, peer.rpc, GRID, "digits"))
            all_members.append(Members(peer.rpc, peer.dht, directory))
        for each in all_members:
            await each.introduce(Member(1, 0))
        one, two, silent = all_members

        async def hello(request: Hello, payload: bytes, context: Context) -> HelloReply:
            await asyncio.sleep(3600.0)
            raise AssertionError

        three[2].rpc.register(of_run("host.hello", "digits"), Hello, hello)

        async def is_buried() -> bool:
            return silent.me not in await one.look(Member(1, 0))

        one.disconnected(three[2].rpc.peer)
        await until(is_buried, "the end of one that does not answer")
        await two.look(Member(1, 0))
        assert one.count == two.count == 3


async def claims_of(peer: Peer, directory: DHTDirectory, told: Member) -> Members:
    """Have a peer claim all experts, at a version that none has; its view of the members.

    Args:
        peer: who claims.
        directory: its own.
        told: what it says of its room.
    """
    claim_all(peer.rpc)
    directory.host_here({uid: HostState(0.0, HUGE) for uid in CELLS})
    await directory.announce()
    seen = Members(peer.rpc, peer.dht, directory)
    await seen.introduce(told)
    return seen


async def test_what_a_liar_hosts_is_hosted_anew_and_kept_when_its_ban_is_over(tmp_path: Path) -> None:
    async with (
        peers(2) as (honest, liar),
        DHTDirectory(honest.dht, honest.rpc, GRID, "digits") as directory,
        DHTDirectory(liar.dht, liar.rpc, GRID, "digits") as false,
    ):
        members = await claims_of(liar, false, Member(len(CELLS), len(CELLS)))
        async with hosting_at(honest, directory, tmp_path) as host:
            await until(lambda: host._view is not None, "the first look")
            assert host.hosted() == {}
            honest.rpc.strike(liar.rpc.peer, 10.0)
            await until(lambda: len(host.hosted()) == len(CELLS), "all experts")
            honest.rpc.bans._records[liar.rpc.peer].until = 0.0

            async def is_back() -> bool:
                await members.introduce(Member(len(CELLS), 0))
                await false.announce()
                return host._members._read[peer_text(liar.rpc.peer)][2].hosted == 0

            await until(is_back, "the liar's newest record")
            await until(lambda: host._members.confirm(peer_text(liar.rpc.peer), CELLS), "its answer")
            for _ in range(5):
                await host._tick()
            assert len(host.hosted()) == len(CELLS)


async def test_what_a_host_that_does_no_work_has_claimed_is_hosted_by_who_asked_it(tmp_path: Path) -> None:
    async with (
        peers(2) as (honest, idle),
        DHTDirectory(honest.dht, honest.rpc, GRID, "digits") as directory,
        DHTDirectory(idle.dht, idle.rpc, GRID, "digits") as false,
    ):
        await claims_of(idle, false, Member(1_000_000, 0))
        async with hosting_at(honest, directory, tmp_path) as host:
            await until(lambda: host._view is not None, "the first look")
            host._members.unserved(peer_text(idle.rpc.peer), CELLS[:2])
            found = await host._members.hosts(CELLS)
            assert [bool(found[uid].hosts) for uid in CELLS] == [False, False, True, True], (
                "with these it was not tried"
            )
            host._members.silenced([peer_text(idle.rpc.peer)])
            await until(lambda: len(host.hosted()) == len(CELLS), "all experts")


async def test_an_expert_is_not_begun_anew_while_its_state_cannot_be_fetched_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlook, "GRACE_S", 0.1)
    trained, *others = CELLS
    whose = msgspec.json.encode(Metadata("digits", str(trained), 7, 64)).decode()
    header = msgspec.json.encode({"__metadata__": {"hearth": whose}})
    data = struct.pack("<Q", len(header)) + header
    state = PartFile(str(trained), 7, 64, sha256(data).hexdigest(), len(data))

    def read(request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
        return FileRead(len(data)), data[request.offset : request.offset + request.length]

    async with peers(2) as (honest, keeper), DHTDirectory(honest.dht, honest.rpc, GRID, "digits") as directory:
        record = {own_subkey(keeper.rpc.peer): msgspec.msgpack.encode(state)}
        await keeper.dht.store_many({f"digits.ckpt.{trained}": record}, 3600.0)
        async with hosting_at(honest, directory, tmp_path) as host:
            await until(lambda: host.hosted().keys() == {*others}, "all experts but one")
            for _ in range(5):
                await host._tick()
            assert trained not in host.hosted()
            keeper.rpc.register(of_run("file.read", "digits"), ReadFile, read)
            await until(lambda: trained in host.hosted(), "the last expert")
            assert host._copies.own(str(trained)) == state


async def test_two_that_train_the_same_experts_at_one_pace_settle_who_keeps_them(tmp_path: Path) -> None:
    """Each knows itself to be further than the other was when it announced what it hosts."""
    async with (
        a_host_and_a_stranger(tmp_path / "one") as (one, stranger, directory),
        hosting_at(stranger, directory, tmp_path / "other") as other,
    ):
        await until(lambda: other._view is not None, "the first look")
        other._hosted.claim(CELLS)
        for host in (one, other):
            host._hosted.report([ExpertStatus(str(uid), 100, 0) for uid in CELLS])
            host._directory.host_here({uid: HostState(0.0, 95) for uid in CELLS})
            await host._directory.announce()
        await until(lambda: len(one.hosted()) + len(other.hosted()) <= len(CELLS), "one host of each")
        for _ in range(5):
            await one._tick()
            await other._tick()
        assert sorted([*one.hosted(), *other.hosted()]) == sorted(CELLS)


async def test_who_was_away_yields_to_who_has_gone_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_host_and_a_stranger(tmp_path) as (host, stranger, false):
        host._hosted._claimed = dict.fromkeys(CELLS, -1000.0)
        claim_all(stranger.rpc)
        false.host_here({uid: HostState(0.0, HUGE) for uid in CELLS})
        await false.announce()
        host._present -= 100.0
        await until(lambda: not host.hosted(), "settling after the absence")


async def test_who_hands_over_experts_of_another_run_gives_none(tmp_path: Path) -> None:
    async with a_host_and_a_stranger(tmp_path) as (host, stranger, _):

        def give(request: Handover, payload: bytes, context: Context) -> HandoverReply:
            return HandoverReply(tuple(map(Given, ("text.0.0.0", "digits-12345678.0.0.0", "digits.9.9.9", "trunk"))))

        stranger.rpc.register(of_run("host.handover", "digits"), Handover, give)
        assert await host._handovers.ask(peer_text(stranger.rpc.peer), 4) == {}


@asynccontextmanager
async def a_taker(host: Hosting, stranger: Peer) -> AsyncIterator[Callable[[], Awaitable[Collection[str]]]]:
    """A stranger that says it has room for everything. Within it: ask for an expert; what the host gave."""
    await Members(stranger.rpc, stranger.dht, host._directory).introduce(Member(1_000_000, 0))

    async def ask() -> Collection[str]:
        method = of_run("host.handover", "digits")
        try:
            reply, _ = await stranger.rpc.call(host._node.peer, method, Handover(1), HandoverReply, deadline_s=5.0)
        except CallRefused as refused:
            assert "at rest" in str(refused) or "Host it first" in str(refused)
            return ()
        return [one.uid for one in reply.given]

    yield ask


async def test_who_was_given_an_expert_gets_it_when_it_serves_it_and_no_more_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compute, "tried_well", False)
    monkeypatch.setattr(members, "UNSERVED_S", 0.2)
    async with a_host_and_a_stranger(tmp_path) as (host, stranger, _), a_taker(host, stranger) as ask:
        [given] = await until(ask, "the first one")
        claim_all(stranger.rpc)  # and serves nothing
        for _ in range(5):
            await host._tick()
            assert not await ask()
        assert len(host.hosted()) == len(CELLS)
        monkeypatch.setattr(Compute, "tried_well", True)
        await until(
            lambda: host.hosted().keys() == {uid for uid in CELLS if str(uid) != given}, "the end of hosting it"
        )
        assert await until(ask, "the next one") != [given]


async def test_who_may_have_been_restarted_is_given_another_expert_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_host_and_a_stranger(tmp_path) as (host, stranger, _), a_taker(host, stranger) as ask:
        assert await until(ask, "the first one")
        monkeypatch.setattr(handovers, "OWED_S", 0.0)
        assert await until(ask, "the next one")
        assert len(host.hosted()) == len(CELLS)
