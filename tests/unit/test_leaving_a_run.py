"""A run that is left takes with it whatever it had registered at this PC's node: methods, and whom the node tells. Who
listened to it hears of the first one, and who asked its model is told."""

import asyncio
import socket
import struct
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest

from core.community.credit_book import CreditBook
from core.community.ledger import Ledger
from core.contracts import manifest
from core.contracts.control import ADDRESS_FILE, PROTOCOL, Address, Hello, LeaveRunParams, PredictParams, Request
from core.contracts.errors import ComputeError
from core.contracts.status import Status
from core.control.server import ControlServer
from core.experts.grid import Grid
from core.logs import Ring
from core.swarm.hosted import HostedExperts
from core.swarm.mirrors import Mirrors
from core.swarm.state_room import StateRoom
from core.swarm.work_gate import WorkGate
from core.worker.community import Community
from core.worker.compute.questions import ANSWER_S
from core.worker.listeners import Listener
from core.worker.peer import Peer
from core.worker.run import Run
from core.worker.swarm import Swarm
from tests.dht_peers import peers, until
from tests.disks import run_files, supervisor


async def test_nothing_of_a_run_stays_at_the_node(tmp_path: Path) -> None:
    digits = manifest.load("digits")
    async with peers(2) as (here, other):
        node = here.rpc

        def registered() -> tuple[object, ...]:
            return (
                set(node._service._methods),
                list(node.on_connected),
                list(node.on_disconnected),
                list(node.on_banned),
            )

        async def nobody(*_: object) -> NoReturn:
            raise AssertionError("this is no backbone peer")

        before, book = registered(), CreditBook(Ledger(tmp_path), node.identity)
        for name in ("one", "two"):
            run = msgspec.structs.replace(digits, run=name)
            grid = Grid(name, run.model.layers, run.model.grid)
            files = run_files(tmp_path, tmp_path / name, grid=grid)
            compute, hosted = supervisor(run, tmp_path / name, files), files.hosted
            assert isinstance(hosted, HostedExperts)
            room, roles = StateRoom(hosted, files), frozenset({"host", "train"})
            mirrors = Mirrors(node.shaper, frozenset(), lambda: False)
            swarm = Swarm(
                node,
                here.dht,
                run,
                compute,
                files,
                room,
                roles,
                mirrors,
                named=lambda: True,
                on_lan=False,
                community=Community(tmp_path, node, node.identity, book, lambda: ("", ""), None, nobody),
                open_gate=WorkGate(tmp_path, node.peer),
            )
            async with swarm:
                assert node.on_banned and registered() != before
                node.strike(other.rpc.peer, 20.0)  # banned: the run is told
            assert registered() == before


async def test_who_listens_to_a_run_hears_of_the_first_one_while_it_is_still_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits = manifest.load("digits")
    peer = Peer(tmp_path, digits.run, Ring())
    try:
        left = peer.runs._add(msgspec.structs.replace(digits, run="left"), 1)
        heard: list[str] = []

        def listen(event: str, data: object) -> None:
            assert isinstance(data, Status)
            heard.append(data.run_id)

        listener: Listener = listen
        assert peer.listen(listener, left.id).status.run_id == left.id

        async def end(run: Run) -> None:
            """It takes seconds among peers, in which figures go out as ever."""
            peer._publish(0.0)

        monkeypatch.setattr(Run, "end", end)
        await peer.leave_run(left.id)
        assert heard == [digits.run_id]
    finally:
        peer.policy.close()
        peer.ledger.close()
        peer._files.flush()


async def test_a_run_is_left_to_the_end_though_the_window_that_asked_is_killed(tmp_path: Path) -> None:
    digits = manifest.load("digits")
    peer, saved = Peer(tmp_path, digits.run, Ring()), asyncio.Event()
    try:
        left = peer.runs._add(msgspec.structs.replace(digits, run="left"), 1)
        saving = peer.runs._works[left.id] = asyncio.create_task(_until(saved))
        server = ControlServer(peer, tmp_path, 0)
        async with server:
            where = msgspec.json.decode((tmp_path / ADDRESS_FILE).read_bytes(), type=Address)
            _, window = await asyncio.open_connection("127.0.0.1", where.port)
            window.write(msgspec.json.encode(Hello(PROTOCOL, where.token, "cli", 1, "0" * 32)) + b"\n")
            asked = Request(1, "leave_run", msgspec.Raw(msgspec.json.encode(LeaveRunParams(left.id))))
            window.write(msgspec.json.encode(asked) + b"\n")
            await until(lambda: left.id not in peer.runs._works, "the request")
            lingers = struct.pack("ii", 1, 0)  # for no time: what is open is reset, as by the system for the killed
            window.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, lingers)
            window.transport.abort()
            reader, other = await asyncio.open_connection("127.0.0.1", where.port)
            other.write(msgspec.json.encode(Hello(PROTOCOL, where.token, "cli", 2, "0" * 32)) + b"\n")
            assert await reader.readline(), "it goes on with others, and has seen the end of the first one by now"
            other.close()
            saved.set()
            await until(lambda: left not in [*peer.runs], "the end of the run")
        assert saving.done() and not saving.cancelled()
    finally:
        peer.policy.close()
        peer.ledger.close()
        peer._files.flush()


async def _until(event: asyncio.Event) -> None:
    await event.wait()


async def test_who_waits_for_an_answer_of_a_run_that_is_left_is_told_at_once(tmp_path: Path) -> None:
    compute = supervisor(manifest.load("digits"), tmp_path)
    asked = asyncio.create_task(compute.questions.predict(PredictParams(8, 8, bytes(64))))
    await until(lambda: compute.questions._starting, "the question")
    compute.leave()
    with pytest.raises(ComputeError) as told:
        async with asyncio.timeout(ANSWER_S / 2):
            await asked
    assert told.value.notice.code == "question.quitting"
