"""The list of a PC's runs, which is read again at its next start."""

from pathlib import Path

import msgspec
import pytest

from core.contracts import manifest as manifests
from core.contracts.errors import RunError
from core.contracts.notices import Notice, notice
from core.experts.grid import Grid
from core.net.addresses import address_text
from core.store.data_folder import MANIFEST_FILE, RUNS, take_over
from core.store.small_files import Files
from core.swarm.state_room import StateRoom
from core.worker.joined_runs import MOST, Kept, keep, manifests_of, newest, setting_of
from core.worker.places import NetworkOptions
from tests.dht_peers import until
from tests.disks import network_of, run_files, supervisor
from tests.unit.test_signed_manifest import decoded, signed


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


def test_a_manifest_in_the_folder_of_another_run_is_left_out_and_told(tmp_path: Path) -> None:
    digits = manifests.load("digits")
    keep(tmp_path, digits.run_id, manifests.read("digits")[1])
    (tmp_path / RUNS / "text-1").mkdir()
    written = tmp_path / RUNS / digits.run_id / MANIFEST_FILE
    (tmp_path / RUNS / "text-1" / MANIFEST_FILE).write_bytes(written.read_bytes())
    notes: list[Notice] = []
    assert manifests_of(tmp_path, {"text-1": 1, digits.run_id: 2}, notes) == [(digits, 2)]
    assert notes == [notice("run.other_manifest", run="text-1", found=digits.run_id)]


def test_of_a_signed_run_the_newest_manifest_holds_wherever_it_came_from(tmp_path: Path) -> None:
    first, second = signed(), signed(title="Digits", revision=2)
    kept = tmp_path / RUNS / decoded(first).run_id / MANIFEST_FILE

    def held(document: bytes) -> str:
        return newest(tmp_path, decoded(document), document).title

    assert held(first) == "Handwritten digits" and kept.read_bytes() == first
    assert held(second) == "Digits" and held(first) == "Digits" and kept.read_bytes() == second
    assert held(signed(title="Said otherwise", revision=2)) == "Digits"
    kept.write_bytes(second[:-9])
    assert held(first) == "Handwritten digits" and kept.read_bytes() == first
    assert newest(tmp_path, manifests.load("digits"), b"") == manifests.load("digits")
    assert setting_of(tmp_path, decoded(first)) == str(kept) and kept.read_bytes() == first


def test_a_run_that_is_named_like_another_one_s_id_leaves_that_its_folder(tmp_path: Path) -> None:
    digits, renamed = manifests.load("digits"), list[str]()
    named_like_it = msgspec.structs.replace(digits, run=digits.run_id)
    theirs = tmp_path / RUNS / digits.run_id
    theirs.mkdir(parents=True)

    def rename(old: str, new: str) -> None:
        renamed.append(old)

    take_over(tmp_path, named_like_it, rename)
    assert theirs.is_dir() and not (tmp_path / RUNS / named_like_it.run_id).exists() and not renamed
    theirs.rename(tmp_path / RUNS / "digits")  # as an older Hearth has left it
    take_over(tmp_path, digits, rename)
    assert theirs.is_dir() and renamed == ["digits"]


def test_the_peers_of_a_link_are_known_at_the_next_start(tmp_path: Path) -> None:
    peer, files = "ab" * 32 + "@127.0.0.1:4401", Files(tmp_path)
    run = decoded(signed())
    Kept(files, None).join(run.run_id, 2, (peer,))
    files.flush()
    again = Kept(Files(tmp_path), None)
    again.weigh(run.run_id, 3)
    assert again.met(run).bootstrap == (peer,) and again.weights == {run.run_id: 3}
    assert again.met(manifests.load("digits")).bootstrap == ()


async def test_a_run_that_is_joined_later_is_met_through_the_peers_that_it_names(tmp_path: Path) -> None:
    options = NetworkOptions(("127.0.0.1:0",), lan=False)
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
    async with network_of(tmp_path / "there", options) as there, network_of(tmp_path / "here", options) as here:
        run = msgspec.structs.replace(manifests.load("digits"), bootstrap=(address_text(there.node.address()),))
        files = run_files(tmp_path, tmp_path / "run", grid=Grid(run.run, run.model.layers, run.model.grid))
        compute = supervisor(run, tmp_path / "run", files)
        here.swarm(run, compute, files, StateRoom(compute.hosted, files))
        await until(lambda: here.dht.contacts(), "the peer of the manifest")
