"""VC-ASGD's subtasks: each done once, whoever goes away; in the time that the paper expects."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest

from core.averaging.assimilation import assimilate, kept_share
from core.averaging.codecs import Numbers
from core.averaging.packing import pack, unpack
from core.contracts.errors import ProtocolError
from core.contracts.trunk import MOST, PARTS, Offer, VcAsgd
from core.swarm.trunk.parameter_server import ParameterServer
from core.swarm.trunk.parameter_store import SqliteStore
from core.swarm.trunk.work_generator import AHEAD, CLIENTS, Subtask, Work, WorkGenerator
from tests.bench.vc_asgd import Setup, seconds_taken

NUMBERS = 5
RULES = VcAsgd(("00" * 32,), parts=4, timeout_s=10.0)
GOOD = msgspec.structs.replace(RULES, accuracy=0.85)


def table(rules: VcAsgd = RULES) -> WorkGenerator:
    return WorkGenerator(rules, Work())


def done(work: WorkGenerator, client: str, subtask: Subtask | None, now: float) -> bool:
    """Whether a client's result is taken."""
    assert subtask is not None
    taken = work.reserve(client, subtask, now)
    if taken:
        work.finish(client, subtask, 1, 0.0, client)
    return taken


def test_who_asks_ten_thousand_times_gets_no_more_and_keeps_nothing_for_ever() -> None:
    work, table_of = table(), msgspec.msgpack.encode
    work.give("honest", 0.0)
    first = work.give("greedy", 0.0)
    assert first is not None
    size = len(table_of(work.work))
    for _ in range(10_000):
        assert work.give("greedy", 1.0) == first
        assert work.give("greedy", 1.0, [first]) is None, "more than the manifest gives at once"
    assert len(table_of(work.work)) < size + 16
    now = 1.0
    while work.give("greedy", now) == first:
        assert now <= 3 * RULES.timeout_s, "kept for ever"
        now += RULES.timeout_s / 2
    assert first in (work.give("other", now), work.give("another", now))


def test_ten_thousand_names_take_no_more_than_half_and_push_nobody_out() -> None:
    work = table()
    for name in ("one", "two"):
        assert done(work, name, work.give(name, 0.0), 0.0)
    taken = [work.give(f"name {number}", 1.0) for number in range(10_000)]
    assert sum(each is not None for each in taken) == AHEAD * RULES.parts // 2
    assert len(work.work.clients) <= CLIENTS and len(work.work.open) <= AHEAD * RULES.parts
    assert done(work, "one", work.give("one", 2.0), 2.0) and done(work, "two", work.give("two", 2.0), 2.0)
    assert work.work.clients["one"].returned == 2, "who has done something is not forgotten for those who have not"
    msgspec.msgpack.decode(msgspec.msgpack.encode(work.work), type=Work)


def test_one_that_takes_a_subtask_and_never_returns_it_holds_up_nobody() -> None:
    work = table()
    for name in ("one", "two"):
        assert done(work, name, work.give(name, 0.0), 0.0)
    for number in range(100):
        now = 0.05 * number  # all of it before the time-out
        work.give("stranger", now)
        assert done(work, "one", work.give("one", now), now)
    late = work.give("stranger", 5.0)
    assert late and done(work, "stranger", late, 5.0), "it may still begin to work"


def test_a_single_trainer_is_not_held_up_twice_by_one_that_returns_nothing() -> None:
    work = table()
    assert done(work, "honest", work.give("honest", 0.0), 0.0)
    for now in (0.0, 10.0):
        work.give("stranger", now)
        for _ in range(AHEAD * RULES.parts - 2):
            assert done(work, "honest", work.give("honest", now), now)
    for number in range(100):
        work.give("stranger", 10.0)
        assert done(work, "honest", work.give("honest", 10.0), 10.0), number


