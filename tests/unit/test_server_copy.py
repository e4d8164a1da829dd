"""Copies of a parameter server: what one peer says of the work is taken as far as it can be true."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from core.contracts.errors import ProtocolError
from core.contracts.trunk import MOST, Offer, VcAsgd
from core.swarm.trunk.parameter_server import WORK, ParameterServer
from core.swarm.trunk.parameter_store import SqliteStore
from core.swarm.trunk.server_copy import Copy, dump, load
from core.swarm.trunk.work_generator import Client, Open, Subtask, Work, WorkGenerator

RULES = VcAsgd(parts=4, timeout_s=10.0, accuracy=0.9)
NUMBERS = 5
NOW = 1000.0


def honest() -> Work:
    work = Work()
    server = WorkGenerator(RULES, work)
    for number in range(6):
        subtask = server.give(str(number), NOW)
        assert subtask is not None
        if number in (1, 4):
            assert server.reserve(str(number), subtask, NOW + 1)
            server.finish(str(number), subtask, 32, 0.5, str(number))
            server.judge(subtask, 0.5, str(number))
    return work


def loaded(work: Work, most: int = MOST) -> Work:
    copy = Copy(msgspec.msgpack.encode(work), bytes(4 * NUMBERS), work.turns)
    return msgspec.msgpack.decode(load(dump(copy), NUMBERS, RULES, NOW, most).table, type=Work)


def test_an_honest_table_is_gone_on_with() -> None:
    work, again = honest(), loaded(honest())
    assert (again.done, again.samples, again.open, again.clients) == (2, 64, work.open, work.clients)
    assert again.judged == work.judged and again.said == work.said
    assert not again.spans and not again.took, "what is usual is no one peer's word"


LIES: dict[str, Callable[[Work], object]] = {
    "a part that is none": lambda work: work.open.append(Open(Subtask(2, 4))),
    "an epoch before the first": lambda work: work.open.append(Open(Subtask(0, 1))),
    "an epoch that is not made": lambda work: work.open.append(Open(Subtask(9, 1))),
    "the same twice": lambda work: work.open.append(work.open[0]),
    "until no time": lambda work: work.open.append(Open(Subtask(1, 1), "ghost", float("nan"))),
    "for ever": lambda work: work.open.append(Open(Subtask(1, 1), "ghost", float("inf"))),
    "since never": lambda work: work.open.append(Open(Subtask(1, 1), "ghost", since=float("inf"))),
    "accuracies of what is to come": lambda work: work.judged.update({9: [0.9]}),
    "more accuracies than subtasks": lambda work: work.judged.update({1: [0.9] * 4}),
    "one that has judged all to come": lambda work: work.said.update(liar=(2**40, 1.0)),
}


@pytest.mark.parametrize("name", LIES)
def test_a_table_that_cannot_be_is_none(name: str) -> None:
    work = honest()
    LIES[name](work)
    with pytest.raises(ProtocolError):
        loaded(work)


def test_what_a_ghost_holds_for_ever_is_given_to_another_after_the_time_out() -> None:
    work = honest()
    work.open = [Open(each.subtask, "ghost", 1e11, since=1e11) for each in work.open]
    server = WorkGenerator(RULES, loaded(work))
    assert server.give("honest", NOW + RULES.timeout_s) == work.open[0].subtask


def test_counters_at_their_end_are_read_again(tmp_path: Path) -> None:
    work = honest()
    work.done = work.samples = MOST
    work.clients["a"] = Client(returned=MOST, late=MOST, voice="a")
    store = SqliteStore(tmp_path / "parameters")
    store.write(WORK, msgspec.msgpack.encode(loaded(work, most=MOST)))
    server = ParameterServer(RULES, NUMBERS, store)
    server.serve("a", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), NOW)
    for number in range(3):
        agreed, _ = server.serve("a", Offer(0, 0, 0), None, NOW)
        result = np.full(NUMBERS, 1 + number, np.float32)
        assert server.serve("a", Offer(agreed.part, agreed.version, 7), result, NOW + 1)[0].counted
    assert server.work().clients["a"].returned == MOST and server.serve("b", Offer(0, 0, 0), None, NOW + 99)
    assert loaded(work, most=1000).samples == 1000, "rates fall with them"
    store.close()


def test_epochs_that_cannot_have_been_do_not_stop_learning(tmp_path: Path) -> None:
    store, last = SqliteStore(tmp_path / "parameters"), 2**24
    work = loaded(Work(generated=last, open=[Open(Subtask(last, 0))]))
    store.write(WORK, msgspec.msgpack.encode(work))
    server = ParameterServer(RULES, NUMBERS, store, epochs=1)
    agreed, _ = server.serve("a", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), NOW)
    offer = Offer(agreed.part, agreed.version, 7)
    agreed, current = server.serve("a", offer, np.ones(NUMBERS, np.float32), NOW + 1)
    assert agreed.counted and current is not None and current == pytest.approx(0.5)
    store.close()
