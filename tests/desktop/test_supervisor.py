"""The plan of the worker: the decisions with a clock of their own, the deeds with real processes."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.worker import supervision, supervisor
from app.worker.client import WorkerClient
from app.worker.supervision import SLOW_S, Do, Phase, Report, Supervision, exit_reason
from app.worker.supervisor import Supervisor, worker_command
from core.contracts import control as wire
from core.contracts.notices import notice, plain
from tests.desktop.conftest import ToyWorker
from tests.workers import PATIENCE_S, answers, hearth, never_busy, start_paused, wait_until, worker

# Decisions


def phase(plan: Supervision) -> Phase:
    return plan.phase


def looking(now: float = 0.0) -> Supervision:
    plan = Supervision()
    assert plan.begin(now) is Do.DIAL
    return plan


def running(now: float = 0.0) -> Supervision:
    plan = looking(now)
    plan.connected(now)
    return plan


def test_finds_the_worker_that_runs() -> None:
    plan = looking()
    assert plan.connected(0.1) is Do.NOTHING
    assert plan.report(0.1) == Report(Phase.RUNNING, None)


def test_starts_one_if_none_runs() -> None:
    plan = looking()
    assert plan.unreachable(0.1, plain("No worker runs."), refused=False, ours=False) is Do.START
    assert phase(plan) is Phase.STARTING
    assert plan.tick(0.15) is Do.NOTHING
    assert plan.tick(0.3) is Do.DIAL
    assert plan.unreachable(0.3, plain("Not yet."), refused=False, ours=True) is Do.NOTHING
    assert plan.tick(0.5) is Do.DIAL
    plan.connected(0.6)
    assert phase(plan) is Phase.RUNNING


def test_a_restart_waits_for_the_old_workers_end_and_no_longer() -> None:
    plan = running()
    assert plan.restart(10.0) and phase(plan) is Phase.RESTARTING
    assert plan.unreachable(11.0, plain("It ended."), refused=False, ours=True) is Do.NOTHING  # it still saves
    assert plan.tick(11.2) is Do.DIAL
    assert plan.exited(11.3, 0, None) is Do.NOTHING
    assert plan.unreachable(11.3, plain("Nobody."), refused=False, ours=False) is Do.START
    plan.connected(12.0)
    assert plan.restart(13.0)
    assert plan.exited(13.1, 1, plain("The disk is gone.")) is Do.NOTHING
    assert "The disk is gone" in str(plan.report(13.1).notice)
    assert not looking().restart(0.0)


def test_a_killed_worker_is_started_again_after_a_countdown() -> None:
    plan = running()
    plan.exited(5.0, -9, None)
    assert str(plan.report(5.0).notice) == "Worker stopped: it was killed (signal 9). Restarting in 1 s."
    assert plan.tick(5.9) is Do.NOTHING
    assert plan.tick(6.0) is Do.DIAL
    assert plan.unreachable(6.0, plain("No worker runs."), refused=False, ours=False) is Do.START


def test_a_first_restart_is_no_trouble_and_a_second_one_soon_after_is() -> None:
    plan, seen = running(), []
    for now in (5.0, 20.0):
        plan.exited(now, -9, None)
        seen.append(plan.report(now))
        due = plan.due or 0.0
        plan.tick(due)
        plan.unreachable(due, plain("No worker runs."), refused=False, ours=False)
        seen.append(plan.report(due))
        plan.connected(due + 1)
        assert plan.report(due + 1) == Report(Phase.RUNNING, None)
    assert [report.trouble for report in seen] == [False, False, True, True]
    assert [report.state for report in seen] == ["preparing", "preparing", "attention", "attention"]
    plan.unreachable(120.0, plain("Gone."), refused=False, ours=True)
    assert not plan.report(120.0).trouble, "it was well for long"
    assert plan.report(120.0 + SLOW_S + 1).trouble, "it does not come back"


def test_a_first_start_that_takes_long_is_no_trouble() -> None:
    plan = looking()
    plan.unreachable(0.1, plain("No worker runs."), refused=False, ours=False)
    late = plan.report(0.1 + SLOW_S + 1)
    assert str(late.notice) == "The worker takes long to start." and not late.trouble


def test_the_back_off_doubles_up_to_a_minute() -> None:
    plan, now, waits = running(), 0.0, []
    for _ in range(9):
        plan.exited(now, 1, None)
        assert plan.due is not None
        waits.append(plan.due - now)
        now = plan.due
        assert plan.tick(now) is Do.DIAL
        assert plan.unreachable(now, plain("No worker runs."), refused=False, ours=False) is Do.START
        plan.connected(now + 1)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_minute_of_health_resets_the_back_off() -> None:
    plan = running()
    for now in (1.0, 10.0, 20.0):
        plan.exited(now, 1, None)
        plan.tick(now + 10)
        plan.connected(now + 10)
    assert plan.unreachable(90.0, plain("Gone."), refused=False, ours=True) is Do.NOTHING
    plan.exited(90.1, -9, None)
    assert plan.due == pytest.approx(91.1)


def test_the_countdown_counts() -> None:
    plan = running()
    for now in (0.0, 1.0, 3.0):
        plan.exited(now, -9, None)
    texts = [str(plan.report(3.0 + passed).notice)[-5:] for passed in (0.0, 0.5, 1.5, 3.5)]
    assert texts == ["4 s.", "4 s.", "3 s.", "1 s."] or [text.strip() for text in texts] == [
        "4 s.",
        "4 s.",
        "3 s.",
        "1 s.",
    ]


def test_a_lost_connection_to_a_living_worker_is_tried_again() -> None:
    plan = running()
    plan.unreachable(1.0, plain("The worker ended the connection."), refused=False, ours=True)
    assert str(plan.report(1.0).notice) == "The worker ended the connection. Trying to reach it again."
    assert plan.tick(1.1) is Do.DIAL
    plan.unreachable(1.1, plain("Not yet."), refused=False, ours=True)
    assert plan.tick(1.25) is Do.DIAL
    plan.connected(1.3)
    assert phase(plan) is Phase.RUNNING


def test_a_foreign_workers_end_is_unexpected() -> None:
    plan = running()
    plan.unreachable(1.0, plain("The worker ended the connection."), refused=False, ours=False)
    plan.tick(1.2)
    plan.unreachable(1.2, plain("No worker answers."), refused=False, ours=False)
    assert str(plan.report(1.2).notice) == "Worker stopped: it stopped unexpectedly. Restarting in 1 s."


@pytest.mark.parametrize("code", [2, 5, 6])
def test_what_a_restart_cannot_mend_waits_for_somebody(code: int) -> None:
    plan = looking()
    plan.unreachable(0.0, plain("No worker runs."), refused=False, ours=False)
    plan.exited(1.0, code, plain("The control port 80 cannot be used."))
    assert plan.report(1.0) == Report(Phase.FAILED, plain("The control port 80 cannot be used."), trouble=True)
    assert plan.due is None
    assert plan.tick(1000.0) is Do.NOTHING
    assert plan.retry(1001.0) is Do.DIAL


def test_a_worker_of_another_version_is_not_fought() -> None:
    plan = looking()
    assert plan.unreachable(0.0, plain("Quit and start Hearth again."), refused=True, ours=False) is Do.NOTHING
    assert plan.report(0.0) == Report(Phase.FAILED, plain("Quit and start Hearth again."), trouble=True)


def test_nothing_is_started_once_the_end_is_wanted() -> None:
    plan = running()
    plan.leave(1.0)
    plan.exited(1.5, 0, None)
    assert plan.unreachable(1.5, plain("Gone."), refused=False, ours=False) is Do.NOTHING
    assert plan.tick(1000.0) is Do.NOTHING
    assert plan.retry(1000.0) is Do.NOTHING
    assert phase(plan) is Phase.LEAVING


def test_a_slow_start_is_told_and_asked_less_often() -> None:
    plan = looking()
    plan.unreachable(0.0, plain("No worker runs."), refused=False, ours=False)
    assert plan.report(1.0).notice == notice("worker.starting")
    plan.unreachable(20.0, plain("Not yet."), refused=False, ours=True)
    assert plan.due == 21.0
    assert plan.report(20.0).notice == notice("worker.starts_slowly")


def test_reasons_in_words() -> None:
    assert exit_reason(-9, None) == notice("worker.ended.killed", signal=9)
    assert str(exit_reason(1, plain("MemoryError."))) == "it ended with exit code 1 (MemoryError)"
    assert exit_reason(3, None) == notice("worker.ended.with_code", status=3)
    assert exit_reason(4, plain("A Hearth worker already serves it.")) == notice("worker.ended.another_runs")


def test_a_packaged_app_is_its_own_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["worker", "--join", "--data-dir", str(folder)]
    assert worker_command(folder) == [sys.executable, "-m", "core", *command]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert worker_command(folder) == [sys.executable, *command]


# Deeds


class Watched:
    """A supervisor with what it has told."""

    def __init__(self, folder: Path) -> None:
        self.client = WorkerClient(folder, "0.1.0")
        self.supervisor = Supervisor(folder, self.client)
        self.sentences: list[str] = []
        self.ended: list[bool] = []
        self.supervisor.changed.connect(lambda report: self.sentences.append(str(report.notice or "")))
        self.supervisor.ended.connect(lambda: self.ended.append(True))

    def start(self, qtbot: QtBot) -> int:
        """Wait for the connection; the worker's pid."""
        with qtbot.waitSignal(self.client.connected):
            self.supervisor.start()
        assert self.client.pid is not None
        return self.client.pid

    def leave(self, qtbot: QtBot) -> None:
        with qtbot.waitSignal(self.supervisor.ended):
            self.supervisor.leave()