def test_one_that_answers_at_once_does_not_take_what_newcomers_work_on() -> None:
    work, takes_s, counted = table(), 6.0, 0
    assert done(work, "liar", work.give("liar", 0.0), 0.0), "it came first"
    for number in range(40):
        now, name = 7.0 * number, f"newcomer {number}"
        held = work.give(name, now)
        if number == 2:
            assert done(work, "old", work.give("old", now), now + takes_s), "now others tell how long it takes"
        for step in range(20):
            at = now + step * takes_s / 20
            if (got := work.give("liar", at)) is not None:
                assert got != held
                done(work, "liar", got, at)
        counted += done(work, name, held, now + takes_s)
    assert counted == 40


def test_an_epoch_of_arrivals_is_the_sum_of_the_papers_second_equation() -> None:
    draw = np.random.default_rng(0)
    begun, *clients = draw.standard_normal((9, 1000)).astype(np.float32)
    for kept in (0.0, 0.7, 0.95, 0.999):
        server = begun
        for client in clients:
            server = assimilate(server, client, kept)
        n = len(clients)
        closed = kept**n * begun + (1 - kept) * sum(kept ** (n - j) * w for j, w in enumerate(clients, 1))
        np.testing.assert_allclose(server, closed, atol=1e-6)
    assert [kept_share(None, epoch) for epoch in (1, 2, 40)] == [0.5, 2 / 3, 40 / 41]
    assert kept_share(0.95, 40) == 0.95


def test_parameters_travel_in_fewer_bytes_and_unchanged() -> None:
    vector = (0.02 * np.random.default_rng(0).standard_normal(50_000)).astype(np.float32)
    vector[:4] = 0.0, -0.0, 1e-42, np.finfo(np.float32).max
    packed = pack(vector)
    assert unpack(packed, len(vector)).tobytes() == vector.tobytes()
    assert len(packed) < 0.9 * vector.nbytes
    for wrong in (
        packed[:-9],
        packed[:100],
        packed + b"more",
        pack(vector[1:]),
        pack(np.zeros(10**6, np.float32)),
        b"",
    ):
        with pytest.raises(ProtocolError):
            unpack(wrong, len(vector))
    vector[7] = np.nan
    with pytest.raises(ProtocolError, match="not finite"):
        unpack(pack(vector), len(vector))


def test_what_is_not_returned_in_time_is_given_to_another_and_counted_once() -> None:
    work = table()
    first = work.give("gone", 0.0)
    assert work.give("other", 1.0) != first
    assert work.give("gone", 2.0) == first, "after a restart a client gets what it had"
    assert work.give("gone", 11.0) == first, "and has the whole time for it again"
    again = work.give("third", 22.0)
    assert again == first
    assert done(work, "gone", first, 23.0), "the first result counts, also if it comes late"
    assert not done(work, "third", again, 24.0)
    assert not done(work, "stranger", work.give("other", 24.0), 25.0), "it was given to somebody else"
    assert work.work.done == 1
    assert work.work.clients["gone"].late == 1


def test_a_result_whose_server_died_is_taken_again() -> None:
    work = table()
    subtask = work.give("client", 0.0)
    assert subtask is not None
    assert work.reserve("client", subtask, 1.0)
    assert not work.reserve("client", subtask, 2.0), "a server is at it"
    assert done(work, "client", subtask, 100.0)


def test_clients_get_parts_that_they_have_and_late_subtasks_go_to_reliable_ones() -> None:
    work = table()
    had = {}
    for client in "abcd":
        had[client] = work.give(client, 0.0)
        assert done(work, client, had[client], 1.0)
    for client in "dcab":
        again, before = work.give(client, 2.0), had[client]
        assert again is not None and before is not None and again == Subtask(2, before.part)

    work = table()
    late = work.give("lame", 0.0)
    assert work.give("lame", 20.0) not in (late, None)
    assert work.give("reliable", 21.0) == late


