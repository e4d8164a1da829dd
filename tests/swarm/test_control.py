"""The control socket and the command line against a real worker: friends, strangers and bad input."""

import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.contracts.control import ADDRESS_FILE, MAX_LINE, PROTOCOL, Address, Hello, Snapshot
from core.contracts.errors import HearthError, ManifestError, NotRunning, PictureError, ProtocolError, SettingsError
from core.contracts.ledger import Amounts
from core.contracts.notices import notice
from core.control.client import ControlClient
from tests.workers import DIGITS, PATIENCE_S, ROOT, RunningWorker, contributed, hearth, start_paused, wait_until, worker


@pytest.fixture(scope="module")
def resting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWorker]:
    """A paused worker that tests leave as it is."""
    folder = tmp_path_factory.mktemp("resting")
    start_paused(folder)
    with worker(folder) as running:
        yield running


@pytest.fixture
def paused(tmp_path: Path) -> Iterator[RunningWorker]:
    start_paused(tmp_path)
    with worker(tmp_path) as running:
        yield running


def address(folder: Path) -> Address:
    return msgspec.json.decode((folder / ADDRESS_FILE).read_bytes(), type=Address)


def connect(folder: Path) -> socket.socket:
    return socket.create_connection(("127.0.0.1", address(folder).port), 10)


def greet(folder: Path, **changes: object) -> socket.socket:
    connection = connect(folder)
    hello = Hello(PROTOCOL, address(folder).token, "cli", os.getpid())
    connection.sendall(msgspec.json.encode(msgspec.structs.replace(hello, **changes)) + b"\n")
    return connection


