"""A run whose organiser says from when on it is trained: a real worker waits until then, and trains others."""

from pathlib import Path

from tests.scenarios.test_joining_by_link import run_of, step_of
from tests.unit.test_manifest_files import TINY
from tests.workers import codes, hearth, start_paused, worker


def test_a_run_is_trained_within_its_dates_only(tmp_path: Path) -> None:
    for name, dates in (
        ("later", 'start = "2090-01-01"'),
        ("over", 'end = "2020-01-01"'),
        ("now", 'start = "2020-01-01", end = "2090-01-01"'),
    ):
        text = TINY.replace('run = "tiny"', f'run = "{name}"').replace(
            'strategy = "diloco"\nfragments = 2', 'strategy = "local"'
        )
        (tmp_path / f"{name}.toml").write_text(f"schedule = {{{dates}}}\n{text}", encoding="utf8")
    start_paused(tmp_path / "pc")
    with worker(tmp_path / "pc", "--run", str(tmp_path / "later.toml"), share=30) as pc:
        pc.call("resume")
        told = pc.until(lambda status: codes(status.reason) == ["run.not_yet"], "the reason")
        assert (told.state, codes(told.until)) == ("limited", ["run.begins_then"])
        ids = {}
        for name in ("over", "now"):
            joined = hearth(pc.folder, "run", "join", str(tmp_path / f"{name}.toml"), "--yes")
            assert joined.returncode == 0, joined.stderr
            assert "When      It is trained" in joined.stdout
        ids = {run.name: run.id for run in pc.status().runs}
        pc.until(lambda _: step_of(pc, ids["now"]) > 0, "a step of the run that is to be trained now")
        for name, code in (("later", "run.not_yet"), ("over", "run.over")):
            run = run_of(pc, ids[name])
            assert run is not None and run.waits is not None and run.waits.code == code and run.step == 0
