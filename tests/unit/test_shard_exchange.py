"""A run's data among peers: the rarest shards come first, the most replicated go first, who lies is banned."""

import contextlib
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from core.contracts import manifest as manifests
from core.contracts.errors import CheckpointError, DataError
from core.contracts.hosting import FileRead, ReadFile
from core.contracts.manifest import Manifest, Shard, ShardList
from core.contracts.net import READ_FILE, of_run
from core.contracts.pipe import Reading
from core.net.method import Context
from core.store import shards
from core.store.run_files import KEEPERS
from core.swarm import shard_exchange
from core.swarm.mirrors import Mirrors
from core.swarm.shard_exchange import AHEAD, ShardExchange
from tests.dht_peers import Peer, peers, until
from tests.disks import ROOMY, files_of, fill
from tests.shards import listed_run, put, texts

SIZE = 4096
TRAINS, KEEPS = frozenset({"host", "train"}), frozenset({"backbone"})


class Place:
    """A peer with a disk and some of a run's shards."""

    def __init__(
        self, peer: Peer, folder: Path, run: Manifest, roles: frozenset[str] = TRAINS, cap: int = ROOMY
    ) -> None:
        self.peer, self.folder = peer, folder / "runs" / "digits"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.files = files_of(folder, ROOMY)
        self.begun = 0
        self.lies = False
        mirrors = Mirrors(peer.rpc.shaper, frozenset(), lambda: False)
        self.exchange = ShardExchange(run, self.files, peer.rpc, peer.dht, mirrors, roles, self._begin)
        peer.rpc.register(of_run(READ_FILE, run.run_id), ReadFile, self._read)

    def _begin(self) -> None:
        self.begun += 1

    async def _read(self, request: ReadFile, payload: bytes, context: Context) -> tuple[FileRead, bytes]:
        size, data = self.files.read(request.sha256, request.offset, request.length)
        return FileRead(size), data[::-1] if self.lies else data

    def names(self) -> set[str]:
        return shards.here(self.folder)

    async def tend(self) -> None:
        await self.exchange.tend()


@pytest.fixture(autouse=True)
def tells_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TELL_S", "BEGIN_S", "TRY_AGAIN_S"):
        monkeypatch.setattr(shard_exchange, name, 0.0)


def made(folder: Path, count: int, size: int = SIZE) -> tuple[Manifest, list[Shard], list[bytes]]:
    """A run whose data an organiser has in its own folder."""
    contents = texts(count, size)
    run = folder / "runs" / "digits"
    parts = put(run, contents)
    return listed_run(parts, run), parts, contents


@asynccontextmanager
async def places(
    tmp_path: Path, run: Manifest, roles: Sequence[frozenset[str]] = (TRAINS, TRAINS)
) -> AsyncIterator[list[Place]]:
    """Peers that know each other; the first one's folder is `0`."""
    async with AsyncExitStack() as stack:
        network = await stack.enter_async_context(peers(len(roles)))
        yield [Place(peer, tmp_path / str(n), run, roles[n]) for n, peer in enumerate(network)]


async def test_a_newcomer_has_what_it_begins_with_before_all_else_and_a_few_more(tmp_path: Path) -> None:
    run, parts, _ = made(tmp_path / "0", 60)
    async with places(tmp_path, run) as (organiser, newcomer):
        await organiser.tend()
        assert organiser.begun == 1 and not organiser.files.replicated
        await newcomer.tend()
        named = run.shard_list
        assert named is not None and newcomer.begun == 1
        first = newcomer.names()
        assert {named.sha256, parts[-1].sha256} <= first and 3 <= len(first) <= 2 + 4
        await newcomer.tend()
        assert len(newcomer.names()) == 2 + AHEAD
        await newcomer.tend()
        assert len(newcomer.names()) == 2 + AHEAD and newcomer.begun == 1
        here = [n for n, part in enumerate(parts) if part.sha256 in newcomer.names() and not part.held_out]
        newcomer.exchange.reading(Reading(dict.fromkeys(here[:7], 1), []))
        await newcomer.tend()
        assert len(newcomer.names()) == 2 + AHEAD + 7


