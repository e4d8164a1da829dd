"""Who works for a run may ask its model more; strangers a little, and all of them together not much more."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
import torch

from core.community.credit_book import CreditBook
from core.community.ledger import Ledger
from core.compute.peers import Asking, RemoteHost
from core.contracts import manifest
from core.contracts.errors import AllowanceSpent, RemoteFault
from core.contracts.expert_calls import ExpertReply
from core.contracts.remote_experts import ASK, ExpertCall
from core.experts.calls import Call
from core.experts.grid import Uid
from core.identity import Identity
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.swarm.allowance import HOUR_S, LITTLE, LOOK_S, RETURN, STRANGERS, Allowance
from tests.joined_calls import join

RUN, ROW = "digits-1", 128
STEP = 1000
"""Rows of a question."""


class Host:
    """A host that is asked."""

    def __init__(self, folder: Path) -> None:
        self.book = CreditBook(Ledger(folder), Identity.generate())
        self.allowance = Allowance(RUN, self.book, ROW)

    def answers(self, peer: bytes) -> int:
        """The rows that a peer is answered before it is refused."""
        rows = 0
        with pytest.raises(AllowanceSpent):
            while True:
                self.allowance.spend(peer, STEP * ROW)
                rows += STEP
        return rows


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.fixture
def after(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets seconds pass."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def passed(seconds: float) -> None:
        now[0] += seconds

    return passed


def test_a_stranger_is_answered_a_little_every_hour(host: Host, after: Callable[[float], None]) -> None:
    stranger = Identity.generate().peer
    assert host.answers(stranger) == LITTLE
    assert host.answers(stranger) == 0
    after(HOUR_S / 3)
    assert abs(host.answers(stranger) - LITTLE / 3) <= STEP
    after(10 * HOUR_S)
    assert abs(host.answers(stranger) - LITTLE) <= STEP, "nothing is saved up beyond an hour"


def test_many_keys_are_one_stranger_sooner_or_later(host: Host, after: Callable[[float], None]) -> None:
    assert sum(host.answers(Identity.generate().peer) for _ in range(30)) == STRANGERS
    worker = Identity.generate().peer
    host.book.add(RUN, "got", worker, LITTLE, audited=LITTLE)
    assert host.answers(worker) >= LITTLE, "who has worked is kept out by none of them"


def test_work_that_was_confirmed_is_returned(host: Host, after: Callable[[float], None]) -> None:
    peer = Identity.generate().peer
    assert host.answers(peer) == LITTLE
    host.book.add(RUN, "got", peer, 50_000_000)
    after(LOOK_S + 1.0)
    assert host.answers(peer) < LITTLE / 10, "nobody has confirmed it yet"
    host.book.add(RUN, "got", peer, 0, audited=20_000_000)
    host.book.add(RUN, "saw", peer, 1_000_000)
    after(LOOK_S + 1.0)
    assert abs(host.answers(peer) - RETURN * 21_000_000) <= LITTLE / 5
    after(HOUR_S)
    assert abs(host.answers(peer) - LITTLE - RETURN * 21_000_000) <= STEP
    other = Identity.generate().peer
    host.book.add("text-1", "got", other, 50_000_000, audited=50_000_000)
    assert host.answers(other) == LITTLE, "it worked for another run"


class Nobody:
    """A watcher of hosts that learns of no trouble."""

    def changed(self) -> None:
        raise AssertionError("the host was suspended")

    def missing(self, peer: str, uids: Sequence[Uid]) -> None:
        raise AssertionError(f"{uids} are looked for elsewhere")


async def test_who_has_asked_enough_goes_on_training_with_the_host() -> None:
    training = manifest.load("digits").training
    uid = Uid("digits", 0, (0, 0))
    worker, compute = Calls(), Calls()
    join(worker, compute)

    def serve(call: ExpertCall, payload: Payload, incoming: Incoming) -> tuple[bytes, Payload]:
        if call.direction == "inference":
            raise RemoteFault(AllowanceSpent.code, "Ask again later.")
        return msgspec.msgpack.encode(ExpertReply((True,), (1,))), payload

    worker.register_carrier(ASK, serve)
    host = RemoteHost("ab" * 32, Asking(compute), training, Nobody())
    rows, deadline = torch.zeros(2, 64), asyncio.get_running_loop().time() + 60.0
    assert await host.forward([Call(uid, rows)], 1, deadline, inference=True) == [None]
    [output] = await host.forward([Call(uid, rows)], 1, deadline)
    assert output is not None and torch.equal(output.rows, rows)
