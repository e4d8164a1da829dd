"""The tables of the help page *Figures*, written from the benchmarks' own JSON: `python -m tests.figures`.

`python -m tests.bench NAME --keep` keeps a benchmark's document and calls this. Each section of the page names its
benchmark and has one table; where a document of it is kept, the table, and the line below it that says on what it was
measured, are written anew. All other words stay as they are.
"""

import itertools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from tests.workers import ROOT

PAGE = ROOT / "resources" / "help" / "figures.md"
KEPT = PAGE.parent / "figures"
LEFT_OUT = {"curves", "figures", "slowest", "samples_per_s_runs"}
"""What makes documents large and is in no table."""
SECTION = re.compile(r"^(?=## )", re.MULTILINE)
BENCHMARK = re.compile(r"`python -m tests\.bench ([a-z_]+)")
TABLE = re.compile(r"(?:^\|.*\n)+(?:\n(?:Measured|Quoted) (?:.+\n)+)?", re.MULTILINE)
Document = Mapping[str, Any]
Rows = list[list[str]]
Step = str | int | Mapping[str, Any]
"""Into a document: a key, a place in a list, or what is true of the item of a list that is meant."""


class Row(NamedTuple):
    """One figure, of Hearth and perhaps of hivemind."""

    label: str
    path: Sequence[Step]
    unit: str = "ms"
    scale: float = 1.0


def number(value: float) -> str:
    """With two significant digits, or three from 100 on."""
    if abs(value) >= 100:
        return f"{round(value, 3 - len(str(int(abs(value))))):,.0f}"
    return f"{float(f'{value:.2g}'):g}"


def amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{number(value)}{'' if unit.startswith('%') else ' '}{unit}".strip()


def at(document: Any, path: Sequence[Step]) -> Any:
    """What is at the end of a path; None where there is nothing."""
    for step in path:
        if isinstance(step, Mapping):
            fitting = (item for item in document if all(item.get(key, value) == value for key, value in step.items()))
            document = next(fitting, None)
        else:
            document = document.get(step) if isinstance(document, dict) else document[int(step)]
        if document is None:
            return None
    return document


def plain(rows: Sequence[Row]) -> Callable[[Document], Rows]:
    """A table of single figures."""

    def table(document: Document) -> Rows:
        found = [(row, at(document, row.path)) for row in rows]
        return [
            ["what", "figure"],
            *([row.label, amount(value * row.scale, row.unit)] for row, value in found if value is not None),
        ]

    return table


def beside(rows: Sequence[Row]) -> Callable[[Document], Rows]:
    """A table beside hivemind's figures, which have the same names; without them, of ours alone."""

    def table(document: Document) -> Rows:
        theirs = document.get("hivemind")
        body = []
        for row in rows:
            mine, other = at(document["figures"], row.path), None if theirs is None else at(theirs, row.path)
            if mine is None:
                continue
            cells = [row.label, amount(mine * row.scale, row.unit)]
            if theirs is not None:
                ratio = "" if not other else number(mine / other if row.unit.endswith("/s") else other / mine)
                cells += [amount(other and other * row.scale, row.unit), ratio]
            body.append(cells)
        return [["what", "Hearth", *(["hivemind", "times better"] if theirs is not None else [])], *body]

    return table


def spread(value: Mapping[str, float]) -> str:
    return f"{number(value['mean'])} ± {number(value['deviation'])}"


def delays(document: Document) -> Rows:
    kinds = document["samples_per_s"]
    columns = [(kind, way) for kind in kinds for way in ("trainers", "pipeline")]
    ways = {"trainers": f"{document['trainers']} in flight", "pipeline": "model-parallel"}
    first = next(iter(kinds.values()))["trainers"]
    return [
        ["mean delay of a block", *(f"{kind}, {ways[way]}" for kind, way in columns)],
        *([delay, *(spread(kinds[kind][way][delay]) for kind, way in columns)] for delay in first),
    ]