@pytest.fixture
def watched(folder: Path, qapp: Any) -> Iterator[Watched]:
    never_busy(folder)
    watched = Watched(folder)
    yield watched
    watched.supervisor.close()
    if watched.supervisor.process is not None:
        watched.supervisor.process.kill()
        watched.supervisor.process.wait()


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_starts_a_worker_and_ends_it(qtbot: QtBot, watched: Watched) -> None:
    pid = watched.start(qtbot)
    assert watched.supervisor.process is not None
    assert watched.supervisor.process.pid == pid
    watched.leave(qtbot)
    assert gone(pid)
    assert watched.supervisor.process is None


def test_a_killed_worker_comes_back_and_the_reason_is_told(qtbot: QtBot, watched: Watched) -> None:
    first = watched.start(qtbot)
    with qtbot.waitSignal(watched.client.connected):
        os.kill(first, signal.SIGKILL)
    assert "Worker stopped: it was killed (signal 9). Restarting in 1 s." in watched.sentences
    assert watched.client.pid != first
    watched.leave(qtbot)


def test_a_folder_that_was_removed_is_told_and_is_nobodys_wish_to_quit(
    qtbot: QtBot, watched: Watched, folder: Path
) -> None:
    start_paused(folder)  # else a checkpoint might bring the folder back before the worker has missed it
    watched.start(qtbot)
    shutil.rmtree(folder)
    qtbot.waitUntil(lambda: watched.supervisor.report.phase in (Phase.FAILED, Phase.ENDED))
    assert f"The data folder {folder} is gone. Put it back" in str(watched.supervisor.report.notice)
    watched.supervisor.retry()
    assert f"The data folder {folder} is gone. Put it back" in str(watched.supervisor.report.notice)
    assert not watched.ended


