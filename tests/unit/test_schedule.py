"""Times of the week: what a text means, also over midnight and when the clocks are changed."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.contracts import schedule
from core.contracts.errors import SettingsError
from core.contracts.schedule import ALWAYS, DAY, MAX_TEXT, WEEK, Schedule, parse, written

MONDAY = 1_800_230_400
"""Monday, 18 January 2027, 0:00 UTC."""


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Berlin: the clocks go from 2:00 to 3:00 on 28 March 2027, back from 3:00 to 2:00 on 31 October."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    schedule._next_change.cache_clear()
    yield
    monkeypatch.undo()
    time.tzset()
    schedule._next_change.cache_clear()


def at(text: str, summer: int = -1) -> float:
    """Local time as unix time."""
    parsed = time.strptime(text, "%Y-%m-%d %H:%M")
    return time.mktime((*parsed[:8], summer))


def test_a_night_reaches_into_the_next_day() -> None:
    nights = parse("mo-fr 18:00-08:00; sa,su 0:00-24:00")
    assert nights.spans[0] == (0, 8 * 60) or nights.spans[0] == (18 * 60, DAY + 8 * 60)
    minutes = {day: [start for start, _ in nights.spans if start // DAY == day] for day in range(7)}
    assert minutes[0] == [18 * 60] and minutes[1] == [DAY + 18 * 60]
    assert nights.spans[-1][1] == WEEK


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("", ((0, WEEK),)),
        ("mo-su", ((0, WEEK),)),
        ("mo", ((0, DAY),)),
        ("Monday 8-9", ((480, 540),)),
        ("tu 8:30-9:00,10:00-11:00", ((DAY + 510, DAY + 540), (DAY + 600, DAY + 660))),
        ("su 22:00-2:00", ((0, 120), (6 * DAY + 1320, WEEK))),
        ("su - mo 0:00 \N{EN DASH} 1:00 ;", ((0, 60), (6 * DAY, 6 * DAY + 60))),
        ("mo 8:00-10:00; mo 9:00-11:00", ((480, 660),)),
        ("0:00-24:00", ((0, WEEK),)),
        ("mo 0:00-24:00; tu 0:00-1:00", ((0, DAY + 60),)),
    ],
)
def test_what_a_text_means(text: str, spans: tuple[tuple[int, int], ...]) -> None:
    assert parse(text) == Schedule(spans)


def table(spans: list[tuple[int, int]]) -> list[bool]:
    """Minute by minute."""
    return [any(start <= minute < end for start, end in spans) for minute in range(WEEK)]


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("", ""),
        ("mo-su 0:00-24:00", ""),
        ("mo-fr 18:00-08:00; sa,su 0:00-24:00", "mo-th 18:00-8:00; fr 18:00-24:00; sa,su 0:00-24:00"),
        ("mo-fr 22:00-06:00", "mo-fr 22:00-6:00"),
        ("22:00-6:00", "22:00-6:00"),
        ("su 22:30-2:00", "su 22:30-2:00"),
        ("tu,th 8-9:30", "tu,th 8:00-9:30"),
        ("fr 18:00-24:00; sa; su 0:00-20:00", "fr 18:00-24:00; sa 0:00-24:00; su 0:00-20:00"),
    ],
)
def test_a_table_is_written_as_one_would_type_it(text: str, shorter: str) -> None:
    assert written(table(list(parse(text).spans))) == shorter


spans = st.tuples(st.integers(0, WEEK - 1), st.integers(1, 2 * DAY)).map(lambda span: (span[0], sum(span)))


@given(st.lists(spans, min_size=1, max_size=9))
def test_what_is_written_is_read_again(chosen: list[tuple[int, int]]) -> None:
    minutes = [
        any(start <= minute + wrap < end for start, end in chosen for wrap in (0, WEEK)) for minute in range(WEEK)
    ]
    assert table(list(parse(written(minutes)).spans)) == minutes


def test_the_most_changeable_week_is_not_too_long() -> None:
    hours = [(day + hour) % 2 == 0 and (day, hour) != (day, 2 * day) for day in range(7) for hour in range(24)]
    minutes = [hours[minute // 60] for minute in range(WEEK)]
    assert len(written(minutes)) <= MAX_TEXT and table(list(parse(written(minutes)).spans)) == minutes


@pytest.mark.parametrize(
    "text",
    ["mo-fr 18:00", "xx 8:00-9:00", "mo 8:00-8:00", "mo 24:00-1:00", "mo 8:61-9:00", "25:00-26:00", "mo 8-9 10-11",
     "mo-tu-we 8-9", "m 8-9", "8:00-9:00-10:00", "mo,, 8-9", "-", "mo 8:0-9:00", "9" * 401, "\u0661-9:00"],
)  # fmt: skip
def test_what_cannot_be_understood_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(text)
    assert str(refused.value).endswith(".")


@given(st.text("mofrsa tu-,;:0123489", max_size=40))
@example("mo 0:00-0:00")
def test_any_text_is_a_sorted_table_or_refused(text: str) -> None:
    try:
        spans = parse(text).spans
    except SettingsError:
        return
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(set(edges)) and edges[0] >= 0 and edges[-1] <= WEEK


@pytest.mark.usefixtures("zone")
def test_the_next_change_is_a_clock_time_of_here() -> None:
    nights = parse("mo-fr 18:00-08:00")
    noon = at("2027-01-20 12:00")
    assert not nights.on(noon)
    assert nights.next_change(noon) == at("2027-01-20 18:00")
    evening = at("2027-01-22 18:00")
    assert nights.on(evening)
    assert nights.next_change(evening) == at("2027-01-23 08:00")
    assert nights.next_change(at("2027-01-23 08:00")) == at("2027-01-25 18:00")
    assert ALWAYS.next_change(noon) is None


@pytest.mark.usefixtures("zone")
def test_clocks_that_are_changed_move_no_clock_time() -> None:
    early = parse("1:00-8:00")
    spring = at("2027-03-28 01:30")
    assert early.next_change(spring) == at("2027-03-28 08:00") == spring + 5.5 * 3600
    assert parse("1:00-2:30").next_change(spring) == at("2027-03-28 03:00")  # 2:30 does not come
    assert parse("2:15-2:45").next_change(spring) == at("2027-03-29 02:15")  # nor does this hour
    autumn = at("2027-10-31 02:00", summer=1)
    twice = parse("2:30-3:30")
    assert twice.next_change(autumn) == at("2027-10-31 02:30", summer=1)
    assert twice.next_change(at("2027-10-31 02:40", summer=1)) == at("2027-10-31 02:00", summer=0)  # 2:00 again: off
    assert twice.next_change(at("2027-10-31 02:10", summer=0)) == at("2027-10-31 02:30", summer=0)


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("start", ["2027-01-18 00:00", "2027-03-26 12:00", "2027-10-29 12:00"])
@pytest.mark.parametrize("text", ["mo-fr 18:00-08:00", "su 2:10-2:50; sa 23:59-0:01", "0:00-2:00,3:00-24:00"])
def test_the_next_change_is_the_first_minute_that_differs(start: str, text: str) -> None:
    table, now = parse(text), at(start)
    for _ in range(3):
        minutes = (now + 60 * minute for minute in range(1, 10_081))
        first = next(moment for moment in minutes if table.on(moment) != table.on(now))
        assert table.next_change(now) == first
        now = first
