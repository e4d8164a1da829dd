"""Real hosts divide a grid among themselves, adopt the experts of one that dies, and go on after all were off."""

from array import array
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from core.contracts.control import Prediction, Snapshot
from core.contracts.expert_calls import ExpertReply, ExpertRequest
from core.contracts.network_status import DhtRecord, NetworkStatus
from core.experts.grid import Grid
from core.identity import PeerId
from core.net.addresses import parse_address
from tests.worked_peers import worked_peer
from tests.workers import DIGITS, DIGITS_CALLS, RunningWorker, Workers, hearth, wait_until, worker

HERE = "127.0.0.1:0"
UIDS = [str(uid) for uid in Grid("digits", 2, (4, 4)).uids()]
WIDTH, SAMPLES = 64, 8


@pytest.fixture
def backbone(tmp_path: Path) -> Iterator[RunningWorker]:
    with worker(tmp_path / "backbone", "--role", "backbone", "--listen", HERE) as running:
        yield running


def address(running: RunningWorker) -> str:
    return hearth(running.folder, "address").stdout.strip()


def peer(running: RunningWorker) -> str:
    return running.ask("network", {}, NetworkStatus).peer


def hosted(running: RunningWorker) -> dict[str, int]:
    """The versions of the experts hosted there; what is told before compute is at work is that of last time."""
    status = running.status()
    return {expert.uid: expert.updates for expert in status.experts} if status.state == "contributing" else {}


def divided(*workers: RunningWorker) -> bool:
    """Whether each expert is hosted by exactly one of these."""
    return Counter(uid for running in workers for uid in hosted(running)) == Counter(UIDS)


async def train(running: RunningWorker) -> tuple[str, ...]:
    """One optimizer step for each expert of a host, by calls as a trainer makes them; which they are."""
    uids = tuple(hosted(running))
    rows = array("f", [0.5] * (SAMPLES * WIDTH)).tobytes()
    where = parse_address(address(running))
    async with worked_peer() as node:
        node.learn(where)
        request = ExpertRequest(uids, (SAMPLES,) * len(uids), (WIDTH,))
        payload = 2 * len(uids) * rows
        reply, _ = await node.call(
            PeerId(where.peer), DIGITS_CALLS["backward"], request, ExpertReply, payload, deadline_s=180.0
        )
        assert all(reply.answered)
    return uids


def copies(running: RunningWorker, uid: str) -> set[str]:
    """The peers that keep a state of an expert that has been trained, as the hash table says."""
    return {record.peer for record in running.ask("dht_get", {"key": f"{DIGITS}.ckpt.{uid}"}, list[DhtRecord])}


def kill(running: RunningWorker) -> None:
    """Without any warning, as a power cut would."""
    family = [psutil.Process(running.process.pid), *psutil.Process(running.process.pid).children(recursive=True)]
    for process in family:
        process.kill()
    running.process.wait()


async def test_a_grid_is_shared_and_survives(tmp_path: Path, backbone: RunningWorker) -> None:
    arguments = ["--role", "host", "--listen", HERE, "--bootstrap", address(backbone)]

    with ExitStack() as stack:

        def start(name: str) -> RunningWorker:
            running = RunningWorker(tmp_path / name, *arguments)
            stack.callback(running.close)
            return running

        a, b, c = map(start, "abc")
        wait_until(lambda: divided(a, b, c), "each expert hosted once")
        shares = sorted(len(hosted(host)) for host in (a, b, c))
        assert shares[0] >= 4, shares  # a busy machine measures its processes unevenly

        for host in (a, b, c):
            await train(host)
        mine, name = list(hosted(b)), peer(b)
        wait_until(lambda: all(len(copies(backbone, uid) - {name}) >= 2 for uid in mine), "two copies of each")

        kill(b)
        wait_until(lambda: divided(a, c), "adoption")
        assert {hosted(a).get(uid) or hosted(c)[uid] for uid in mine} == {1}, "an expert lost its training"

        d = start("d")
        wait_until(lambda: divided(a, c, d) and len(hosted(d)) >= 9, "a newcomer's share")
        assert set((hosted(a) | hosted(c) | hosted(d)).values()) == {1}
        for host in (a, c, d):
            host.close()

        a, c, d = map(start, "acd")
        wait_until(lambda: divided(a, c, d), "the swarm's return")
        assert set((hosted(a) | hosted(c) | hosted(d)).values()) == {1}


