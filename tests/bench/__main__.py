"""All benchmarks: `python -m tests.bench NAME [--quick]`. One JSON document on stdout, progress on stderr."""

import argparse
import sys

import msgspec

from tests.bench import alone, machine

BENCHMARKS = {"alone": alone.measure}


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", choices=sorted(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: a minute instead of several")
    options = parser.parse_args()
    document = {
        "benchmark": options.name,
        "quick": options.quick,
        "machine": machine.describe(),
        **BENCHMARKS[options.name](options.quick),
    }
    print(msgspec.json.format(msgspec.json.encode(document)).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