def test_epochs_run_ahead_by_some_and_end_when_the_mean_is_good_enough() -> None:
    work = table(GOOD)
    given = [work.give(str(n), 0.0) for n in range(17)]
    ahead = [(epoch, part) for epoch in (1, 2, 3, 4) for part in range(4)]
    assert [(each.epoch, each.part) for each in given if each] == ahead
    assert given[16] is None, "not a fifth epoch while the first is unfinished"
    for n, accuracy in [(4, 0.9), (5, 0.9), (6, 0.9), (7, 0.9), (0, 0.1), (1, 0.2), (2, 0.3)]:
        assert done(work, str(n), given[n], 1.0)
        work.judge(given[n] or Subtask(0, 0), accuracy, str(n % 4))
        assert work.work.means == [] and not work.stopped
    assert done(work, "3", given[3], 1.0)
    work.judge(Subtask(1, 3), 0.4, "3")
    assert work.work.means == [pytest.approx(0.25), pytest.approx(0.9)] and work.stopped
    assert work.give("more", 2.0) is None


def test_a_few_clients_that_claim_more_than_the_others_end_nothing() -> None:
    work = table(GOOD)
    for claims, stops in (([1.0, 0.9, 0.9, 0.8], True), ([1.0, 1.0, 0.8, 0.8], False), ([1.0, 0.8, 0.84, 0.84], False)):
        again = table(GOOD)
        for n, accuracy in enumerate(claims):
            subtask = again.give(str(n), 0.0)
            assert done(again, str(n), subtask, 1.0)
            again.judge(subtask or Subtask(0, 0), accuracy, str(n))
        assert again.stopped == stops, claims
        assert again.work.means[0] >= 0.85
    first = work.give("not measured", 0.0)
    assert done(work, "not measured", first, 1.0)
    for n in range(3):
        subtask = work.give(str(n), 2.0)
        assert done(work, str(n), subtask, 3.0)
        work.judge(subtask or Subtask(0, 0), 0.9, str(n))
    assert work.stopped, "one that could not be measured keeps nothing from ending"


@pytest.mark.parametrize(("clients", "at_once"), [(5, 2), (3, 8)])
@pytest.mark.parametrize("lost", [0.0, 0.05, 0.2])
def test_with_clients_that_go_away_it_takes_as_long_as_the_paper_expects(
    clients: int, at_once: int, lost: float
) -> None:
    taken, expected = seconds_taken(Setup(clients, at_once, lost), 500, seed=7)
    assert taken == pytest.approx(expected, rel=0.15)


def test_what_clients_measure_ends_the_job(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "parameters")
    server = ParameterServer(msgspec.structs.replace(RULES, accuracy=0.45), NUMBERS, store)
    agreed, current = server.serve("a", Offer(0, 0, 0), None, 0.0)
    assert current is None and not agreed.counted, "no client has given what all begin with"
    agreed, current = server.serve("a", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), 0.0)
    seen: list[float] = []
    while not agreed.again_s:
        assert current is not None and not agreed.reached
        seen.append(float(current[0]))
        offer = Offer(agreed.part, agreed.version, 3, accuracy=seen[-1])
        agreed, current = server.serve("a", offer, np.full(NUMBERS, 1 + 2**-20 * len(seen), np.float32), 1.0)
    assert seen == pytest.approx([0.0, 0.5, 0.75, 0.875], abs=1e-5), "an epoch, and what its subtasks began with"
    work = server.work()
    assert agreed.reached and work.best == work.means[0] and work.means == [sum(seen) / 4] and agreed.samples == 12
    again = ParameterServer(msgspec.structs.replace(RULES, accuracy=0.45), NUMBERS, store)
    assert again.serve("b", Offer(0, 0, 0), None, 9.0)[0].reached, "for others, and after a restart"
    with pytest.raises(ProtocolError, match="4 parameters came"):
        server.serve("a", Offer(0, 0, 1), np.ones(4, np.float32), 2.0)
    store.close()


