"""The record of consent: what is kept, and what does not count as one."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core import consent
from core.consent import FILE, TERMS
from core.contracts.errors import DataFolderError
from core.contracts.settings import Settings
from core.store import settings_file
from core.worker import opening
from tests.workers import PATIENCE_S, RunningWorker, hearth, start_paused


def test_consent_is_kept_with_its_date_and_version(tmp_path: Path) -> None:
    assert consent.read(tmp_path) is None
    given = consent.give(tmp_path, "app")
    assert consent.read(tmp_path) == given
    kept = json.loads((tmp_path / FILE).read_text())
    assert (kept["version"], kept["terms"], kept["given"], kept["hearth"]) == (1, TERMS, "app", "0.1.0")
    assert abs((datetime.now(UTC) - given.date).total_seconds()) < 60


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"terms": 0}, {"date": "soon"}, {"given": "nobody"}, {"terms": None}],
)
def test_what_cannot_be_read_is_no_consent(tmp_path: Path, change: dict[str, object]) -> None:
    consent.give(tmp_path, "app")
    kept = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**kept, **change}))
    assert consent.read(tmp_path) is None


def test_consent_to_older_terms_is_asked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    consent.give(tmp_path, "app")
    monkeypatch.setattr(consent, "TERMS", TERMS + 1)
    assert consent.read(tmp_path) is None


def test_consent_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(DataFolderError, match="could not be written"):
        consent.give(tmp_path, "app")


def test_a_worker_on_the_command_line_is_its_organisers_consent_and_says_so_once(tmp_path: Path) -> None:
    start_paused(tmp_path)
    told = []
    for _ in range(2):
        worker = RunningWorker(tmp_path)
        worker.call("quit")
        told.append(worker.process.communicate(timeout=PATIENCE_S)[1])
        given = consent.read(tmp_path)
        assert given is not None and given.given == "command line"
    assert ["By starting this worker you agree" in text for text in told] == [True, False]


def test_a_worker_that_cannot_start_asks_nobody_to_agree(tmp_path: Path) -> None:
    assert "By starting" not in hearth(tmp_path, "worker", "--run", "nothing").stderr
    assert consent.read(tmp_path) is None


def test_consent_that_is_withdrawn_is_no_more(tmp_path: Path) -> None:
    consent.give(tmp_path, "app")
    consent.withdraw(tmp_path)
    assert consent.read(tmp_path) is None
    consent.withdraw(tmp_path)  # again, or where there was none
    (tmp_path / FILE).mkdir()
    with pytest.raises(DataFolderError):
        consent.withdraw(tmp_path)


def test_the_standard_is_what_was_promised_and_holds_where_the_settings_are_lost(tmp_path: Path) -> None:
    assert consent.standard(tmp_path) == opening.read_settings(tmp_path, []) == Settings()
    consent.give(tmp_path, "command line")
    assert consent.standard(tmp_path) == opening.read_settings(tmp_path, []) == Settings()
    consent.give(tmp_path, "app")
    assert consent.standard(tmp_path) == opening.read_settings(tmp_path, []) == Settings(idle_only=True)
    (tmp_path / settings_file.FILE).write_text("{")
    assert opening.read_settings(tmp_path, []) == Settings(idle_only=True), "nobody is computed for while here"
    settings_file.save(tmp_path, Settings())
    assert opening.read_settings(tmp_path, []) == Settings(), "it was chosen"
