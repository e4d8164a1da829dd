"""Checkpoint files on this disk and their copies elsewhere: what is kept, what goes, what is fetched from whom."""

import asyncio
import contextlib
import errno
import hashlib
import math
import os
import shutil
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import torch

from core.contracts.errors import CheckpointError, NetworkError
from core.contracts.files import PartFile, SignedFile
from core.contracts.hosting import FileKept, FileRead, KeepFile, ReadFile
from core.contracts.net import READ_FILE, of_run
from core.experts.grid import Uid
from core.identity import PeerId
from core.net.method import Context
from core.net.rpc import RpcNode
from core.runtime.part_files import Part, read
from core.store.checkpoints import CheckpointStore
from core.store.part_header import describe
from core.store.quota import HEADROOM
from core.store.run_files import KEEPERS, RunFiles
from core.swarm import fetching, replication
from core.swarm.fetching import fetch_file
from core.swarm.hosted import HostedExperts
from core.swarm.members import Hosted
from core.swarm.replication import Copies, Copy
from core.swarm.signatures import Signatures
from tests.dht_peers import Peer, peers, until
from tests.disks import GRID, ROOMY, files_of, fill, used
from tests.experts import pack

KEEP = of_run("file.keep", "digits")
ONE, TWO = "digits.0.1.3", "digits.1.0.0"
NUMBERS = 500


def state(part: str, version: int, numbers: int = NUMBERS) -> bytes:
    return pack("digits", part, Part({"weights": torch.full((numbers,), float(version))}, version))


def checkpoint(folder: Path, part: str, version: int, numbers: int = NUMBERS) -> Path:
    """A file as compute writes it."""
    data = state(part, version, numbers)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()}.safetensors"
    path.write_bytes(data)
    return path


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return files_of(tmp_path)


async def keep(files: RunFiles, part: str, version: int) -> PartFile | None:
    path = checkpoint(files.checkpoints, part, version)
    kept = await files.keep(path.stem)
    path.unlink()  # newer checkpoints have come
    return kept


async def test_what_is_kept_is_found_again_at_the_next_start(files: RunFiles, tmp_path: Path) -> None:
    kept = await keep(files, ONE, 3)
    assert kept is not None and (kept.part, kept.version) == (ONE, 3)
    again = files_of(tmp_path)
    again.load()
    assert again.newest(ONE) == kept and again.newest(TWO) is None
    assert read("digits", ONE, again.path(kept.sha256)).version == 3


async def test_only_the_newest_two_states_of_a_part_stay(files: RunFiles, tmp_path: Path) -> None:
    kept = [await keep(files, ONE, version) for version in (1, 2, 3)]
    assert [blob is not None and files.path(blob.sha256).exists() for blob in kept] == [False, True, True]
    assert files.newest(ONE) == kept[2]


async def test_a_damaged_file_is_set_aside_and_the_older_state_serves(files: RunFiles, tmp_path: Path) -> None:
    old, new = [await keep(files, ONE, version) for version in (1, 2)]
    assert old and new
    files.path(new.sha256).unlink()
    files.path(new.sha256).write_bytes(b"x" * new.size)
    again = files_of(tmp_path)
    again.load()
    assert again.newest(ONE) == old
    assert files.path(new.sha256).with_name(f"{new.sha256}.safetensors.bad").exists()


@pytest.mark.parametrize("part", ["text.0.1.3", "digits.9.1.3", "../../etc"])
async def test_a_file_of_another_run_is_not_kept(files: RunFiles, tmp_path: Path, part: str) -> None:
    assert await keep(files, part, 1) is None and not files.all_newest()


