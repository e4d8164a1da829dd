"""A run that is left takes with it whatever it had registered at this PC's node: methods, and whom the node tells. Who
listened to it hears of the first one."""

from pathlib import Path

import msgspec
import pytest

from core.contracts import manifest
from core.contracts.status import Status
from core.experts.grid import Grid
from core.logs import Ring
from core.swarm.hosted import HostedExperts
from core.swarm.state_room import StateRoom
from core.worker.peer import Listener, Peer
from core.worker.run import Run
from core.worker.swarm import Swarm
from tests.dht_peers import peers
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

        before = registered()
        for name in ("one", "two"):
            run = msgspec.structs.replace(digits, run=name)
            grid = Grid(name, run.model.layers, run.model.grid)
            files = run_files(tmp_path, tmp_path / name, grid=grid)
            compute, hosted = supervisor(run, tmp_path / name, files), files.hosted
            assert isinstance(hosted, HostedExperts)
            room, roles = StateRoom(hosted, files), frozenset({"host", "train"})
            swarm = Swarm(node, here.dht, run, compute, files, room, roles, named=lambda: True, on_lan=False)
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
