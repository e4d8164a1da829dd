"""Real peers on loopback, in this process, agree on fragments of a trunk; syncers go, and others go on."""

import asyncio
import contextlib
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec
import numpy as np
import pytest

from core.averaging.fragment import Encoder, Fragment, Round, dump
from core.contracts import manifest as manifests
from core.contracts.errors import CallRefused, HearthError, ProtocolError
from core.contracts.net import of_run
from core.contracts.notices import notice
from core.contracts.taking_on import CompareTrunks, Verdict
from core.contracts.trunk import Agreed, Diloco, Offer
from core.contracts.trunk_calls import OFFER, STATE, AskState, FragmentAnswer, FragmentOffer, Keeper, State
from core.contracts.trunk_status import GiverStatus
from core.dht.records import key_digest, make, own_subkey
from core.experts.dht_directory import DHTDirectory
from core.experts.grid import Grid
from core.identity import Identity, peer_text
from core.net.method import Context
from core.swarm.members import Members
from core.swarm.trunk import diloco
from core.swarm.trunk import leases as leases_module
from core.swarm.trunk.agreement import agreement_of
from core.swarm.trunk.diloco import DiLoCo
from core.swarm.trunk.figures import to_next_turn
from core.swarm.trunk.leases import Leases, heirs_of, mark, syncer_of
from core.swarm.trunk.wire import PROBES, Wire
from tests.dht_peers import Peer, peer, until
from tests.digits_layer import BATCH, digits
from tests.trusting import trusting

RULES = Diloco(quorum=2, grace_s=10.0)
MANIFEST = msgspec.structs.replace(manifests.load("digits"), trunk=RULES)
SIZE, FINE = 5000, 50
PARTS = 4
PATIENCE_S = 120.0


class Trainer:
    """A worker's part in the agreement, asked as compute asks it."""

    def __init__(
        self,
        node: Peer,
        folder: Path,
        rules: Diloco = RULES,
        sizes: Sequence[tuple[int, int]] = ((SIZE, FINE),) * PARTS,
    ) -> None:
        self.node = node
        manifest = msgspec.structs.replace(MANIFEST, trunk=rules)
        directory = DHTDirectory(node.dht, node.rpc, Grid("digits", 2, (4, 4)), manifest.run_id)
        made = agreement_of(manifest, Members(node.rpc, node.dht, directory), folder)
        assert isinstance(made, DiLoCo)
        self.worker = made
        self.worker._known.sizes = [*sizes]
        self.worker.serve(trusting())
        self.versions: defaultdict[int, int] = defaultdict(int)
        self.numbers: dict[int, bytes] = {}

    async def agree(self, part: int, numbers: np.ndarray[tuple[int], np.dtype[np.float32]], tries: int = 60) -> Agreed:
        """Offer until it is answered, as the strategy does."""
        offer = Offer(part, self.versions[part], 16, FINE)
        for _ in range(tries):
            with contextlib.suppress(HearthError):
                agreed, payload = await self.worker.agree(offer, numbers.tobytes(), time.monotonic() + PATIENCE_S)
                assert isinstance(payload, bytes)
                self.versions[part], self.numbers[part] = agreed.version, payload
                return agreed
            await asyncio.sleep(0.5)
        raise AssertionError("nobody answered")

    @property
    def syncs(self) -> set[int]:
        return set(self.worker._syncers)


@contextlib.asynccontextmanager
async def trainers(folder: Path, count: int) -> AsyncIterator[tuple[list[Trainer], list[contextlib.AsyncExitStack]]]:
    """Trainers that have begun all fragments, and what ends each."""
    made: list[Trainer] = []
    async with contextlib.AsyncExitStack() as outer:
        stacks = [await outer.enter_async_context(contextlib.AsyncExitStack()) for _ in range(count)]
        for number, stack in enumerate(stacks):
            node = await stack.enter_async_context(peer(*(trainer.node for trainer in made[:1])))
            own = folder / str(number)
            own.mkdir()
            made.append(Trainer(node, own))
            await stack.enter_async_context(made[-1].worker)
        numbers = {part: draw(100 + part) for part in range(PARTS)}
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(trainer.agree(part, numbers[part]) for trainer in made for part in range(PARTS)))
        assert all(trainer.numbers[part] == numbers[part].tobytes() for trainer in made for part in range(PARTS))
        yield made, stacks


