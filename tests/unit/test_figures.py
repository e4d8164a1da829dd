"""The tables of the page *Figures* are those of the benchmarks' JSON."""

import pytest

from tests.bench.__main__ import BENCHMARKS
from tests.figures import BENCHMARK, KEPT, PAGE, SECTION, TABLE, TABLES, amount, at, kept, lines_of, rendered

MACHINE = {
    "processor": "Some CPU",
    "cores": 2,
    "memory_gb": 8.0,
    "python": "3.11.2",
    "torch": "2.13.0",
    "hearth": "0.1.0",
    "load": 0.25,
}
HEAD = {"quick": False, "date": "2026-11-23", "machine": MACHINE}
OLD = """# Figures

## Hosts

`python -m tests.bench scaling`: more of them.

| old | figures |
| --- | --- |
| 1 | 2 |

Quoted from long ago:
somewhere.

Words that stay.

## Other

| another | table |
| --- | --- |
"""
NEW = """# Figures

## Hosts

`python -m tests.bench scaling`: more of them.

| hosts | samples/s | times one host |
| --- | --- | --- |
| 1 | 31 | 1 |
| 8 | 216 | 6.9 |

Measured on 2026-11-23 with version 0.1.0: Some CPU,
2 cores, 8 GB, Python 3.11.2, torch 2.13.0; load before it 0.2.

Words that stay.

## Other

| another | table |
| --- | --- |
"""


def test_the_page_is_what_the_kept_documents_say() -> None:
    page = PAGE.read_text("utf8")
    assert rendered(page, kept()) == page, "run `python -m tests.figures`"
    assert {path.stem for path in KEPT.glob("*.json")} <= TABLES.keys() & BENCHMARKS.keys()


def test_each_benchmark_with_a_table_has_its_section_with_one() -> None:
    sections = SECTION.split(PAGE.read_text("utf8"))
    found = {match[1]: len(TABLE.findall(section)) for section in sections if (match := BENCHMARK.search(section))}
    assert found == dict.fromkeys(TABLES, 1)


def test_a_document_replaces_its_table_and_where_it_is_from() -> None:
    document = {
        "benchmark": "scaling",
        "samples_per_s": {"1": {"mean": 31.2}, "8": {"mean": 215.6}},
        "times_one_host": {"1": 1.0, "8": 6.91},
        **HEAD,
    }
    written = rendered(OLD, {"scaling": document})
    assert written == NEW
    assert rendered(written, {"scaling": document}) == written


def test_a_figure_stands_beside_hiveminds_with_how_many_times_it_is_better() -> None:
    ours = {"dht": {"store_ms": {"median": 6.5}}}
    ours |= {"latency": {"transfer": [{"mib_each_way": 4.0, "mb_per_s_one_way_payload": 100.0}]}}  # type: ignore[dict-item]
    theirs = {"dht": {"store_ms": {"median": 26.0}}}
    theirs |= {"latency": {"transfer": [{"mib_each_way": 4.0, "mb_per_s_one_way_payload": 40.0}]}}  # type: ignore[dict-item]
    rows = TABLES["network"]({"figures": ours, "hivemind": theirs, **HEAD})
    assert rows[0] == ["what", "Hearth", "hivemind", "times better"]
    assert ["store a record", "6.5 ms", "26 ms", "4"] in rows
    assert ["4 MiB there and back", "100 MB/s", "40 MB/s", "2.5"] in rows
    assert ["store a record", "6.5 ms"] in TABLES["network"]({"figures": ours, **HEAD})


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [(0.4567, "s", "0.46 s"), (87.4, "ms", "87 ms"), (2354.0, "samples/s", "2,350 samples/s"), (0.0, "%", "0%")],
)
def test_figures_are_rounded_to_what_can_be_read(value: float, unit: str, words: str) -> None:
    assert amount(value, unit) == words


def test_what_was_not_measured_is_nothing() -> None:
    assert at({"a": [{"n": 1, "x": 2}]}, ("a", {"n": 2}, "x")) is None
    assert amount(None, "ms") == ""


def test_lines_of_parts_that_were_not_measured_now_stay_as_they_were_kept() -> None:
    plan, traffic = ({"part": part, "name": part, "measured": 1.0} for part in ("plan", "diloco"))
    missing = {"part": "tests", "name": "tests", "measured": None}
    first = {"date": "2026-11-23", "figures": {"plan": {}}, "holds": [plan, {**traffic, "measured": None}, missing]}
    second = {"date": "2026-11-29", "figures": {"diloco": {}}, "holds": [{**plan, "measured": None}, traffic, missing]}
    kept_first = lines_of(first, {"holds": []})
    assert lines_of(second, {"holds": kept_first}) == [
        {**plan, "date": "2026-11-23"},
        {**traffic, "date": "2026-11-29"},
        missing,
    ]
