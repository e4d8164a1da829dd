"""`hearth top`: what a frame says, that it fits the smallest terminal, and how it ends."""

import io
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from core import cli
from core.commands.top_frame import END, Seen, frame
from core.contracts.errors import NotRunning
from core.contracts.ledger import Amounts, Period, Totals
from core.contracts.network_status import NetworkStatus, PeerStatus
from core.contracts.notices import plain as said
from core.contracts.peer_names import called
from core.contracts.status import DeviceStatus, RunStatus, Status
from tests.desktop.conftest import make_status
from tests.terminals import ALTERNATE, NORMAL, Terminal

DONE = Amounts(
    samples=44_512, tokens=674_000, calls=143_000, peer_calls=14_758, seconds=96.0, kwh=0.012, reduced=3_100_000
)
"""Of one day."""


def run(number: int) -> RunStatus:
    name = f"a run with a very long title indeed, number {number}"
    return RunStatus(
        f"run{number}-00000000", name, name, 1, "training", "picture", 4200, 134_400, 1812.5, 32, 0.21, 0.961, None
    )


def peer(number: int) -> PeerStatus:
    return PeerStatus(f"{number:064x}", "direct", "10.0.0.7:4401", 12.3, 4_000_000, 2_000_000, 0.0, 0.0)


def seen(runs: int = 1, devices: int = 1, peers: int = 2, warnings: int = 0) -> Seen:
    status: Status = make_status(
        runs=[run(number) for number in range(runs)],
        devices=[DeviceStatus(f"d{number}", "Some Processor " * 9, "cpu", True, ()) for number in range(devices)],
        attention=[f"Something is wrong here, number {number}." for number in range(warnings)],
    )
    period = Period(DONE, {}, {})
    network = NetworkStatus("ab" * 32, "ab@127.0.0.1:1", "reachable", said(""), "none", [], ["host"], [], peers)
    known = msgspec.structs.replace(network, peers=[peer(number) for number in range(min(peers, 50))])
    return Seen(status, Totals(time.time(), 0.0, period, period, period), known)


def drawn(what: Seen, rows: int | None = 24, columns: int = 80) -> list[str]:
    """The lines of a frame on a terminal of this size; None: where nobody counts lines."""
    file = io.StringIO()
    console = Console(file=file, width=columns, height=rows, force_terminal=False)
    console.print(frame(what, None if rows is None else console))
    return file.getvalue().rstrip("\n").split("\n")


def test_it_says_all_that_home_shows() -> None:
    text = "\n".join(drawn(seen()))
    for words in (
        "Contributing",
        "Training runs on 1 thread.",
        "Stops when you pause it.",
        "1,812",
        "134,400",
        "0.210",
    ):
        assert words in text
    for words in (
        "96.1%",
        "Some Processor",
        "2 peers connected; from outside reachable",
        called(f"{1:064x}"),
        "12.3 ms",
    ):
        assert words in text
    row = {line.split("  ")[0]: line for line in text.split("\n")}
    assert "14,758 calls, 3.1 MB combined" in row["for others"]
    assert "128 k calls, 44,512 samples" in row["for itself"] and "14,758" not in row["for itself"]
    assert "2 min of computing" in row["in total"]


@pytest.mark.parametrize("size", [(24, 80), (24, 60), (50, 200)])
@pytest.mark.parametrize("much", [0, 3, 9])
def test_a_frame_fits_and_says_how_it_ends(size: tuple[int, int], much: int) -> None:
    rows, columns = size
    lines = drawn(seen(runs=1 + much, devices=1 + much, peers=30 * much, warnings=min(2, much)), rows, columns)
    assert max(map(len, lines)) <= columns
    assert lines[-1].startswith(END[:40]) and len(lines) <= rows
    if much == 9:
        assert "and 7 more" in "\n".join(lines), "runs and devices that are not listed are counted"


def test_peers_fill_the_room_that_is_left() -> None:
    few, many = (drawn(seen(peers=200), rows) for rows in (24, 40))
    assert len(few) == 24 and len(many) == 40
    assert any(line.startswith("and 1") and line.rstrip().endswith("more") for line in few)
    assert "this PC is alone" in "\n".join(drawn(seen(peers=0)))
    assert "started to work alone" in "\n".join(drawn(seen()._replace(network=None)))


def test_once_says_plainly_that_nobody_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["top", "--once", "--data-dir", str(tmp_path)]) == NotRunning.exit_code
    assert "No Hearth worker is running" in capsys.readouterr().err


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    running = Terminal(tmp_path, "top")
    yield running
    running.close()


@pytest.mark.parametrize("how", ["q", "Ctrl+C", "SIGTERM"])
def test_it_waits_for_a_worker_and_gives_the_terminal_back(terminal: Terminal, how: str) -> None:
    terminal.until("As soon as a worker")
    assert terminal.modes() != terminal.before, "keys are taken without Enter"
    if how == "SIGTERM":
        terminal.process.send_signal(signal.SIGTERM)
    else:
        terminal.type({"q": "q", "Ctrl+C": "\x03"}[how])
    assert terminal.end() == {"q": 0, "Ctrl+C": 130, "SIGTERM": 143}[how]
    assert terminal.modes() == terminal.before
    assert terminal.said.count(ALTERNATE) == terminal.said.count(NORMAL) == 1 and "Traceback" not in terminal.said
