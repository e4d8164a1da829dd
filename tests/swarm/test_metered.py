"""A network that costs money: NetworkManager, on a bus of the test's own, says so to two whole workers."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from core.community.reading import read_only
from core.contracts.network_status import NetworkStatus
from core.policy.signals.linux import network as manager
from tests.desktop.private_bus import Service, bus
from tests.workers import RunningWorker, codes, start_paused, wait_until, worker

YES, NO = 1, 2
HERE = ("--listen", "127.0.0.1:0")


@pytest.fixture
def network_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    address = f"unix:path={tmp_path / 'bus'}"
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
    with bus(tmp_path):
        service = Service(address, manager.MANAGER.service)
        service.property(manager.MANAGER, "Metered", "u", NO)
        yield service
        service.end()


def network(running: RunningWorker) -> NetworkStatus:
    return msgspec.convert(running.call("network"), NetworkStatus)


def moved(folder: Path) -> int:
    """Bytes both ways, as a worker that has ended has counted them."""
    amounts = read_only(folder).totals(time.time()).all.amounts
    return amounts.bytes_in + amounts.bytes_out


def test_a_metered_network_is_used_only_by_who_wants_that(tmp_path: Path, network_manager: Service) -> None:
    for name, chosen in (("anyway", True), ("careful", False)):
        start_paused(tmp_path / name)
        (tmp_path / name / "settings.json").write_text(json.dumps({"version": 3, "on_metered": chosen}))
    with worker(tmp_path / "anyway", *HERE) as anyway:
        told = network(anyway).address
        with worker(tmp_path / "careful", *HERE, "--bootstrap", told) as careful:
            me = network(careful).peer
            wait_until(lambda: any(peer.peer == me for peer in network(anyway).peers), "the two to meet")
            network_manager.property(manager.MANAGER, "Metered", "u", YES)
            network_manager.changed(manager.MANAGER)
            off = careful.until(lambda status: not status.network, "the end of the network")
            row = next(rule for rule in off.why if rule.rule == "metered")
            assert row.stops == ("network",) and row.live.code == "metered.yes"
            assert codes(row.until) == ["metered.until"]
            wait_until(lambda: all(peer.peer != me for peer in network(anyway).peers), "one without the other")
            assert not network(careful).peers
            anyway.until(
                lambda status: any(rule.live.code == "metered.yes" for rule in status.why), "the other to know it too"
            )
            assert anyway.status().network
            careful.call("set_settings", {"changes": {"on_metered": True}})
            wait_until(lambda: any(peer.peer == me for peer in network(anyway).peers), "the two to meet again")
            careful.call("set_settings", {"changes": {"on_metered": False}})
            careful.until(lambda status: not status.network, "the end of the network")
        before = moved(tmp_path / "careful")
        assert before > 10_000
        with worker(tmp_path / "careful", *HERE, "--bootstrap", told) as careful:  # it is metered from the start
            careful.until(
                lambda status: any(rule.live.code == "metered.yes" for rule in status.why), "the price to be known"
            )
            assert not careful.status().network and not network(careful).peers
            careful.call("resume")  # it trains by itself: the other, paused, hosts nothing anyway
            alone = careful.until(lambda status: status.samples_per_s > 0, "training without the network")
            assert alone.state == "contributing" and "run.without_peers" in codes(alone.reason)
        assert moved(tmp_path / "careful") == before
