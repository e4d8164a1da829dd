"""An organiser signs a run and gives a link away; a volunteer joins by it, and learns what the organiser changes. Real
worker processes."""

import json
from pathlib import Path

from core.contracts import manifest
from core.contracts.errors import ManifestError, NetworkError, NotRunning, RunError, SettingsError
from core.contracts.network_status import NetworkStatus
from core.contracts.peer_names import called
from core.contracts.run_details import RunDetails
from core.contracts.status import RunStatus
from tests.unit.test_manifest_files import TINY
from tests.workers import HERE, RunningWorker, codes, hearth, start_paused, wait_until, worker


def sign(folder: Path, *lines: str) -> Path:
    """The file that an organiser gets who signs the tiny run, with more lines before it."""
    path = folder / "tiny.toml"
    path.write_text("\n".join([*lines, TINY.replace('"diloco"\nfragments = 2', '"local"')]))
    done = hearth(folder / "organiser", "run", "sign", str(path))
    assert done.returncode == 0, done.stderr
    return folder / "tiny.signed.json"


def run_of(running: RunningWorker, run_id: str) -> RunStatus | None:
    return next((run for run in running.status().runs if run.id == run_id), None)


def step_of(running: RunningWorker, run_id: str) -> int:
    run = run_of(running, run_id)
    return run.step if run else 0


def test_a_volunteer_joins_by_a_link_and_follows_what_the_organiser_changes(tmp_path: Path) -> None:
    path = sign(tmp_path)
    first = manifest.load(str(path))
    run_id, volunteer = first.run_id, tmp_path / "volunteer"
    start_paused(volunteer)
    with (
        worker(tmp_path / "organiser", "--run", str(path), "--listen", HERE) as organiser,
        worker(volunteer, "--listen", HERE) as running,
    ):
        link = hearth(organiser.folder, "run", "link", "tiny").stdout.strip()
        assert f"/{run_id}/{first.organiser}/" in link
        joins(running, link, first)
        is_too_small(running, tmp_path / "large.toml")
        wait_until(lambda: step_of(running, run_id), "the first batch of the volunteer")
        others = {peer.peer for peer in running.ask("network", {}, NetworkStatus).peers}
        assert others == {first.organiser}, "the organiser's worker is met through the link alone"
        follows(organiser, running, run_id, sign(tmp_path, "revision = 2", 'description = "Now with words"'))


def test_one_command_signs_joins_asks_the_peers_that_are_named_and_prints_the_link(tmp_path: Path) -> None:
    organiser, keeper = tmp_path / "organiser", tmp_path / "keeper"
    start_paused(organiser)
    start_paused(keeper)
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    alone = hearth(organiser, "run", "publish", str(path))
    assert alone.returncode == NotRunning.exit_code and "hearth worker --run" in alone.stderr
    with worker(organiser, "--listen", HERE) as running, worker(keeper, "--listen", HERE) as other:
        address = hearth(other.folder, "address").stdout.strip()
        path.write_text(f'bootstrap = ["{address}"]\nrevision = 2\n{TINY}')
        said = hearth(running.folder, "run", "publish", str(path))
        assert said.returncode == NetworkError.exit_code and "does not give it to others" in said.stdout, said.stderr
        assert "Ask the organiser" not in said.stdout, "who is told that is the organiser"
        told = next(line for line in said.stdout.splitlines() if "does not give it" in line)
        assert told.count(called(address.partition("@")[0])) == 1, told
        link = said.stdout.splitlines()[-1]
        assert hearth(other.folder, "run", "join", link, "--yes").returncode == 0
        path.write_text(f'bootstrap = ["{address}"]\nrevision = 3\n{TINY}')
        said = hearth(running.folder, "run", "publish", str(path))
        assert said.returncode == 0 and "now uses revision 3" in said.stdout, said.stdout
        assert "gives revision 3 to others" in said.stdout and said.stdout.splitlines()[-1] == link
        [kept] = (keeper / "runs").glob("tiny-*/manifest.json")
        assert manifest.load(str(kept)).revision == 3, "it waited until that is true"
        again = hearth(running.folder, "run", "publish", str(tmp_path / "tiny.signed.json"))
        assert again.returncode == 0 and "is signed" in again.stdout


