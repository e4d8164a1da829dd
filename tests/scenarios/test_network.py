"""Real workers find each other, tell what they host, and serve each other's calls."""

import logging
import re
import socket
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from core.community.reading import read_only
from core.contracts import manifest
from core.contracts.errors import CallRefused, RemoteFault
from core.contracts.expert_calls import ExpertReply, ExpertRequest
from core.contracts.network_status import DhtRecord, NetworkStatus
from core.experts.grid import Uid
from core.identity import Identity, PeerId
from core.net.addresses import parse_address
from core.worker.places import NetworkOptions
from tests.dht_peers import until
from tests.disks import network_of
from tests.worked_peers import worked_peer
from tests.workers import DIGITS_CALLS, RunningWorker, hearth, start_paused, wait_until, worker

HERE = "127.0.0.1:0"
WIDTH = 64


@pytest.fixture
def backbone(tmp_path: Path) -> Iterator[RunningWorker]:
    with worker(tmp_path / "backbone", "--role", "backbone", "--listen", HERE) as running:
        yield running


def address(running: RunningWorker) -> str:
    return hearth(running.folder, "address").stdout.strip()


def network(running: RunningWorker) -> NetworkStatus:
    return running.ask("network", {}, NetworkStatus)


def hosts(running: RunningWorker, uid: str) -> set[str]:
    """The peers that the DHT says host an expert."""
    records = running.ask("dht_get", {"key": uid}, list[DhtRecord])
    return {record.peer for record in records if record.expires > time.time()}


def test_peers_find_each_other_and_each_others_experts(tmp_path: Path, backbone: RunningWorker) -> None:
    known = address(backbone)
    with (
        worker(tmp_path / "a", "--listen", HERE, "--bootstrap", known) as a,
        worker(tmp_path / "b", "--role", "host", "--listen", HERE, "--bootstrap", known) as b,
    ):
        wait_until(lambda: hosts(backbone, "digits.0.1.3"), "a host of an expert")
        mine = wait_until(lambda: [expert.uid for expert in b.status().experts], "experts of b")[0]
        wait_until(lambda: hosts(backbone, mine) == {network(b).peer}, "one host of it")
        assert backbone.status().state == "contributing" and backbone.compute() is None
        assert "direct" in hearth(a.folder, "peers").stdout
        assert "records" in hearth(a.folder, "dht", "stats").stdout
        assert hearth(b.folder, "dht", "get", "digits.0.1.").returncode == 0

        b.call("pause")  # it is given back to its user: nobody must call its experts any more
        wait_until(lambda: hosts(a, mine) == {network(a).peer}, "another host after the tombstone of the paused one")


async def test_the_manifest_names_peers_to_join_through(
    tmp_path: Path, backbone: RunningWorker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "core.worker.network")
    run = msgspec.structs.replace(manifest.load("digits"), bootstrap=(address(backbone),))
    async with network_of(tmp_path, NetworkOptions((HERE,)), [run]) as joining:
        await until(lambda: joining.dht.contacts(), "the peer that the manifest names")
        assert joining.status().peers[0].peer == network(backbone).peer
        await until(lambda: "Joined the network: " in caplog.text, "the line in the log")
        assert re.search(r"Joined the network: (?!1 peers)\d+ peers? known\.", caplog.text)


async def test_every_expert_can_be_called_from_outside(tmp_path: Path) -> None:
    with worker(tmp_path / "a", "--listen", HERE) as a:
        a.until(lambda status: status.state == "contributing" and status.step > 0, "training")
        where = parse_address(address(a))
        host = PeerId(where.peer)
        async with worked_peer() as node:
            node.learn(where)
            inputs = array("f", [0.5] * (3 * WIDTH)).tobytes()
            request = ExpertRequest(("digits.0.1.3",), (3,), (WIDTH,))
            reply, payload = await node.call(
                host, DIGITS_CALLS["inference"], request, ExpertReply, inputs, deadline_s=10.0
            )
            assert reply.answered == (True,) and len(payload) == len(inputs)
            outputs = array("f", bytes(payload))
            assert outputs[:WIDTH] == outputs[WIDTH : 2 * WIDTH] and any(outputs)

            reply, payload = await node.call(
                host, DIGITS_CALLS["backward"], request, ExpertReply, inputs + inputs, deadline_s=10.0
            )
            assert reply.answered == (True,) and len(payload) == len(inputs)

            unknown = ExpertRequest(("digits.9.9.9", "digits.0.0.0"), (1, 1), (WIDTH,))
            reply, payload = await node.call(
                host, DIGITS_CALLS["forward"], unknown, ExpertReply, inputs[: 2 * 4 * WIDTH], deadline_s=10.0
            )
            assert reply.answered == (False, True) and len(payload) == 4 * WIDTH

            with pytest.raises(RemoteFault, match="payload"):
                await node.call(host, DIGITS_CALLS["forward"], request, ExpertReply, b"short", deadline_s=10.0)
            a.call("pause")
            with pytest.raises((CallRefused, RemoteFault), match=r"does not compute|given back"):
                await node.call(host, DIGITS_CALLS["forward"], request, ExpertReply, inputs, deadline_s=10.0)
    kept = read_only(tmp_path / "a").totals(time.time()).all
    assert kept.amounts.peer_calls == 3 < kept.amounts.calls
    experts = kept.devices["network.expert"]
    assert experts.bytes_in > 3 * len(inputs) and experts.bytes_out > 2 * len(inputs)