def empty_png(width: int, height: int) -> bytes:
    """The header of a grey picture and nothing after it."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">II", zlib.crc32(body), 0) + b"IDAT"


def all_lines(connection: socket.socket) -> list[dict[str, object]]:
    """What the worker says until it closes the connection."""
    connection.settimeout(60)
    data = b""
    with connection:
        while chunk := connection.recv(65536):
            data += chunk
    return [json.loads(line) for line in data.splitlines()]


def test_the_command_line_pauses_resumes_and_tells(paused: RunningWorker) -> None:
    assert json.loads(hearth(paused.folder, "status", "--json").stdout)["state"] == "paused"
    assert "Started for 30 min, until" in hearth(paused.folder, "start", "--for", "30m").stdout
    assert "at most 1d" in hearth(paused.folder, "start", "--for", "2d").stderr
    assert "Paused for 1 h, until" in hearth(paused.folder, "pause", "--for", "1h").stdout
    status = paused.status()
    assert status.until_time is not None and abs(status.until_time - status.time - 3600) < 60
    words = hearth(paused.folder, "status").stdout
    assert "paused" in words and "Handwritten digits" in words
    assert "Peers    none: this PC works alone" in words
    assert "paused" in hearth(paused.folder, "log").stdout


def test_status_has_what_scripts_rely_on(resting: RunningWorker) -> None:
    status = json.loads(hearth(resting.folder, "status", "--json").stdout)
    names = "version state reason until run step samples samples_per_s loss accuracy experts processes device"
    assert set(names.split()) <= set(status)
    assert {process["name"] for process in status["processes"]} == {"worker"}
    assert status["devices"][0]["id"] == "cpu" and not status["devices"][0]["on"] and status["devices"][0]["why"]
    assert status["energy"]["today"] == {"kwh": 0.0, "measured": 1.0, "cost": None, "co2_kg": None}
    words = hearth(resting.folder, "devices").stdout
    assert "(cpu): off. You paused" in words and "0 Wh today" in words


def test_a_month_whose_energy_is_used_computes_no_more(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"version": 2, "energy_budget_kwh": 2}))
    contributed(tmp_path, Amounts(kwh=2.03, kwh_measured=1.0))
    with worker(tmp_path) as running:
        status = running.status()
        assert (
            status.state == "limited"
            and status.reason == (notice("energy.reason", most=2),)
            and running.compute() is None
        )
        assert "about 2.03 kWh this month" in hearth(tmp_path, "status").stdout
        assert "preparing" not in hearth(tmp_path, "log").stdout
        running.call("set_settings", {"changes": {"energy_budget_kwh": 5}})
        running.until(lambda status: status.cpu, "more was allowed")


def test_the_benchmark_waits_until_this_pc_may_compute(paused: RunningWorker) -> None:
    answer = hearth(paused.folder, "benchmark", "--again").stdout
    assert "not measured yet" in answer and "as soon as this PC may compute. You paused" in answer
    assert paused.compute() is None
    paused.call("resume")
    first = json.loads(hearth(paused.folder, "benchmark", "--json").stdout)
    assert first["speeds"][0]["samples_per_s"] > 0 and first["expert_bytes"] > 0 and first["capacity"] is None
    again = json.loads(hearth(paused.folder, "benchmark", "--again", "--json").stdout)
    assert again["time"] > first["time"]
    assert "samples/s, forward and backward" in hearth(paused.folder, "benchmark").stdout


def test_without_a_worker_every_command_says_so(tmp_path: Path) -> None:
    for command in (["status"], ["pause"], ["resume"], ["quit"], ["status", "--json"]):
        done = hearth(tmp_path / "none", *command)
        assert done.returncode == NotRunning.exit_code
        assert "No Hearth worker is running" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "none").exists()


def test_a_pause_outlives_a_restart(tmp_path: Path) -> None:
    start_paused(tmp_path)
    with worker(tmp_path) as running:
        running.call("pause", {"seconds": 3600})
    with worker(tmp_path) as running:
        assert running.status().state == "paused"
        assert running.status().until_time is not None


def test_what_is_started_and_lifted_outlives_a_pause_and_a_kill(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"version": 2, "energy_budget_kwh": 2}))
    contributed(tmp_path, Amounts(kwh=2.03))  # it computes nothing, whatever is started
    running = RunningWorker(tmp_path)
    running.call("start_now")
    running.call("pause")
    running.call("resume")
    running.call("lift", {"rule": "battery"})
    wishes = tmp_path / "wishes.json"
    wait_until(lambda: wishes.exists() and "battery" in wishes.read_text(), "the wishes to be saved")
    running.process.kill()
    running.process.communicate()
    with worker(tmp_path) as again:
        rules = {rule.rule: rule for rule in again.status().why}
        assert rules["choice"].live.code == "choice.start_now" and rules["choice"].offers == "end"
        assert rules["battery"].offers == "end" and rules["energy"].offers == "lift"
        assert abs((rules["battery"].lifted_until or 0) - time.time() - 3600) < PATIENCE_S
        assert "All rules hold. Now limited" in hearth(tmp_path, "start", "--end").stdout
        again.call("end_lift", {"rule": "battery"})
        assert [rule.rule for rule in again.status().why if rule.lifted_until] == []
        with pytest.raises(ProtocolError):
            again.call("lift", {"rule": "heat_cpu"})


def test_quit_returns_when_everything_is_gone(tmp_path: Path) -> None:
    start_paused(tmp_path)
    running = RunningWorker(tmp_path)
    assert hearth(tmp_path, "quit").returncode == 0
    running.process.communicate(timeout=60)
    assert running.process.returncode == 0
    assert not (tmp_path / ADDRESS_FILE).exists()


def test_a_second_worker_is_refused_and_the_first_goes_on(resting: RunningWorker) -> None:
    done = hearth(resting.folder, "worker")
    assert done.returncode == 4 and "already serves" in done.stderr
    assert resting.status().state == "paused"


def test_a_worker_that_was_killed_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    start_paused(tmp_path)
    running = RunningWorker(tmp_path)
    running.process.kill()
    running.process.communicate()
    assert hearth(tmp_path, "status").returncode == NotRunning.exit_code
    with worker(tmp_path) as again:
        assert again.status().state == "paused"


def test_a_worker_whose_files_are_removed_is_reached_again_or_ends(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    start_paused(folder)
    with worker(folder) as running:
        (folder / ADDRESS_FILE).unlink()
        wait_until((folder / ADDRESS_FILE).exists, "a new address file")
        assert hearth(folder, "status").returncode == 0
        shutil.rmtree(folder)
        (folder / "runs").mkdir(parents=True)  # as compute makes it, when it saves
        wait_until(lambda: running.process.poll() is not None, "the end of a worker without a folder")


def test_what_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    start_paused(tmp_path)
    blocked = [tmp_path / "runs" / DIGITS / "progress.json.partial", tmp_path / "wishes.json.partial"]
    with worker(tmp_path) as running:
        for path in blocked:
            path.mkdir()
        (tmp_path / "worker.json.partial").mkdir()
        (tmp_path / ADDRESS_FILE).unlink()
        log = tmp_path / "logs" / "hearth.log"
        wait_until(lambda: "cannot be written again" in log.read_text(), "a line about the address")
        (tmp_path / "worker.json.partial").rmdir()
        wait_until((tmp_path / ADDRESS_FILE).exists, "a new address file")
        assert hearth(tmp_path, "status").returncode == 0
        assert hearth(tmp_path, "pause", "--for", "1h").returncode == 0
        assert running.status().until_time is not None
        assert hearth(tmp_path, "quit").returncode == 0
        running.process.wait(PATIENCE_S)
    assert running.process.returncode == 0


def test_a_disk_that_writes_nothing_holds_up_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, wishes = tmp_path / "stuck", tmp_path / "wishes.json"
    monkeypatch.setenv("STUCK", str(stuck))
    start_paused(tmp_path)
    with worker(tmp_path, program="tests.swarm.stuck_disk") as running, ThreadPoolExecutor(1) as other_client:
        stuck.touch()
        running.call("pause", {"seconds": 3600})
        changing = other_client.submit(running.call, "set_settings", {"changes": {"idle_only": True}})
        assert running.status().until_time is not None  # answered, and told to nobody that it is on the disk
        assert "until" not in wishes.read_text() and not changing.done()
        stuck.unlink()
        assert changing.result()["idle_only"] is True and running.status().idle_only
        stuck.touch()
        running.call("pause", {"seconds": 1800})
        running.call("quit")
        wait_until(lambda: (tmp_path / "wishes.json.partial").exists(), "the last of its files")
        assert running.status().state == "leaving"  # it does not end before all is written
        stuck.unlink()
        assert running.process.wait(PATIENCE_S) == 0
    assert 0 < json.loads(wishes.read_text())["paused_until"] - time.time() <= 1800
    assert json.loads((tmp_path / "settings.json").read_text())["idle_only"] is True


def test_a_damaged_file_is_told_until_the_user_has_chosen_anew(tmp_path: Path) -> None:
    (tmp_path / "wishes.json").write_text('{"paused": 7}')
    (tmp_path / "ledger.db").write_text("[]")
    with worker(tmp_path) as running:
        words = " ".join(map(str, running.status().attention))
        assert "wishes.json could not be read" in words and "Nothing is paused." in words
        assert "ledger.bad-" in words and "counted from zero" in words
        assert "Nothing is paused." in hearth(tmp_path, "status").stdout
        running.call("pause", {"seconds": None})
        assert "wishes" not in " ".join(map(str, running.status().attention))


def test_an_impossible_end_of_a_pause_means_until_resumed(tmp_path: Path) -> None:
    (tmp_path / "wishes.json").write_text('{"paused": true, "paused_until": 1e308}')
    with worker(tmp_path) as running:
        assert (running.status().state, running.status().until_time) == ("paused", None)


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_closing_the_terminal_saves_and_ends(tmp_path: Path) -> None:
    start_paused(tmp_path)
    with worker(tmp_path) as running:
        running.process.send_signal(signal.SIGHUP)
        running.process.communicate(timeout=60)
    assert running.process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix shell")
def test_a_worker_without_stdout_works(tmp_path: Path) -> None:
    start_paused(tmp_path)
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "core", "worker", "--data-dir", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        wait_until(lambda: hearth(tmp_path, "quit").returncode == 0, "a worker to end")
        assert process.wait(20) == 0
    finally:
        process.kill()


def test_a_damaged_address_or_log_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).write_text(json.dumps({"protocol": 1, "port": 2**70, "token": "0" * 64, "pid": 1}))
    assert hearth(tmp_path, "status").returncode == NotRunning.exit_code
    (tmp_path / "logs" / "hearth.log").mkdir(parents=True)
    done = hearth(tmp_path, "log")
    assert done.returncode == 5 and "Traceback" not in done.stderr


def test_a_display_that_cannot_be_reached_is_no_display(tmp_path: Path) -> None:
    start_paused(tmp_path)
    hidden = {"WAYLAND_DISPLAY", "XAUTHORITY"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden} | {"DISPLAY": ":9999"}
    command = [sys.executable, "-m", "core", "--data-dir", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as app:
        wait_until(lambda: hearth(tmp_path, "quit").returncode == 0, "a headless worker")
        assert app.stderr is not None and b"There is no display" in app.stderr.read()
    assert app.returncode == 0


def test_the_log_goes_on_after_a_restart(tmp_path: Path) -> None:
    start_paused(tmp_path)
    with worker(tmp_path) as first:
        before = first.call("log")[0]
    with (tmp_path / "logs" / "hearth.log").open("a") as file:
        file.write("2026-02-31 10:00:00,000 INFO    core: no such day\nTraceback\n")
    with worker(tmp_path) as second:
        after = second.call("log")
    assert after[0]["text"] == before["text"] and abs(after[0]["time"] - before["time"]) < 0.01
    assert all("no such day" not in line["text"] for line in after)


def test_bad_starts_are_explained(tmp_path: Path) -> None:
    unknown = hearth(tmp_path, "worker", "--run", "nothing")
    assert unknown.returncode == 2 and "Known runs: digits, digits-vc, stories, text" in unknown.stderr
    (tmp_path / "file").write_text("")
    unwritable = hearth(tmp_path / "file", "worker")
    assert unwritable.returncode == 5 and "--data-dir" in unwritable.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "settings.json").write_text(json.dumps({"control_port": taken.getsockname()[1]}))
        used = hearth(tmp_path, "worker")
    assert used.returncode == 6 and "control_port" in used.stderr
    for done in (unknown, unwritable, used):
        assert "Traceback" not in done.stderr


def test_unreadable_settings_are_reported_and_kept(tmp_path: Path) -> None:
    start_paused(tmp_path)
    (tmp_path / "settings.json").write_text("{")
    with worker(tmp_path) as running:
        (sentence,) = map(str, running.status().attention)
        assert "settings.bad-" in sentence


def test_settings_are_applied_saved_and_validated(paused: RunningWorker) -> None:
    assert paused.call("set_settings", {"changes": {"idle_only": True}})["idle_only"] is True
    assert paused.status().idle_only
    with pytest.raises(SettingsError):
        paused.call("set_settings", {"changes": {"idle_only": False, "threads": -1}})
    with pytest.raises(ManifestError, match="Known runs"):
        paused.call("set_settings", {"changes": {"run": "nothing"}})
    assert paused.status().idle_only
    assert json.loads((paused.folder / "settings.json").read_text())["idle_only"] is True


def test_a_setting_is_changed_by_a_command_at_once(paused: RunningWorker) -> None:
    done = hearth(paused.folder, "settings", "busy_cpu_percent", "40")
    assert (done.returncode, done.stdout) == (0, "busy_cpu_percent is 40.\n"), done.stderr
    assert paused.call("set_settings", {"changes": {}})["busy_cpu_percent"] == 40
    assert "after a restart of the worker" in hearth(paused.folder, "settings", "lan", "off").stdout


def test_everybody_is_told_of_changed_settings(paused: RunningWorker) -> None:
    with ControlClient(paused.folder) as window, ControlClient(paused.folder) as other:
        window.call("subscribe", {}, dict)
        other.call("set_settings", {"changes": {"theme": "dark"}}, dict)
        told: list[Any] = []
        window.call("status", {}, dict, each=told.append)
        assert [data["theme"] for data in told if "idle_only" in data and "theme" in data] == ["dark"]


def test_a_manifest_that_has_gone_does_not_keep_the_worker_from_starting(tmp_path: Path) -> None:
    start_paused(tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps({"version": 2, "run": str(tmp_path / "gone.json")}))
    with worker(tmp_path) as running:
        (sentence,) = map(str, running.status().attention)
        assert "gone.json cannot be read" in sentence and "Choose a run in Settings" in sentence
        assert running.status().run == "digits"
        running.call("set_settings", {"changes": {"theme": "dark"}})  # no other choice suffers from it
        assert running.call("set_settings", {"changes": {"run": "text"}})["run"] == "text"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no file"),
        (b"", "is not a PNG picture"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "is not a PNG picture"),
        (b"GIF89a" + b"\0" * 64, "is not a PNG picture"),
        (empty_png(50_000, 50_000), "too many"),
    ],
)
def test_a_picture_that_is_none_is_refused(
    resting: RunningWorker, tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "picture.png"
    if content is not None:
        path.write_bytes(content)
    done = hearth(resting.folder, "predict", str(path))
    assert done.returncode == PictureError.exit_code
    assert says in done.stderr and "Traceback" not in done.stderr


def test_the_token_is_private_and_needed(resting: RunningWorker) -> None:
    assert stat.S_IMODE((resting.folder / ADDRESS_FILE).stat().st_mode) == 0o600
    (answer,) = all_lines(greet(resting.folder, token="0" * 64))
    assert "token" in str(answer["error"])
    (answer,) = all_lines(greet(resting.folder, token="é" * 32))
    assert "token" in str(answer["error"])
    assert all_lines(greet(resting.folder, client="app", pid=-1)) == []
    (answer,) = all_lines(greet(resting.folder, protocol=PROTOCOL + 1))
    assert "version" in str(answer["error"])


@pytest.mark.parametrize(
    "line",
    [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100 + b"\n", b"[" * 100_000 + b"\n", b"x" * (MAX_LINE + 10), b"{}\n", b"\n"],
)
def test_strangers_are_cut_off_and_cost_nothing(resting: RunningWorker, line: bytes) -> None:
    with connect(resting.folder) as connection:
        try:
            connection.sendall(line)
            assert all_lines(connection) == []
        except OSError:
            pass  # reset: cut off as well
    assert resting.status().state == "paused"


def test_a_friend_with_bad_requests_gets_errors(resting: RunningWorker) -> None:
    with ControlClient(resting.folder) as client:
        requests: list[tuple[str, dict[str, object]]] = [
            ("fly", {}), ("pause", {"seconds": -1}), ("pause", {"seconds": "x"}), ("status", {"x": 1}),
            ("log", {"lines": 10**9}), ("predict", {"width": 10**9, "height": 1, "pixels": ""}),
        ]  # fmt: skip
        for method, params in requests:
            with pytest.raises(ProtocolError):
                client.call(method, params, dict)
        with pytest.raises(HearthError, match="pixels"):
            client.call("predict", {"width": 2, "height": 2, "pixels": b"x"}, dict)
        assert client.call("subscribe", {}, Snapshot).status.state == "paused"
    assert resting.status().state == "paused"


def test_connections_that_say_nothing_do_not_lock_others_out(resting: RunningWorker) -> None:
    silent = [connect(resting.folder) for _ in range(40)]
    try:
        assert hearth(resting.folder, "status").returncode == 0
    finally:
        for connection in silent:
            connection.close()


def test_strangers_do_not_fill_the_log(paused: RunningWorker) -> None:
    for _ in range(20):
        assert all_lines(greet(paused.folder, token="0" * 64))
        with connect(paused.folder) as connection:
            connection.sendall(b"nonsense\n")
            assert all_lines(connection) == []
    assert sum("refused" in line["text"] for line in paused.call("log")) == 6  # the 1st, 2nd, 4th .. 32nd


def test_quitting_under_open_connections_is_no_error(tmp_path: Path) -> None:
    start_paused(tmp_path)
    with worker(tmp_path) as running, greet(tmp_path) as client, connect(tmp_path):
        assert client.recv(10)
        assert hearth(tmp_path, "quit").returncode == 0
        running.process.wait(PATIENCE_S)
    assert running.process.returncode == 0
    assert "Traceback" not in (tmp_path / "logs" / "hearth.log").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="stops a process as Unix does")
def test_a_worker_that_hangs_is_told_from_one_that_is_not_there(resting: RunningWorker) -> None:
    resting.process.send_signal(signal.SIGSTOP)
    try:
        done = hearth(resting.folder, "status")
    finally:
        resting.process.send_signal(signal.SIGCONT)
    assert done.returncode == NotRunning.exit_code and "does not answer" in done.stderr


def test_subscribers_hear_of_changes(paused: RunningWorker) -> None:
    with greet(paused.folder) as connection:
        lines = connection.makefile("rb")
        assert json.loads(lines.readline())["protocol"] == PROTOCOL
        connection.sendall(b'{"id": 1, "method": "subscribe"}\n')
        assert json.loads(lines.readline())["result"]["status"]["state"] == "paused"
        paused.call("pause", {"seconds": 60})
        events = [json.loads(lines.readline()) for _ in range(3)]
        assert any(event["event"] == "status" and event["data"]["until_time"] for event in events)


def test_who_wants_news_seldom_hears_at_once_of_what_somebody_chose(paused: RunningWorker) -> None:
    with greet(paused.folder) as connection:
        lines = connection.makefile("rb")
        assert json.loads(lines.readline())["protocol"] == PROTOCOL
        connection.sendall(
            b'{"id": 1, "method": "subscribe"}\n{"id": 2, "method": "pace", "params": {"every_s": 60}}\n'
        )
        while json.loads(lines.readline()).get("id") != 2:
            pass
        paused.call("pause", {"seconds": 60})
        connection.settimeout(30)
        while not json.loads(lines.readline()).get("data", {}).get("until_time"):
            pass


def test_the_worker_is_light(paused: RunningWorker) -> None:
    (process,) = paused.status().processes
    assert process.memory_mb < 60


def test_the_console_script_is_there() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "core", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for command in ["worker", "status", "pause", "resume", "quit", "predict", "log"]:
        assert command in done.stdout
