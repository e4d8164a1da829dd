"""What commands say, on a worker's recorded answers."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core import cli
from core.commands import common
from core.commands.devices import describe
from core.community.ledger import Ledger
from core.contracts import manifest
from core.contracts.credit import Published
from core.contracts.ledger import Amounts
from core.contracts.network_status import DhtRecord, DhtStatus, Finding, NetworkStatus, PeerStatus
from core.contracts.notices import Sentences, plain
from core.contracts.settings import NO_LIMIT
from core.contracts.status import DeviceStatus, RuleStatus
from core.contracts.trunk_status import PartStatus, TrunkStatus
from core.control.doctor import examine
from core.store import settings_file
from core.worker import joined_runs

LONELY = NetworkStatus(
    "ab" * 32, "ab@127.0.0.1:1", "unknown", plain("not measured yet"), "unknown", [], ["host"], [], 0
)
PEER = PeerStatus("cd" * 32, "direct", "127.0.0.1:2", 1.0, 0, 0, 0.0, 0, "reachable")
STATS = DhtStatus(1, 0, 0, 0, 0, 0.0)


class Worker:
    """Answers each method with what it is given."""

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None: ...

    def call(self, method: str, params: Any, result: Any, seconds: float = 0.0) -> Any:
        return self._answers[method].pop(0)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str, **answers: list[Any]) -> tuple[int, str]:
        monkeypatch.setattr(common, "client", lambda options: Worker(**answers))
        return cli.main(list(arguments)), capsys.readouterr().out

    return run


def verdicts(network: NetworkStatus, folder: Path) -> dict[str, bool | None]:
    return {finding.name: finding.good for finding in examine(network, STATS, [], folder)}


def test_what_nobody_measured_is_no_fault(tmp_path: Path, said: Any) -> None:
    network = msgspec.structs.replace(LONELY, peers=[PEER], connected=1)
    findings = examine(network, STATS, [], tmp_path)
    assert [f.name for f in findings if f.good is None] == ["outside", "nat", "reachability", "broker"]
    code, text = said("doctor", doctor=[findings])
    assert code == 0 and "LOOK" not in text and "cannot dial" not in text
    assert text.count("Nobody has measured it yet; a connected backbone peer will.") == 3
    assert "none is named by the runs here" in text and "as soon as one answers" not in text


def test_what_was_measured_is_judged(tmp_path: Path, said: Any) -> None:
    shut = msgspec.structs.replace(LONELY, reachability="dial-out only", nat="symmetric", outside=["203.0.113.7:1"])
    found = verdicts(shut, tmp_path)
    assert (found["outside"], found["nat"], found["reachability"]) == (True, False, False)
    assert verdicts(LONELY, tmp_path)["peers"] is False
    code, text = said("doctor", doctor=[[Finding("nat", False, plain("symmetric"), plain("Use a relay."))]])
    assert code == 1 and "LOOK" in text and "Use a relay." in text


def test_a_link_that_was_cut_is_told_also_where_no_worker_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for what in ("join", "show"):
        link = f"hearth://join/mine-12345678/{'ab' * 32}/{'cd' * 20}"
        assert cli.main(["run", what, link, "--data-dir", str(tmp_path)]) == 21
        assert "It may have been cut off" in capsys.readouterr().err


def test_a_key_that_nobody_stored_is_named(said: Any) -> None:
    assert said("dht", "get", "bogus", dht_get=[[]]) == (0, "Nobody has stored “bogus”.\n")
    stored = DhtRecord("", "ff", 1, 2e9, "ab" * 32)
    assert "Nobody" not in said("dht", "get", "known", dht_get=[[stored]])[1]


@pytest.mark.parametrize(
    ("offset", "words"),
    [(-0.04, "the same as this PC's"), (2.0, "2.0 s ahead"), (-3.5, "3.5 s behind")],
)
def test_clocks_are_ahead_or_behind(said: Any, offset: float, words: str) -> None:
    stats = msgspec.structs.replace(STATS, clock_apart_s=offset)
    assert said("dht", "stats", dht_stats=[stats])[1].endswith(f"other clocks are {words}\n")


class State(msgspec.Struct):
    state: str
    reason: Sentences
    until: Sentences = ()
    why: tuple[RuleStatus, ...] = ()


def test_resume_says_what_comes_of_it(said: Any) -> None:
    busy = State("yielding", (plain("Others are busy."),), (plain("Ends when they are not."),))
    _, text = said("resume", status=[busy, busy], resume=[{}])
    assert text == "It was not paused. Now giving your PC back: Others are busy. Ends when they are not.\n"
    _, text = said(
        "resume",
        status=[State("paused", (plain("You paused."),)), State("preparing", (plain("It loads."),))],
        resume=[{}],
    )
    assert text == "Resumed. Now preparing: It loads.\n"
    gpu = State("contributing", (plain("It trains."),), why=(RuleStatus("gpu_choice", plain(""), plain(""), ("gpu",)),))
    _, text = said("resume", status=[gpu, State("contributing", (plain("It trains."),))], resume=[{}])
    assert text.startswith("Resumed. Now contributing")


def test_who_leaves_a_run_is_told_where_this_pc_still_is(said: Any) -> None:
    class Run(msgspec.Struct):
        id: str
        title: str = "Mine"

    class Of(msgspec.Struct):
        runs: list[Run]

    code, text = said("run", "leave", "mine", leave_run=[Run("mine-1")], status=[Of([Run("dec-2")])])
    assert code == 0 and text.endswith("This PC is still in dec-2.\n"), "one that does not compute is in it, too"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["generate", "x", "--length", "0"], 19, "The length is 1 to 10,000.\n"),
        (["generate", "x", "--length", "10001"], 19, "The length is 1 to 10,000.\n"),
        (["generate", "x", "--temperature", "11"], 19, "The temperature is 0 to 10.\n"),
        (["generate", "x", "--top-p", "3"], 19, "--top-p is more than 0, and 1 at most.\n"),
        (["generate", "x", "--seed", "-1"], 19, "The seed is 0 to 2,147,483,647.\n"),
        (["generate", "x", "--stop", "s" * 257], 19, "--stop may be given 16 times, each time with 1 to 256"),
        (["generate", "x" * 65_537], 19, "The text may have 65,536 characters.\n"),
        (["board", "--out", "board", "--trust", "foo"], 11, "'foo' does not name a peer: its key has 64 hexadecimal"),
        (["serve", "--port", "99999"], 2, "A port is a number from 0 to 65,535.\n"),
        (["run", "export", "dec", "--format", "hf", "--type", "q8_0"], 2, "--type is for a gguf file: add --format"),
        (["run", "export", "dec", "--type", "f16"], 2, "--type is for a gguf file: add --format"),
    ],
)
def test_what_no_command_takes_is_told_with_its_limits(
    words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == code
    assert capsys.readouterr().err.startswith(f"hearth: {told}")


def test_a_time_below_nothing_is_refused_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["pause", "--for", "-5m"])
    assert "--for: a value must follow, and must not begin with a minus" in capsys.readouterr().err


def test_shares_of_a_processor_are_no_more_than_all_of_it() -> None:
    class Of(msgspec.Struct):
        devices: list[DeviceStatus]
        energy: None = None

    cpu = DeviceStatus("cpu", "Processor", "cpu", True, (), load=0.12, others=0.99)
    assert "12% used by Hearth, 88% by other programs" in describe(Of([cpu]))  # type: ignore[arg-type]


def test_what_was_sent_is_counted_as_the_app_and_providers_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger(tmp_path)
    ledger.add("digits", "network.expert", Amounts(bytes_out=5_000_000))
    ledger.add("digits", "network.smoke", Amounts(bytes_out=1_000))
    ledger.add("digits", "cpu", Amounts(samples=32))
    ledger.add("digits", "GPU-1", Amounts(calls=4))
    ledger.close()
    assert cli.main(["stats", "--data-dir", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "5 MB" in told
    for heading in ("GPU GPU-1", "CPU", "Network: Expert calls", "Network: smoke"):
        assert heading in [line.strip() for line in told.splitlines()]


def test_runs_have_their_titles_also_those_that_were_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digits = manifest.load("digits")
    mine = msgspec.structs.replace(digits, run="mine", title="My digits")
    same = msgspec.structs.replace(digits, run="same")
    for run in (mine, same):
        joined_runs.keep(tmp_path, run.run_id, msgspec.json.encode(run))
    ledger = Ledger(tmp_path)
    for run_id in (digits.run_id, mine.run_id, same.run_id, "gone-1234abcd"):
        ledger.add(run_id, "cpu", Amounts(samples=32))
    ledger.close()
    assert cli.main(["stats", "--data-dir", str(tmp_path)]) == 0
    told = {line.strip() for line in capsys.readouterr().out.splitlines()}
    assert {"My digits", f"{digits.title} ({digits.run_id})", f"{digits.title} ({same.run_id})"} <= told
    assert "Run gone-1234abcd" in told, "nothing was kept of it"


def test_what_was_done_for_others_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger(tmp_path)
    ledger.add("digits", "cpu", Amounts(samples=32, calls=143_000, peer_calls=14_758))
    ledger.add("vc", "", Amounts(reduced=3_100_000))
    ledger.close()
    assert cli.main(["stats", "--data-dir", str(tmp_path)]) == 0
    head, *told = capsys.readouterr().out.splitlines()
    done = "14,758 expert calls and 3.1 MB combined"
    assert head == f"For others: {done} today, {done} in total."
    rows = [line.split("  ") for line in told]
    assert {row[1]: row[-1].strip() for row in rows if row[0] == "" and len(row) > 2}[
        "Expert calls for itself"
    ] == "128,242"
    assert [line for line in told if "Expert calls for others" in line and "14,758" in line]


VERBS = [
    "list",
    "status",
    "show",
    "join",
    "leave",
    "weight",
    "link",
    "new",
    "check",
    "sign",
    "publish",
    "notice",
    "export",
]


def test_each_verb_of_run_has_a_page_that_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    told = set()
    for verb in VERBS:
        with pytest.raises(SystemExit) as ended:
            cli.main(["help", "run", verb])
        text = capsys.readouterr().out
        assert ended.value.code == 0 and f"usage: hearth run {verb}" in text
        assert ("--licence" in text) == (verb == "new"), "only what is of use there"
        told.add(text.split("\n\n")[1])
    assert len(told) == len(VERBS)


def test_settings_are_listed_shown_and_changed_without_a_worker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str, code: int = 0) -> str:
        assert cli.main(["settings", *words, "--data-dir", str(tmp_path)]) == code
        captured = capsys.readouterr()
        return captured.out + captured.err

    assert re.search(r"^threads +automatic  \(", said(), re.M)
    assert "It may be a whole number from 0 to 1,024, or automatic; it is automatic" in said("threads")
    assert said("threads", "3") == "threads is 3 at the next start.\n"
    assert said("exclusive_programs", "blender, obs") == "exclusive_programs is blender,obs at the next start.\n"
    assert said("idle_only", "ON") == "idle_only is on at the next start.\n"
    now = settings_file.load(tmp_path)[0]
    assert (now.threads, now.exclusive_programs, now.idle_only) == (3, ("blender", "obs"), True)
    assert "threads = 3" in said("threads") and "Applies after a restart." in said("lan")
    assert "profile is custom" in said("profile", "Custom") and "profile is custom" in said("profile", "own")
    assert said("upload_kb_s", "no limit") == 'upload_kb_s is "no limit" at the next start.\n'
    assert said("download_kb_s", "0") == "download_kb_s is automatic at the next start.\n"
    assert 'upload_kb_s = "no limit"\n' in said("upload_kb_s")
    now = settings_file.load(tmp_path)[0]
    assert (now.profile, now.upload_kb_s, now.download_kb_s) == ("own", NO_LIMIT, 0)
    for words, fault in (
        (("threads", "many"), "threads cannot be 'many'; it must be a whole number from 0 to 1,024"),
        (("on_battery", "maybe"), "it must be on or off"),
        (("game_stops", "some"), "it must be one of: all, gpu, nothing"),
        (("compute_hours", "sometimes"), "isn't a day"),
        (("threds", "3"), "There is no setting 'threds'"),
    ):
        assert fault in said(*words, code=2)
    assert settings_file.load(tmp_path)[0] == now, "nothing was changed"


def test_help_is_also_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in ((["help"], "commands:"), (["help", "trunk"], "usage: hearth trunk")):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert ended.value.code == 0 and expected in capsys.readouterr().out


def test_a_trunk_that_was_taken_over_is_of_no_trainers(said: Any) -> None:
    part = PartStatus(0, 7, "5f" * 16, 900, 0, None, None, 6106)
    status = TrunkStatus("mine-1", "dedloc", [part], "ab" * 32, sent=260_000)
    code, text = said("trunk", trunk=[status])
    assert code == 0 and "step 7 taken over  5f5f5f5f" in text
    assert "traffic 260 kB sent, 0 B received" in text
    made = msgspec.structs.replace(status, parts=[msgspec.structs.replace(part, peers=3)])
    assert "step 7 of 3 trainers  5f5f5f5f" in said("trunk", trunk=[made])[1]


def test_a_board_of_a_small_swarm_says_why_little_counts_and_what_helps(said: Any) -> None:
    few = Published(2, 0.0, 3e9, 1, [], {"quarter": 2e9, "audited": 1e9})
    code, text = said("board", "--out", "board", board=[few])
    assert code == 0 and "Pending, 2 GFLOP: more than a quarter from one trainer." in text
    assert "--trust PEER" in text and text.index("quarter") < text.index("audited")
    assert "No peer has shown" in said("board", "--out", "board", board=[Published(0, 0.0, 0.0, 0, [])])[1]
    assert "--trust" not in said("board", "--out", "board", board=[Published(50, 9e9, 1e9, 40, [])])[1]


def test_a_worker_does_not_start_with_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["worker", "--run", "hearth://join/digits-2ac90b73/ab", "--data-dir", str(tmp_path / "data")]
    assert cli.main(arguments) == 2
    assert "hearth run join LINK" in capsys.readouterr().err and not (tmp_path / "data").exists()
