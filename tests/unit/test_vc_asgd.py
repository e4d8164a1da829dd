"""Trainers that agree by VC-ASGD: real peers, of which some are parameter servers over one store."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain, product
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import numpy as np
import pytest
import torch

from core.averaging.packing import pack
from core.contracts import manifest as manifests
from core.contracts.dht import Ping, Pong
from core.contracts.errors import CallRefused, NetworkError, RemoteFault
from core.contracts.kinds import MODELS
from core.contracts.net import of_run
from core.contracts.taking_on import CompareTrunks, Verdict
from core.contracts.trunk import Agreed, Offer, VcAsgd
from core.contracts.trunk_calls import Keeper, State
from core.contracts.trunk_status import GiverStatus, ReducerStatus
from core.dht.clock import NetworkClock
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Grid
from core.identity import peer_text
from core.net.method import Context
from core.pipe.calls import Calls
from core.swarm.members import Members
from core.swarm.trunk import vc_asgd
from core.swarm.trunk.agreement import HOSTILE_POINTS, Agreement, agreement_of
from core.swarm.trunk.leases import Leases, heirs_of, mark, syncer_of
from core.swarm.trunk.parameter_server import WORK, ParameterServer
from core.swarm.trunk.parameter_store import SqliteStore
from core.swarm.trunk.server_copy import Copy, samples_of
from core.swarm.trunk.server_lease import HEIR, Inherit, ServerLease
from core.swarm.trunk.vc_asgd import FILE, REFUSALS, ParameterServers
from core.training.models.network import build
from core.training.trunk.local import Local
from core.training.trunk.strategy import TrunkStrategy, strategy_of
from core.training.trunk.vc_asgd import Subtasks
from tests.dht_peers import Peer, peer, peers, until
from tests.joined_calls import join
from tests.trusting import trust, trusting
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture
from tests.workers import PATIENCE_S

pytestmark = pytest.mark.timeout(900)  # they wait for each other's peers for minutes, so that they are to begin early
PARTS, BATCHES = 4, 3
DIGITS = manifests.load("digits")
ENDS = DIGITS.ends
NUMBERS = MODELS[DIGITS.model.kind].numbers(DIGITS.model, ENDS)


def run_of(*servers: Peer, kept: float | None = 0.0, **more: Any) -> manifests.Manifest:
    named = tuple(server.rpc.peer.hex() for server in servers)
    rules = VcAsgd(named, PARTS, BATCHES, kept, strong=True, **more)
    return msgspec.structs.replace(DIGITS, trunk=rules)


def agreement_at(peer: Peer, run: manifests.Manifest, folder: Path) -> Agreement:
    directory = DHTDirectory(peer.dht, peer.rpc, Grid(run.run, 1, (2, 2)), run.run_id)
    agreement = agreement_of(run, Members(peer.rpc, peer.dht, directory), folder)
    assert agreement is not None
    agreement.serve(trusting())
    return agreement


def trunk_of(run: manifests.Manifest, agreement: Agreement | None = None) -> TrunkStrategy:
    calls = None
    if agreement:
        worker, calls = Calls(), Calls()
        agreement.serve(worker)
        join(worker, calls)
        trust(calls)
    return strategy_of(build(run, ENDS), run, calls)


async def at_once(kernel: Callable[..., Any], *arguments: Any) -> Any:
    return kernel(*arguments)


async def train(trunk: TrunkStrategy, batches: int, slant: float = 0.0) -> list[int]:
    """Steps with gradients that depend on the batch and the weights; the batches' numbers."""
    numbers = []
    for _ in range(batches):
        numbers.append(await trunk.next_batch())
        noise = torch.randn(NUMBERS, generator=torch.Generator().manual_seed(numbers[-1]))
        weights = torch.cat([parameter.detach().flatten() for parameter in trunk.parameters])
        trunk.contribute(numbers[-1], weights + slant + 0.1 * noise, 32)
    return numbers


def weights(trunk: TrunkStrategy) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trunk.parameters])


@asynccontextmanager
async def one_client(folder: Path, **more: Any) -> AsyncIterator[TrunkStrategy]:
    """The trunk of a trainer that has one server, named by the manifest."""
    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(peers(2))
        run = run_of(server, **more)
        at_server, at_client = (agreement_at(peer, run, folder) for peer in (server, client))
        await stack.enter_async_context(at_server)
        yield trunk_of(run, await stack.enter_async_context(at_client))


