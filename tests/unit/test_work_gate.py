"""Open runs: a key costs a little work before others let it host or train."""

import contextlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.contracts.access import MAX_TOKEN, Introduction, Shown
from core.contracts.dht import FindValue, Store, Stored, Values
from core.contracts.errors import CallRefused
from core.contracts.hosting import Hello, HelloReply
from core.contracts.net import of_run
from core.dht.records import Verdict, key_digest, make, own_subkey
from core.identity import Identity, PeerId
from core.net.admission import SHOW
from core.puzzle import NUMBER, SIZE, solves
from core.swarm.work_gate import FILE, WorkGate
from tests.dht_peers import Peer, peer
from tests.unit.test_token_gate import now
from tests.workers import DIGITS, worked_key

HELLO, KEY = of_run("host.hello", DIGITS), f"{DIGITS}.0.1"


def worked() -> tuple[Identity, bytes]:
    seed, answer = worked_key()
    return Identity(seed), answer


@contextlib.asynccontextmanager
async def member(folder: Path, *others: Peer) -> AsyncIterator[Peer]:
    """A peer of the run whose work is done."""
    identity, answer = worked()
    (folder / identity.peer.hex()).mkdir()
    (folder / identity.peer.hex() / FILE).write_text(answer.hex())
    gate = WorkGate(folder / identity.peer.hex(), identity.peer)
    await gate.work()
    async with peer(*others, identity=identity) as made:
        made.rpc.register(HELLO, Hello, lambda *_: HelloReply((7,)))
        made.rpc.admission.guard(DIGITS, gate)
        yield made


async def greet(one: Peer, other: Peer) -> tuple[int, ...]:
    one.rpc.learn(other.rpc.address())
    return (await one.rpc.call(other.id, HELLO, Hello(), HelloReply, deadline_s=20))[0].versions


def test_the_answer_fits_one_key_alone_and_no_other_bytes_do() -> None:
    identity, answer = worked()
    assert len(answer) == SIZE <= MAX_TOKEN and solves(identity.peer, answer)
    other, another = worked()
    assert not solves(other.peer, answer) and solves(other.peer, another)
    for at in range(SIZE):
        assert not solves(identity.peer, answer[:at] + bytes([answer[at] ^ 1]) + answer[at + 1 :])
    for wrong in (b"", answer[:-1], answer + b"\0", answer[NUMBER:] + answer[:NUMBER], bytes(SIZE)):
        assert not solves(identity.peer, wrong)
    assert not any(solves(PeerId(os.urandom(32)), answer) for _ in range(1000))


async def test_who_has_done_the_work_is_let_in(tmp_path: Path) -> None:
    async with member(tmp_path) as one, member(tmp_path, one) as other:
        assert await greet(one, other) == await greet(other, one) == (7,)


async def test_who_has_not_neither_trains_nor_hosts_but_may_look(tmp_path: Path) -> None:
    async with member(tmp_path) as one, peer(one) as new:
        new.rpc.register(HELLO, Hello, lambda *_: HelloReply((7,)))
        stolen = Introduction({DIGITS: Shown(worked()[1])})
        answer, _ = await new.rpc.call(one.id, SHOW, stolen, Introduction, deadline_s=20)
        assert answer == Introduction({DIGITS: Shown()})
        with pytest.raises(CallRefused, match="no work for your key"):
            await greet(new, one)
        with pytest.raises(CallRefused):
            await greet(one, new)
        record = make(new.identity, KEY, own_subkey(new.id), b"mine", now(), time.time() + 60)
        stored, _ = await new.rpc.call(one.id, "dht.store", Store([record.raw], True), Stored, deadline_s=20)
        assert stored.verdicts == [Verdict.STRANGER]
        assert await one.dht.store_many({KEY: {own_subkey(one.id): b"here"}}, 60)
        ask = FindValue([key_digest(KEY)], False, "", True)
        found, _ = await new.rpc.call(one.id, "dht.find_value", ask, Values, deadline_s=20)
        assert len(found.found[0].records) == 1


@pytest.mark.parametrize(
    "content", [b"", b"zz", b"\xff\xfe", b"00" * SIZE], ids=["empty", "no digits", "no text", "wrong"]
)
async def test_the_work_is_done_once_and_again_where_its_file_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    identity, answer = worked()
    done: list[PeerId] = []

    def solve(peer: PeerId) -> bytes:
        done.append(peer)
        return answer

    monkeypatch.setattr("core.swarm.work_gate.solve", solve)
    (tmp_path / FILE).write_bytes(content)
    for _ in range(2):
        gate = WorkGate(tmp_path, identity.peer)
        await gate.work()
        assert gate.showing() == Shown(answer) and done == [identity.peer]