def test_a_restart_ends_the_worker_in_the_friendly_way_and_starts_another(qtbot: QtBot, watched: Watched) -> None:
    first = watched.start(qtbot)
    with qtbot.waitSignal(watched.client.connected):
        watched.supervisor.restart()
    assert watched.client.pid != first and gone(first)
    assert not watched.ended and not any("stopped" in sentence for sentence in watched.sentences)
    watched.leave(qtbot)


def test_uses_the_worker_that_runs_and_sees_its_end(qtbot: QtBot, watched: Watched, folder: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "core", "worker", "--data-dir", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        qtbot.waitUntil((folder / wire.ADDRESS_FILE).exists)
        assert watched.start(qtbot) == worker.pid
        assert watched.supervisor.process is None
        with qtbot.waitSignal(watched.client.connected):
            worker.kill()
            worker.wait()
        assert any("it stopped unexpectedly" in sentence for sentence in watched.sentences)
        assert watched.supervisor.process is not None
        watched.leave(qtbot)
    finally:
        worker.kill()
        worker.wait()


def test_who_quits_before_the_worker_that_runs_has_answered_ends_it_too(
    qtbot: QtBot, watched: Watched, folder: Path
) -> None:
    pid = watched.start(qtbot)
    os.kill(pid, signal.SIGSTOP)
    other = Watched(folder)
    other.supervisor.start()  # as the app after one that was killed
    with qtbot.assertNotEmitted(other.supervisor.ended, wait=300):
        other.supervisor.leave()
    with qtbot.waitSignal(other.supervisor.ended):
        os.kill(pid, signal.SIGCONT)
    qtbot.waitUntil(lambda: gone(pid) or watched.supervisor.process is None)


def test_who_quits_between_two_dials_ends_the_worker_that_runs_too(
    qtbot: QtBot, watched: Watched, folder: Path
) -> None:
    pid = watched.start(qtbot)
    other = Watched(folder)
    other.supervisor.start()
    other.client.hang_up()  # as if a busy worker had not answered in time
    with qtbot.waitSignal(other.supervisor.ended):
        other.supervisor.leave()
    qtbot.waitUntil(lambda: gone(pid) or watched.supervisor.process is None)


def test_two_at_once_share_one_worker(qtbot: QtBot, watched: Watched, folder: Path) -> None:
    """Both start one; the loser's ends as the folder is taken, and it connects to the other's."""
    other = Watched(folder)
    watched.supervisor.start()
    other.supervisor.start()
    qtbot.waitUntil(lambda: watched.client.is_connected and other.client.is_connected)
    assert watched.client.pid == other.client.pid
    with qtbot.waitSignals([watched.supervisor.ended, other.supervisor.ended]):
        watched.supervisor.leave()  # the worker's goodbye ends the other as well


def test_a_worker_that_comes_too_late_does_not_outlive_the_other_ones_goodbye(
    qtbot: QtBot, watched: Watched, folder: Path
) -> None:
    watched.start(qtbot)
    other = Watched(folder)
    with qtbot.waitSignal(other.client.connected):
        other.supervisor.start()
    other.supervisor.process = late = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with qtbot.waitSignals([watched.supervisor.ended, other.supervisor.ended]):
            watched.supervisor.leave()
        assert late.poll() is not None
    finally:
        late.kill()
        late.wait()


def test_a_fault_that_a_restart_cannot_mend_is_shown(
    qtbot: QtBot, watched: Watched, folder: Path, toy: ToyWorker
) -> None:
    port = toy._server.serverPort()
    (folder / wire.ADDRESS_FILE).unlink()
    (folder / "settings.json").write_text(f'{{"version": 1, "control_port": {port}, "lan": false}}')
    watched.supervisor.start()
    qtbot.waitUntil(lambda: watched.supervisor.report.phase is Phase.FAILED)
    assert f"port {port} cannot be used" in str(watched.supervisor.report.notice)
    toy.close()
    with qtbot.waitSignal(watched.client.connected):
        watched.supervisor.retry()
    watched.leave(qtbot)


def test_a_worker_whose_token_was_changed_is_reached_again(qtbot: QtBot, watched: Watched, folder: Path) -> None:
    """As when a backup was put back. The worker puts that right, and meanwhile the window says why it waits."""
    with worker(folder, "--join") as running:
        path = folder / wire.ADDRESS_FILE
        address = msgspec.json.decode(path.read_bytes(), type=wire.Address)
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(address, token="f" * 64)))
        with qtbot.waitSignal(watched.client.connected):
            watched.supervisor.start()
        assert watched.client.pid == running.process.pid
        assert any("another one runs for this data folder" in sentence for sentence in watched.sentences)
        watched.leave(qtbot)