def draw(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).standard_normal(SIZE).astype(np.float32)


async def one_round(made: list[Trainer], seed: int) -> None:
    offers = [(trainer, part) for trainer in made for part in range(PARTS)]
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(t.agree(part, draw(seed + number)) for number, (t, part) in enumerate(offers)))


@pytest.mark.timeout(1200)
async def test_peers_agree_bit_for_bit_and_go_on_when_a_syncer_dies(tmp_path: Path) -> None:
    async with trainers(tmp_path, 3) as (made, stacks):
        assert sorted(part for trainer in made for part in trainer.syncs) == [0, 1, 2, 3], "one syncer each"
        for seed in (1000, 2000, 3000):
            await one_round(made, seed)
            for part in range(PARTS):
                assert len({(t.versions[part], t.numbers[part]) for t in made}) == 1, "they do not agree"
        assert set(made[0].versions.values()) == {4}
        for version, counted in ((1, True), (4, False)):  # it was restarted from a checkpoint
            asked = Offer(0, version, 0, FINE)
            agreed, numbers = await made[0].worker.agree(asked, draw(1).tobytes(), time.monotonic() + PATIENCE_S)
            assert (agreed.version, agreed.counted, numbers) == (4, counted, made[0].numbers[0])
        names = sorted(peer_text(trainer.node.id) for trainer in made)
        for trainer in made:
            givers, reducers = trainer.worker.who()
            assert givers == [GiverStatus(name, None, 1.0) for name in names]
            shares = {peer_text(each.node.id): len(each.syncs) / PARTS for each in made if each.syncs}
            assert {reducer.peer: reducer.share for reducer in reducers} == shares
        assert made[0].worker.waits() is None

        dying = max(made[1:], key=lambda trainer: len(trainer.syncs))  # the first is through whom all have joined
        left = [trainer for trainer in made if trainer is not dying]
        orphans, before = dying.syncs, dict(left[0].numbers)
        dying.worker._tending.wake.clear()
        await dying.worker._tending.stop()  # it says nothing any more, also not that it goes
        await dying.node.rpc.__aexit__(None, None, None)
        began = time.monotonic()
        await one_round(left, 4000)
        assert time.monotonic() - began < 60.0
        owned = sorted(part for trainer in left for part in trainer.syncs)
        assert owned == [0, 1, 2, 3] and orphans <= set(owned)
        for part in range(PARTS):
            one, other = (trainer.numbers[part] for trainer in left)
            assert one == other != before[part]
            assert left[0].versions[part] == left[1].versions[part] == 5, "something that was accepted is lost"

        newcomer_stack = stacks[0]
        node = await newcomer_stack.enter_async_context(peer(left[0].node))
        newcomer = Trainer(node, tmp_path / "new")
        await newcomer_stack.enter_async_context(newcomer.worker)
        async with asyncio.timeout(PATIENCE_S):
            for part in range(PARTS):
                asking = asyncio.create_task(newcomer.agree(part, draw(1)))
                await asyncio.sleep(0)
                assert part or newcomer.worker.waits() == notice("trunk.waits_trunk")
                await asking
                assert newcomer.numbers[part] == left[0].numbers[part], "a newcomer begins with what is agreed"


@pytest.mark.timeout(900)
async def test_an_offer_of_a_process_that_was_killed_counts_and_the_next_process_is_told(tmp_path: Path) -> None:
    async with trainers(tmp_path, 1) as ((trainer,), _):
        worker = trainer.worker
        killed = asyncio.create_task(trainer.agree(0, draw(1)))
        await until(lambda: 0 in worker._differences._unanswered, "an offer", PATIENCE_S)
        killed.cancel()
        agreed = await trainer.agree(0, draw(2))
        assert (agreed.version, agreed.counted, agreed.earlier) == (2, True, True)
        moved = np.frombuffer(trainer.numbers[0], "<f4") - draw(100)
        assert np.corrcoef(moved, draw(1))[0, 1] > 0.5 > np.corrcoef(moved, draw(2))[0, 1]
        agreed = await trainer.agree(0, draw(3))
        assert (agreed.version, agreed.counted, agreed.earlier) == (3, True, False)


