"""The shipped units, started by systemd in a clean Debian 12: they run without rights, and come back when killed."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests import virtual_screen
from tests.package.clean_root import HOME, ROOT, USER, CleanRoot, clean_root
from tests.package.test_installed import the_package
from tests.workers import agreed, wait_until

SYSTEMD = ["systemd", "systemd-sysv", "libpam-systemd"]
RUN = "root/digits.json"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Nothing else of the environment comes along: the screen of tests has no system bus."""
Command = Callable[..., str]
"""Runs a command to its end; what it printed, also if it failed."""


@contextlib.contextmanager
def booted(root: CleanRoot) -> Iterator[Command]:
    """Systemd as the first process of the root, and how root runs a command beside it."""
    for name in ("dev", "proc", "sys"):  # systemd-nspawn mounts its own
        subprocess.run(["umount", "--lazy", "--recursive", str(root.path / name)], check=True)
    command = ["systemd-nspawn", "--quiet", "--boot", f"--directory={root.path}", "--private-network"]
    with virtual_screen.started([*command, "--register=no", "--keep-unit", "--console=pipe"]) as nspawn:
        wait_until(lambda: psutil.Process(nspawn.pid).children(), "systemd")
        (init,) = psutil.Process(nspawn.pid).children()

        def run(*words: str) -> str:
            inside = ["nsenter", f"--target={init.pid}", "--all", *words]
            return subprocess.run(
                inside, env={"PATH": PATH}, capture_output=True, text=True, timeout=120, check=False
            ).stdout

        wait_until(lambda: run("systemctl", "is-system-running").strip() in ("running", "degraded"), "the system")
        try:
            yield run
        finally:
            run("systemctl", "poweroff")
            nspawn.wait(120)


def runs_without_rights(run: Command, manager: Command, unit: str, works: Callable[[], bool]) -> None:
    """That a unit works, may do nothing beside that, works again after kill -9, and stops when it is told to.

    Args:
        run: as root.
        manager: `systemctl`, of the system or of the user.
        unit: its name.
        works: whether the process of the unit does what it is for.
    """

    def pid() -> int:
        return int(manager("show", "--property=MainPID", "--value", unit) or 0)

    wait_until(works, unit)
    first = pid()
    status = dict(line.split(":\t", 1) for line in run("cat", f"/proc/{first}/status").splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert "0" not in status["Uid"].split()
    lines = [line.split() for line in run("cat", f"/proc/{first}/mountinfo").splitlines()]
    mounts = {line[4]: line[5].split(",") for line in lines}
    assert "ro" in mounts["/"] and "rw" in mounts["/tmp"]
    run("kill", "-9", str(first))
    wait_until(lambda: pid() not in (0, first) and works(), f"{unit} again")
    manager("stop", unit)
    assert manager("show", "--property=ActiveState,Result", unit).split() == ["Result=success", "ActiveState=inactive"]


@pytest.mark.timeout(1200)
def test_both_units_run_without_rights_and_come_back(tmp_path: Path) -> None:
    with clean_root(tmp_path, "") as root:
        shutil.copy(the_package(), root.path / "tmp/hearth.deb")
        packages = [*SYSTEMD, "/tmp/hearth.deb"]
        install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
        root.run(*install, user="root", DEBIAN_FRONTEND="noninteractive")
        shutil.copy(ROOT / "resources/runs/digits.json", root.path / RUN)
        folder = root.home / ".local/share/Hearth"
        folder.mkdir(parents=True)
        agreed(folder)
        for path in (root.home / ".local", *(root.home / ".local").rglob("*")):
            os.chown(path, 1000, 1000)
        with booted(root) as run:
            served = Path("etc/hearth/run.signed.json")
            run("hearth", "run", "sign", f"/{RUN}", "--data-dir", "/root/organiser")
            (root.path / served).parent.mkdir(exist_ok=True)
            run("cp", f"/{RUN}".replace(".json", ".signed.json"), f"/{served}")
            run("systemctl", "enable", "--now", "hearth-backbone")

            def reached() -> bool:
                return bool(re.search(r"@\S+:4401", run("hearth", "address", "--data-dir", "/var/lib/hearth")))

            runs_without_rights(run, lambda *words: run("systemctl", *words), "hearth-backbone", reached)

            def volunteer(*words: str) -> str:
                variables = [f"HOME=/{HOME}", "XDG_RUNTIME_DIR=/run/user/1000"]
                return run("runuser", "-u", USER, "--", "env", *variables, *words)

            def manager(*words: str) -> str:
                return volunteer("systemctl", "--user", *words)

            run("loginctl", "enable-linger", USER)
            wait_until(lambda: manager("is-system-running").strip() in ("running", "degraded"), "the user's systemd")
            manager("enable", "--now", "hearth")
            runs_without_rights(run, manager, "hearth", lambda: "Contributing" in volunteer("hearth", "status"))