async def test_least_needed_goes_first_and_never_the_only_newest_copy(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    first, second, third = [await keep(files, *state) for state in ((ONE, 1), (ONE, 2), (TWO, 5))]
    assert first and second and third

    async def fits() -> bool:
        await fill(files)
        with contextlib.suppress(CheckpointError):
            async with files.quota.hold(tmp_path / "newcomer", len(state(ONE, 1))):
                return True
        return False

    assert await fits() and files.get(first.sha256) is None and not files.path(first.sha256).exists()  # superseded
    assert not await fits() and files.newest(ONE) == second
    files.holders(TWO).update({f"peer {n}": 5 for n in range(KEEPERS - 1)})
    assert not await fits() and files.newest(TWO) == third  # too few copies elsewhere
    files.holders(TWO)["another"] = 6
    assert await fits() and files.newest(TWO) is None and files.newest(ONE) == second


async def test_a_full_disk_costs_nothing_but_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(tmp_path)
    await files.quota.look()
    kept = await keep(files, ONE, 1)

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(shutil, "copyfile", full)
    assert await keep(files, ONE, 2) is None
    assert files.newest(ONE) == kept


# Fetching

Read = Callable[[ReadFile, bytes, Context], tuple[FileRead, bytes]]


@asynccontextmanager
async def giving(count: int, *reads: Read) -> AsyncIterator[tuple[RpcNode, list[PeerId]]]:
    """One who fetches, and peers that answer as they are told."""
    async with peers(count + 1) as (fetcher, *givers):
        for giver, answer in zip(givers, reads, strict=True):
            giver.rpc.register(of_run(READ_FILE, "digits"), ReadFile, answer)
        yield fetcher.rpc, [giver.id for giver in givers]


class Giver:
    """Gives a file until it has given so many bytes."""

    def __init__(self, data: bytes, limit: int | None = None) -> None:
        self.data, self.limit, self.given = data, limit, 0

    def __call__(self, request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
        if self.limit is not None and self.given >= self.limit:
            raise CheckpointError("gone")
        self.given += request.length
        return FileRead(len(self.data)), self.data[request.offset : request.offset + request.length]


DATA = bytes(range(256)) * 40
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "CHUNK", 1000)


async def test_a_fetch_goes_on_at_another_peer_where_one_breaks_off(tmp_path: Path) -> None:
    first, second = Giver(DATA, 4000), Giver(DATA)
    async with giving(2, first, second) as (node, ids):
        await fetch_file(node, "digits", SHA256, len(DATA), ids, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == DATA
    assert (first.given, second.given) == (4000, len(DATA) - 4000)


async def test_what_an_earlier_fetch_left_is_checked_and_not_fetched_again(tmp_path: Path) -> None:
    for left, given in ((DATA[:4000], len(DATA) - 4000), (DATA + b"more", len(DATA))):
        (tmp_path / "file").write_bytes(left)
        giver = Giver(DATA)
        async with giving(1, giver) as (node, ids):
            await fetch_file(node, "digits", SHA256, len(DATA), ids, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == DATA and giver.given == given


async def test_a_wrong_file_is_a_strike_and_the_next_peer_is_asked(tmp_path: Path) -> None:
    liar, honest = Giver(DATA[::-1]), Giver(DATA)
    async with giving(2, liar, honest) as (node, ids):
        await fetch_file(node, "digits", SHA256, len(DATA), ids, tmp_path / "file")
        assert node.bans.score(ids[0], 0.0) > 4.0 and node.bans.score(ids[1], 0.0) == 0.0
    assert (tmp_path / "file").read_bytes() == DATA


async def test_a_broken_off_lie_is_found_and_the_whole_is_asked_again(tmp_path: Path) -> None:
    liar, honest = Giver(DATA[::-1], 4000), Giver(DATA)
    async with giving(2, liar, honest) as (node, ids):
        await fetch_file(node, "digits", SHA256, len(DATA), ids, tmp_path / "file")
        assert node.bans.score(ids[1], 0.0) == 0.0
    assert (tmp_path / "file").read_bytes() == DATA


async def test_a_file_of_another_size_is_not_taken(tmp_path: Path) -> None:
    async with giving(1, Giver(DATA + b"more")) as (node, ids):
        with pytest.raises(NetworkError, match="No peer gave"):
            await fetch_file(node, "digits", SHA256, len(DATA), ids, tmp_path / "file")


async def test_where_others_may_be_faster_a_peer_below_the_pace_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "PACE_S", 0.0)
    slow, left = Giver(DATA), list[float]()

    def answer(request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
        left.append(context.deadline - time.monotonic())
        return slow(request, payload, context)

    async with giving(1, answer) as (node, ids):
        with pytest.raises(NetworkError, match="No peer gave"):
            await fetch_file(node, "digits", SHA256, len(DATA), ids, tmp_path / "file", least=math.inf)
        assert slow.given == 1000 and (tmp_path / "file").read_bytes() == DATA[:1000]
        assert left[0] <= fetching.SLOW_S < fetching.CHUNK_S, "nor is it waited for as long as usual"
        await fetch_file(node, "digits", SHA256, len(DATA), ids, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == DATA


# Copies


class Others:
    """The other members of the run, as a peer knows them."""

    def __init__(self) -> None:
        self.peers: list[PeerId] = []
        self.hosting: set[PeerId] = set()
        self.left: list[PeerId] = []

    def keepers(self, part: str) -> list[str]:
        return [peer.hex() for peer in self.peers]

    async def hosts(self, uids: Sequence[Uid]) -> dict[Uid, Hosted]:
        return {uid: Hosted({peer.hex(): 1 for peer in self.hosting}, self.left) for uid in uids}


class Place:
    """A peer with a disk."""

    def __init__(self, peer: Peer, folder: Path, cap_bytes: int = ROOMY) -> None:
        self.peer, self.folder = peer, folder / "runs" / "digits"
        self.files, self.others = files_of(folder, cap_bytes), Others()
        self.hosted = self.files.hosted
        assert isinstance(self.hosted, HostedExperts)
        self.copies = Copies("digits", self.files, self.hosted, self.others, peer.rpc, peer.dht, trains=True)

    def save(self, part: str, version: int) -> PartFile:
        """As compute does it."""
        path = checkpoint(self.files.checkpoints, part, version)
        file = describe("digits", path, path.stem)
        self.files.saved([file])
        return file

    async def saved(self, part: str, version: int) -> None:
        """As compute does it; a moment later there is a copy."""
        file = self.save(part, version)
        await until(lambda: self.files.get(file.sha256), "the copy here")

    def version(self, part: str) -> int | None:
        blob = self.files.newest(part)
        return blob.version if blob else None


@asynccontextmanager
async def places(tmp_path: Path, count: int, caps: dict[int, int] | None = None) -> AsyncIterator[list[Place]]:
    """Peers that know each other."""
    async with AsyncExitStack() as stack:
        made = [
            Place(peer, tmp_path / str(number), (caps or {}).get(number, ROOMY))
            for number, peer in enumerate(await stack.enter_async_context(peers(count)))
        ]
        for place in made:
            place.folder.mkdir(parents=True)
            place.others.peers = [other.peer.id for other in made if other is not place]
            await stack.enter_async_context(place.copies)
        yield made


async def test_two_others_keep_the_newest_state_and_say_so(tmp_path: Path) -> None:
    async with places(tmp_path, 4) as made:
        for version in (1, 2):
            made[0].save(ONE, version)
            await until(lambda v=version: [p.version(ONE) for p in made] == [v, v, v, None], "two copies")  # type: ignore[misc]

        async def told() -> bool:
            copies = (await made[3].copies.find([ONE])).get(ONE, [])
            return [copy.file.version for copy in copies] == [2, 2, 2]

        await until(told, "three records")
        path = (await made[3].copies.newest(ONE, (await made[3].copies.find([ONE]))[ONE]))[0]
        assert read("digits", ONE, path).version == 2


async def test_who_has_no_room_is_passed_over(tmp_path: Path) -> None:
    async with places(tmp_path, 4, {1: 100}) as made:
        made[0].save(ONE, 1)
        await until(lambda: [p.version(ONE) for p in made] == [1, None, 1, 1], "copies where there is room")


async def test_a_peer_that_leaves_hands_out_its_last_state(tmp_path: Path) -> None:
    async with places(tmp_path, 3) as made:
        made[0].save(ONE, 1)
        await made[0].copies.__aexit__(None, None, None)
        assert [place.version(ONE) for place in made] == [1, 1, 1]


async def test_a_peer_that_leaves_while_it_hands_out_finishes_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    async with places(tmp_path, 3) as made:
        read_at_once = made[0].files.read

        def read_slowly(sha256: str, offset: int, length: int) -> tuple[int, bytes]:
            begun.set()
            go_on.wait(60)
            return read_at_once(sha256, offset, length)

        monkeypatch.setattr(made[0].files, "read", read_slowly)
        made[0].save(ONE, 1)
        await until(begun.is_set, "the first copy on its way")
        leaving = asyncio.create_task(made[0].copies.__aexit__(None, None, None))
        await asyncio.sleep(0)
        go_on.set()
        await leaving
        assert [place.version(ONE) for place in made] == [1, 1, 1]


async def test_an_older_state_serves_where_the_newest_cannot_be_had(tmp_path: Path) -> None:
    async with places(tmp_path, 3) as made:
        made[0].save(ONE, 1)
        await until(lambda: made[1].version(ONE) == made[2].version(ONE) == 1, "copies")
        made[0].others.peers = []
        made[0].save(ONE, 2)

        async def told() -> bool:
            return any(copy.file.version == 2 for copy in (await made[1].copies.find([ONE])).get(ONE, []))

        await until(told, "the new record")
        newest = made[0].files.newest(ONE)
        assert newest is not None
        made[0].files.path(newest.sha256).unlink()
        path = (await made[1].copies.newest(ONE, (await made[1].copies.find([ONE]))[ONE]))[0]
        assert read("digits", ONE, path).version == 1


async def give(giver: Place, keeper: Place, part: str, version: int, told: str | None = None) -> FileKept:
    """Ask a peer to keep a state."""
    path = checkpoint(giver.folder, part, version)
    giver.files.share(path.stem, path)
    file = describe("digits", path, path.stem)
    request = KeepFile(giver.copies.signatures.given(msgspec.structs.replace(file, part=told or part)))
    reply, _ = await giver.peer.rpc.call(keeper.peer.id, KEEP, request, FileKept, deadline_s=10.0)
    return reply


async def test_a_stranger_cannot_have_the_host_s_states_pushed_out(tmp_path: Path) -> None:
    async with places(tmp_path, 3) as (host, keeper, stranger):
        keeper.others.hosting = {host.peer.id, stranger.peer.id}
        for version in (1, 2):
            assert (await give(host, keeper, ONE, version)).kept
        assert not (await give(stranger, keeper, ONE, 2**52)).kept
        keeper.others.hosting = set()
        assert not (await give(stranger, keeper, ONE, 5)).kept, "nobody hosts it just now"
        assert (await give(host, keeper, ONE, 3)).kept and keeper.version(ONE) == 3
        keeper.others.hosting = {stranger.peer.id}
        assert (await give(stranger, keeper, ONE, 4)).kept, "it has adopted the expert"
        keeper.others.hosting, keeper.others.left = set(), [host.peer.id]
        assert (await give(host, keeper, ONE, 6)).kept, "it was the host again, and hands out its last state"


async def test_who_trained_a_state_answers_for_it_wherever_it_is_kept(tmp_path: Path) -> None:
    async with places(tmp_path, 3) as (trainer, keeper, other):
        trainer.save(ONE, 1)
        await until(lambda: keeper.version(ONE) == other.version(ONE) == 1, "copies")
        file = keeper.files.newest(ONE)
        assert file

        async def told(by: Place) -> dict[PeerId, SignedFile | None]:
            copies = (await by.copies.find([ONE])).get(ONE, [])
            return {copy.peer: copy.signed for copy in copies}

        await until(lambda: told(other), "what is told")

        async def names_the_trainer() -> bool:
            signed = (await told(other)).get(keeper.peer.id)
            return signed is not None and signed.trainer == trainer.peer.id

        await until(names_the_trainer, "the keeper's record")

        # what a keeper makes of it is not believed
        mine, honest = keeper.copies.signatures, keeper.copies.signatures.told(file)
        assert other.copies.signatures.trainer(honest, keeper.peer.id) == trainer.peer.id
        further = msgspec.structs.replace(honest, version=7)
        for forged in (further, msgspec.structs.replace(mine.given(file), trainer=trainer.peer.id)):
            assert other.copies.signatures.trainer(forged, keeper.peer.id) is None
        for signed in (
            honest,
            further,
            SignedFile.of(file, b"", b""),
            msgspec.structs.replace(mine.given(file), version=7),
        ):
            reply, _ = await keeper.peer.rpc.call(other.peer.id, KEEP, KeepFile(signed), FileKept, deadline_s=10.0)
            assert not reply.kept and "signed" in reply.why

        # the trainer answers for it, unless it is no member, whose keys cost nothing
        copy = Copy(keeper.peer.id, file, honest)
        other.others.peers = [trainer.peer.id, keeper.peer.id]
        assert other.copies._who_answers_for(copy) == trainer.peer.id
        other.others.peers = [keeper.peer.id]
        assert other.copies._who_answers_for(copy) == keeper.peer.id

        # a keeper knows it after a restart as well, and answers for what it has no signature of
        await mine.save(keeper.files.get)
        again = Signatures("digits", keeper.peer.rpc.identity, mine._path)
        await again.load()
        assert again.told(file) == honest
        mine._path.write_bytes(b"rubbish")
        again = Signatures("digits", keeper.peer.rpc.identity, mine._path)
        await again.load()
        assert other.copies.signatures.trainer(again.told(file), keeper.peer.id) == keeper.peer.id


async def test_a_trainer_keeps_its_trunk_and_another_s_only_where_it_has_none(tmp_path: Path) -> None:
    async with places(tmp_path, 3) as (trainer, keeper, stranger):
        assert (await give(trainer, keeper, "trunk", 5)).kept
        assert not (await give(stranger, keeper, "trunk", 9)).kept and keeper.version("trunk") == 5
        await trainer.saved("trunk", 6)
        assert not (await give(stranger, trainer, "trunk", 9)).kept and trainer.version("trunk") == 6
        keeper.others.peers = [stranger.peer.id]
        assert (await give(stranger, keeper, "trunk", 9)).kept, "the first trainer has gone"


async def test_a_file_is_kept_as_what_it_is_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with places(tmp_path, 2) as (giver, keeper):
        await keeper.saved(TWO, 1)
        assert not (await give(giver, keeper, ONE, 7, told=TWO)).kept
        assert (await give(giver, keeper, ONE, 7)).kept
        assert not (await give(giver, keeper, ONE, 7, told=TWO)).kept
        assert keeper.version(TWO) == 1 and TWO in keeper.copies._own
        monkeypatch.setattr(replication, "HEADER_BYTES", 0)
        keeper.files.hosted.expert_bytes = 1000
        assert "too many" in (await give(giver, keeper, ONE, 8)).why


async def test_what_is_begun_and_never_finished_does_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "CHUNK", 10_000)
    async with places(tmp_path, 2) as (giver, keeper):
        await fill(keeper.files, left=100_000)
        for number in range(8):
            sha256 = hashlib.sha256(bytes([number])).hexdigest()
            giver.peer.rpc.register(of_run(READ_FILE, "digits"), ReadFile, Giver(bytes(40_000), 30_000))
            file = PartFile(f"digits.0.0.{number % 4}", 1, 0, sha256, 40_000)
            request = KeepFile(giver.copies.signatures.given(file))
            reply, _ = await giver.peer.rpc.call(keeper.peer.id, KEEP, request, FileKept, deadline_s=10.0)
            assert not reply.kept and "room" not in reply.why
        assert [*(keeper.folder / "blobs").iterdir()]
        assert used(tmp_path / "1") <= keeper.files.quota.cap_bytes - HEADROOM


async def test_a_full_keeper_takes_the_newer_state_in_the_place_of_the_older(tmp_path: Path) -> None:
    async with places(tmp_path, 2) as (giver, keeper):
        assert (await give(giver, keeper, ONE, 1)).kept
        await keeper.copies.caring.stop()  # small files grow into `HEADROOM`
        await fill(keeper.files)
        assert not (await give(giver, keeper, TWO, 1)).kept
        for version in (2, 3, 4):
            assert (await give(giver, keeper, ONE, version)).kept and keeper.version(ONE) == version
            assert used(tmp_path / "1") <= keeper.files.quota.cap_bytes


async def test_what_this_pc_trained_alone_is_given_to_others_when_it_joins(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        lone, other = (
            Place(peer, tmp_path / str(number)) for number, peer in enumerate(await stack.enter_async_context(peers(2)))
        )
        other.folder.mkdir(parents=True)
        parts = {ONE: Part({"weights": torch.ones(NUMBERS)}, 7), "trunk": Part({"weights": torch.ones(NUMBERS)}, 9)}
        await CheckpointStore(lone.folder / "checkpoints", "digits", keeps_all=True).save(9, 9, parts)
        lone.others.peers = [other.peer.id]
        for place in (other, lone):
            await stack.enter_async_context(place.copies)
        await until(lambda: other.version(ONE) == 7, "the copy")
        assert lone.version(ONE) == 7 and lone.version("trunk") is None


async def test_what_compute_could_not_use_is_set_aside_and_the_state_before_it_serves(tmp_path: Path) -> None:
    async with places(tmp_path, 2) as (giver, taker):
        await giver.saved(ONE, 2)
        await taker.saved(ONE, 1)
        bad = giver.files.newest(ONE)
        assert bad is not None
        copies = [Copy(giver.peer.id, bad)]
        path = (await taker.copies.newest(ONE, copies))[0]
        assert path.stem == bad.sha256
        taker.copies.reject(bad.sha256, "it holds NaN")
        path = (await taker.copies.newest(ONE, copies))[0]
        assert read("digits", ONE, path).version == 1
        assert not (await give(giver, taker, ONE, 2)).kept


async def test_untrained_experts_are_not_copied(tmp_path: Path) -> None:
    async with places(tmp_path, 2) as made:
        made[0].save(ONE, 0)
        await made[0].saved(TWO, 1)
        assert made[0].version(ONE) is None


async def test_a_slow_disk_without_links_holds_up_nobody_who_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, copy_at_once = threading.Event(), threading.Event(), shutil.copyfile

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    def copy_slowly(source: Path, target: Path) -> Path:
        begun.set()
        assert go_on.wait(60)
        return copy_at_once(source, target)

    async with places(tmp_path, 1) as (place,):
        await place.files.quota.look()
        monkeypatch.setattr(os, "link", no_links)
        monkeypatch.setattr(shutil, "copyfile", copy_slowly)
        place.save(ONE, 1)
        await until(begun.is_set, "a copy that has begun")
        assert place.version(ONE) is None and place.copies.is_coming(ONE)
        place.save(ONE, 2)
        go_on.set()
        await until(lambda: place.version(ONE) == 2, "the newer one, too")
        assert not place.copies.is_coming(ONE)


async def test_what_is_being_fetched_ends_with_the_run_and_its_successor_goes_on_with_it(tmp_path: Path) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()
    async with places(tmp_path, 2) as (giver, taker):
        path = checkpoint(giver.folder, ONE, 1)
        copy = Copy(giver.peer.id, describe("digits", path, path.stem))

        async def read(request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
            if request.offset:
                asked.set()
                await go_on.wait()
            data = path.read_bytes()
            return FileRead(len(data)), data[request.offset : request.offset + request.length]

        giver.peer.rpc.register(of_run(READ_FILE, "digits"), ReadFile, read)
        first = asyncio.create_task(taker.copies.newest(ONE, [copy]))
        await asked.wait()
        partial = taker.files.partial(path.stem)
        await taker.copies.__aexit__()
        assert not taker.files.quota._coming
        assert await first == [] and partial.stat().st_size == 1000
        asked.clear()
        hosted, peer = HostedExperts(GRID), taker.peer
        after = Copies("digits", taker.files, hosted, taker.others, peer.rpc, peer.dht, trains=True)
        second = asyncio.create_task(after.newest(ONE, [copy]))
        await asked.wait()
        go_on.set()
        assert await second == [taker.files.path(path.stem)]


async def test_a_file_that_comes_already_is_waited_for(tmp_path: Path) -> None:
    files, order = files_of(tmp_path), list[str]()
    await files.quota.look()
    path = files.partial("ab" * 32)

    async def again() -> None:
        async with files.quota.hold(path, 1000):
            order.append("second")

    async with files.quota.hold(path, 1000):
        other = asyncio.create_task(again())
        for name in ("cd", "ef"):  # who asks waits for who asked before: then the other one has been answered
            async with files.quota.hold(files.partial(name * 32), 1000):
                pass
        order.append("first")
    await other
    assert order == ["first", "second"]