@pytest.mark.timeout(1200)
async def test_what_is_no_difference_is_refused_and_its_sender_banned(tmp_path: Path) -> None:
    async with trainers(tmp_path, 2) as (made, _):
        part = min(made[0].syncs or made[1].syncs)
        syncer, bad = made if part in made[0].syncs else made[::-1]
        fragment = syncer.worker._fragments[part]
        nan = Encoder().encode(np.zeros(SIZE, np.float32), FINE, is_sparse=False)
        nan = nan[:1] + b"\xff\xff" + nan[3:]
        asked = FragmentOffer(part, 1, fragment.line, 16, FINE, "difference")
        for _ in range(3):
            with pytest.raises(HearthError):
                await bad.node.rpc.call(
                    syncer.node.id, of_run(OFFER, MANIFEST.run_id), asked, FragmentAnswer, nan, deadline_s=30.0
                )
        assert syncer.node.rpc.bans.banned(bad.node.id, time.monotonic()) > 0.0
        assert syncer.worker._fragments[part].version == 1


@pytest.mark.timeout(1200)
async def test_who_begins_with_another_trunk_is_not_followed_and_who_shouts_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with trainers(tmp_path, 2) as (made, _):
        part = min(made[0].syncs or made[1].syncs)
        syncer, other = made if part in made[0].syncs else made[::-1]
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(syncer.agree(part, draw(1)), other.agree(part, 100 * draw(2)))
            assert syncer.numbers[part] == other.numbers[part]
            assert f"{other.node.id.hex()[:8]} offered a difference" in caplog.text
            other.worker._known.sizes[part] = SIZE - 1, FINE
            del other.worker._fragments[part]
            with pytest.raises(HearthError, match="has no fragment"):
                await other.worker.agree(Offer(part, 0, 0, FINE), b"", time.monotonic() + PATIENCE_S)
        assert other.node.rpc.bans.score(syncer.node.id, time.monotonic()) == 0.0, "it may be in another revision"


# --- one of eight trainers lies in each round: the others learn as without it


ROUNDS, INNER, RATE = 12, 8, 0.1
TOGETHER = Diloco(quorum=7, grace_s=5.0, fragments=5)


LIES = ("", "nan", "x100", "flipped", "old")
"""Of the eighth trainer, by fragment; without one there are seven."""
TOLD = {
    "x100": "offered a difference that is",
    "flipped": "offered a difference that leads back",
    "nan": "offered what does not count",
    "old": "offered what does not count",
}


class Liar:
    """It knows what is agreed, and offers what it likes. Of sparse differences it repeats the greatest numbers: it does
    not make up for what it left out, which would be elsewhere."""

    def __init__(self, node: Peer, part: int, is_sparse: bool) -> None:
        self.name = node.id.hex()[:8]
        self._node, self._part, self._is_sparse = node, part, is_sparse
        self._encoder, self._first = Encoder(), b""

    async def offer(self, syncer: Trainer, difference: np.ndarray[tuple[int], np.dtype[np.float32]]) -> None:
        lie = LIES[self._part]
        factor = np.float32({"x100": 100, "flipped": -1}.get(lie, 1))
        message = self._encoder.encode(factor * difference, FINE, self._is_sparse)
        self._first = self._first or message
        sent = {"nan": message[:1] + b"\xff\xff" + message[3:], "old": self._first}.get(lie, message)
        fragment = syncer.worker._fragments[self._part]
        asked = FragmentOffer(self._part, fragment.version, fragment.line, BATCH, FINE, "difference")
        self._node.rpc.learn(syncer.node.rpc.address())
        name, method = syncer.node.id, of_run(OFFER, MANIFEST.run_id)
        with contextlib.suppress(HearthError):  # it is refused, or banned
            await self._node.rpc.call(name, method, asked, FragmentAnswer, sent, deadline_s=PATIENCE_S)