def test_a_goodbye_ends_the_supervision(qtbot: QtBot, watched: Watched, toy: ToyWorker) -> None:
    watched.start(qtbot)
    toy.tell("bye", wire.Bye("Somebody asked for it."))
    qtbot.waitUntil(lambda: watched.supervisor.report.phase is Phase.LEAVING)
    with qtbot.waitSignal(watched.supervisor.ended):
        toy.hang_up()
    assert watched.supervisor.process is None


def test_a_worker_that_was_asked_to_quit_before_the_app_could_hear_it_is_not_started_again(
    qtbot: QtBot, watched: Watched, folder: Path
) -> None:
    """As by `hearth quit` while the app still starts."""
    with qtbot.waitSignal(watched.supervisor.changed):  # a dial has failed
        watched.supervisor.start()
    qtbot.waitUntil(lambda: watched.supervisor.process is not None)
    child = watched.supervisor.process
    assert child is not None
    wait_until(lambda: answers(folder), "the worker", PATIENCE_S)  # the app does nothing meanwhile
    assert not watched.client.is_connected
    with qtbot.waitSignal(watched.supervisor.ended):
        assert hearth(folder, "quit").returncode == 0
        child.wait(PATIENCE_S)
    assert child.returncode == 0 and watched.supervisor.process is None