def test_a_result_far_from_all_others_is_brought_near_and_named(tmp_path: Path) -> None:
    store, told = SqliteStore(tmp_path / "parameters"), list[float]()
    rules = msgspec.structs.replace(RULES, kept=0.5, strong=True)
    server = ParameterServer(rules, NUMBERS, store, reach=5.0 * NUMBERS**0.5)
    agreed, current = server.serve("a", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), 0.0)

    def give(step: float) -> Numbers:
        nonlocal agreed, current
        assert current is not None
        before, after = current, current + np.float32(step)
        offer = Offer(agreed.part, agreed.version, 3)
        agreed, current = server.serve("a", offer, after, 1.0, far=told.append)
        assert agreed.counted and current is not None
        return current - before

    assert np.allclose(give(9.0), 0.5 * 0.5), "further than a subtask leads: before others are known"
    assert told == [pytest.approx(9.0 / 0.5)]
    for _ in range(8):
        assert np.allclose(give(0.5), 0.25)
    assert np.allclose(give(4.9), 2.45) and len(told) == 1, "not as far: taken as it is"
    assert np.allclose(give(-50.0), -0.25) and told[1] == pytest.approx(100.0), "in its own direction"
    assert server.work().spans["a"][-1] == pytest.approx(5.0 * NUMBERS**0.5), "liars do not tell what is usual"
    store.close()


def test_a_result_that_has_learnt_nothing_is_refused_and_its_subtask_given_to_another(tmp_path: Path) -> None:
    store, rules = SqliteStore(tmp_path / "parameters"), msgspec.structs.replace(RULES, kept=0.5, strong=True)
    server = ParameterServer(rules, NUMBERS, store, most_samples=96)
    began = np.zeros(NUMBERS, np.float32)
    server.serve("honest", Offer(0, 0, 0), began, 0.0)

    def give(client: str, result: Callable[[Numbers], Numbers], samples: int = 96) -> Numbers:
        agreed, current = server.serve(client, Offer(0, 0, 0), None, 0.0)
        assert current is not None and not agreed.again_s
        trained = result(current)
        assert server.serve(client, Offer(agreed.part, agreed.version, samples), trained, 1.0)[0].counted
        return trained

    given = give("liar", lambda current: current + 2)
    for _ in range(8):
        give("honest", lambda current: current + 1)
    near = np.float32(1e-4)
    before = server.work().done
    for old in (lambda current: current, lambda _: began, lambda _: given, lambda current: current + near):
        with pytest.raises(ProtocolError, match="has learnt nothing"):
            give("liar", old)
    now = server.work()
    assert now.done == before and now.clients["liar"].late == 4 and not any(each.arrived for each in now.open)
    give("honest", lambda current: current + near, samples=1)
    for rate in map(np.float32, 0.6 ** np.arange(16)):
        give("honest", partial(np.add, rate))
    assert server.work().done == before + 17, "rates fall late in training"
    store.close()


def test_one_that_returns_most_results_does_not_tell_what_is_usual_or_good_enough() -> None:
    """Nor do many names of one block of addresses."""
    work, distance = table(GOOD), 1.0
    for n in range(200):
        name, voice, honest = (str(n % 3), str(n % 3), True) if n % 10 == 0 else (f"liar {n}", "liars", False)
        subtask = work.give(name, 0.0)
        assert subtask is not None and work.reserve(name, subtask, 1.0)
        distance = 1.0 if honest else 10.0 * (work.usual() or 1.0)
        work.finish(name, subtask, 3, distance, voice)
        work.judge(subtask, 0.5 if honest else 1.0, voice)
    assert work.usual() == 1.0 and max(work.work.means) == 1.0 and not work.stopped


def test_many_names_of_one_voice_that_have_returned_much_take_no_more_than_half() -> None:
    """They renew what they have, and never return it: others get it when it is late."""
    work, now, got = table(), 0.0, 0
    names = [f"liar {n}" for n in range(20)]
    for _ in range(20):
        for name in names:
            if (subtask := work.give(name, now, voice="liars")) and work.reserve(name, subtask, now):
                work.finish(name, subtask, 1, 0.0, "liars")
    for now in map(float, range(1, 1200)):
        for name in names:
            work.give(name, now, voice="liars")
        for name in ("one", "two"):
            if subtask := work.give(name, now):
                got += work.reserve(name, subtask, now)
                work.finish(name, subtask, 1, 1.0, name)
    assert got > 1000