def trainers(document: Document) -> Rows:
    cases = document["cases"]
    models = sorted({model for case in cases.values() for model in case}, key=lambda name: (name != "FFN", name))
    return [
        ["trainers, delay of a batch", *models],
        *(
            [title, *(f"{case[model]['accuracy_percent']:.1f} ± {case[model]['deviation']:.1f}" for model in models)]
            for title, case in cases.items()
        ),
    ]


def hosts(document: Document) -> Rows:
    return [
        ["hosts", "samples/s", "times one host"],
        *(
            [count, number(rate["mean"]), number(document["times_one_host"][count])]
            for count, rate in document["samples_per_s"].items()
        ),
    ]


def questions(document: Document) -> Rows:
    return [
        ["question", "median", "p95"],
        *(
            [name.replace("_", " "), amount(ms["p50"], "ms"), amount(ms["p95"], "ms")]
            for name, ms in document["ms"].items()
        ),
    ]


def returns(document: Document) -> Rows:
    rows = (
        ("input to the end of the last kernel", "input_to_last_kernel_ms", "ms"),
        ("memory free after the grace time", "memory_gone_after_grace_s", "s"),
        ("input to training again", "input_to_training_again_s", "s"),
    )
    spreads = [(label, document[key], unit) for label, key, unit in rows]
    if "two_runs" in document:
        spreads.insert(1, ("the same with two runs, to the last of both", document["two_runs"][rows[0][1]], "ms"))
    return [
        ["what", "median", "p95", "longest"],
        *([label, *(amount(found[part], unit) for part in ("p50", "p95", "max"))] for label, found, unit in spreads),
    ]


def pages(document: Document) -> Rows:
    measured = document["pages"]
    frames = {name.replace("_", " "): ms for name, ms in measured.items() if name != "page_change" and type(ms) is dict}
    changes = {f"another page: {name}": ms for name, ms in measured["page_change"].items()}
    return [
        ["what", "average", "longest"],
        [
            "start to window",
            amount(document["start_to_window_s"]["p50"], "s"),
            amount(document["start_to_window_s"]["max"], "s"),
        ],
        *(
            [name, amount(ms["mean_ms"], "ms"), amount(ms["max_ms"], "ms")]
            for name, ms in {**changes, **frames}.items()
        ),
        *(
            [f"longest turn of the event loop: {name.replace('_', ' ')}", "", amount(ms["turn_ms"], "ms")]
            for name, ms in document["turns"].items()
        ),
        ["paused, window shown", amount(100 * document["idle_core_share"]["shown"], "% of a core"), ""],
        ["paused, window hidden", amount(100 * document["idle_core_share"]["hidden"], "% of a core"), ""],
        ["memory (RSS)", amount(document["app_memory_mb"]["rss"], "MB"), ""],
        ["screensaver", amount(100 * document["screensaver"]["core_share"], "% of a core"), ""],
    ]


def holds(document: Document) -> Rows:
    words = {True: "yes", False: "no", None: ""}
    return [
        ["what must hold", "measured", "wanted", "holds", "on"],
        *(
            [line["name"], _said(line["measured"]), line["wanted"], words[line["holds"]], line.get("date", "")]
            for line in document["holds"]
        ),
    ]


def _said(measured: Any) -> str:
    if isinstance(measured, Mapping):
        return ", ".join(f"{name} {_said(value)}" for name, value in measured.items())
    if isinstance(measured, list | tuple):
        return " of ".join(map(_said, measured))
    return "not measured" if measured is None else f"{measured:g}" if isinstance(measured, float) else str(measured)