def test_a_user_who_forbids_the_network_is_left_alone_and_joins_again(tmp_path: Path, backbone: RunningWorker) -> None:
    """By the schedule; a metered network and a used-up quota do the same."""
    days = ("mo", "tu", "we", "th", "fr", "sa", "su")
    tomorrow = days[(time.localtime().tm_wday + 1) % 7]
    arguments = ("--listen", HERE, "--bootstrap", address(backbone))
    with worker(tmp_path / "a", *arguments) as a, worker(tmp_path / "b", *arguments) as b:
        me = network(b).peer
        b.until(lambda status: status.state == "contributing" and status.step > 0, "training")
        wait_until(lambda: any(peer.peer == me for peer in network(a).peers), "b among a's peers")
        used = b.until(lambda status: any(r.rule == "quota" for r in status.why), "the count of the quota")
        assert used.network
        b.until(lambda status: len({Uid.parse(e.uid).layer for e in status.experts}) == 2, "experts of both layers")
        b.call("set_settings", {"changes": {"network_hours": f"{tomorrow} 0:00-24:00"}})
        off = b.until(lambda status: not status.network and not network(b).peers, "the end of all connections")
        assert any(rule.rule == "network_hours" and "network" in rule.stops for rule in off.why)
        wait_until(lambda: all(peer.peer != me for peer in network(a).peers), "a without b")
        begun = b.status().step
        b.until(lambda status: status.step > begun, "training with what is here")
        b.call("set_settings", {"changes": {"network_hours": ""}})
        wait_until(lambda: any(peer.peer == me for peer in network(a).peers), "b among a's peers again")
    kept = read_only(tmp_path / "b").totals(time.time()).all
    assert kept.amounts.bytes_in + kept.amounts.bytes_out > 10_000
    assert {"network.dht", "network.other"} <= kept.devices.keys()


def test_a_key_is_kept_and_restored_by_its_words(tmp_path: Path) -> None:
    start_paused(tmp_path / "a")
    with worker(tmp_path / "a", "--listen", HERE) as a:
        name = network(a).peer
    words = hearth(tmp_path / "a", "identity", "export").stdout
    assert len(words.split()) == 24
    assert Identity.from_words(words).peer.hex() == name
    with worker(tmp_path / "a", "--listen", HERE) as again:
        assert network(again).peer == name


def test_a_worker_that_is_alone_makes_the_key_that_it_has_among_peers(tmp_path: Path) -> None:
    assert "There is no key" in hearth(tmp_path, "identity", "show").stderr
    start_paused(tmp_path)
    with worker(tmp_path):
        name = hearth(tmp_path, "identity", "show").stdout.strip()
    with worker(tmp_path, "--listen", HERE) as joined:
        assert network(joined).peer == name


def test_bad_words_on_the_command_line_are_explained(tmp_path: Path) -> None:
    alone = hearth(tmp_path, "worker", "--role", "king")
    assert alone.returncode == 2 and "backbone, host, train" in alone.stderr
    stranger = hearth(tmp_path, "worker", "--bootstrap", "nobody@127.0.0.1:1")
    assert stranger.returncode == 2 and "--bootstrap: 'nobody' does not name a peer" in stranger.stderr
    nowhere = hearth(tmp_path, "worker", "--bootstrap", f"{Identity.generate().peer.hex()}@foo")
    assert nowhere.returncode == 2 and "--bootstrap: 'foo' is not a network address" in nowhere.stderr
    foo = hearth(tmp_path, "worker", "--listen", "foo")
    assert foo.returncode == 2 and "--listen: 'foo' is not a network address" in foo.stderr
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        taken = hearth(tmp_path, "worker", "--listen", f"127.0.0.1:{port}")
        assert taken.returncode == 6
        assert f"127.0.0.1:{port} is in use by another program. Choose another port, or 0" in taken.stderr
    start_paused(tmp_path)
    with worker(tmp_path) as running:
        lonely = hearth(running.folder, "peers")
        assert lonely.returncode != 0 and "--bootstrap" in lonely.stderr


def test_a_peer_is_added_while_the_worker_runs_and_known_at_the_next_start(
    tmp_path: Path, backbone: RunningWorker
) -> None:
    start_paused(tmp_path / "a")

    def add(folder: Path, text: str) -> str:
        done = hearth(folder, "peers", "--add", text)
        assert (done.returncode == 0) is done.stdout.startswith("Connected to "), done.stderr
        return done.stdout + done.stderr

    with worker(tmp_path / "a", "--listen", HERE) as a:
        assert not network(a).peers
        assert "Peers    none is connected: this PC is alone" in hearth(a.folder, "status").stdout
        me, other, there = network(a).address, network(backbone).peer, address(backbone)
        assert "does not name a peer" in add(a.folder, "nobody@127.0.0.1:1")
        assert "is not a network address" in add(a.folder, f"{other}@foo")
        assert "has no address here" in add(a.folder, other)
        assert "cannot call itself" in add(a.folder, me)
        assert f"({other[:8]})" in add(a.folder, there)
        a.until(lambda status: any(peer.peer == other for peer in network(a).peers), "the peer that was added")
        assert "Peers    1 connected" in hearth(a.folder, "status").stdout
    with worker(tmp_path / "a", "--listen", HERE) as a:
        a.until(lambda status: any(peer.peer == other for peer in network(a).peers), "the same at the next start")


def test_the_doctor_names_what_is_missing(tmp_path: Path, backbone: RunningWorker) -> None:
    lonely = hearth(backbone.folder, "doctor")
    assert lonely.returncode == 1 and "hearth peers --add" in lonely.stdout
    start_paused(tmp_path / "a")
    with worker(tmp_path / "a", "--listen", HERE, "--bootstrap", address(backbone)) as a:
        wait_until(lambda: hearth(a.folder, "doctor").returncode == 0, "a healthy peer")
