"""What the app asks of the worker, a method for each question: its parameters, and the type of the answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from app.worker.connection import Connection, Failed, note
from core.contracts import control as wire
from core.contracts import ledger
from core.contracts.credit import CertificateParams, Credit, Leaderboard
from core.contracts.network_status import Finding, FoundRun, MeetParams, Met, NetworkParams, NetworkStatus
from core.contracts.run_details import RunDetails
from core.contracts.status import GridStatus, LogLine, RunStatus
from core.contracts.telemetry import Told
from core.contracts.trunk_status import TrunkParams, TrunkStatus

UNSEEN_S = 5.0
"""Between two statuses while nobody sees the window: the tray, and what it tells, need no more."""
RUN_DEADLINE_S = 60.0
MEET_S = 30.0
"""For the manifest of a link, and for a run that is saved or begun."""


class WorkerClient(Connection):
    """A connection to the worker of a data folder. Of `done` and `failed` exactly one is called, later."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._every_s = 0.0
        self.connected.connect(lambda snapshot: self._every_s and self.request("pace", wire.PaceParams(self._every_s)))

    def keep_pace(self, seen: bool) -> None:
        """Be told the status whenever there are new figures, or, unless somebody sees them, less often."""
        self._every_s = 0.0 if seen else UNSEEN_S
        if self.is_connected:
            self.request("pace", wire.PaceParams(self._every_s))

    def pause(self, seconds: float | None = None, failed: Failed = note) -> None:
        self.request("pause", wire.PauseParams(seconds), failed=failed)

    def pause_gpu(self, failed: Failed = note) -> None:
        self.request("pause_gpu", failed=failed)

    def resume(self, failed: Failed = note) -> None:
        self.request("resume", failed=failed)

    def start_now(self, failed: Failed = note) -> None:
        self.request("start_now", wire.StartNowParams(), failed=failed)

    def lift(self, rule: str, failed: Failed = note) -> None:
        self.request("lift", wire.LiftParams(cast(wire.Liftable, rule)), failed=failed)

    def end_lift(self, rule: str, failed: Failed = note) -> None:
        self.request("end_lift", wire.EndLiftParams(cast(wire.Liftable, rule)), failed=failed)

    def set_settings(self, changes: dict[str, Any], done: Callable[[dict[str, Any]], None], failed: Failed) -> None:
        self.request("set_settings", wire.SetSettingsParams(changes), dict[str, Any], done, failed)

    def log_lines(self, lines: int, done: Callable[[list[LogLine]], None]) -> None:
        self.request("log", wire.LogParams(lines), list[LogLine], done)

    def predict(self, picture: wire.PredictParams, done: Callable[[wire.Prediction], None], failed: Failed) -> None:
        asked = msgspec.structs.replace(picture, run=picture.run or self._run)
        self.request("predict", asked, wire.Prediction, done, failed, wire.QUESTION_S)

    def generate(
        self,
        text: wire.GenerateParams,
        each: Callable[[wire.Piece], None],
        done: Callable[[wire.Continued], None],
        failed: Failed,
    ) -> int | None:
        """Let the model of the run that is named or shown go on with a text; the id returned is for `stop`."""
        asked = msgspec.structs.replace(text, run=text.run or self._run)
        return self.request("generate", asked, wire.Continued, done, failed, wire.QUESTION_S, each)

    def network(self, first: int, done: Callable[[NetworkStatus], None], failed: Failed) -> None:
        """This peer, and a page of its connected peers from the `first` on."""
        self.request("network", NetworkParams(first), NetworkStatus, done, failed)

    @property
    def shown_run(self) -> str:
        """The id of the run that is shown; "" before it is known."""
        return self._run or ""

    def meet(self, address: str, done: Callable[[Met], None], failed: Failed) -> None:
        """Join through a peer that the user names."""
        self.request("meet", MeetParams(address), Met, done, failed, MEET_S)

    def doctor(self, done: Callable[[list[Finding]], None], failed: Failed) -> None:
        self.request("doctor", None, list[Finding], done, failed)

    def grid(self, layer: int, done: Callable[[GridStatus], None], failed: Failed) -> None:
        self.request("grid", wire.GridParams(layer, self._run), GridStatus, done, failed)

    def trunk(self, done: Callable[[TrunkStatus], None], failed: Failed) -> None:
        """What the trainers of the run that is shown have agreed on."""
        self.request("trunk", TrunkParams(self._run), TrunkStatus, done, failed)

    def run_details(self, run: str, done: Callable[[RunDetails], None], failed: Failed) -> int | None:
        """What a run is; the id returned is for `stop`.

        Args:
            run: see `wire.RunParams`.
        """
        return self.request("run_details", wire.RunParams(run), RunDetails, done, failed, RUN_DEADLINE_S)

    def found_runs(self, done: Callable[[list[FoundRun]], None], failed: Failed) -> None:
        """Runs that others in the local network have joined."""
        self.request("found_runs", None, list[FoundRun], done, failed)

    def run_link(self, run_id: str, done: Callable[[wire.RunLinked], None], failed: Failed) -> None:
        self.request("run_link", wire.RunParams(run_id), wire.RunLinked, done, failed)

    def grant(self, asked: wire.GrantParams, done: Callable[[wire.RunLinked], None], failed: Failed) -> None:
        """Give a peer a token for a run of this PC's own."""
        self.request("grant", asked, wire.RunLinked, done, failed)

    def join_run(self, run: str, weight: int, done: Callable[[RunStatus], None], failed: Failed) -> None:
        """Train one more run; `run` as of `run_details`."""
        self.request("join_run", wire.JoinRunParams(run, weight), RunStatus, done, failed, RUN_DEADLINE_S)

    def leave_run(self, run_id: str, done: Callable[[RunStatus], None], failed: Failed) -> None:
        self.request("leave_run", wire.LeaveRunParams(run_id), RunStatus, done, failed, RUN_DEADLINE_S)

    def weigh_run(self, run_id: str, weight: int, failed: Failed) -> None:
        self.request("weight", wire.WeightParams(run_id, weight), failed=failed)

    def totals(self, done: Callable[[ledger.Totals], None], failed: Failed) -> None:
        self.request("totals", None, ledger.Totals, done, failed)

    def credit(self, done: Callable[[Credit], None], failed: Failed) -> None:
        self.request("credit", None, Credit, done, failed)

    def heard(self, done: Callable[[Told], None], failed: Failed) -> None:
        """What brokers have told."""
        self.request("telemetry", None, Told, done, failed)

    def leaderboard(self, done: Callable[[Leaderboard], None], failed: Failed) -> None:
        self.request("leaderboard", None, Leaderboard, done, failed)

    def certificate(self, path: Path, done: Callable[[Any], None], failed: Failed) -> None:
        self.request("certificate", CertificateParams(str(path)), dict[str, str], done, failed)

    def series(self, asked: ledger.SeriesParams, done: Callable[[ledger.Series], None], failed: Failed) -> None:
        self.request("series", asked, ledger.Series, done, failed)

    def sessions(self, asked: ledger.ListParams, done: Callable[[list[ledger.Session]], None], failed: Failed) -> None:
        self.request("sessions", asked, list[ledger.Session], done, failed)

    def quit_worker(self) -> None:
        """Ask the worker to save and end; what follows is a `bye` and the end of the connection."""
        self.request("quit", failed=lambda error: None)
        self._socket.flush()