def inner(
    weights: np.ndarray[tuple[int], np.dtype[np.float32]], dice: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """What a trainer learns in the steps between two rounds."""
    begun = weights
    for _ in range(INNER):
        weights = weights - np.float32(RATE) * digits().gradient(weights, dice)
    return weights - begun


async def learnt(made: list[Trainer], part: int, liar: Liar | None) -> float:
    """Loss after some rounds."""
    await asyncio.gather(*(trainer.agree(part, digits().begun()) for trainer in made))
    [syncer] = [trainer for trainer in made if part in trainer.syncs]
    dice = [np.random.default_rng(place) for place in range(len(made) + 1)]
    for _ in range(ROUNDS):
        begun = [np.frombuffer(trainer.numbers[part], "<f4") for trainer in (*made, syncer)]
        *differences, other = map(inner, begun, dice)
        lying = asyncio.create_task(liar.offer(syncer, other)) if liar else None
        await asyncio.gather(*(trainer.agree(part, own) for trainer, own in zip(made, differences, strict=True)))
        if lying:
            lying.cancel()
            await asyncio.gather(lying, return_exceptions=True)
    return digits().loss(np.frombuffer(syncer.numbers[part], "<f4"))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("wire", ["dense", "sparse"])
async def test_with_one_liar_of_eight_the_others_learn_as_without_it(
    tmp_path: Path, wire: Literal["sparse", "dense"], caplog: pytest.LogCaptureFixture
) -> None:
    rules, made, liars = msgspec.structs.replace(TOGETHER, wire=wire), list[Trainer](), list[Liar]()
    async with contextlib.AsyncExitStack() as stack:
        for number in range(7):
            node = await stack.enter_async_context(peer(*(trainer.node for trainer in made[:1])))
            folder = tmp_path / str(number)
            folder.mkdir()
            made.append(Trainer(node, folder, rules, [(len(digits().begun()), FINE)] * len(LIES)))
            await stack.enter_async_context(made[-1].worker)
        for part in range(1, len(LIES)):
            node = await stack.enter_async_context(peer(made[0].node))
            liars.append(Liar(node, part, wire == "sparse"))
        losses = await asyncio.gather(*(learnt(made, part, liar) for part, liar in enumerate([None, *liars])))
    print(wire, dict(zip(LIES, losses, strict=True)))
    for liar, lie, loss in zip(liars, LIES[1:], losses[1:], strict=True):
        assert f"Peer {liar.name} {TOLD[lie]}" in caplog.text, lie
        assert loss < 1.03 * losses[0], lie
    assert {*re.findall(r"Peer (\w+) offered", caplog.text)} == {liar.name for liar in liars}, "an honest one is named"


def test_progress_counts_from_one_turn_to_the_next() -> None:
    every, parts = 16, 3  # they are due in steps 0, 5, 10, 16 ...
    told = [to_next_turn(step, every, parts) for step in range(18)]
    assert [(one.done, one.target) for one in told] == [
        *((done, 5) for done in range(5)),
        *((done, 5) for done in range(5)),
        *((done, 6) for done in range(6)),
        (0, 5),
        (1, 5),
    ]
    assert to_next_turn(7, 1, 4).target == 1, "more parts than steps: all of them at each"


def test_all_who_know_the_same_name_the_same_syncer() -> None:
    a, b, c = "aa", "bb", "cc"
    keepers = {a: Keeper({0: 5, 1: 7}, [1]), b: Keeper({0: 6, 1: 8}, [1]), c: Keeper({0: 9}, [], able=False)}
    assert syncer_of(0, keepers) is None
    assert heirs_of(0, keepers) == [b, a], "newest first, of those that can be dialled"
    assert syncer_of(1, keepers) == b, "of two that claim it the newer one"
    assert {*heirs_of(2, keepers)} == {a, b} and heirs_of(2, {}) == []
    heirs = {heirs_of(part, {a: Keeper({}, []), b: Keeper({}, [])})[0] for part in range(16)}
    assert heirs == {a, b}, "fragments are spread"


def test_a_claim_alone_takes_no_fragment_from_its_syncer() -> None:
    liar, syncer, others = "11", "22", [f"{number}{number}" for number in range(3, 9)]
    votes = {other: Keeper({0: 7}, [], follows={0: mark(syncer)}) for other in others}
    keepers = {
        **votes,
        liar: Keeper({0: 2**40}, [0], follows={0: mark(liar)}),
        syncer: Keeper({0: 7}, [0], follows={0: mark(syncer)}),
    }
    assert syncer_of(0, keepers) == syncer
    del keepers[syncer]
    assert syncer_of(0, keepers) == liar, "nobody else claims it"


@pytest.mark.parametrize(("ghosts", "turns"), [(1, 1), (3, 3), (500, 4)])
async def test_where_heirs_are_silent_it_is_soon_the_turn_of_the_next(tmp_path: Path, ghosts: int, turns: int) -> None:
    """They may have died, follow a syncer that others distrust, or be no more than records of a liar."""
    async with trainers(tmp_path, 2) as ([trainer, liar], _):
        leases, name = trainer.worker._leases, peer_text(liar.node.id)
        await until(lambda: name in leases.keepers, "the other one")
        theirs = liar.syncs
        await trainer.worker._tending.stop()
        leases.distrust(name)
        await leases.look()
        assert name not in leases.keepers
        for ghost in range(ghosts):
            leases.keepers[f"{ghost:064x}"] = Keeper(dict.fromkeys(range(PARTS), 10**6 + ghost), [])
        for waited in range(turns):
            leases._vacant = dict.fromkeys(theirs, time.monotonic() - waited * leases_module.HEIR_S)
            assert not leases.due(range(PARTS)).claims, "it is the turn of one of these"
        leases._vacant = dict.fromkeys(theirs, time.monotonic() - turns * leases_module.HEIR_S)
        assert {*leases.due(range(PARTS)).claims} == theirs


async def test_of_keys_that_come_and_go_nothing_is_remembered(tmp_path: Path) -> None:
    async with trainers(tmp_path, 1) as ([trainer], _):
        leases, dht = trainer.worker._leases, trainer.node.dht
        await trainer.worker._tending.stop()
        for number in range(2):
            for _ in range(8):
                key, now = Identity.generate(), time.time()
                value = msgspec.msgpack.encode(Keeper({0: 7}, []))
                dht.storage.put(make(key, leases._key, own_subkey(key.peer), value, int(now * 1000), now + 1.0), now)
            await leases.look()
            assert len(leases.keepers) == 9, "eight and this one"
            leases.failed(next(name for name in leases.keepers if name != leases._members.me))
            await until(
                lambda: len(dht.storage.of(key_digest(leases._key), time.time())) == 1, f"the end of crowd {number}"
            )
        await leases.look()
        assert leases._expires.keys() <= {leases._members.me} and not leases._gone


async def test_a_syncer_that_was_restarted_follows_its_heir_though_others_still_name_it(tmp_path: Path) -> None:
    async with trainers(tmp_path, 1) as ([trainer], _):
        leases = trainer.worker._leases
        me, heir, other = leases._members.me, "ab" * 32, "cd" * 32
        for named, is_led in ((me, None), (other, False), (heir, True)):
            leases.keepers = {
                me: Keeper({0: 5}, [], True, {0: mark(me)}),
                heir: Keeper({0: 6}, [0], True, {0: mark(heir)}),
                other: Keeper({0: 5}, [], True, {0: mark(named)}),
            }
            assert leases.is_led_by(0, heir) is is_led


async def test_an_heir_that_nobody_follows_yet_is_left_but_not_blamed(tmp_path: Path) -> None:
    """All others still name the syncer that has gone. The heir may be a liar, too."""
    async with trainers(tmp_path, 2) as (made, _):
        part = min(made[0].syncs or made[1].syncs)
        heir, other = made if part in made[0].syncs else made[::-1]
        leases, name = other.worker._leases, peer_text(heir.node.id)
        await until(lambda: name in leases.keepers, "the other one")
        await other.worker._tending.stop()
        del other.worker._fragments[part]  # as if it had just come
        rival, voter = "ab" * 32, "cd" * 32
        for claims, points in (([], 0.0), ([part], 1.0)):
            leases._gone.clear()
            leases.keepers = {
                leases._members.me: Keeper({}, []),
                name: Keeper({part: 6}, [part], True, {part: mark(name)}),
                rival: Keeper({part: 5}, claims),
                voter: Keeper({part: 5}, [], True, {part: mark(rival)}),
            }
            with pytest.raises(HearthError, match="not followed"):
                await other.worker._ask(FragmentOffer(part, 0, b"", 0, FINE, "ask"))
            assert name not in leases.keepers
            assert other.node.rpc.bans.score(heir.node.id, time.monotonic()) == pytest.approx(points, abs=0.1)


Does = Literal["answers nothing", "counts nothing", "fails"]
Gives = Literal["numbers of its own", "a refusal", "nothing"]


class Usurper:
    """It claims all fragments, at a version that nobody has, and has numbers of its own for those who ask, or none."""

    def __init__(self, node: Peer, gives: Gives) -> None:
        self.name, self.asked, self._gives = peer_text(node.id), 0, gives
        directory = DHTDirectory(node.dht, node.rpc, Grid("digits", 2, (4, 4)), MANIFEST.run_id)
        members = Members(node.rpc, node.dht, directory)
        claims = Keeper(dict.fromkeys(range(PARTS), 10**6), [*range(PARTS)])
        self.leases = Leases(MANIFEST.run_id, members, lambda: claims, asyncio.Event())
        node.rpc.register(of_run(OFFER, MANIFEST.run_id), FragmentOffer, self._answer, max_payload=1 << 20)

    async def _answer(self, offer: FragmentOffer, payload: bytes, context: Context) -> tuple[FragmentAnswer, bytes]:
        self.asked += 1
        if self._gives == "a refusal":
            raise CallRefused("Ask another one.")
        if self._gives == "nothing":
            return FragmentAnswer(0, False, "none"), b""
        return FragmentAnswer(2, True, "state"), dump(Fragment(draw(666), FINE, version=10**6))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("gives", get_args(Gives))
async def test_one_that_claims_all_fragments_gets_none_also_when_a_syncer_dies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, gives: Gives
) -> None:
    async with trainers(tmp_path, 4) as (made, stacks):
        await one_round(made, 1000)
        follow = {part: {mark(peer_text(t.node.id)) for t in made if part in t.syncs} for part in range(PARTS)}
        usurper = Usurper(await stacks[0].enter_async_context(peer(made[0].node)), gives)

        def all_vote() -> bool:
            told = [t.worker._leases.keepers.get(peer_text(each.node.id)) for t in made for each in made]
            return all(one and {p: {lead} for p, lead in one.follows.items()} == follow for one in told)

        await until(all_vote, "all tell whom they follow")
        await usurper.leases.look()
        await until(lambda: all(usurper.name in t.worker._leases.keepers for t in made), "all hear of the claim")
        owners = [t.syncs for t in made]
        await one_round(made, 2000)
        assert [t.syncs for t in made] == owners and not usurper.asked

        dying = max(made[1:], key=lambda trainer: len(trainer.syncs))
        left = [trainer for trainer in made if trainer is not dying]
        dying.worker._tending.wake.clear()
        await dying.worker._tending.stop()
        await dying.node.rpc.__aexit__(None, None, None)
        await usurper.leases.look()
        await one_round(left, 3000)
        for part in range(PARTS):
            assert len({(t.versions[part], t.numbers[part]) for t in left}) == 1, "they do not agree"
        assert {*left[0].versions.values()} == {4}, "it is followed, or something that was accepted is lost"
        assert (
            gives != "numbers of its own"
            or not usurper.asked
            or f"Peer {usurper.name[:8]} has no fragment" in caplog.text
        )


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("does", get_args(Does))
async def test_a_syncer_that_only_says_that_it_is_one_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: Does
) -> None:
    """It tells so again and again."""
    async with trainers(tmp_path, 2) as (made, _):
        part = min(made[0].syncs or made[1].syncs)
        syncer, other = made if part in made[0].syncs else made[::-1]

        async def lie(offer: FragmentOffer, payload: bytes, context: Context) -> tuple[FragmentAnswer, bytes]:
            if does == "answers nothing":
                await asyncio.Event().wait()
            if does == "fails":
                raise RuntimeError("It fails.")
            return FragmentAnswer(1, True, "rounds", line=offer.line), msgspec.msgpack.encode([])

        syncer.node.rpc.register(of_run(OFFER, MANIFEST.run_id), FragmentOffer, lie, max_payload=1 << 20)
        monkeypatch.setattr(diloco, "SLACK_S", 1.0)
        other.worker._rules = msgspec.structs.replace(RULES, grace_s=0.5)
        async with asyncio.timeout(PATIENCE_S):
            while part not in other.syncs:
                with contextlib.suppress(HearthError):
                    offer = Offer(part, other.versions[part], 16, FINE)
                    agreed, _ = await other.worker.agree(offer, draw(1).tobytes(), time.monotonic() + PATIENCE_S)
                    assert not agreed.counted or part in other.syncs, "only what itself has counted, as the heir"
                    assert part in other.syncs or part not in other.worker._self().follows, "it follows nobody"
                await asyncio.sleep(0.1)


