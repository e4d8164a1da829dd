"""`hearth version`: which Hearth this is."""

import argparse

from core.commands import common
from core.contracts.build import this_build


def show(options: argparse.Namespace) -> None:
    """Version, and of a package what it was built from."""
    build = this_build()
    if options.json:
        common.print_json(build)
        return
    print(f"hearth {build.version}")
    if build.frozen:
        print(f"commit {build.commit}")
        print(f"build  {build.hash}")
        by = "the system that installed it" if build.managed_by_distribution else "hearth update"
        print(f"Updated by {by}.")
    else:
        print("From the sources: it is no package, and has no build of its own.")
