"""The life of a compute process, row by row, without any process."""

import pytest
from msgspec.structs import replace

from core.contracts.notices import notice, plain
from core.worker.compute import life
from core.worker.compute.life import (
    BACK_OFF_S,
    HEALTHY_S,
    LIFE_SIGN_S,
    QUIT_S,
    SETTLE_S,
    SILENT_S,
    START_S,
    STOP_S,
    Broken,
    Command,
    Ended,
    Event,
    Exceeded,
    GivenBack,
    GraceSet,
    Life,
    Lost,
    News,
    Order,
    Over,
    Passed,
    Saved,
    Stopped,
    Wanted,
)

GO, BACK = Wanted(True, 0.0), Wanted(False, 100.0)
GRACE_S = 10.0
Row = tuple[float, Event, list[Command], str]
"""When, what happens, what is done, and the phase then."""
TO_TRAINING: list[Row] = [
    (0.0, News.BEGIN, [], "absent"),
    (0.0, GO, [Order.START], "starting"),
    (5.0, News.READY, [Order.SETTLE], "stopped"),
    (6.0, News.SETTLED, [Order.TRAIN], "training"),
]
STOPPING: list[Row] = [*TO_TRAINING, (100.0, BACK, [Order.STOP], "stopping")]
STOPPED: list[Row] = [*STOPPING, (100.1, Stopped(100.05), [GivenBack(100.0, 100.0, 100.0, 100.05)], "stopped")]
DIED = Ended(plain("It died."), -9)


def run(rows: list[Row], start: Life | None = None) -> Life:
    """The state after all rows, each of which must bring about what it says."""
    state = start or Life()
    for moment, event, commands, phase in rows:
        state, done = life.advance(state, event, moment)
        assert (list(done), state.phase) == (commands, phase), (moment, event)
    return state


