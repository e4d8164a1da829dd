"""The disk space for all of Hearth's files: what counts, what goes first, what stays, what compute is given."""

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
import torch

from core.contracts import manifest
from core.contracts.errors import CheckpointError
from core.contracts.files import PartFile
from core.contracts.notices import notice
from core.contracts.status import ExpertStatus
from core.experts.grid import Grid, Uid
from core.logs import Ring
from core.runtime.part_files import Part, unpack
from core.store import quota, soundness
from core.store.checkpoint_files import is_whole, manifests, newest_states
from core.store.checkpoints import KEPT, CheckpointStore
from core.store.disk_use import look_through
from core.store.needs import STAGES, Wait
from core.store.quota import HEADROOM
from core.store.run_files import RunFiles
from core.swarm.hosted import HostedExperts
from core.swarm.state_room import StateRoom
from core.worker.peer import Peer
from tests.disks import files_of, fill, used, working
from tests.experts import pack

KB = 1 << 10
NAMES = ("digits.0.0.1", "digits.1.0.1", "trunk")


def checkpoints(folder: Path, run: str = "digits") -> Path:
    return folder / "runs" / run / "checkpoints"


async def save(folder: Path, *steps: int, run: str = "digits", names: Iterable[str] = NAMES) -> None:
    """States of 64 KB and a header."""
    store = CheckpointStore(checkpoints(folder, run), run, keeps_all=True)
    for step in steps:
        parts = {name: Part({"w": torch.full((16 * KB,), float(step))}, step) for name in names}
        await store.save(step, step, parts)


def hosting(files: RunFiles, *uids: str) -> None:
    """Compute has these, and there was room for the first states of all."""
    files.hosted.experts = [ExpertStatus(uid, 0, 0) for uid in uids]
    files.quota.promise(files, uids)


async def test_everything_counts_once_however_many_names_it_has(tmp_path: Path) -> None:
    await save(tmp_path, 1, 2)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "hearth.log").write_bytes(bytes(100 * KB))
    for path in [*checkpoints(tmp_path).glob("*.safetensors")]:
        os.link(path, tmp_path / path.name)
    files = files_of(tmp_path)
    space = files.quota
    await space.look()
    assert 6 * 64 * KB < space.used <= used(tmp_path) <= space.used + 4 * KB
    assert space.used < 7 * 64 * KB + 200 * KB