@pytest.mark.timeout(1200)
async def test_one_peer_replaces_what_a_new_syncer_has_only_once(tmp_path: Path) -> None:
    """What it gives is as good, so that its trial says nothing; who waits for a round is refused at each time."""
    async with trainers(tmp_path, 2) as (made, _):
        part = min(made[0].syncs or made[1].syncs)
        syncer, liar = made if part in made[0].syncs else made[::-1]

        async def give(request: AskState, payload: bytes, context: Context) -> tuple[State, bytes]:
            known = syncer.worker._fragments[request.part]
            newer = Fragment(known.numbers * np.float32(1.001), known.fine, known.version + 3)
            newer.momentum = np.full(SIZE, 1e30, np.float32)
            return State(), dump(newer)

        liar.node.rpc.register(of_run(STATE, MANIFEST.run_id), AskState, give)
        for _ in range(5):
            ahead = FragmentOffer(part, syncer.worker._fragments[part].version + 1, b"", 16, FINE, "ask")
            with contextlib.suppress(HearthError):
                method = of_run(OFFER, MANIFEST.run_id)
                await liar.node.rpc.call(syncer.node.id, method, ahead, FragmentAnswer, deadline_s=PATIENCE_S)
        taken = syncer.worker._fragments[part]
        assert taken.version == 1 + 3 and taken.momentum is None, "nobody has tried that"
        assert part in syncer.syncs


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("part", "size", "fine"), [(PARTS, SIZE, FINE), (0, SIZE - 1, FINE), (0, SIZE, FINE + 1)])
async def test_nobody_begins_a_fragment_that_the_trunk_does_not_have(
    tmp_path: Path, part: int, size: int, fine: int
) -> None:
    """Also where nobody trains: its size follows from the manifest."""
    async with peer() as node:
        backbone = Trainer(node, tmp_path).worker
        backbone._syncs.claim(part)
        begin = FragmentOffer(part, 0, b"", 16, fine, "begin")
        with pytest.raises(ProtocolError, match="has no fragment"):
            await backbone._syncs.answer(Identity.generate().peer, begin, draw(1)[:size].tobytes())