async def test_one_trainer_with_one_server_and_a_of_0_trains_bit_for_bit_as_it_does_alone(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(peers(2))
        run = run_of(server)
        at_server, at_client = (agreement_at(peer, run, tmp_path) for peer in (server, client))
        await stack.enter_async_context(at_server)
        trunk, alone = trunk_of(run, await stack.enter_async_context(at_client)), trunk_of(DIGITS)
        assert isinstance(trunk, Subtasks) and type(alone) is Local
        count = 2 * PARTS * BATCHES
        agreeing = asyncio.create_task(trunk.agree(at_once))
        async with asyncio.timeout(PATIENCE_S):
            assert await train(trunk, count) == await train(alone, count) == [*range(count)]
        assert torch.equal(weights(trunk), weights(alone))
        assert trunk.state().keys() == alone.state().keys()
        assert all(torch.equal(value, alone.state()[name]) for name, value in trunk.state().items())
        agreeing.cancel()


async def test_two_trainers_share_the_subtasks_and_a_servers_death_loses_nothing(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        first, second, one, two = await stack.enter_async_context(peers(4))
        run = run_of(first, second, kept=0.5)
        agreements = [agreement_at(peer, run, tmp_path) for peer in (first, second, one, two)]
        for agreement in agreements:
            await stack.enter_async_context(agreement)
        trunks = [trunk_of(run, agreement) for agreement in agreements[2:]]
        agreeing = [asyncio.create_task(trunk.agree(at_once)) for trunk in trunks]
        async with asyncio.timeout(PATIENCE_S):
            given = [await train(trunk, BATCHES, slant) for trunk, slant in zip(trunks, (1.0, -1.0), strict=True)]
            assert len({*chain(*given)}) == 2 * BATCHES, "both have trained on the same"
            first.rpc.pool.close("the server dies")
            first.rpc.unregister(run.run_id)
            for _ in range(3):
                given += [await train(trunk, BATCHES) for trunk in trunks]
        assert len({*chain(*given)}) == 8 * BATCHES, "a subtask was done twice"
        asked = Agreed(0, 0, 0, 0)
        while asked.samples < 8 * BATCHES * 32:
            asked, answer = await agreements[1].agree(Offer(0, 0, 0), b"", 1e9)
        assert asked.samples == 8 * BATCHES * 32 and len(answer) == 4 * NUMBERS
        given_by = [GiverStatus(name, BATCHES * 32, 1.0) for name in sorted(peer_text(each.id) for each in (one, two))]
        reduced = [ReducerStatus(peer_text(second.id), 1.0)]
        assert agreements[1].who() == (given_by, reduced)
        [at_server], [at_client] = (agreement.status() for agreement in (agreements[1], agreements[2]))
        assert at_server.version == 8 and 0 < at_client.version <= 8, "results that were mixed in"
        assert at_server.peers and at_client.peers and at_server.digest
        assert agreements[1].reduced and not agreements[2].reduced
        least = 6 * BATCHES * 32  # of one result of each the answer may have gone with the server

        def accepted() -> float:
            return sum(agreement.accepted for agreement in agreements[2:])

        await until(lambda: accepted() >= least, "answers that say what counts", PATIENCE_S)
        assert accepted() <= 8 * BATCHES * 32
        assert all(agreement.who() in [([given], reduced) for given in given_by] for agreement in agreements[2:])
        for task in agreeing:
            task.cancel()


async def test_servers_refuse_and_name_who_sends_what_no_trainer_would(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncExitStack() as stack:
        server, liar, begins, odd = await stack.enter_async_context(peers(4))
        run = run_of(server)
        at_server = await stack.enter_async_context(agreement_at(server, run, tmp_path))
        good = np.ones(NUMBERS, np.float32)
        method, bad = of_run("trunk.subtask", run.run_id), good.copy()
        bad[7] = np.inf

        async def call(peer: Peer, offer: Offer, payload: bytes) -> Agreed:
            agreed, _ = await peer.rpc.call(server.rpc.peer, method, offer, Agreed, payload, deadline_s=30)
            return agreed

        def points(peer: Peer) -> float:
            return server.rpc.bans.score(peer.rpc.peer, time.monotonic())

        for wrong in (pack(bad), pack(1e6 * good)):
            with pytest.raises(RemoteFault, match="came"):
                await call(begins, Offer(0, 0, 0), wrong)
        assert points(begins) > HOSTILE_POINTS, "who would have all begin with this"
        await at_server.agree(Offer(0, 0, 0), good.tobytes(), 1e9)
        for wrong in (pack(good[1:]), pack(good)[:-1]):
            with pytest.raises(RemoteFault, match="came"):
                await call(liar, Offer(0, 0, 32), wrong)
        assert points(liar) > HOSTILE_POINTS
        assert server.rpc.bans.banned(liar.rpc.peer, time.monotonic()) == 0.0
        with pytest.raises(NetworkError):  # the connection may be cut before the answer is here
            await call(liar, Offer(0, 0, 32), b"x" * NUMBERS)
        assert server.rpc.bans.banned(liar.rpc.peer, time.monotonic()) > 0.0
        for peer in (liar, begins):
            assert f"Peer {peer.rpc.peer.hex()[:8]} offered what no network learns with" in caplog.text
        for offer in (Offer(0, 0, 0), Offer(3, 3, 32), Offer(0, 2**40, 32)):
            assert not (await call(odd, offer, pack(2 * good))).counted
        _, answer = await at_server.agree(Offer(0, 0, 0), b"", 1e9)
        assert bytes(answer) == good.tobytes()  # type: ignore[arg-type]

        given = await call(odd, Offer(0, 0, 0), b"")
        assert (await call(odd, Offer(given.part, given.version, 32), pack(-900 * good))).counted
        assert f"Peer {odd.rpc.peer.hex()[:8]} offered parameters" in caplog.text and points(odd) > 0.5
        _, answer = await at_server.agree(Offer(0, 0, 0), b"", 1e9)
        now = np.frombuffer(bytes(answer), np.float32)  # type: ignore[arg-type]
        assert np.abs(now - good).max() < 0.01, "it was brought near"


async def test_a_result_that_is_refused_is_not_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.training.trunk.vc_asgd.RETRY_S", 0.0)
    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(peers(2))
        run = run_of(server)
        at_server, at_client = (agreement_at(peer, run, tmp_path) for peer in (server, client))
        await stack.enter_async_context(at_server)
        trunk = trunk_of(run, await stack.enter_async_context(at_client))
        agreeing = asyncio.create_task(trunk.agree(at_once))
        async with asyncio.timeout(PATIENCE_S):
            first = await trunk.next_batch()
            with torch.no_grad():
                trunk.parameters[0].fill_(1e6)
            trunk.contribute(first, torch.zeros(NUMBERS), 32)
            await train(trunk, BATCHES - 1)
            again = await train(trunk, BATCHES)
            await trunk.next_batch()  # the result is there
        assert again == [*range(BATCHES)] and float(weights(trunk).abs().max()) < 10
        agreed, _ = await at_server.agree(Offer(0, 0, 0), b"", 1e9)
        assert agreed.samples == BATCHES * 32
        assert HOSTILE_POINTS / 2 < server.rpc.bans.score(client.rpc.peer, time.monotonic()) < HOSTILE_POINTS + 0.1
        agreeing.cancel()


async def test_what_is_agreed_is_measured_before_it_is_trained_on_until_it_is_good_enough(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(peers(2))
        run = run_of(server, accuracy=0.8)
        at_server, at_client = (agreement_at(peer, run, tmp_path) for peer in (server, client))
        await stack.enter_async_context(at_server)
        trunk = trunk_of(run, await stack.enter_async_context(at_client))
        seen, over = list[torch.Tensor](), asyncio.Event()

        async def judge() -> float:
            seen.append(weights(trunk))
            if len(seen) == 2 * PARTS + 1:
                over.set()
            return 0.1 if len(seen) <= PARTS else 0.9

        agreeing = asyncio.create_task(trunk.agree(at_once, judge))
        training = asyncio.create_task(train(trunk, 10**9))
        async with asyncio.timeout(PATIENCE_S):
            await over.wait()
            agreed, answer = await at_server.agree(Offer(0, 0, 0), b"", 1e9)
        assert at_client.reached and at_server.reached, "a server without a trainer knows it too"
        assert trunk.reached and agreed.reached and len(seen) == 2 * PARTS + 1, (
            "an epoch that was too bad, a good one, and its result"
        )
        first = torch.cat([parameter.detach().flatten() for parameter in trunk_of(DIGITS).parameters])
        assert torch.equal(seen[0], first)
        assert seen[-1].numpy().tobytes() == bytes(answer)  # type: ignore[arg-type]
        assert trunk.samples == agreed.samples == 2 * PARTS * BATCHES * 32 and not training.done()
        for task in (agreeing, training):
            task.cancel()


async def test_the_model_is_evaluated_and_asked_as_the_servers_have_it(tmp_path: Path) -> None:
    """All trainers answer alike, whatever each has learnt in its subtask so far."""
    async with one_client(tmp_path) as trunk:
        agreeing = asyncio.create_task(trunk.agree(at_once))
        async with asyncio.timeout(PATIENCE_S):
            await train(trunk, BATCHES)
            first = await trunk.next_batch()
            theirs = weights(trunk)
            trunk.contribute(first, torch.ones(NUMBERS), 32)
            await train(trunk, 1)
        assert torch.equal(trunk.by_agreed(weights, trunk), theirs)
        assert not torch.equal(weights(trunk), theirs), "it goes on with its own"
        agreeing.cancel()


async def test_a_trainer_has_several_subtasks_at_once_each_with_the_parameters_that_it_came_with(
    tmp_path: Path,
) -> None:
    async with one_client(tmp_path, at_once=2, accuracy=1.0) as trunk:
        assert isinstance(trunk, Subtasks)
        began: list[torch.Tensor] = []

        async def judge() -> float:
            while len(trunk._holding) < 2:  # noqa: ASYNC110 - the other place has no event for it
                await asyncio.sleep(0.01)
            began.append(weights(trunk))
            return 0.0

        agreeing = asyncio.create_task(trunk.agree(at_once, judge))
        async with asyncio.timeout(PATIENCE_S):
            given = await train(trunk, 2 * PARTS * BATCHES)
        ordered = sorted(given[::BATCHES])
        assert ordered == [*range(0, 2 * PARTS * BATCHES, BATCHES)], "each subtask is given once"
        assert all(given[at : at + BATCHES] == [*range(given[at], given[at] + BATCHES)] for at in range(0, 24, BATCHES))
        assert torch.equal(began[0], began[1]), "the second came before the first's result was there"
        assert not torch.equal(began[1], began[2])
        agreeing.cancel()


async def test_where_no_server_is_named_one_is_it_until_another_goes_on(tmp_path: Path) -> None:
    run = run_of(kept=0.5)
    async with AsyncExitStack() as stack:
        at, agreements, trunks = await stack.enter_async_context(peers(3)), list[Agreement](), list[TrunkStrategy]()
        leaving = [await stack.enter_async_context(AsyncExitStack()) for _ in at]
        for number, peer in enumerate(at):
            folder = tmp_path / str(number)
            folder.mkdir()
            agreements.append(await leaving[number].enter_async_context(agreement_at(peer, run, folder)))
            trunks.append(trunk_of(run, agreements[-1]))
        agreeing = [asyncio.create_task(trunk.agree(at_once)) for trunk in trunks]
        async with asyncio.timeout(PATIENCE_S):
            given = [await train(trunk, 2 * BATCHES) for trunk in trunks]
            [server] = {agreement.who()[1][0].peer for agreement in agreements}
            dying = [peer_text(peer.id) for peer in at].index(server)
            held = [await trunk.next_batch() for trunk in trunks]  # the results are there
            living = [number for number in range(3) if number != dying]
            agreeing[dying].cancel()
            await leaving[dying].aclose()
            at[dying].rpc.unregister(run.run_id)
            for number in living:
                trunks[number].drop(held[number])
                given.append(await train(trunks[number], BATCHES - 1))
                given.append(await train(trunks[number], BATCHES))
                await trunks[number].next_batch()
            told = [await agreements[number].agree(Offer(0, 0, 0), b"", 1e9) for number in living]
            [heir] = {agreements[number].who()[1][0].peer for number in living}
        done = [*chain(*given)]
        assert len({*done}) == len(done), "a subtask was done twice"
        assert [agreed.samples for agreed, _ in told] == [32 * len(done)] * 2, "something that was accepted is lost"
        assert heir != server
        for task in agreeing:
            task.cancel()


@pytest.mark.parametrize("voters", [0, 4])
async def test_who_claims_to_be_the_server_is_none_while_others_follow_another_one(tmp_path: Path, voters: int) -> None:
    """Also with votes for it, if they all come from its block of addresses."""
    run = run_of(kept=0.5)
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(peers(4 + voters))
        at, [liar, *ghosts] = made[:3], made[3:]
        agreements = list[Agreement]()
        for number, here in enumerate(at):
            (tmp_path / str(number)).mkdir()
            agreements.append(await stack.enter_async_context(agreement_at(here, run, tmp_path / str(number))))

        def leases_of(stranger: Peer) -> Leases:
            directory = DHTDirectory(stranger.dht, stranger.rpc, Grid(run.run, 1, (2, 2)), run.run_id)
            claims = [0] if stranger is liar else []
            claim = Keeper({0: 10**9}, claims, follows={0: mark(peer_text(liar.id))})
            members = Members(stranger.rpc, stranger.dht, directory)
            return Leases(run.run_id, members, lambda: claim, asyncio.Event())

        async with asyncio.timeout(PATIENCE_S):
            await agreements[0].agree(Offer(0, 0, 0), np.ones(NUMBERS, np.float32).tobytes(), 1e9)
            for each in agreements:
                await each.agree(Offer(0, 0, 0), b"", 1e9)
            [server] = {each.who()[1][0].peer for each in agreements}

            def keepers() -> list[dict[str, Keeper]]:
                return [cast(ServerLease, cast(ParameterServers, each)._lease)._leases.keepers for each in agreements]

            def all_vote() -> bool:
                votes = [[each.follows for each in told.values()] for told in keepers()]
                return all(told == [{0: mark(server)}] * len(at) for told in votes)

            await until(all_vote, "all tell whom they follow")
            for here, stranger in product(at, [liar, *ghosts]):
                await stranger.rpc.call(here.id, "dht.ping", Ping(True), Pong, deadline_s=PATIENCE_S)
                here.rpc.pool.links[stranger.id].branch = ("one block", "one house", peer_text(stranger.id))
            for stranger in (*ghosts, liar):
                await leases_of(stranger).look()
            names = {peer_text(stranger.id) for stranger in (liar, *ghosts)}
            await until(lambda: all(names <= told.keys() for told in keepers()), "all hear of the claim")
            for told in keepers():
                assert syncer_of(0, told) == server
            for each in agreements:
                await each.agree(Offer(0, 0, 0), b"", 1e9)
            assert {each.who()[1][0].peer for each in agreements} == {server}


@asynccontextmanager
async def client_and_server(folder: Path, begin: bytes) -> AsyncIterator[tuple[ParameterServers, ParameterServers]]:
    """Two peers of a run that names no server, after they have elected one of them; within the test's patience."""
    run = run_of(kept=0.5)
    async with AsyncExitStack() as stack:
        at, made = await stack.enter_async_context(peers(2)), list[ParameterServers]()
        for number, here in enumerate(at):
            (folder / str(number)).mkdir()
            made.append(
                cast(ParameterServers, await stack.enter_async_context(agreement_at(here, run, folder / str(number))))
            )
        async with asyncio.timeout(PATIENCE_S):
            await made[0].agree(Offer(0, 0, 0), begin, 1e9)
            for each in made:
                await each.agree(Offer(0, 0, 0), b"", 1e9)
            [name] = {each.who()[1][0].peer for each in made}
            number = [peer_text(here.id) for here in at].index(name)
            yield made[number - 1], made[number]


async def test_an_elected_server_that_refuses_all_is_left_and_none_ends_a_run_that_has_no_end(tmp_path: Path) -> None:
    ones = np.ones(NUMBERS, np.float32).tobytes()
    async with client_and_server(tmp_path, ones) as (client, server):
        liar, answer = server._members.node, server._answer

        async def end(offer: Offer, payload: bytes, context: Context) -> tuple[Agreed, bytes]:
            agreed, packed = await answer(offer, payload, context)
            return msgspec.structs.replace(agreed, reached=True, again_s=3600.0), packed

        liar.register(client._method, Offer, end)
        agreed, _ = await client.agree(Offer(0, 0, 0), b"", 1e9)
        assert not agreed.reached and agreed.again_s <= 60.0 and not client.reached and not client._is_server

        async def refuse(offer: Offer, payload: bytes, context: Context) -> tuple[Agreed, bytes]:
            raise CallRefused("Not now.")

        liar.register(client._method, Offer, refuse)
        while not client._is_server:
            with contextlib.suppress(NetworkError):
                await client.agree(Offer(0, 0, 0), b"", 1e9)
            await asyncio.sleep(0.1)
        _, numbers = await client.agree(Offer(0, 0, 0), b"", 1e9)
        assert numbers == ones, "it goes on from its own copy"


@pytest.mark.parametrize("gives", ["no work", "no answer", "no parameters"])
async def test_an_elected_server_that_gives_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gives: Literal["no work", "no answer", "no parameters"]
) -> None:
    """It tells anew all the time that it is the server."""
    ones = np.ones(NUMBERS, np.float32).tobytes()
    async with client_and_server(tmp_path, ones) as (client, server):
        monkeypatch.setattr(vc_asgd, "SERVER_S", 1.0)
        answer = server._answer

        async def nothing(offer: Offer, payload: bytes, context: Context) -> tuple[Agreed, bytes]:
            if gives == "no answer":
                await asyncio.Event().wait()
            if gives == "no parameters":
                return Agreed(0, 0, 0, 0), b""
            agreed, packed = await answer(offer, payload, context)
            return msgspec.structs.replace(agreed, again_s=0.1), packed

        client._rules = msgspec.structs.replace(client._rules, timeout_s=1.0)
        server._members.node.register(client._method, Offer, nothing)
        while not client._is_server:
            with contextlib.suppress(NetworkError):
                await client.agree(Offer(0, 0, 0), b"", 1e9)
            await asyncio.sleep(0.1)
        monkeypatch.undo()
        agreed, numbers = await client.agree(Offer(0, 0, 0), b"", 1e9)
        assert numbers == ones and not agreed.again_s, "it goes on from its own copy"


async def test_a_server_whose_parameters_are_of_no_use_is_left_for_the_best_that_are_known(tmp_path: Path) -> None:
    ones = np.ones(NUMBERS, np.float32).tobytes()
    async with client_and_server(tmp_path, ones) as (client, server):
        assert client._best == ones

        compared = list[CompareTrunks]()

        def refuse(asked: CompareTrunks) -> list[Verdict]:
            compared.append(asked)
            return ["worse", "good"]

        client.serve(trusting(refuse))
        with pytest.raises(NetworkError, match="of no use"):
            await client.agree(Offer(0, 0, 0), b"", 1e9)
        assert [asked.states for asked in compared] == [[[0], [0]]], "the best that is known is the measure"
        assert client._members.node.bans.score(server._members.node.peer, time.monotonic()) > 0.0
        client.serve(trusting())
        _, answer = await client.agree(Offer(0, 0, 0), b"", 1e9)
        assert client._is_server and answer == ones, "it goes on from its own copy"


async def test_pcs_that_know_nobody_train_at_once_and_become_one_when_they_meet(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, done = run_of(kept=0.5), (6, 4)
    caplog.set_level("INFO")
    async with AsyncExitStack() as stack:
        at = [await stack.enter_async_context(peer()) for _ in done]
        agreements, trunks, agreeing = list[Agreement](), list[TrunkStrategy](), list[asyncio.Task[None]]()
        for number, here in enumerate(at):
            (tmp_path / str(number)).mkdir()
            agreements.append(await stack.enter_async_context(agreement_at(here, run, tmp_path / str(number))))
            trunks.append(trunk_of(run, agreements[-1]))
            agreeing.append(asyncio.create_task(trunks[-1].agree(at_once)))
        at[1].rpc.hush("The user wants no traffic now.")
        async with asyncio.timeout(PATIENCE_S):
            for trunk, subtasks in zip(trunks, done, strict=True):
                await train(trunk, subtasks * BATCHES)
                await trunk.next_batch()  # the results are there
                trunk.drop(0)
            assert [each.who()[1][0].peer for each in agreements] == [peer_text(here.id) for here in at]
            at[1].rpc.speak()
            await at[1].join(at[:1])
            await until(lambda: "was given to the server" in caplog.text, "what the second has learnt is mixed in")

            async def samples() -> list[int]:
                """Of the one server, as both are told; none as long as there are two."""
                with contextlib.suppress(NetworkError):
                    told = [(await each.agree(Offer(0, 0, 0), b"", 1e9))[0].samples for each in agreements]
                    return told if len({each.who()[1][0].peer for each in agreements}) == 1 else []
                return []

            assert await until(samples, "one server") == [32 * BATCHES * (done[0] + 1)] * 2, "as one result"
        for task in agreeing:
            task.cancel()


async def test_a_server_by_lease_whose_store_breaks_is_replaced(tmp_path: Path) -> None:
    run = run_of(kept=0.5)
    async with AsyncExitStack() as stack:
        at, agreements = await stack.enter_async_context(peers(2)), list[Agreement]()
        for number, here in enumerate(at):
            (tmp_path / str(number)).mkdir()
            agreements.append(await stack.enter_async_context(agreement_at(here, run, tmp_path / str(number))))
        async with asyncio.timeout(PATIENCE_S):
            await agreements[0].agree(Offer(0, 0, 0), np.ones(NUMBERS, np.float32).tobytes(), 1e9)
            for each in agreements:
                await each.agree(Offer(0, 0, 0), b"", 1e9)
            [server] = {each.who()[1][0].peer for each in agreements}
            broken = [peer_text(here.id) for here in at].index(server)
            client = agreements[1 - broken]  # has a copy of all that it was told is accepted
            agreed, _ = await client.agree(Offer(0, 0, 0), b"", 1e9)
            offer = Offer(agreed.part, agreed.version, 32 * BATCHES)
            assert (await client.agree(offer, np.full(NUMBERS, 2, np.float32).tobytes(), 1e9))[0].counted
            own = agreements[broken]  # its trainer's results come last
            agreed, _ = await own.agree(Offer(0, 0, 0), b"", 1e9)
            offer = Offer(agreed.part, agreed.version, 32 * BATCHES)
            assert (await own.agree(offer, np.full(NUMBERS, 3, np.float32).tobytes(), 1e9))[0].counted
            for file in (tmp_path / str(broken)).glob(f"{FILE}*"):
                file.write_bytes(b"The disk writes what it wants." * 1000)

            async def other() -> bool:
                with contextlib.suppress(NetworkError):
                    agreed, answer = await client.agree(Offer(0, 0, 0), b"", 1e9)
                    assert not answer or agreed.samples == 2 * 32 * BATCHES, "what was accepted is lost"
                return client.who()[1][0].peer != server

            await until(other, "another server")


async def test_clients_follow_the_organisers_servers_when_these_have_nothing_better(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(peers(2))
        run, ones = run_of(server), np.ones(NUMBERS, np.float32).tobytes()
        await stack.enter_async_context(agreement_at(server, run, tmp_path))
        at_client = cast(ParameterServers, await stack.enter_async_context(agreement_at(client, run, tmp_path)))
        await at_client.agree(Offer(0, 0, 0), ones, 1e9)
        at_client.serve(trusting(lambda asked: cast(list[Verdict], ["worse", "good"])))
        for _ in range(REFUSALS):
            with pytest.raises(NetworkError, match="of no use"):
                await at_client.agree(Offer(0, 0, 0), b"", 1e9)
        assert (await at_client.agree(Offer(0, 0, 0), b"", 1e9))[1] == ones
        assert client.rpc.bans.score(server.rpc.peer, time.monotonic()) == 0.0


async def test_servers_that_keep_nothing_any_more_begin_with_the_best_that_a_client_knows(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(peers(2))
        run, ones = run_of(server), np.ones(NUMBERS, np.float32).tobytes()
        at_server = cast(ParameterServers, await stack.enter_async_context(agreement_at(server, run, tmp_path)))
        at_client = await stack.enter_async_context(agreement_at(client, run, tmp_path))
        agreed, _ = await at_client.agree(Offer(0, 0, 0), ones, 1e9)
        await at_server._aside(lambda: at_server._server()._write(b"", b""))  # as a Redis that was started again
        offer = Offer(agreed.part, agreed.version, 32)
        agreed, answer = await at_client.agree(offer, np.full(NUMBERS, 2, np.float32).tobytes(), 1e9)
        assert answer == ones and not agreed.counted and not agreed.again_s


async def test_times_in_the_table_are_the_networks(tmp_path: Path) -> None:
    async with peer() as here, agreement_at(here, run_of(here), tmp_path) as agreement:
        here.dht.clock = NetworkClock(lambda: time.time() + 1e6)
        await agreement.agree(Offer(0, 0, 0), np.ones(NUMBERS, np.float32).tobytes(), 1e9)
        at_server = cast(ParameterServers, agreement)
        work = await at_server._aside(lambda: at_server._server().work())
        assert work.open[0].since > time.time() + 5e5


async def test_a_peer_asks_one_question_at_a_time(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server, client = await stack.enter_async_context(peers(2))
        run = run_of(server)
        at_server = cast(ParameterServers, await stack.enter_async_context(agreement_at(server, run, tmp_path)))
        await at_server.agree(Offer(0, 0, 0), np.ones(NUMBERS, np.float32).tobytes(), 1e9)
        busy = threading.Event()
        stack.callback(busy.set)
        at_server._thread.submit(busy.wait)

        def ask() -> Coroutine[Any, Any, tuple[Agreed, Any]]:
            method = of_run("trunk.subtask", run.run_id)
            return client.rpc.call(server.rpc.peer, method, Offer(0, 0, 0), Agreed, deadline_s=PATIENCE_S)

        many = [asyncio.create_task(ask()) for _ in range(20)]
        for refused in itertools.islice(asyncio.as_completed(many), 19):
            with pytest.raises(CallRefused, match="asked already"):
                await refused
        busy.set()
        [served] = [task for task in many if not task.done() or not task.exception()]
        assert not (await served)[0].again_s and (await ask())[0].version == 1


async def test_a_store_that_answers_nothing_holds_up_no_exit(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    async with AsyncExitStack() as stack:
        asked, [here] = asyncio.Event(), await stack.enter_async_context(peers(1))

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.set()
            await leave.wait()
            writer.close()

        leave = asyncio.Event()
        listening = await asyncio.start_server(silent, "127.0.0.1")
        port = listening.sockets[0].getsockname()[1]
        agreement = agreement_at(here, run_of(here, store=f"postgresql://127.0.0.1:{port}/x"), tmp_path)
        async with agreement:
            asking = asyncio.create_task(agreement.agree(Offer(0, 0, 0), b"", 1e9))
            await asked.wait()
        assert not asking.done(), "it was waited for"
        leave.set()
        with pytest.raises(NetworkError):
            await asking
        listening.close()


async def test_who_was_the_server_before_all_were_started_again_offers_what_the_new_one_lacks(tmp_path: Path) -> None:
    run, ones = run_of(kept=0.5), np.ones(NUMBERS, np.float32)
    rules = run.trunk
    assert isinstance(rules, VcAsgd)
    for number, results in enumerate((1, 3)):
        (tmp_path / str(number)).mkdir()
        with contextlib.closing(SqliteStore(tmp_path / str(number) / FILE)) as store:
            server = ParameterServer(rules, NUMBERS, store)
            agreed, _ = server.serve("a", Offer(0, 0, 0), ones, 0.0)
            for result in range(results):
                offer = Offer(agreed.part, agreed.version, 32)
                agreed, _ = server.serve("a", offer, (2 + result) * ones, 1.0)
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
        at = await stack.enter_async_context(peers(2))
        first = await stack.enter_async_context(agreement_at(at[0], run, tmp_path / "0"))

        async def samples() -> int:
            with contextlib.suppress(NetworkError):
                return (await first.agree(Offer(0, 0, 0), b"", 1e9))[0].samples
            return 0

        await until(lambda: cast(Any, first)._lease.serves, "a server")
        assert await samples() == 32
        late = await stack.enter_async_context(agreement_at(at[1], run, tmp_path / "1"))
        agreed, _ = await late.agree(Offer(0, 0, 0), b"", 1e9)
        assert agreed.samples == 32 and late.who()[1][0].peer == peer_text(at[0].id)

        async def is_mixed_in() -> bool:
            return await samples() == 4 * 32

        await until(is_mixed_in, "what the second has is mixed in")


async def test_the_next_heir_keeps_what_the_first_does_not_take(tmp_path: Path) -> None:
    run, ones = run_of(kept=0.5), np.ones(NUMBERS, np.float32)
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_S):
        at, made = await stack.enter_async_context(peers(3)), dict[str, ParameterServers]()
        for here in at:
            folder = tmp_path / peer_text(here.id)
            folder.mkdir()
            agreement = await stack.enter_async_context(agreement_at(here, run, folder))
            made[peer_text(here.id)] = cast(ParameterServers, agreement)
        await made[peer_text(at[0].id)].agree(Offer(0, 0, 0), ones.tobytes(), 1e9)
        for each in made.values():
            await each.agree(Offer(0, 0, 0), b"", 1e9)
        [name] = {each.who()[1][0].peer for each in made.values()}
        server = made.pop(name)

        async def refuse(request: Inherit, payload: bytes, context: Context) -> State:
            raise CallRefused("Not now.")

        def heirs() -> dict[str, Keeper]:
            assert server._lease
            return {peer: each for peer, each in server._lease._leases.keepers.items() if peer in made}

        await until(lambda: len(heirs()) == 2, "both are known")
        first = heirs_of(0, heirs())[0]
        assert first
        made[first]._members.node.register(of_run(HEIR, run.run_id), Inherit, refuse, max_payload=1 << 24)
        [second] = (each._lease for peer, each in made.items() if peer != first)
        assert second
        load, readers = second._load_copy, list[threading.Thread]()

        def read(data: bytes | memoryview) -> Copy:
            readers.append(threading.current_thread())
            return load(data)

        second._load_copy = read
        agreed, _ = await server.agree(Offer(0, 0, 0), b"", 1e9)
        offer = Offer(agreed.part, agreed.version, 32)
        assert (await server.agree(offer, (2 * ones).tobytes(), 1e9))[0].counted
        assert second._shared and samples_of(second._shared) == 32
        assert readers and threading.main_thread() not in readers, "a large trunk would hold everything up"


async def test_a_damaged_file_of_ones_own_is_as_good_as_none(tmp_path: Path) -> None:
    ones = np.ones(NUMBERS, np.float32)
    store, run = SqliteStore(tmp_path / FILE), run_of(kept=0.5)
    assert isinstance(run.trunk, VcAsgd)
    ParameterServer(run.trunk, NUMBERS, store).serve("a", Offer(0, 0, 0), ones, 0.0)
    store.write(WORK, b"The disk writes what it wants.")
    store.close()
    async with peer() as here, agreement_at(here, run, tmp_path) as agreement, asyncio.timeout(PATIENCE_S):
        _, answer = await agreement.agree(Offer(0, 0, 0), ones.tobytes(), 1e9)
        assert answer == ones.tobytes()


async def test_alone_a_trainer_trains_without_end(tmp_path: Path) -> None:
    run = run_of(kept=None)
    alone = trunk_of(run)
    await alone.agree(at_once)
    assert await train(alone, 2 * PARTS * BATCHES) == [*range(2 * PARTS * BATCHES)]


async def test_alone_a_trainer_ends_when_an_epoch_is_good_enough_and_remembers_it() -> None:
    run = run_of(kept=None, accuracy=0.8)
    alone, seen = trunk_of(run), list[torch.Tensor]()

    async def judge() -> float:
        seen.append(weights(alone))
        return 0.1 if len(seen) <= PARTS else 0.9

    training = asyncio.create_task(train(alone, 10**9))
    async with asyncio.timeout(PATIENCE_S):
        await alone.agree(at_once, judge)
    assert alone.reached and len(seen) == 2 * PARTS, "an epoch that was too bad, and a good one"
    assert alone.step == 2 * PARTS * BATCHES and not training.done(), "no batch more"
    training.cancel()
    same = trunk_of(DIGITS)
    for batches in range(0, 2 * PARTS * BATCHES, BATCHES):
        assert torch.equal(seen[batches // BATCHES], weights(same)), "it was measured while batches changed it"
        await train(same, BATCHES)
    assert torch.equal(weights(alone), weights(same))
    restarted, wants_more = trunk_of(run), trunk_of(run_of(kept=None, accuracy=0.95))
    for trunk in (restarted, wants_more):
        trunk.load_state(alone.state())
    assert restarted.reached and not wants_more.reached
