"""All benchmarks: `python -m tests.bench NAME [--quick]`. One JSON document on stdout, progress on stderr."""

import argparse
import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests import figures
from tests.bench import (
    alone,
    answers,
    balance,
    convergence,
    credit,
    desktop,
    devices,
    floods,
    gradients,
    idle,
    latency_throughput,
    ledger,
    line,
    machine,
    moe,
    network,
    newcomers,
    one_network,
    restarts,
    scaling,
    sizes,
    stories,
    talk,
    telemetry,
    text,
    trunk,
    workers,
    yields,
)
from tests.bench.exchanges import ARMS
from tests.workers import ROOT

OUT = ROOT / "build" / "bench"
SEEDS = 3
BENCHMARKS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "alone": lambda o: alone.measure(o.quick),
    "answers": lambda o: answers.measure(o.quick),
    "balance": lambda o: balance.measure(o.quick, o.seeds or (1 if o.quick else SEEDS)),
    "convergence": lambda o: (
        convergence.measure(o.quick, o.data, o.seeds or SEEDS, o.out)
        if o.trunk is None
        else one_network.measure(
            o.quick,
            o.trunk,
            o.trainers,
            o.seeds or (1 if o.quick else SEEDS),
            o.out,
            o.data,
            o.split,
            o.processes,
            o.samples,
        )
    ),
    "credit": lambda o: credit.measure(o.quick),
    "desktop": lambda o: desktop.measure(o.quick),
    "devices": lambda o: devices.measure(o.quick),
    "floods": lambda o: floods.measure(o.quick),
    "gradients": lambda o: gradients.measure(
        o.quick, o.seeds or (1 if o.quick else SEEDS), o.only or [*gradients.LIES]
    ),
    "idle": lambda o: idle.measure(o.quick),
    "latency_throughput": lambda o: latency_throughput.measure(o.quick, o.out),
    "ledger": lambda o: ledger.measure(o.quick),
    "line": lambda o: line.measure(o.quick),
    "moe": lambda o: moe.measure(o.quick, o.against, o.anchors, o.only),
    "network": lambda o: network.measure(o.quick, o.against, o.anchors),
    "newcomers": lambda o: newcomers.measure(o.quick),
    "scaling": lambda o: scaling.measure(o.quick),
    "sizes": lambda o: sizes.measure(o.quick, o.seeds or (1 if o.quick else SEEDS), o.data, o.out),
    "stories": lambda o: stories.measure(o.quick),
    "talk": lambda o: talk.measure(o.quick),
    "telemetry": lambda o: telemetry.measure(o.quick),
    "text": lambda o: text.measure(o.quick),
    "trunk": lambda o: trunk.measure(
        trunk.Options(
            o.quick, o.against, o.anchors, o.data, o.out, o.trainers, o.strategies, o.seeds, o.samples, sys.argv[1:]
        ),
        o.only,
    ),
    "yield": lambda o: yields.measure(o.quick, o.returns),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", choices=list(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: a minute instead of several")
    parser.add_argument(
        "--against", type=Path, metavar="PYTHON", help="moe, network, trunk: measure hivemind of this Python too"
    )
    parser.add_argument("--anchors", type=Path, metavar="FOLDER", help="moe, network, trunk: drivers of hivemind")
    parser.add_argument("--only", nargs="*", default=[], metavar="PART", help="gradients, moe, trunk: only these parts")
    parser.add_argument(
        "--data",
        type=Path,
        default=convergence.DATA,
        metavar="PATH",
        help="convergence, sizes, trunk: MNIST's and the text's",
    )
    parser.add_argument(
        "--trunk", nargs="*", choices=list(ARMS), metavar="STRATEGY", help="convergence: of trunks that agree so"
    )
    parser.add_argument("--returns", type=int, default=None, metavar="N", help="yield: times that the user comes back")
    parser.add_argument(
        "--trainers",
        nargs="*",
        type=int,
        default=[],
        metavar="N",
        help="convergence --trunk, trunk --only workers: so many",
    )
    parser.add_argument(
        "--split",
        choices=("validation", "test"),
        default="test",
        help="convergence --trunk: what is judged by; tune by the validation split alone",
    )
    parser.add_argument("--processes", type=int, metavar="N", help="convergence --trunk: at once; else one a core")
    parser.add_argument(
        "--strategies",
        nargs="*",
        choices=list({**workers.TRUNKS, **restarts.TRUNKS, **ARMS}),
        default=[],
        help="trunk --only workers (not vc_asgd), restarts (not local) or convergence: so agreed",
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help="convergence --trunk, trunk --only workers: of all trainers together",
    )
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="balance, convergence, gradients, sizes, trunk --only workers: runs"
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help="where plots and the JSON are written")
    parser.add_argument("--keep", action="store_true", help="also write the tables of the help page Figures")
    return parser


def main() -> int:
    """Run one benchmark."""
    parser = _parser()
    options = parser.parse_args()
    known = {"workers": [*workers.TRUNKS], "restarts": [*restarts.TRUNKS], "convergence": [*ARMS]}
    for part, agree in known.items():
        if part in options.only and (others := {*options.strategies}.difference(agree)):
            parser.error(f"trunk --only {part} has no trainers that agree so: {', '.join(sorted(others))}.")
    if options.trunk is not None and options.keep:
        parser.error("The help page has no table of trunks.")
    name = options.name if options.trunk is None else "one_network"
    today = datetime.date.today().isoformat()
    head = {"benchmark": name, "quick": options.quick, "date": today, "machine": machine.describe()}
    document = {**head, **BENCHMARKS[options.name](options)}
    written = msgspec.json.format(msgspec.json.encode(document))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{name}.json").write_bytes(written)
    if options.keep:
        figures.keep(document)
    print(written.decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
