"""The trial of an installed Hearth, on the sources."""

import sys
from pathlib import Path

import psutil
import pytest

from core.contracts.build import hearth_command
from installers.smoke import Smoke
from tests.workers import ROOT


def test_hearth_is_agreed_to_trains_answers_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    told = Smoke(hearth_command(), tmp_path).run(3.0)
    assert told["steps"] > 0 and len(told["probabilities"]) == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.png", "output.txt"]


@pytest.mark.parametrize(("word", "found"), [("worker", "worker ended with 1"), ("predict", "one.png ended with 1")])
def test_what_does_not_do_as_it_should_is_found(
    word: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Hearth one of whose commands fails; what ran until then does not go on."""
    monkeypatch.chdir(ROOT)
    program = tmp_path / "hearth"
    program.write_text(f'#!/bin/sh\n[ "$1" = {word} ] && exit 1\nexec {sys.executable} -m core "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(RuntimeError, match=found):
        Smoke([str(program)], folder).run(0.1)
    assert not [one for one in psutil.process_iter(["cmdline"]) if str(folder / "data") in (one.info["cmdline"] or [])]
