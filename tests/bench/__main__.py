"""All benchmarks: `python -m tests.bench NAME [--quick]`. One JSON document on stdout, progress on stderr."""

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.bench import alone, idle, machine, moe, network, text


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", choices=["alone", "idle", "moe", "network", "text"])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: a minute instead of several")
    parser.add_argument(
        "--against", type=Path, metavar="PYTHON", help="moe, network: measure hivemind of this Python too"
    )
    parser.add_argument("--anchors", type=Path, metavar="FOLDER", help="moe, network: drivers that measure hivemind")
    options = parser.parse_args()
    document = {"benchmark": options.name, "quick": options.quick, "machine": machine.describe(), **_run(options)}
    print(msgspec.json.format(msgspec.json.encode(document)).decode())
    return 0


def _run(options: argparse.Namespace) -> dict[str, Any]:
    if options.name == "alone":
        return alone.measure(options.quick)
    if options.name == "idle":
        return idle.measure(options.quick)
    if options.name == "text":
        return text.measure(options.quick)
    if options.name == "moe":
        return moe.measure(options.quick, options.against, options.anchors)
    return network.measure(options.quick, options.against, options.anchors)


if __name__ == "__main__":
    sys.exit(main())