def test_leaving_ends_a_worker_of_another_version(qtbot: QtBot, watched: Watched, toy: ToyWorker) -> None:
    """It says: quit and start Hearth again. The next start must not find the old worker."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as old:
        toy.welcome = wire.Welcome(wire.PROTOCOL + 1, "9.0.0", old.pid)
        toy.write_address()
        watched.supervisor.start()
        qtbot.waitUntil(lambda: watched.supervisor.report.phase is Phase.FAILED)
        assert "version 9.0.0" in str(watched.supervisor.report.notice)
        watched.leave(qtbot)
        assert old.wait(60) == -signal.SIGTERM


def test_a_worker_that_does_not_end_does_not_hold_the_app(
    qtbot: QtBot, watched: Watched, toy: ToyWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "LEAVE_S", 0.2)
    toy.silent = {"quit"}
    watched.start(qtbot)
    watched.leave(qtbot)
    assert "quit" in toy.methods()


def test_what_fails_while_the_app_quits_starts_no_worker_again(qtbot: QtBot, watched: Watched, toy: ToyWorker) -> None:
    watched.start(qtbot)
    with qtbot.waitSignal(watched.supervisor.ended):
        watched.supervisor.leave()
        watched.supervisor.start()  # as after a backup that failed


def test_the_file_for_the_last_words_stays_small(qtbot: QtBot, watched: Watched, folder: Path) -> None:
    watched.start(qtbot)
    path = folder / supervisor.STDERR_FILE
    path.write_bytes(b"x" * (supervisor.STDERR_BYTES + 1))
    watched.supervisor._bound_stderr()
    assert path.stat().st_size == 0
    path.write_text("first\nlast words\n\n")
    assert watched.supervisor._last_fault() == plain("last words")
    watched.leave(qtbot)
