"""Fails when a pinned library is in a version with a known advisory: `python -m installers.advisories`.

`pip-audit` asks a service for them, in a workflow of its own. This works from a list in the project, so that it can run
where no service is reached. `python -m installers.advisories FOLDER` makes the list anew from a clone of PyPA's
advisory-database; its last part is written by hand, and is kept.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
LIST = ROOT / "installers" / "advisories.txt"
PINS = ROOT / "constraints.txt", ROOT / "installers" / "requirements.txt"
BY_HAND = "# By hand"
"""The line from which on the list is nobody's but ours."""


class Advisory(NamedTuple):
    """What is known to be wrong with some versions of a library."""

    id: str
    name: str
    affected: tuple[SpecifierSet, ...]
    """A version within any of them is affected."""

    def __str__(self) -> str:
        return f"{self.id} {self.name} {'|'.join(map(str, self.affected))}"


def read(text: str) -> list[Advisory]:
    """The advisories of a list, one a line: id, library, versions.

    Raises:
        ValueError: a line is no such.
    """
    found = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        number, name, affected = line.split()
        found.append(Advisory(number, canonicalize_name(name), tuple(map(SpecifierSet, affected.split("|")))))
    return found


def pinned(text: str) -> dict[str, Version]:
    """The libraries of a file of pins, and their versions.

    Raises:
        ValueError: a line is no pin.
    """
    found = dict[str, Version]()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            found[canonicalize_name(requirement.name)] = Version(str(requirement.specifier).removeprefix("=="))
    return found


def known(advisories: Iterable[Advisory], pins: dict[str, Version]) -> list[str]:
    """A line for each advisory that holds for a pinned version.

    Args:
        advisories: all.
        pins: library and version.
    """
    return [
        f"{one.name} {pins[one.name]}: {one.id}, which holds for {'|'.join(map(str, one.affected))}."
        for one in advisories
        if one.name in pins and any(part.contains(pins[one.name], prereleases=True) for part in one.affected)
    ]


def of_database(folder: Path, names: Iterable[str]) -> Iterator[Advisory]:
    """Those of some libraries that were not withdrawn.

    Args:
        folder: a git repository of PyPA's advisory-database; it needs no work tree.
        names: of the libraries.
    """
    import yaml

    for path in _git(folder, "ls-tree", "-r", "--name-only", "HEAD", "--", *(f"vulns/{n}/" for n in names)).split():
        said = yaml.safe_load(_git(folder, "show", f"HEAD:{path}"))
        if "withdrawn" not in said:
            for package in said.get("affected", ()):
                name = canonicalize_name(package["package"]["name"])
                yield Advisory(said["id"], name, tuple(_affected(package)))


def _affected(package: dict[str, Any]) -> Iterator[SpecifierSet]:
    """Ranges of versions, or where none are told the versions themselves."""
    ranges = [events["events"] for events in package.get("ranges", ()) if events["type"] == "ECOSYSTEM"]
    if not ranges:
        yield from (SpecifierSet(f"=={version}") for version in package.get("versions", ()))
    for events in ranges:
        since = ""
        for event in events:
            if "introduced" in event:
                since = "" if event["introduced"] == "0" else f">={event['introduced']}"
            else:
                until = f"<{event['fixed']}" if "fixed" in event else f"<={event['last_affected']}"
                yield SpecifierSet(",".join(filter(None, (since, until))))
                since = "<0"
        if since != "<0":
            yield SpecifierSet(since)


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(("git", "-C", folder, *arguments), capture_output=True, check=True)
    return done.stdout.decode()


def main() -> int:
    """Check the pins, or make the list anew."""
    pins = {name: version for file in PINS for name, version in pinned(file.read_text()).items()}
    text = LIST.read_text()
    if len(sys.argv) == 2:
        folder = Path(sys.argv[1])
        start, _, rest = text.partition(BY_HAND)
        at = _git(folder, "log", "-1", "--format=%cs %H").strip()
        head = re.sub(
            r"^# State of the database:.*$", f"# State of the database: {at}", start.split("\n\n")[0], flags=re.M
        )
        lines = sorted(str(one) for one in of_database(folder, sorted(pins)))
        LIST.write_text("\n".join((head, "", *lines, "", BY_HAND)) + rest)
        text = LIST.read_text()
    found = known(read(text), pins)
    for line in found:
        print(f"advisories: {line}", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