async def test_fragments_of_another_revision_are_left_on_the_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with peer() as node:
        trainer = Trainer(node, tmp_path)
        await trainer.worker._kept.save({0: Fragment(draw(1), FINE), 1: Fragment(draw(2)[1:], FINE)})
        async with trainer.worker as worker:
            assert worker._fragments.keys() == {0}
    assert "no fragment 1 of 4999 numbers" in caplog.text


@pytest.mark.timeout(1200)
async def test_a_syncer_whose_fragment_is_of_no_use_is_left_for_the_copy_that_is_here(tmp_path: Path) -> None:
    async with trainers(tmp_path, 2) as (made, _):
        await one_round(made, 1000)
        part = min(made[0].syncs or made[1].syncs)
        syncer, other = made if part in made[0].syncs else made[::-1]
        known, theirs = other.worker._fragments[part], peer_text(syncer.node.id)
        asked = list[CompareTrunks]()

        def refuse(compared: CompareTrunks) -> list[Verdict]:
            asked.append(compared)
            return ["good", "worse"]

        other.worker.serve(trusting(refuse))
        other.worker._fragments[part] = made_up = Fragment(draw(666), FINE, version=known.version)  # of another line
        with pytest.raises(HearthError, match="of no use"):
            await other.worker.agree(Offer(part, 2, 16, FINE), draw(1).tobytes(), time.monotonic() + PATIENCE_S)
        assert [compared.states for compared in asked] == [[[], [part]]]
        assert other.worker._fragments[part] is made_up and theirs not in other.worker._leases.keepers
        assert other.node.rpc.bans.score(syncer.node.id, time.monotonic()) > 0.0
        async with asyncio.timeout(PATIENCE_S):
            await other.agree(part, draw(1))
        assert part in other.syncs, "nobody else is there"