async def test_the_rarest_are_fetched_first(tmp_path: Path) -> None:
    run, parts, _ = made(tmp_path / "0", 61)
    roles = [TRAINS] * 5
    async with places(tmp_path, run, roles) as (organiser, *others):
        await organiser.tend()
        for other in others:
            for _ in range(3):
                await other.tend()
        copies = Counter(name for place in others for name in place.names())
        assert max(copies[part.sha256] for part in parts[:-1]) == min(copies[part.sha256] for part in parts[:-1]) + 1
        assert sum(copies[part.sha256] for part in parts[:-1]) == 4 * AHEAD, "80 of 60: each once, and 20 twice"


async def test_shards_that_nobody_has_keep_nobody_from_the_others(tmp_path: Path) -> None:
    run, parts, _ = made(tmp_path / "0", 100)
    for part in parts[5:-1]:
        (shards.own_folder(tmp_path / "0" / "runs" / "digits") / part.sha256).unlink()
    async with places(tmp_path, run) as (organiser, here):
        await organiser.tend()
        for _ in range(3):
            await here.tend()
        assert here.begun and here.exchange._here == {0, 1, 2, 3, 4, 99}


async def test_a_backbone_peer_keeps_all_and_who_only_hosts_what_compute_begins_with(tmp_path: Path) -> None:
    run, parts, _ = made(tmp_path / "0", 40)
    async with places(tmp_path, run, [TRAINS, KEEPS, frozenset({"host"})]) as (organiser, keeper, host):
        await organiser.tend()
        for _ in range(2):
            await keeper.tend()
            await host.tend()
        assert {part.sha256 for part in parts} <= keeper.names()
        assert len(host.names()) <= 2 + 4 and host.begun


async def test_where_the_disk_is_full_the_most_replicated_of_what_was_read_goes(tmp_path: Path) -> None:
    run, parts, _ = made(tmp_path / "0", 60)
    named = run.shard_list
    assert named is not None
    async with places(tmp_path, run, [TRAINS, KEEPS, TRAINS]) as (organiser, keeper, here):
        for one in (organiser, *[keeper] * 4, here, here):
            await one.tend()
        mine = [n for n, part in enumerate(parts[:-1]) if part.sha256 in here.names()]
        assert len(mine) == AHEAD
        await fill(here.files)
        here.exchange.reading(Reading(dict.fromkeys(mine, 1), []))
        await here.tend()
        assert {parts[n].sha256 for n in mine} <= here.names(), "what is still read stays"
        assert len(here.names()) == AHEAD + 2
        here.exchange.reading(Reading({}, mine[:10]))
        await here.tend()
        await here.tend()
        gone = {n for n in mine if parts[n].sha256 not in here.names()}
        assert gone and gone <= set(mine[:10]) and len(here.names()) >= AHEAD
        await here.tend()
        assert not any(here.exchange._here & gone), "others are not told of it any more"
        assert all((shards.own_folder(organiser.folder) / part.sha256).exists() for part in parts)


async def test_of_what_was_read_that_goes_first_which_most_have(tmp_path: Path) -> None:
    run, parts, contents = made(tmp_path / "0", 30)
    for number, count in ((1, 4), (2, 3), (3, 2), (4, 1)):
        folder = tmp_path / str(number) / "runs" / "digits"
        put(folder, contents[:count], 0)
        listed_run(parts, folder)
    async with places(tmp_path, run, [TRAINS, *[frozenset({"host"})] * 4, KEEPS]) as (*others, here):
        for place in others:
            await place.tend()
        await here.tend()
        await here.tend()
        here.exchange.reading(Reading(dict.fromkeys(range(6), 1), [*range(6)]))  # two of which only one has
        await here.tend()
        spares = sorted(here.files.replicated, key=lambda spare: spare.order)
        assert [spare.paths[0].name for spare in spares] == [parts[n].sha256 for n in range(4)]
        assert [spare.order[0] for spare in spares] == [-5, -4, -3, -2] and KEEPERS == 2