LIVES: dict[str, list[Row]] = {
    "it is stopped, its memory freed after the grace": [
        *STOPPED,
        (105.0, Saved(True), [], "stopped"),
        (110.0, Passed(109.0), [], "stopped"),
        (110.2, Passed(109.0), [Order.QUIT], "leaving"),
        (111.0, Ended(None, 0), [Over(None, True)], "absent"),
    ],
    "nothing starts before it may": [(0.0, GO, [], "absent"), (1.0, News.BEGIN, [Order.START], "starting")],
    "it trains again within the grace, without settling again": [*STOPPED, (101.0, GO, [Order.TRAIN], "training")],
    "it trains though nothing settles": [
        *TO_TRAINING[:3],
        (5.0 + SETTLE_S - 0.1, Passed(9.0), [], "stopped"),
        (5.0 + SETTLE_S, Passed(9.0), [Order.TRAIN], "training"),
        (11.0, News.SETTLED, [], "training"),
    ],
    "told to begin anew, it saves and ends, and the next one starts at once": [
        *TO_TRAINING,
        (50.0, News.RENEW, [Order.QUIT], "leaving"),
        (51.0, Saved(True), [], "leaving"),
        (52.0, Ended(None, 0), [Over(None, True), Order.START], "starting"),
        (53.0, News.RENEW, [Order.KILL], "leaving"),
        (53.1, Ended(DIED.why, -9, killed=True), [Over(None, True), Order.START], "starting"),
        (60.0, News.READY, [Order.SETTLE], "stopped"),
    ],
    "there is nothing to begin anew without a process": [
        (0.0, News.BEGIN, [], "absent"),
        (1.0, News.RENEW, [], "absent"),
        *[(moment + 2.0, event, commands, phase) for moment, event, commands, phase in TO_TRAINING[1:]],
    ],
    "who comes back while it starts ends it at once": [
        *TO_TRAINING[:2],
        (1.0, Wanted(False, 1.0), [Order.KILL], "leaving"),
        (1.1, News.READY, [], "leaving"),
        (1.2, Ended(plain("It died."), -9, killed=True), [Over(None, True)], "absent"),
    ],
    "one that is never ready is killed": [
        *TO_TRAINING[:2],
        (START_S - 1, Passed(), [], "starting"),
        (START_S, Passed(), [Order.KILL], "starting"),
        (
            START_S + 1,
            Ended(plain("It died."), -9, killed=True),
            [Over(notice("compute.not_ready", within=life.START_S), True)],
            "absent",
        ),
    ],
    "one that does not stop is killed: the user comes first": [
        *STOPPING,
        (100.0 + STOP_S - 0.1, Passed(101.0), [], "stopping"),
        (100.0 + STOP_S, Passed(101.0), [Order.KILL], "stopping"),
        (102.1, Stopped(102.05), [], "stopping"),
        (
            102.5,
            Ended(plain("It died."), -9, killed=True),
            [
                GivenBack(100.0, 100.0, 100.0, 102.5),
                Lost(True),
                Over(notice("compute.did_not_stop", within=life.STOP_S), True),
            ],
            "absent",
        ),
    ],
    "one that says nothing is killed": [
        *TO_TRAINING,
        (20.0, Passed(19.0), [], "training"),
        (19.0 + LIFE_SIGN_S - 1, Passed(19.0), [], "training"),
        (19.0 + LIFE_SIGN_S, Passed(19.0), [Order.KILL], "training"),
    ],
    "one that says nothing while this process stands still is heard again first": [
        *TO_TRAINING,
        (20.0, Passed(19.0), [], "training"),
        (100.0, Passed(19.0), [], "training"),
        (100.0 + LIFE_SIGN_S - 1, Passed(19.0), [], "training"),
        (100.0 + LIFE_SIGN_S, Passed(19.0), [Order.KILL], "training"),
    ],
    "what was not saved is told": [
        *STOPPED,
        (100.5, Saved(False), [], "stopped"),
        (101.0, DIED, [Lost(False), Over(plain("It died."), True)], "absent"),
    ],
    "one that leaves has time as long as it says something": [
        *TO_TRAINING,
        (20.0, News.LEAVE, [Order.QUIT], "leaving"),
        (20.0 + SILENT_S, Passed(30.0), [], "leaving"),
        (30.0 + SILENT_S, Passed(30.0), [Order.KILL], "leaving"),
        (46.0, Ended(None, -9, killed=True), [Lost(True), Over(None, True)], "absent"),
    ],
    "but not for ever": [
        *TO_TRAINING,
        (20.0, News.LEAVE, [Order.QUIT], "leaving"),
        (20.0 + QUIT_S, Passed(79.0), [Order.KILL], "leaving"),
    ],
    "one that takes too much memory is saved, and another starts later": [
        *TO_TRAINING,
        (20.0, Exceeded(plain("Too much.")), [Order.QUIT], "leaving"),
        (20.5, Saved(True), [], "leaving"),
        (21.0, Ended(None, 0), [Over(plain("Too much."), True)], "absent"),
        (21.5, Passed(), [], "absent"),
        (22.0, Passed(), [Order.START], "starting"),
    ],
    "one that dies is started again": [
        *TO_TRAINING,
        (20.0, DIED, [Over(plain("It died."), True)], "absent"),
        (20.9, Passed(), [], "absent"),
        (21.0, Passed(), [Order.START], "starting"),
    ],
    "what it computed on is not to blame for what the system did": [
        *TO_TRAINING,
        (20.0, Ended(plain("No memory."), -9, excused=True), [Over(plain("No memory."), False)], "absent"),
    ],
    "one that talks nonsense is killed, and that is told": [
        *TO_TRAINING,
        (20.0, Broken(plain("Nonsense.")), [Order.KILL], "training"),
        (20.1, Broken(plain("More of it.")), [], "training"),
        (20.2, Ended(plain("It died."), -9, killed=True), [Over(plain("Nonsense."), True)], "absent"),
    ],
    "its own end after nonsense is told instead": [
        *TO_TRAINING,
        (20.0, Broken(plain("Nonsense.")), [Order.KILL], "training"),
        (20.2, Ended(plain("Out of memory."), 1), [Over(plain("Out of memory."), True)], "absent"),
    ],
    "a question starts it, and keeps it for the grace": [
        (0.0, News.BEGIN, [], "absent"),
        (0.0, News.ASKED, [Order.START], "starting"),
        (5.0, News.READY, [], "stopped"),
        (5.0 + GRACE_S + 1, Passed(15.0), [], "stopped"),
        (20.0, News.ANSWERED, [], "stopped"),
        (20.0 + GRACE_S - 0.1, Passed(29.0), [], "stopped"),
        (20.0 + GRACE_S, Passed(29.0), [Order.QUIT], "leaving"),
        (31.0, News.ASKED, [], "leaving"),
        (31.5, Ended(None, 0), [Over(None, True), Order.START], "starting"),
    ],
    "who gives up before it is ready ends it": [
        (0.0, News.BEGIN, [], "absent"),
        (0.0, News.ASKED, [Order.START], "starting"),
        (1.0, News.ANSWERED, [Order.KILL], "leaving"),
    ],
    "nothing starts again when all leaves": [
        *TO_TRAINING,
        (20.0, DIED, [Over(plain("It died."), True)], "absent"),
        (20.5, News.LEAVE, [], "absent"),
        (30.0, Passed(), [], "absent"),
    ],
    "another grace holds at once": [*STOPPED, (101.0, GraceSet(0.5), [Order.QUIT], "leaving")],
}


