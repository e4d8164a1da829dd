"""The list of a PC's runs, which is read again at its next start."""

from pathlib import Path

import pytest

from core.contracts.errors import RunError
from core.store.small_files import Files
from core.worker.joined_runs import MOST, Kept


def test_no_more_runs_are_kept_than_are_read_again(tmp_path: Path) -> None:
    """The run of the settings is beside the list until it gets a weight of its own."""
    files = Files(tmp_path)
    kept = Kept(files, None)
    for number in range(MOST):
        kept.join(f"run{number}", 1)
    with pytest.raises(RunError, match="16"):
        kept.weigh("of-the-settings", 3)
    kept.weigh("run0", 3)
    files.flush()
    again = Kept(Files(tmp_path), None).weights
    assert again == kept.weights and len(again) == MOST and again["run0"] == 3