FORWARD, BOTH = ("forward_ms", "median"), ("forward_backward_ms", "median")
LAYER = {"layer": "RemoteMixtureOfExperts"}
TABLES: dict[str, Callable[[Document], Rows]] = {
    "alone": plain(
        [
            Row("start to window", ("start_s", "first_window_s", "p50"), "s"),
            Row("start to tray icon", ("start_s", "first_tray_s", "p50"), "s"),
            Row("start to the first trained batch", ("start_s", "first_batch_s", "p50"), "s"),
            Row("start to 95% on unseen digits", ("start_s", "first_accuracy_095_s", "p50"), "s"),
            Row("whole path, one thread", ("throughput", "path_samples_per_s"), "samples/s"),
            Row(
                "the same network in one plain PyTorch loop, side by side",
                ("throughput", "plain_samples_per_s"),
                "samples/s",
            ),
            Row("calls joined in one pass", ("throughput", "joined_calls_per_pass"), ""),
            Row("`hearth pause`, to the end of the last kernel", ("pauses_ms", "command", "p50")),
            Row("the same, p95", ("pauses_ms", "command", "p95")),
            Row("of that, in the worker", ("pauses_ms", "worker", "p50")),
            Row("the same, p95", ("pauses_ms", "worker", "p95")),
            Row("memory (RSS) while training: app", ("memory_mb", "app", "rss"), "MB"),
            Row("worker", ("memory_mb", "worker", "rss"), "MB"),
            Row("compute", ("memory_mb", "compute", "rss"), "MB"),
            Row("paused app with its window shown", ("idle_app_core_share",), "% of a core", 100.0),
        ]
    ),
    "convergence": trainers,
    "desktop": pages,
    "idle": plain(
        [
            Row("CPU", ("core_percent",), "% of a core"),
            Row("memory (RSS)", ("rss_mb",), "MB"),
        ]
    ),
    "latency_throughput": delays,
    "ledger": questions,
    "line": plain(
        [
            Row("a call's p95, automatic limit", ("calls", "automatic", "alone_p95_ms")),
            Row("the same beside copies of checkpoints", ("calls", "automatic", "beside_p95_ms")),
            Row("sent by those copies meanwhile", ("calls", "automatic", "copied_kb_s"), "kB/s"),
            Row("a call's p95, no limit", ("calls", "none", "alone_p95_ms")),
            Row("the same beside copies of checkpoints", ("calls", "none", "beside_p95_ms")),
            Row("upload in the first minutes, `digits`", ("sent", "digits", "percent_of_line"), "% of the line"),
            Row("upload in the first minutes, `text`", ("sent", "text", "percent_of_line"), "% of the line"),
        ]
    ),
    "moe": beside(
        [
            *(
                Row(
                    f"DMoE layer of 16 experts on two hosts, width {width}", ("moe", case, "samples_per_s"), "samples/s"
                )
                for width in (64, 512)
                for case in ({**LAYER, "hid_dim": width},)
            ),
            *(
                Row(
                    f"one server of 4 experts, 4 clients, width {width}, {codec}",
                    ("throughput", {"hid_dim": width, "batch_size": batch, "codec": codec}, "samples_per_s"),
                    "samples/s",
                )
                for width, batch, codec in (
                    (256, 64, "fp32"),
                    (1024, 512, "fp32"),
                    (1024, 512, "fp16"),
                    (1024, 512, "fp16, products in bf16"),
                )
            ),
            Row(
                "beam search, batch of 64 over 256 experts, first",
                ("beam", {"grid": [16, 16]}, "batch_first_of_fresh_peer_ms", "median"),
            ),
            Row("the same, later", ("beam", {"grid": [16, 16]}, "batch_later_ms", "median")),
            *(
                Row(f"4 MB {verb}, {label}", ("codec", {"compression": codec}, key, "median"))
                for codec, label in (("FLOAT16", "fp16"), ("UNIFORM_8BIT", "8 bits"))
                for verb, key in (("packed", "pack_ms"), ("unpacked", "unpack_ms"))
            ),
            Row("a server of 64 experts, width 256: start", ("server", {"experts": 64}, "cold_start_s"), "s"),
            Row("its memory, shared pages counted once", ("server", {"experts": 64}, "memory", "pss_mib"), "MiB"),
            Row("the longest step after one of two hosts froze", ("failure", "freeze_default", "slowest_after_s"), "s"),
            Row("`hearth pause` while width 1024 is served", ("yields_ms", "command", "p50")),
            Row("of that, in the worker, p95", ("yields_ms", "worker", "p95")),
        ]
    ),
    "network": beside(
        [
            Row("empty remote call, there and back", ("latency", "tiny_nop", *FORWARD)),
            Row("one tiny expert called, through worker and compute", ("latency", "tiny_ffn", *FORWARD)),
            Row("the same, forward and backward", ("latency", "tiny_ffn", *BOTH)),
            Row("its forward while that peer also trains", ("latency", "tiny_ffn_training", *FORWARD)),
            Row("the barest way to call one", ("latency", "tiny_floor", *FORWARD)),
            *(
                Row(
                    f"{size} MiB there and back",
                    ("latency", "transfer", {"mib_each_way": float(size)}, "mb_per_s_one_way_payload"),
                    "MB/s",
                )
                for size in (1, 4, 16)
            ),
            Row("store a record", ("dht", "store_ms", "median")),
            Row("read one that is not cached", ("dht", "get_cold_ms", "median")),
            Row("read one that is cached", ("dht", "get_cached_ms", "median")),
            Row("announce 512 experts", ("dht", "declare_experts", "first_s"), "s"),
            Row("find their hosts", ("dht", "get_experts", "seconds"), "s"),
            Row("memory of all peers: resident", ("dht", "memory", "rss_mib"), "MiB"),
            Row("the same, shared pages counted once", ("dht", "memory", "pss_mib"), "MiB"),
            Row("all peers in one process", ("dht", "memory_in_one_process", "rss_mib"), "MiB"),
        ]
    ),
    "scaling": hosts,
    "trunk": holds,
    "yield": returns,
}