@pytest.mark.parametrize("rows", LIVES.values(), ids=LIVES.keys())
def test_a_life(rows: list[Row]) -> None:
    run(rows)


def test_the_back_off_doubles_up_to_its_end_and_begins_anew_after_a_healthy_life() -> None:
    state, moment, waits = run(TO_TRAINING), 10.0, list[float]()
    for _ in range(8):
        state, _ = life.advance(state, DIED, moment)
        assert state.retry is not None and state.failure == plain("It died.")
        waits.append(state.retry - moment)
        moment = state.retry
        state, commands = life.advance(state, Passed(), moment)
        assert commands == (Order.START,) and state.retry is None and state.failure == plain("It died.")
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, BACK_OFF_S[1], BACK_OFF_S[1]]
    state, _ = life.advance(state, News.READY, moment)
    assert state.failure is None
    state, _ = life.advance(state, DIED, moment + HEALTHY_S + 1)
    assert state.retry == moment + HEALTHY_S + 1 + BACK_OFF_S[0]


def test_what_never_came_up_and_the_third_in_a_row_that_dies_young_are_known() -> None:
    def dies(state: Life, after_s: float) -> tuple[Life, bool]:
        begun = (state.retry or 0.0) + 1
        state = run([(begun, Passed(begun), [Order.START], "starting")], state)
        assert state.never_well(begun)
        state, _ = life.advance(state, News.READY, begun + 1)
        again = state.never_well(begun + after_s)
        return life.advance(state, DIED, begun + after_s)[0], again

    state, found = replace(Life(), begun=True, wanted=True), []
    for after_s in (5.0, HEALTHY_S, 5.0, HEALTHY_S + 1, 5.0, 5.0, 5.0):
        state, again = dies(state, after_s)
        found.append(again)
    assert found == [False, False, True, False, False, True, True]


def test_it_has_ended_for_good_only_when_the_process_is_gone() -> None:
    state, _ = life.advance(run(TO_TRAINING), News.LEAVE, 20.0)
    assert not state.over
    state, _ = life.advance(state, Ended(None, 0), 21.0)
    assert state.over


def test_a_yield_counts_from_what_caused_it_unless_that_is_long_ago() -> None:
    for cause, counted in ((99.0, 99.0), (50.0, 100.0)):
        state, _ = life.advance(run(TO_TRAINING), Wanted(False, cause), 100.0)
        _, commands = life.advance(state, Stopped(100.1), 100.2)
        assert commands == (GivenBack(counted, 100.0, 100.0, 100.1),)


@pytest.mark.parametrize("name", LIVES)
def test_it_is_looked_at_again_in_time(name: str) -> None:
    """Whoever sleeps until the deadline, and only tells that time has passed, misses nothing and never spins."""
    state = run(LIVES[name])
    for _ in range(20):
        moment = life.deadline(state)
        if moment is None:
            return
        before = state
        state, _ = life.advance(state, Passed(), moment)
        again = life.deadline(state)
        assert state != before and (again is None or again > moment or state.phase != before.phase)
    assert state.phase in ("absent", "starting")


def test_a_process_begins_as_if_there_had_been_none_before() -> None:
    state, _ = life.advance(run(STOPPED), DIED, 101.0)
    state, _ = life.advance(replace(state, wanted=True), Passed(), 200.0)
    assert (state.phase, state.number, state.settled, state.settling, state.unsaved) == (
        "starting",
        2,
        False,
        None,
        False,
    )
