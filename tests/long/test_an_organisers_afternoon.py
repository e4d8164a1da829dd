"""From a folder of texts to a model that others have helped to train, by the commands of the help page *Organisers*.

Each PC is in a network of its own: organiser and backbone peer can be reached, the volunteers are behind routers.
`HEARTH_TEXTS=FOLDER` has it be about other texts than Python's manual. Figures are printed.
"""

import json
import os
import pydoc_data.topics
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.contracts import manifest
from core.contracts.credit import PAGE_FILE
from core.control.client import ControlClient
from tests.swarm.conftest import namespaces
from tests.swarm.namespaces import ROOT, Host, Internet
from tests.workers import never_busy, wait_until

FIRST_BATCH_S = 300.0
"""From the empty folder to the first batch on the second PC."""
SECONDS = 600.0
"""For what must happen, however busy the machine is."""
VOLUNTEERS = ("ann", "bob", "eve")

__all__ = ["namespaces"]
pytestmark = [pytest.mark.usefixtures("namespaces"), pytest.mark.timeout(3600)]


class Pc:
    """A PC with a data folder of its own."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder = host, folder
        folder.mkdir()
        never_busy(folder)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "core", *arguments, "--data-dir", str(self.folder)]

    def start(self, *arguments: str) -> None:
        """A worker, that is."""
        null = subprocess.DEVNULL
        self.host.start(self._command(*arguments), cwd=ROOT, stdin=null, stdout=null, stderr=null)
        wait_until(lambda: self.run("status").returncode == 0, f"the worker of {self.host.name}", SECONDS)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """One command, to its end."""
        inside = ["ip", "netns", "exec", self.host.namespace, *self._command(*arguments)]
        return subprocess.run(inside, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)

    def says(self, *arguments: str) -> str:
        """What a command that must succeed prints."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def tells(self, *arguments: str) -> Any:
        return json.loads(self.says(*arguments, "--json"))

    def run_of(self, run_id: str) -> dict[str, Any]:
        """A run, as its status has it."""
        found = [run for run in self.tells("status")["runs"] if run["id"] == run_id]
        return found[0] if found else {"step": 0, "samples": 0}

    def set_name(self, name: str) -> None:
        """That others see."""

        def tell() -> None:
            with ControlClient(self.folder) as client:
                client.call("set_settings", {"changes": {"shown_name": name}}, Any)

        self.host.within(tell)

    @property
    def name(self) -> str:
        return self.says("address").strip()


def texts(folder: Path) -> Path:
    """A folder of texts."""
    if given := os.environ.get("HEARTH_TEXTS"):
        return Path(given)
    folder.mkdir()
    for number, text in enumerate(pydoc_data.topics.topics.values()):
        (folder / f"{number}.txt").write_text(text)
    return folder


def test_an_organiser_starts_a_run_and_volunteers_join_it_by_a_link(tmp_path: Path) -> None:
    with Internet() as internet:
        organiser, keeper = (Pc(internet.host(name), tmp_path / name) for name in ("organiser", "keeper"))
        people = {
            name: Pc(internet.host(name, internet.router(f"r{name}", nat="cone")), tmp_path / name)
            for name in (*VOLUNTEERS, "stranger")
        }
        material = texts(tmp_path / "texts")
        began = time.monotonic()
        path = publishes(organiser, keeper, material, tmp_path / "ours.toml")
        run_id = manifest.load(str(path)).run_id
        for name, person in people.items():
            person.start("worker", "--join")
            if name != "stranger":
                link = organiser.says("access", "grant", "ours", person.name, "--name", name).split()[-1]
                joins(person, link)
        second = people[VOLUNTEERS[0]]
        wait_until(lambda: second.run_of(run_id)["step"], "the first batch on the second PC", SECONDS)
        took = time.monotonic() - began
        print(f"from the empty folder to the first batch on the second PC: {took:.0f} s")
        assert took < FIRST_BATCH_S

        agree([organiser, *(people[name] for name in VOLUNTEERS)], run_id)
        stays_out(people["stranger"], organiser, run_id)
        reports(organiser, people, run_id, tmp_path)
        exports(organiser, tmp_path / "model")


def publishes(organiser: Pc, keeper: Pc, material: Path, path: Path) -> Path:
    """From the folder to a worker that trains, and a backbone peer."""
    made = organiser.says(
        "run", "new", str(material), "--out", str(path), "--name", "ours", "--volunteers", "4", "--yes"
    )
    print(made)
    keeper.start("backbone", "--listen", "0.0.0.0:4401")
    changed = re.sub(r"^bootstrap = .*$", f'bootstrap = ["{keeper.name}"]', path.read_text(), flags=re.MULTILINE)
    path.write_text(f'access = "tokens"\n{changed}')
    organiser.says("run", "check", str(path))
    organiser.says("run", "sign", str(path))
    signed = path.with_suffix(".signed.json")
    organiser.start("worker", "--run", str(signed), "--listen", "0.0.0.0:4401")
    joins(keeper, organiser.says("access", "grant", "ours", keeper.name, "--name", "keeper").split()[-1])
    return signed


def joins(person: Pc, link: str) -> None:
    said = person.says("run", "join", link, "--yes")
    assert "token lets this PC in" in said, said
    person.says("run", "leave", "digits")


def agree(trainers: list[Pc], run_id: str) -> None:
    """All of them train one trunk."""

    def agreed() -> bool:
        told = [trainer.tells("trunk", run_id)["parts"] for trainer in trainers]
        rounds = [
            {
                (part["part"], version): digest
                for part in parts
                for version, digest in [*part["lately"], (part["version"], part["digest"])]
            }
            for parts in told
        ]
        common = set.intersection(*(set(one) for one in rounds))
        assert all(len({one[key] for one in rounds}) == 1 for key in common)
        return bool(common) and max(part["peers"] for parts in told for part in parts) >= 2

    wait_until(agreed, "one trunk", SECONDS)


def stays_out(stranger: Pc, organiser: Pc, run_id: str) -> None:
    link = organiser.says("run", "link", "ours").strip()
    stranger.run("run", "join", link, "--yes")
    wait_until(lambda: "token" in stranger.says("status"), "its reason", SECONDS)
    assert not stranger.run_of(run_id)["step"]


def reports(organiser: Pc, people: dict[str, Pc], run_id: str, folder: Path) -> None:
    """Status, its page and the board have something to tell."""
    people["ann"].set_name("Ann")
    wait_until(lambda: organiser.tells("run", "status", "ours")["peers"] > len(VOLUNTEERS), "all of them", SECONDS)

    def plotted() -> bool:
        organiser.says("run", "status", "ours", "--html", str(folder / "status.html"))
        return "<svg" in (folder / "status.html").read_text()

    wait_until(plotted, "a curve", SECONDS)

    def boarded() -> bool:
        organiser.says("board", "--out", str(folder / "board"))
        return "0 MFLOP verified" not in (folder / "board" / PAGE_FILE).read_text()

    wait_until(boarded, "verified work", SECONDS)


def exports(organiser: Pc, folder: Path) -> None:
    """Plain PyTorch says of the exported model what Hearth said."""
    said = organiser.tells("run", "export", "ours", "--out", str(folder))
    alone = [sys.executable, "-I", str(folder / "model.py")]
    again = json.loads(subprocess.run(alone, cwd=folder, stdout=subprocess.PIPE, check=True).stdout)
    assert again["loss"] == pytest.approx(said["loss"], abs=1e-5)
    assert again["accuracy"] == pytest.approx(said["accuracy"], abs=1e-9)
    assert "Ann" in (folder / "README.md").read_text()