@pytest.mark.timeout(1200)
async def test_a_syncer_that_was_told_other_rounds_than_those_that_led_to_its_numbers_is_not_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had them of it would come to other numbers."""
    async with trainers(tmp_path, 2) as (made, _):
        part = min(made[0].syncs or made[1].syncs)
        syncer, other = made if part in made[0].syncs else made[::-1]
        since = Fragment.since

        def told(fragment: Fragment, line: bytes) -> list[Round] | None:
            rounds = since(fragment, line)
            half = tuple((factor / 2, message) for factor, message in rounds[-1].parts) if rounds else ()
            return rounds and [*rounds[:-1], msgspec.structs.replace(rounds[-1], parts=half)]

        monkeypatch.setattr(Fragment, "since", told)
        async with asyncio.timeout(PATIENCE_S):
            agreed = await asyncio.gather(syncer.agree(part, draw(1)), other.agree(part, draw(2)))
        assert syncer.numbers[part] == other.numbers[part] and [one.counted for one in agreed] == [True, True]
        assert other.node.rpc.bans.score(syncer.node.id, time.monotonic()) == 0.0


@pytest.mark.timeout(1200)
async def test_who_was_away_gets_all_fragments_at_once_and_blames_nobody(tmp_path: Path) -> None:
    async with trainers(tmp_path, 3) as (made, _):
        away = min(made, key=lambda trainer: len(trainer.syncs))
        for seed in range(1000, 6000, 1000):
            await one_round([trainer for trainer in made if trainer is not away], seed)
        old = {*range(PARTS)} - away.syncs
        assert len(old) > 1 and {away.worker._fragments[part].version for part in old} == {1}

        def fitting(compared: CompareTrunks) -> list[Verdict]:
            return ["good" if not state or old <= {*state} else "worse" for state in compared.states]

        away.worker.serve(trusting(fitting))
        async with asyncio.timeout(PATIENCE_S):
            await away.agree(min(old), draw(1))
        await until(lambda: {away.worker._fragments[part].version for part in old} == {6}, "the other fragments")
        assert not away.worker._leases._out and not away.syncs & old


def test_a_slow_link_makes_differences_sparse_and_is_looked_at_again() -> None:
    wire = Wire("measured")
    assert not wire.is_sparse(10_000_000), "nothing is known yet"
    wire.note(100, 10.0)
    assert wire.bytes_per_s is None, "so little says nothing of the bandwidth"
    wire.note(1_000_000, 1.0)
    assert wire.is_sparse(1_000_000) and not wire.is_sparse(900_000)
    assert sum(not wire.is_sparse(1_000_000) for _ in range(10 * PROBES)) == 10
    for _ in range(40):
        wire.note(1_000_000, 0.01)
    assert not wire.is_sparse(1_000_000)
    assert Wire("sparse").is_sparse(1) and not Wire("dense").is_sparse(10**9)
