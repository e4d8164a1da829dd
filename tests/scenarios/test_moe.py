"""A PC trains through the experts of other peers, with real workers; some of them die or freeze."""

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.contracts.ledger import Totals
from core.contracts.status import Status
from tests.workers import RunningWorker, Workers, codes, hearth, wait_until, worker

HERE = "127.0.0.1:0"
BLOCKED_S = 2.0
"""No training step may wait so much longer for hosts that do not answer than while all are well, when a processor that
is shared is the only reason."""
FROZEN_S = 13.0
"""After so long a frozen host is asked again only many seconds later, unless it is heard of; its worker does not give
up its compute yet."""


@pytest.fixture
def backbone(tmp_path: Path) -> Iterator[list[str]]:
    """How to join the network of a backbone peer."""
    with worker(tmp_path / "backbone", "--role", "backbone", "--listen", HERE) as running:
        yield ["--listen", HERE, "--bootstrap", hearth(running.folder, "address").stdout.strip()]


def test_a_peer_without_experts_waits_for_a_host_and_trains_through_it(tmp_path: Path, backbone: list[str]) -> None:
    with Workers() as workers:
        trainer = workers.start(tmp_path / "trainer", "--role", "train", *backbone, share=100)
        waiting = trainer.until(lambda s: codes(s.reason) == ["run.unreachable"], "patience")
        assert waiting.state == "preparing" and waiting.experts == []
        host = workers.start(tmp_path / "host", "--role", "host", *backbone, share=100)
        learnt = trainer.until(lambda s: (s.accuracy or 0.0) > 0.7, "training through the host")
        assert learnt.state == "contributing" and "run.through_peers" in codes(learnt.reason)
        host.until(lambda s: sum(e.updates for e in s.experts) > 100, "experts that learn")
        wait_until(lambda: host.ask("totals", {}, Totals).all.amounts.peer_calls, "what it did for others")
        assert host.ask("totals", {}, Totals).all.amounts.samples == 0


def send(running: RunningWorker, number: int) -> None:
    """Give the worker and its compute process a signal, compute first."""
    family = psutil.Process(running.process.pid)
    for process in [*family.children(recursive=True), family]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def steps(trainer: RunningWorker, more: int, what: str) -> Status:
    """The status after so many more steps."""
    now = trainer.status().step
    return trainer.until(lambda s: s.step >= now + more, what)


def test_no_step_is_blocked_over_two_seconds_when_hosts_die_and_freeze(tmp_path: Path, backbone: list[str]) -> None:
    with Workers() as workers:
        trainer = workers.start(tmp_path / "trainer", "--role", "train", *backbone, share=20)
        names = ("stays", "dies", "freezes")
        hosts = [workers.start(tmp_path / name, "--role", "host", *backbone, share=100) for name in names]
        _, dies, freezes = hosts
        for host in hosts:
            host.until(lambda s: s.calls_per_s > 0, "calls to every host")
        trainer.give(100)
        usual_s = steps(trainer, 20, "training through three hosts").blocked_s
        assert usual_s is not None
        send(freezes, signal.SIGSTOP)
        try:
            frozen = steps(trainer, 60, "training with a frozen host")
            assert frozen.blocked_s is not None and 0 < frozen.blocked_s < usual_s + BLOCKED_S
        finally:
            send(freezes, signal.SIGCONT)
        send(dies, signal.SIGKILL)
        after = steps(trainer, 60, "training without the dead host")
        assert after.blocked_s is not None and after.blocked_s < usual_s + BLOCKED_S
        trainer.until(lambda s: (s.accuracy or 0.0) > 0.9, "what was to be learnt")


def test_a_trainer_whose_only_host_is_frozen_says_what_it_waits_for(tmp_path: Path, backbone: list[str]) -> None:
    with Workers() as workers:
        trainer = workers.start(tmp_path / "trainer", "--role", "train", *backbone, share=100)
        host = workers.start(tmp_path / "host", "--role", "host", *backbone, share=100)
        assert steps(trainer, 5, "training through the host").state == "contributing"
        send(host, signal.SIGSTOP)
        try:
            waits = trainer.until(lambda s: s.state != "contributing", "the news that nothing gets through")
            assert waits.state == "preparing"
            assert (codes(waits.reason), codes(waits.until)) == (["run.stuck"], ["run.goes_on"])
            why = " ".join(hearth(trainer.folder, "why").stdout.split())
            assert "No host" in why and "as soon as one answers" in why
        finally:
            send(host, signal.SIGCONT)
        trainer.until(lambda s: s.state == "contributing" and s.samples_per_s > 0, "training again")


def test_training_goes_on_through_a_host_that_was_frozen_and_is_back(tmp_path: Path, backbone: list[str]) -> None:
    with Workers() as workers:
        trainer = workers.start(tmp_path / "trainer", "--role", "train", *backbone, share=100)
        host = workers.start(tmp_path / "host", "--role", "host", *backbone, share=100)
        steps(trainer, 20, "training through the host")
        send(host, signal.SIGSTOP)
        try:
            time.sleep(FROZEN_S)
            before = trainer.status().step
        finally:
            send(host, signal.SIGCONT)
        back = time.monotonic()
        trainer.until(lambda s: s.step > before + 1, "training through the host again")
        print(f"training went on {time.monotonic() - back:.1f} s after the host was back")