def joins(running: RunningWorker, link: str, run: manifest.Manifest) -> None:
    """The volunteer's only run is that of the link from now on; before, it says whose it is and asks."""
    organiser = str(run.organiser)
    asked = hearth(running.folder, "run", "join", link)
    assert asked.returncode == SettingsError.exit_code and "add --yes" in asked.stderr
    assert f"Signed by {organiser}." in asked.stdout and "Tiny digits" in asked.stdout
    assert run_of(running, run.run_id) is None
    foreign = link.replace(f"/{organiser}/", f"/{'ab' * 32}/")
    refused = hearth(running.folder, "run", "join", foreign, "--yes")
    assert refused.returncode == ManifestError.exit_code and "not signed by the organiser" in refused.stderr
    absent = hearth(running.folder, "run", "show", link.replace("/tiny-", "/other-")).stderr
    assert f"Peer {called(organiser)} does not take part in this run" in absent and "new link" in absent
    joined = hearth(running.folder, "run", "join", link, "--yes")
    assert joined.returncode == 0 and f"Joined {run.run_id}" in joined.stdout, joined.stderr
    twin = running.folder.parent / "twin.toml"
    twin.write_text(TINY.replace('"Tiny digits"', '"TINY  digits"'))
    shown = hearth(running.folder, "run", "show", str(twin)).stdout
    assert "Nobody has signed it." in shown and f"another run of this title, {run.run_id}" in shown
    assert hearth(running.folder, "run", "leave", "digits").returncode == 0
    running.call("resume")
    kept = running.folder / "runs" / run.run_id / "manifest.json"
    assert manifest.load(str(kept)) == run
    [entry] = json.loads((running.folder / "runs.json").read_text())["runs"]
    assert entry["id"] == run.run_id and entry["peers"][0].startswith(organiser)


def is_too_small(running: RunningWorker, path: Path) -> None:
    """The volunteer's PC is not asked for what it does not have."""
    for needs, said in (("needs_memory_mb", "of memory, and this one has"), ("needs_disk_mb", "free on the disk")):
        path.write_text(f"{needs} = 90000000\n{TINY}")
        refused = hearth(running.folder, "run", "join", str(path), "--yes")
        assert refused.returncode == RunError.exit_code and said in refused.stderr, refused.stderr


def follows(organiser: RunningWorker, running: RunningWorker, run_id: str, path: Path) -> None:
    """The volunteer hears of a successor, goes by it once its compute process has ended, and trains on."""
    done = hearth(organiser.folder, "run", "join", str(path), "--yes")
    assert done.returncode == 0 and "now uses revision 2" in done.stdout, done.stderr
    told = running.until(lambda status: "run.successor" in codes(tuple(status.attention)), "news of the successor")
    [said] = [one for one in told.attention if one.code == "run.successor"]
    assert said.args == {"revision": 2, "fields": ["description"]}
    before = running.ask("run_details", {"run": run_id}, RunDetails)
    assert (before.manifest.revision, before.next_revision, before.joined) == (1, 2, True)
    assert "revision 1 now, revision 2 next" in hearth(running.folder, "run", "show", run_id).stdout
    step = step_of(running, run_id)
    running.call("pause")
    running.until(lambda status: "run.changed" in codes(tuple(status.attention)), "the successor in force")
    after = running.ask("run_details", {"run": run_id}, RunDetails)
    assert (after.manifest.revision, after.next_revision) == (2, None)
    assert after.manifest.description == "Now with words"
    running.call("resume")
    wait_until(lambda: step_of(running, run_id) > step, "steps by the new manifest, from where the old one was")