def kept() -> dict[str, Document]:
    """The documents that there are, by benchmark."""
    return {path.stem: msgspec.json.decode(path.read_bytes()) for path in sorted(KEPT.glob("*.json"))}


def keep(document: Document) -> None:
    """Keep a benchmark's document without what no table needs, and write the page."""
    KEPT.mkdir(exist_ok=True)
    if "holds" in document:
        document = {**document, "holds": lines_of(document, kept().get(document["benchmark"], {"holds": []}))}
    document = _lighter(document)
    written = msgspec.json.format(msgspec.json.encode(document))
    (KEPT / f"{document['benchmark']}.json").write_bytes(written + b"\n")
    PAGE.write_text(rendered(PAGE.read_text("utf8"), kept()), "utf8")


def lines_of(document: Document, earlier: Document) -> list[Document]:
    """Those that were measured now, with the day, and those that were kept of what was not."""
    lines: list[Document] = []
    for part, found in itertools.groupby(document["holds"], lambda line: line["part"]):
        now = [*found]
        kept = [line for line in earlier["holds"] if line["part"] == part and "date" in line]
        new = {line["name"]: {**line, "date": document["date"]} for line in now if part in document["figures"]}
        lines += [new.pop(line["name"], line) for line in kept] + [*new.values()] or now
    return lines


def _lighter(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _lighter(inner) for key, inner in value.items() if key not in LEFT_OUT}
    return [_lighter(inner) for inner in value] if isinstance(value, list | tuple) else value


def rendered(page: str, documents: Mapping[str, Document]) -> str:
    """The page with the tables of these documents."""
    sections = []
    for section in SECTION.split(page):
        found = BENCHMARK.search(section)
        if found and (document := documents.get(found[1])) is not None:
            table = f"{_markdown(TABLES[found[1]](document))}\n\n{_measured(document)}\n"
            section, count = TABLE.subn(lambda _, table=table: table, section, count=1)
            assert count == 1, f"the section on {found[1]} has no table"
        sections.append(section)
    return "".join(sections)


def _markdown(rows: Rows) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _measured(document: Document) -> str:
    machine = document["machine"]
    short = " (a quick run)" if document["quick"] else ""
    return (
        f"Measured on {document['date']} with version {machine['hearth']}{short}: {machine['processor']},\n"
        f"{machine['cores']} cores, {machine['memory_gb']:g} GB, Python {machine['python']}, torch {machine['torch']}; "
        f"load before it {machine['load']:.1f}."
    )


def main() -> int:
    PAGE.write_text(rendered(PAGE.read_text("utf8"), kept()), "utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