async def test_who_leaves_is_waited_for_until_its_newest_versions_are_saved(
    tmp_path: Path, backbone: RunningWorker
) -> None:
    """One pauses, one quits; the disks of both take longer than the swarm waits for who says nothing."""
    network = ["--role", "host", "--listen", HERE, "--bootstrap", address(backbone)]
    with (
        worker(tmp_path / "pauses", *network, program="tests.swarm.slow_disk") as pauses,
        worker(tmp_path / "quits", *network, program="tests.swarm.slow_disk") as quits,
        worker(tmp_path / "other", *network) as other,
    ):
        wait_until(lambda: divided(pauses, quits, other) and hosted(other), "three hosts")
        # nothing of it has been saved, let alone copied, when they leave
        left = [*await train(pauses), *await train(quits)]
        pauses.call("pause")
        quits.call("quit")
        wait_until(lambda: len(hosted(other)) == len(UIDS), "adoption")
        adopted = hosted(other)
        assert [adopted[uid] for uid in left] == [1] * len(left), "an expert lost its training"


async def test_a_host_whose_user_returns_while_it_hands_over_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSYNC_S", "0.05")  # so that it takes a while
    network = ["--listen", HERE, "--role"]
    with worker(tmp_path / "giver", *network, "host,backbone", program="tests.swarm.slow_disk") as giver:
        wait_until(lambda: len(hosted(giver)) == len(UIDS), "all experts")
        await train(giver)
        with worker(tmp_path / "taker", *network, "host", "--bootstrap", address(giver)) as taker:
            giver.until(lambda status: len(status.experts) < len(UIDS), "the hand-over")
            giver.call("pause")
            stopped = giver.until(lambda status: status.yields.count == 1, "a measured stop")
            assert stopped.yields.last_ms is not None and stopped.yields.last_ms < 2000.0
            wait_until(lambda: len(hosted(taker)) == len(UIDS), "adoption")
            assert set(hosted(taker).values()) == {1}, "an expert lost its training"
            assert not giver.status().attention


def test_all_off_and_on_again_goes_on_from_the_checkpoints(tmp_path: Path) -> None:
    """Two trainers, one of them the backbone peer, and a host: the whole swarm."""
    known: list[str] = []
    roles = {"first": "host,train,backbone", "second": "host,train", "host": "host"}

    def start(workers: Workers, name: str) -> RunningWorker:
        return workers.start(tmp_path / name, "--listen", HERE, "--role", roles[name], *known, share=100)

    def versions(swarm: list[RunningWorker]) -> dict[str, int]:
        return {uid: version for running in swarm for uid, version in hosted(running).items()}

    with Workers() as workers:
        first = start(workers, "first")
        known += ["--bootstrap", address(first)]
        swarm = [first, start(workers, "second"), start(workers, "host")]
        for trainer in swarm[:2]:
            trainer.until(lambda status: (status.accuracy or 0.0) > 0.8, "training")
        wait_until(lambda: divided(*swarm), "a divided grid")
        trained, before = [trainer.status().step for trainer in swarm[:2]], versions(swarm)

    with Workers() as workers:
        first = start(workers, "first")
        known[-1] = address(first)
        swarm = [first, start(workers, "second"), start(workers, "host")]
        wait_until(lambda: divided(*swarm), "the swarm's return")
        for trainer, step in zip(swarm[:2], trained, strict=True):
            trainer.until(lambda status, step=step: status.step > step + 64, "more training")  # type: ignore[misc]
            assert trainer.ask("subscribe", {}, Snapshot).curve[-1].accuracy > 0.75
        # who starts first may go on from a copy, until who was the host is there with the newest state
        wait_until(lambda: all(versions(swarm).get(uid, 0) >= v for uid, v in before.items()), "the newest versions")


def test_who_only_hosts_answers_with_the_newest_trunk_and_adopts_what_a_trainer_leaves(
    tmp_path: Path, backbone: RunningWorker
) -> None:
    network = ["--listen", HERE, "--bootstrap", address(backbone)]
    with (
        worker(tmp_path / "trainer", *network, share=100) as trainer,
        worker(tmp_path / "host", "--role", "host", *network, share=100) as host,
    ):
        trainer.until(lambda status: (status.accuracy or 0.0) > 0.9, "training")
        wait_until(lambda: divided(trainer, host) and hosted(host), "both hosts")
        before = hosted(trainer)
        trainer.call("pause")  # it saves, and hands out copies
        wait_until(lambda: len(hosted(host)) == len(UIDS), "adoption")
        adopted = hosted(host)
        assert all(adopted[uid] >= version for uid, version in before.items()), "an expert lost its training"
        assert sum(version > 0 for version in before.values()) > len(before) // 2  # the gate need not choose all
        trained = trainer.status()
        wait_until(lambda: host.status().step == trained.step, "the trunk")
        ink = bytes([0] * 24 + [255] * 16 + [0] * 24)
        answer = host.ask("predict", {"width": 8, "height": 8, "pixels": b64encode(ink).decode()}, Prediction)
        assert answer.step == trained.step and max(answer.probabilities) > 0.3