async def test_a_gpu_pack_counts_for_nothing(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    await files.quota.look()
    before = files.quota.used
    (tmp_path / "runtimes" / "0123456789abcdef").mkdir(parents=True)
    (tmp_path / "runtimes" / "0123456789abcdef" / "libtorch.so").write_bytes(bytes(1000 * KB))
    await files.quota.look()
    assert files.quota.used == before


def test_a_folder_that_vanishes_while_it_is_measured_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").write_bytes(bytes(8192))
    (tmp_path / "gone" / "deeper").mkdir(parents=True)
    scandir = os.scandir

    def vanishing(path: str) -> object:
        if Path(path).name == "deeper":
            raise FileNotFoundError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert look_through(tmp_path, [], {})[0].total >= 8192


async def test_a_slow_disk_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some").write_bytes(bytes(8192))
    spins, lstat = threading.Event(), Path.lstat

    def slow(path: Path) -> os.stat_result:
        if not spins.wait(60):
            raise OSError("It never spun up.")
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", slow)
    files = files_of(tmp_path)
    space = files.quota
    looking = asyncio.create_task(space.look())
    for _ in range(100):  # the loop goes on
        await asyncio.sleep(0)
    assert not looking.done() and space.used == 0
    spins.set()
    await looking
    assert space.used >= 8192


async def test_a_save_does_not_wait_until_large_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of them are whole is found out before older states go, and takes long on a slow disk."""
    await save(tmp_path, 1, 2, 3)
    files, go_on = files_of(tmp_path), threading.Event()
    files.hosted.computes = True

    def read_slowly(folder: Path, file: PartFile) -> bool:
        assert go_on.wait(60)
        return is_whole(folder, file)

    monkeypatch.setattr(soundness, "is_whole", read_slowly)
    monkeypatch.setattr(quota, "CHECK_S", 0.01)
    files.quota.cap_bytes = 0
    looking = asyncio.create_task(files.quota.look())
    assert await files.quota.grant(files, NAMES[0], 64 * KB, 3 * 64 * KB, True) == 64 * KB
    assert not looking.done() and len(manifests(checkpoints(tmp_path))) == 3, "nothing goes before that is known"
    go_on.set()
    await looking
    assert len(manifests(checkpoints(tmp_path))) == 1


async def test_what_was_never_finished_goes_then_older_checkpoints_and_never_the_newest(tmp_path: Path) -> None:
    await save(tmp_path, 1, 2, 3)
    await save(tmp_path, 1, 2, run="other", names=["other.0.0.1"])
    stray = checkpoints(tmp_path) / f"{'0' * 64}.safetensors"
    stray.write_bytes(bytes(64 * KB))  # of a save that a crash broke off
    files, kept = files_of(tmp_path), newest_states(checkpoints(tmp_path))
    space = files.quota
    await fill(files)
    await files.quota.grant(files, NAMES[0], 64 * KB, working(files) + 60 * KB, True)
    assert not stray.exists() and len(manifests(checkpoints(tmp_path))) == 3
    await files.quota.grant(files, NAMES[0], 64 * KB, working(files) + 60 * KB, True)
    assert len(manifests(checkpoints(tmp_path))) == 3  # that was enough
    files.saved([])
    space.cap_bytes = 0
    await space.look()
    assert [len(manifests(checkpoints(tmp_path, run))) for run in ("digits", "other")] == [1, 1]
    assert newest_states(checkpoints(tmp_path)) == kept and set(kept) == set(NAMES)
    assert len(newest_states(checkpoints(tmp_path, "other"))) == 1 and space.full
    space.cap_bytes = space.used + HEADROOM
    await space.look()
    assert not space.full


async def test_of_the_copies_of_another_run_the_older_ones_go(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "other" / "blobs"
    folder.mkdir(parents=True)
    kept = []
    for part, version in (("other.0.0.1", 1), ("other.0.0.1", 2), ("other.0.0.2", 1), ("trunk", 3), ("trunk", 4)):
        data = pack("other", part, Part({"w": torch.full((KB,), float(version))}, version))
        path = folder / f"{hashlib.sha256(data).hexdigest()}.safetensors"
        path.write_bytes(data)
        kept.append(path)
    kept[4].write_bytes(bytes(kept[4].stat().st_size))  # damaged: the one before it stays
    await files_of(tmp_path, cap_bytes=0).quota.look()
    assert [path.exists() for path in kept] == [False, True, True, True, True]


async def test_an_older_state_stays_where_the_newest_is_damaged(tmp_path: Path) -> None:
    await save(tmp_path, 1, 2)
    newest = newest_states(checkpoints(tmp_path))[NAMES[0]]
    path = checkpoints(tmp_path) / f"{newest.sha256}.safetensors"
    path.write_bytes(bytes(newest.size))
    files = files_of(tmp_path, cap_bytes=0)
    space = files.quota
    await space.look()
    assert len(manifests(checkpoints(tmp_path))) == 2
    got: dict[str, Part] = {}
    CheckpointStore(checkpoints(tmp_path), "digits").restore(
        {NAMES[0]: lambda data: got.update({NAMES[0]: unpack(data)})}
    )
    assert got[NAMES[0]].version == 1


async def test_files_of_a_save_that_goes_on_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await save(tmp_path, 1)
    written = checkpoints(tmp_path) / f"{'0' * 64}.safetensors"
    written.write_bytes(bytes(64 * KB))
    files = files_of(tmp_path, cap_bytes=0)
    space = files.quota
    files.hosted.computes = True
    await files.quota.grant(files, NAMES[0], 64 * KB, 64 * KB, True)
    await space.look()
    assert written.exists()


async def test_compute_gets_what_is_left_and_one_file_at_least_in_the_place_of_another(tmp_path: Path) -> None:
    await save(tmp_path, 1)
    files = files_of(tmp_path)
    space = files.quota
    await fill(files, left=100 * KB)
    free = 100 * KB + working(files)
    assert await files.quota.grant(files, NAMES[0], 64 * KB, 10**9, False) == free
    with pytest.raises(CheckpointError, match="no room"):  # that is compute's now
        async with space.hold(tmp_path / "file", 64 * KB):
            pass
    files.saved([])
    async with space.hold(tmp_path / "file", 64 * KB):
        assert await files.quota.grant(files, NAMES[0], 64 * KB, 10**9, True) == free - 64 * KB
    space.cap_bytes = HEADROOM
    assert await files.quota.grant(files, NAMES[0], 64 * KB, 10**9, False) == 0
    assert await files.quota.grant(files, NAMES[0], 64 * KB, 10**9, True) == 64 * KB


async def test_a_checkpoint_is_saved_in_stages_where_there_is_no_room_for_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"digits.0.0.{n}" for n in range(4)] + [f"digits.1.0.{n}" for n in range(4)]
    await save(tmp_path, *range(1, KEPT + 1), names=names)
    files = files_of(tmp_path)
    space = files.quota
    space.cap_bytes = 0
    await space.look()
    await fill(files)
    files.hosted.computes = True
    store, stages, most = CheckpointStore(checkpoints(tmp_path), "digits"), list[int](), 0

    async def room(part: str, needed: int, wanted: int, superseded: bool) -> int:
        nonlocal most
        most = max(most, used(tmp_path))
        return await files.quota.grant(files, part, needed, wanted, superseded)

    for step in (11, 12):
        parts = {name: Part({"w": torch.full((16 * KB,), float(step))}, step) for name in names}
        saved = await store.save(step, step, parts, room, lambda stage: stages.append(stage.step))
        most = max(most, used(tmp_path))
        assert {blob.version for blob in saved.parts.values()} == {step}
    assert len(stages) >= 2 * STAGES // 2 and most <= space.cap_bytes - HEADROOM + 16 * KB
    assert {blob.version for blob in newest_states(checkpoints(tmp_path)).values()} == {12}


async def test_experts_whose_first_states_do_not_fit_are_parked_and_come_back(tmp_path: Path) -> None:
    await save(tmp_path, 1)
    files = files_of(tmp_path)
    space, hosted = files.quota, files.hosted
    assert isinstance(hosted, HostedExperts)
    room = StateRoom(hosted, files)
    hosting(files, NAMES[0], NAMES[1], *(f"digits.0.1.{n}" for n in range(4)), *(f"digits.1.1.{n}" for n in range(4)))
    assert not room.admit()
    await fill(files, left=2 * 100 * KB)
    await space.look()
    surplus = room.admit()
    assert len(surplus) == 6 and {uid.layer for uid in surplus} == {0, 1} and room.most(32) == 4
    assert room.notes == [notice("disk.limits_experts", n=4, most=space.cap_bytes)]
    hosting(files, NAMES[0], *(f"digits.{layer}.1.3" for layer in (0, 1)))
    hosted.parked = frozenset([Uid.parse(NAMES[1]), *surplus])
    assert not room.admit() and room.notes
    assert room.take_back([Uid.parse(NAMES[1]), *surplus], 9) == [Uid.parse(NAMES[1])]
    space.cap_bytes = 1 << 30
    await space.look()
    assert room.take_back([*surplus, Uid.parse(NAMES[1])], 9) == [Uid.parse(NAMES[1]), *sorted(surplus)]
    assert not room.admit() and not room.notes


async def test_the_first_states_of_experts_go_before_copies_for_others(tmp_path: Path) -> None:
    await save(tmp_path, 1)
    files = files_of(tmp_path)
    space = files.quota
    hosting(files, NAMES[0], "digits.0.1.1")
    await fill(files, left=80 * KB)
    with pytest.raises(CheckpointError, match="no room"):
        async with space.hold(tmp_path / "copy", 64 * KB):
            pass
    hosting(files, NAMES[0])
    async with space.hold(tmp_path / "copy", 64 * KB):
        pass


async def test_all_runs_of_a_pc_share_one_space(tmp_path: Path) -> None:
    await save(tmp_path, 1, 2)
    await save(tmp_path, 1, 2, run="other", names=["other.0.0.1"])
    digits = files_of(tmp_path)
    space, grid = digits.quota, Grid("other", 2, (4, 4))
    other = RunFiles(tmp_path / "runs" / "other", grid, HostedExperts(grid), space)
    for files, run in ((digits, "digits"), (other, "other")):
        assert len(manifests(checkpoints(tmp_path, run))) == 2
        files.hosted.computes = True
    space.cap_bytes = 0
    await space.look()
    assert [len(manifests(checkpoints(tmp_path, run))) for run in ("digits", "other")] == [1, 1] and space.full
    other.shared, other.hosted.experts = True, [ExpertStatus("other.0.0.1", 1, 1)]
    await space.look()
    assert not space.full, "the experts of one of the runs may be left to others"

    await fill(digits, left=100 * KB)
    space.cap_bytes += working(other)
    await space.look()
    hosting(digits, "digits.0.1.1")
    with pytest.raises(CheckpointError, match="no room"):  # an expert of one run waits for its first state
        async with space.hold(other.folder / "copy", 64 * KB):
            pass
    hosting(digits)
    async with space.hold(other.folder / "copy", 64 * KB):
        pass

    free = 100 * KB + working(digits) + working(other)
    most = 64 * KB + working(digits)
    assert await space.grant(digits, NAMES[0], 64 * KB, most, False) == most
    assert await space.grant(other, "other.0.0.1", 64 * KB, free, False) == free - most, (
        "what one was granted is not the other's"
    )
    digits.saved([])
    assert await space.grant(other, "other.0.0.1", 64 * KB, free, False) == free - working(digits), (
        "each run can always replace its states"
    )


def two_runs(folder: Path) -> tuple[RunFiles, RunFiles]:
    """Both with 16 experts that have no state yet, each of which takes 64 KB and a header."""
    digits, grid = files_of(folder), Grid("other", 2, (4, 2))
    other = RunFiles(folder / "runs" / "other", grid, HostedExperts(grid), digits.quota)
    for files, name in ((digits, "digits"), (other, "other")):
        uids = Grid(name, 2, (4, 2)).uids()
        files.hosted.experts = [ExpertStatus(str(uid), 0, 0) for uid in uids]
        assert isinstance(files.hosted, HostedExperts)
        files.hosted.expert_bytes = 68 * KB
        files.hosted.computes = True
    return digits, other


def room_of(files: RunFiles) -> StateRoom:
    assert isinstance(files.hosted, HostedExperts)
    return StateRoom(files.hosted, files)


async def test_two_runs_that_begin_together_have_the_room_once(tmp_path: Path) -> None:
    """Whoever is admitted first has it; whatever is saved then, and whenever, the space holds."""
    digits, other = two_runs(tmp_path)
    space = digits.quota
    await save(tmp_path, 1, names=["trunk"])
    await save(tmp_path, 1, run="other", names=["trunk"])
    await space.look()
    space.cap_bytes = space.used + HEADROOM + working(digits) + working(other) + 20 * 80 * KB
    await space.look()
    assert len(room_of(digits).admit()) == 0
    parked = room_of(other).admit()
    assert len(parked) == 12, "four are left of twenty"
    assert room_of(other).most(16) == 4 and room_of(digits).most(16) == 16
    assert isinstance(other.hosted, HostedExperts)
    other.hosted.park(parked)
    assert not room_of(other).take_back(parked, 12), "what was promised to one is not the other's"

    most = 0

    async def train(files: RunFiles, run: str) -> None:
        nonlocal most
        store = CheckpointStore(files.checkpoints, run)

        async def room(part: str, needed: int, wanted: int, superseded: bool) -> int:
            nonlocal most
            most = max(most, used(tmp_path))
            return await space.grant(files, part, needed, wanted, superseded)

        names = [*(expert.uid for expert in files.hosted.experts), "trunk"]
        for step in range(2, 6):
            parts = {name: Part({"w": torch.full((16 * KB,), float(step))}, step) for name in names}
            saved = await store.save(step, step, parts, room, lambda stage: files.saved([*stage.parts.values()]))
            files.saved([*saved.parts.values()])
            most = max(most, used(tmp_path))
            await space.look()
            assert saved.parts["trunk"].version == step

    # those that are parked train until they are gone, which takes long here
    await asyncio.gather(train(digits, "digits"), train(other, "other"))
    assert most <= space.cap_bytes, (most - space.cap_bytes) / KB
    assert len(newest_states(checkpoints(tmp_path))) == 17 and not space.full
    states = newest_states(checkpoints(tmp_path, "other"))
    assert {expert.uid for expert in other.hosted.experts} - {*map(str, parked)} <= states.keys()
    assert {file.version for file in states.values()} == {5}


async def test_a_run_without_room_waits_alone_until_there_is_some(tmp_path: Path) -> None:
    digits, other = two_runs(tmp_path)
    space, state = digits.quota, 68 * KB + 68 * KB // STAGES
    await save(tmp_path, 1, names=["trunk"])
    await space.look()
    space.cap_bytes = space.used + HEADROOM + working(digits) + working(other) + 17 * state
    await space.look()
    assert not room_of(digits).admit(), "the first one has room for all of its experts"
    assert len(room_of(other).admit()) == 14, "each of the other's layers keeps one"
    parked = {*map(str, room_of(digits).admit())}
    assert len(parked) == 1, "of what has no state yet one leaves its room to the other"
    assert not space.waiting

    hosting(other, "other.0.0.0", "other.1.0.0")
    room_of(other).admit()
    hosting(digits, *(expert.uid for expert in digits.hosted.experts if expert.uid not in parked))
    await save(tmp_path, 2, names=[*(expert.uid for expert in digits.hosted.experts), "trunk"])
    await space.look()
    space.cap_bytes = space.used + HEADROOM + working(digits) + 2 * state
    await space.look()
    needed = 2 * state + working(other)
    assert space.waiting == {other.folder: Wait(needed, working(other))}, "states that are there stay"
    assert not space.full and space.room == 2 * state, "nothing is kept for who waits"
    assert not room_of(digits).admit() and not room_of(other).admit()
    assert await space.grant(digits, "trunk", 4 * KB, 10**9, True) == 2 * state + working(digits)
    space.end_save(digits)

    space.cap_bytes += working(other) - 1
    await space.look()
    assert space.waiting == {other.folder: Wait(needed, 1)}
    space.cap_bytes += 1
    await space.look()
    assert not space.waiting and space.room == 0, "now it is the other's"

    space.leave(digits)
    space.cap_bytes = space.used + HEADROOM + working(other)
    await space.look()
    assert space.waiting.keys() == {other.folder} and space.full, "nobody is left who could go on"


async def test_who_waits_for_room_is_told_why_and_the_other_run_computes(tmp_path: Path) -> None:
    digits = manifest.load("digits")
    peer = Peer(tmp_path, digits.run, Ring())
    try:
        large = peer.runs._add(msgspec.structs.replace(digits, run="large"), 1)
        large.hosted.experts = [ExpertStatus("large.0.0.0", 0, 0)]
        large.hosted.expert_bytes = 64 << 30
        await peer._quota.look()
        large.room.admit()
        peer.runs.want(True, 0.0)
        assert [run.compute.wanted for run in peer.runs] == [True, False]
        wait = notice("disk.run_waits", needed=(64 << 30) * 9 // 8 * 2, most=peer._quota.cap_bytes)
        status = peer.status(large.id)
        assert [run.waits for run in status.runs] == [None, wait]
        assert notice("run.says", run=digits.title, what=wait) in status.attention
        names_it = notice("access.no_token", run=digits.title)
        large.compute.figures.notes = (names_it,)
        assert names_it in peer.status(large.id).attention, "what names the run itself is not headed by it again"
        told = {row.rule: row for row in status.why}["own_disk"]
        assert (told.live, told.stops) == (wait, ("training",))
        assert not {row.rule: row for row in peer.status().why}["own_disk"].stops, "the first run has room"

        peer._quota.cap_bytes = 1 << 40
        await peer._quota.look()
        peer.runs.want(True, 0.0)
        assert all(run.compute.wanted for run in peer.runs) and peer.status().runs[1].waits is None
    finally:
        peer.policy.close()
        peer.ledger.close()


async def test_nothing_is_parked_or_removed_in_vain_for_a_run_that_is_too_large(tmp_path: Path) -> None:
    digits, other = two_runs(tmp_path)
    space = digits.quota
    other.hosted.expert_bytes = 68 << 20
    await save(tmp_path, 1, 2, names=["trunk", "digits.0.0.0"])
    await save(tmp_path, 1, run="other", names=["trunk"])
    await space.look()
    space.cap_bytes = space.used + HEADROOM + working(digits) + 10 * 80 * KB
    await space.look()
    few = room_of(digits).admit()
    hosting(digits, *({expert.uid for expert in digits.hosted.experts} - {*map(str, few)}))
    for _ in range(2):
        assert not room_of(digits).admit(), "also before the other has asked for room"
        assert len(room_of(other).admit()) == 14
        await space.look()
        assert space.waiting.keys() == {other.folder}
    assert len(manifests(checkpoints(tmp_path))) == 2


async def test_older_states_go_for_a_run_that_waits(tmp_path: Path) -> None:
    digits, other = two_runs(tmp_path)
    space = digits.quota
    await save(tmp_path, 1, 2)
    hosting(digits, *NAMES[:2])
    hosting(other, "other.0.0.0", "other.1.0.0")
    room_of(other).admit()
    await space.look()
    space.cap_bytes = space.used + HEADROOM + working(digits) + working(other) + 2 * 68 * KB
    await space.look()
    assert not space.waiting and len(manifests(checkpoints(tmp_path))) == 1


async def test_one_state_at_a_time_passes_the_limit_and_only_in_the_place_of_another(tmp_path: Path) -> None:
    """As after the user has allowed less than there is."""
    digits, other = two_runs(tmp_path)
    space, mine, theirs = digits.quota, "digits.0.0.0", "other.0.0.0"
    await save(tmp_path, 1, names=[mine])
    await save(tmp_path, 1, run="other", names=[theirs])
    space.cap_bytes = HEADROOM
    assert await space.grant(digits, "digits.0.0.1", 64 * KB, 10**9, True) == 0, "a first state would stay"
    assert await space.grant(digits, mine, 64 * KB, 10**9, True) == 64 * KB
    waiting = asyncio.create_task(space.grant(other, theirs, 64 * KB, 10**9, True))
    await space.look()
    assert await space.grant(other, "other.0.0.1", 64 * KB, 10**9, True) == 0, "that needs not wait"
    assert not waiting.done()
    digits.saved([])
    assert await waiting == 64 * KB
    waiting = asyncio.create_task(space.grant(digits, mine, 64 * KB, 10**9, True))
    await space.look()
    assert not waiting.done()
    space.end_save(other)  # its process has died
    assert await waiting == 64 * KB


async def test_what_a_save_has_written_of_its_grant_is_not_counted_twice(tmp_path: Path) -> None:
    await save(tmp_path, 1)
    await save(tmp_path, 1, run="other", names=["other.0.0.1"])
    digits, other = two_runs(tmp_path)
    hosting(digits)
    hosting(other)
    await fill(digits, left=200 * KB)
    space = digits.quota
    space.cap_bytes += working(other)
    free = 200 * KB + working(digits)
    assert await space.grant(digits, NAMES[0], 64 * KB, free, True) == free
    for written in ("0" * 64, "1" * 64):
        (checkpoints(tmp_path) / f"{written}.safetensors").write_bytes(bytes(48 * KB))
    assert await space.grant(other, "trunk", 4 * KB, 10**9, False) == working(other)
    await space.look()
    assert space.room == 200 * KB, "it goes when what it supersedes can go"
    space.end_save(digits)
    await space.look()
    assert space.room == 104 * KB


async def test_a_run_may_be_joined_while_the_files_are_looked_through(tmp_path: Path) -> None:
    await save(tmp_path, 1, 2)
    digits, grid = files_of(tmp_path), Grid("other", 2, (4, 4))
    looking = asyncio.create_task(digits.quota.look())
    await asyncio.sleep(0)
    other = RunFiles(tmp_path / "runs" / "other", grid, HostedExperts(grid), digits.quota)
    await looking
    assert digits.quota.looked.keys() == {digits.folder}
    await digits.quota.look()
    assert digits.quota.looked.keys() == {digits.folder, other.folder}


async def test_a_run_that_was_left_keeps_its_newest_states(tmp_path: Path) -> None:
    await save(tmp_path, 1, 2)
    files = files_of(tmp_path)
    await files.quota.grant(files, NAMES[0], 64 * KB, 1 << 20, False)
    files.quota.leave(files)
    files.quota.cap_bytes = 0
    await files.quota.look()
    assert len(manifests(checkpoints(tmp_path))) == 1 and set(newest_states(checkpoints(tmp_path))) == set(NAMES)