async def test_who_gives_false_shards_is_banned_and_others_are_asked(tmp_path: Path) -> None:
    run, parts, contents = made(tmp_path / "0", 30)
    put(tmp_path / "1" / "runs" / "digits", contents)
    listed_run(parts, tmp_path / "1" / "runs" / "digits")
    async with places(tmp_path, run, [TRAINS] * 3) as (honest, liar, here):
        await honest.tend()
        await liar.tend()
        liar.lies = True
        for _ in range(6):
            with contextlib.suppress(CheckpointError):
                await here.tend()
        assert here.peer.rpc.distrusts(liar.peer.id) and not here.peer.rpc.distrusts(honest.peer.id)
        await until(lambda: _tended(here, len(parts)), "all that is wanted, from the honest one")
        for name in here.names():
            assert name in {part.sha256 for part in parts} | {run.shard_list.sha256 if run.shard_list else ""}


async def _tended(place: Place, count: int) -> bool:
    await place.tend()
    return len(place.names()) >= min(count, 2 + AHEAD)


async def test_a_damaged_shard_is_never_given_and_one_that_came_from_others_comes_again(tmp_path: Path) -> None:
    run, parts, _ = made(tmp_path / "0", 30)
    own = shards.own_folder(tmp_path / "0" / "runs" / "digits")
    (own / parts[3].sha256).write_bytes(b"x" * SIZE)
    async with places(tmp_path, run) as (organiser, here):
        await organiser.tend()
        assert organiser.exchange._here == set(range(30)) - {3}
        with pytest.raises(CheckpointError):
            organiser.files.read(parts[3].sha256, 0, 10)
        await here.tend()
        await here.tend()
        got = next(n for n, part in enumerate(parts[:-1]) if part.sha256 in here.names())
        path = here.folder / shards.FOLDER / parts[got].sha256
        path.write_bytes(b"damaged")
        assert shards.read(here.folder, parts[got]) is None and not path.exists()  # compute finds it
        await here.tend()
        await here.tend()
        assert len(here.exchange._here) >= AHEAD


async def test_what_a_peer_tells_of_shards_that_there_are_not_is_nothing(tmp_path: Path) -> None:
    run, _, _ = made(tmp_path / "0", 12)
    async with places(tmp_path, run) as (organiser, here):
        key, own = f"{run.run_id}.data.0", organiser.peer.id.hex()
        await organiser.peer.dht.store_many({key: {own: b"\xff" * 1024}}, 600.0)
        organiser.files.share(
            run.shard_list.sha256 if run.shard_list else "", shards.own_folder(organiser.folder) / "x"
        )
        await here.tend()
        assert not here.names() and not here.begun


async def test_thousands_of_shards_are_told_in_a_record_of_eight_thousand(tmp_path: Path) -> None:
    run, _, _ = made(tmp_path / "0", 9000, 64)
    async with places(tmp_path, run, [TRAINS, KEEPS]) as (organiser, here):
        await until(lambda: _whole(organiser, 9000), "all are checked")
        found = await here.peer.dht.get_many([f"{run.run_id}.data.{n}" for n in (0, 1)])
        sizes = [len(record.value) for records in found.values() for record in records.values()]
        assert sizes == [1024, 101]
        await here.tend()
        assert here.begun and here.exchange._copies.count(1) == 9000


async def _whole(place: Place, count: int) -> bool:
    await place.tend()
    return len(place.exchange._here) == count


async def test_a_list_that_is_none_is_told_and_not_read_again_and_again(tmp_path: Path) -> None:
    run, _, _ = made(tmp_path / "0", 12)
    nonsense = b"no list at all"
    put(tmp_path / "0" / "runs" / "digits", [nonsense], 0)
    named = ShardList(hashlib.sha256(nonsense).hexdigest(), len(nonsense))
    async with places(tmp_path, msgspec.structs.replace(run, shard_list=named)) as (organiser, _):
        with pytest.raises(DataError, match="is not valid"):
            await organiser.tend()
        assert organiser.exchange.rest_s > 600 and not organiser.begun


async def test_a_run_without_shards_asks_nobody(tmp_path: Path) -> None:
    async with places(tmp_path, manifests.load("digits")) as (one, _):
        await one.tend()
        assert not one.exchange._parts and not one.begun


def test_a_short_list_in_the_manifest_stays_as_it_is() -> None:
    """Runs that were there before keep their ids: `test_manifest` names them."""
    text = manifests.load("text")
    assert text.shard_list is None and b"shard_list" not in msgspec.json.encode(text.model)
    assert len(text.shards) == 8 and not shards.streams(text, text.shards)
