"""Trainers of one trunk, looked at from outside: which versions they came to, and what they log of their rounds."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from core.contracts.trunk_status import PartStatus, TrunkStatus
from tests.workers import wait_until

PATIENCE_S = 300.0


def manifest(folder: Path) -> str:
    """The path of one whose trainers take short steps together."""
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["training"] |= {"batch": 16, "in_flight": 2, "evaluate_every": 1000}
    document["trunk"] = {"strategy": "dedloc", "target_samples": 256, "alone_samples": 1}
    path = folder / "digits.json"
    path.write_text(json.dumps(document))
    return str(path)


class Log:
    """What one trainer logs of its rounds from now on."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "logs" / "hearth.log"
        self._from = len(self._text())

    def _text(self) -> str:
        return self._path.read_text("utf8", "replace")

    def new(self) -> str:
        return self._text()[self._from :]

    def failed(self) -> Counter[int]:
        """How often each step was offered in vain."""
        return Counter(int(step) for step in re.findall(r"Step (\d+) is offered again", self.new()))

    def taken_over(self) -> int:
        """How often it went on from the trunk of another."""
        return len(re.findall(r"gave the trunk", self.new()))

    def waited(self) -> Counter[str]:
        """How often rounds waited in vain for each peer, by the beginning of its name."""
        return Counter(re.findall(r"Step \d+ waited in vain for peer (\w+)", self.new()))

    def failed_but_for(self, names: Iterable[str]) -> Counter[int]:
        """`failed`, without the rounds that waited in vain for one of these."""
        waited = Counter(re.findall(r"Step (\d+ waited in vain for peer \w+)", self.new()))
        failed = self.failed()
        for step in failed:
            failed[step] -= max(waited[f"{step} waited in vain for peer {name}"] for name in names)
        return failed


def lost(logs: Mapping[str, Log]) -> int:
    """Rounds that had no result for any of some trainers; on a busy machine they also miss each other, which is no
    fault of who is missing.

    Args:
        logs: theirs, by the beginning of their names.
    """
    failed = [log.failed_but_for(logs.keys() - {name}) for name, log in logs.items()]
    return sum(min(each[step] for each in failed) for step in failed[0])


class Trunks:
    """Those of some trainers, by name."""

    def __init__(self) -> None:
        self.ask: dict[str, Callable[[], TrunkStatus]] = {}
        self.digests: defaultdict[int, dict[str, str]] = defaultdict(dict)
        """By version, then by trainer."""

    def part(self, name: str) -> PartStatus | None:
        parts = self.ask[name]().parts
        for version, digest in parts[0].lately if parts else ():
            self.digests[version][name] = digest
        return parts[0] if parts else None

    def version(self, name: str) -> int:
        part = self.part(name)
        return part.version if part else 0

    def together(self, *names: str, after: int) -> int:
        """The version after another one that all of these have had, as soon as there is one."""

        def met() -> int:
            for name in names:
                self.part(name)
            return max((v for v, told in self.digests.items() if v > after and {*names} <= told.keys()), default=0)

        found: int = wait_until(met, f"a common step of {', '.join(names)} after {after}", PATIENCE_S)
        same = {name: self.digests[found][name] for name in names}
        assert len({*same.values()}) == 1, f"trunks of step {found} differ: {same}"
        return found

    def joined(self, *names: str, after: int) -> int:
        """The first version after another one that all of these have come to alike, though some were alone before."""

        def met() -> int:
            for name in names:
                self.part(name)
            alike = (v for v, told in self.digests.items() if {*names} <= told.keys() and len({*told.values()}) == 1)
            return min((v for v in alike if v > after), default=0)

        found: int = wait_until(met, f"one trunk of {', '.join(names)} after step {after}", PATIENCE_S)
        self.digests.clear()  # what was told of other trunks
        return found

    def all_take_part(self) -> None:
        """Wait for a step of all at once."""
        [name, *_] = self.ask
        wait_until(lambda: (part := self.part(name)) and part.peers == len(self.ask), "a step of all", PATIENCE_S)
