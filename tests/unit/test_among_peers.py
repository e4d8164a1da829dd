"""A PC among its peers, by itself: what it may, what fails there, and that it goes on."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from core.contracts import manifest
from core.contracts.net import PeerAddress
from core.experts.grid import Grid
from core.identity import Identity, PeerId
from core.logs import Ring
from core.net.recurring import TOLD
from core.swarm.hosted import HostedExperts
from core.swarm.state_room import StateRoom
from core.worker import network
from core.worker.peer import Peer
from core.worker.places import NetworkOptions
from core.worker.swarm import Swarm
from tests.dht_peers import until
from tests.disks import network_of, run_files, supervisor

HERE = NetworkOptions(("127.0.0.1:0",))


async def test_a_run_that_is_joined_while_the_network_is_forbidden_for_a_moment_is_not_left_frozen(
    tmp_path: Path,
) -> None:
    run = manifest.load("digits")
    files = run_files(tmp_path, tmp_path / "digits", grid=Grid(run.run, run.model.layers, run.model.grid))
    assert isinstance(files.hosted, HostedExperts)
    compute, room = supervisor(run, tmp_path / "digits", files), StateRoom(files.hosted, files)
    async with network_of(tmp_path, HERE) as here:
        here.allow("it is metered")
        swarm = here.swarm(run, compute, files, room)
        assert isinstance(swarm, Swarm) and swarm.hosting.frozen
        here.allow("")
        await until(lambda: not swarm.hosting.frozen, "the run may use the network")
        assert not here.node.hushed


async def test_an_error_of_our_own_does_not_end_the_joining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "JOIN_S", 0.01)
    tries: list[Sequence[PeerId]] = []

    async def wrong_at_first(peers: Sequence[PeerId]) -> int:
        tries.append(peers)
        if len(tries) == 1:
            raise ValueError("odd")
        return 0

    unknown = PeerAddress(Identity.generate().peer, ("127.0.0.1:9",))
    here = network_of(tmp_path, HERE._replace(bootstrap=(unknown,)))
    monkeypatch.setattr(here.dht, "bootstrap", wrong_at_first)
    async with here:
        await until(lambda: len(tries) > 2, "another try")


async def test_what_fails_again_and_again_for_all_runs_is_told(tmp_path: Path) -> None:
    peer = Peer(tmp_path, "digits", Ring(), HERE)
    try:
        assert isinstance(peer.network, network.Network)
        for one in (peer.network._tending, peer.network._looking, peer.network.dht._upkeep):
            one.failures = TOLD
        told = {note.code for note in peer.status().attention}
        assert {"network.fails", "lan.fails", "upkeep.fails"} <= told
    finally:
        peer.policy.close()
        peer.ledger.close()
        peer._files.flush()