def test_a_table_of_before_there_were_voices_is_gone_on_with() -> None:
    before = {"generated": 1, "open": [[[1, 2], "a", 9.0, False, [], 1.0]], "clients": {"a": [3, 1, [2]]}}
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(before | {"done": 3, "distances": [0.5] * 9}), type=Work)
    assert read.done == 3 and read.clients["a"].returned == 3 and read.open[0].client == "a"
    assert WorkGenerator(GOOD, read).usual() is None


def test_a_table_that_somebody_made_up_stops_nobody() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"generated": MOST // PARTS}), type=Work)
    work = WorkGenerator(GOOD, Work(judged={9: [0.9]}))
    for _ in range(40):
        subtask = work.give("a", 0.0)
        assert subtask is not None and done(work, "a", subtask, 1.0)
        work.judge(subtask, 0.5, "a")


def test_results_that_nobody_was_asked_for_change_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "parameters")
    rules = msgspec.structs.replace(RULES, kept=0.5)
    server = ParameterServer(rules, NUMBERS, store, most_samples=96)
    given, _ = server.serve("a", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), 0.0)
    other, _ = server.serve("b", Offer(0, 0, 0), None, 0.0)
    twos = np.full(NUMBERS, 2, np.float32)

    def changed(client: str, offer: Offer, now: float = 1.0) -> bool:
        before = server.work()
        agreed, _ = server.serve(client, offer, twos, now)
        assert agreed.counted == (server.work().done > before.done)
        return agreed.counted

    assert not changed("b", Offer(given.part, given.version, 96)), "it was given to another"
    for version in (17, 999, 2**40, MOST):
        assert not changed("a", Offer(0, version, 96)), "nobody was given it"
    with pytest.raises(ProtocolError, match="97 samples came of a subtask that has 96"):
        changed("a", Offer(given.part, given.version, 97))
    with pytest.raises(ProtocolError, match="samples came"):
        server.serve("a", Offer(0, 0, MOST), None, 1.0)
    assert changed("a", Offer(given.part, given.version, 96))
    assert not changed("a", Offer(given.part, given.version, 96)), "twice"
    twos += 1
    assert changed("b", Offer(other.part, other.version, 96), now=60.0), "late, and nobody else was quicker"
    done = server.work()
    assert done.samples == 192 and server.serve("c", Offer(0, 0, 0), None, 61.0)[1] is not None
    store.close()


def test_a_run_that_has_ended_goes_on_if_its_manifest_wants_more() -> None:
    work = table(GOOD)
    for name in "abcd":
        subtask = work.give(name, 0.0)
        assert done(work, name, subtask, 1.0) and subtask
        work.judge(subtask, 0.9, "a")
    assert work.stopped and work.give("a", 2.0) is None
    assert WorkGenerator(msgspec.structs.replace(GOOD, accuracy=0.95), work.work).give("a", 2.0) is not None
    assert WorkGenerator(RULES, work.work).give("a", 2.0) is not None, "without end"


@pytest.mark.parametrize("samples", [0, 3])
def test_what_no_network_learns_with_is_refused_also_to_begin_with(samples: int, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "parameters")
    server = ParameterServer(RULES, NUMBERS, store)
    agreed, _ = server.serve("a", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), 0.0) if samples else (None, None)
    huge = np.full(NUMBERS, 1e6, np.float32)
    with pytest.raises(ProtocolError, match=r"one is 1e\+06"):
        server.serve("a", Offer(0, agreed.version if agreed else 0, samples), huge, 1.0)
    _, current = server.serve("b", Offer(0, 0, 0), None, 2.0)
    assert (current is None) == (not samples) and (current is None or not current.any())
    store.close()


def test_what_no_client_can_measure_is_left_out(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "parameters")
    server = ParameterServer(GOOD, NUMBERS, store)
    agreed, _ = server.serve("a", Offer(0, 0, 0), np.zeros(NUMBERS, np.float32), 0.0)
    for number, accuracy in enumerate((None, 0.9, 0.9, 0.9)):
        offer = Offer(agreed.part, agreed.version, 3, accuracy=accuracy)
        agreed, _ = server.serve("a", offer, np.full(NUMBERS, 1 + number, np.float32), 1.0)
    assert agreed.reached and server.work().means == [pytest.approx(0.9)]
    store.close()
