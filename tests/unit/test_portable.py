"""Signals that are alike everywhere, measured on this machine and in folders that look like Linux' own."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.policy.signals import hardware, portable, processes
from core.policy.signals.reading import SourceError


class FakeTime:
    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def burner() -> Iterator[psutil.Process]:
    """A program that keeps one core busy, and that nobody of ours started: who did is gone."""
    burning = "subprocess.Popen([sys.executable, '-c', 'while True: pass'], stdout=subprocess.DEVNULL)"
    script = f"import subprocess, sys; print({burning}.pid)"
    made = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    process = psutil.Process(int(made.stdout))
    yield process
    process.kill()


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_the_time_of_hearths_own_processes_is_theirs_and_their_childrens() -> None:
    own = processes.Own(lambda: ())  # this process is always one of them
    burn(0.3)
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'for i in range(9_000_000): pass'])"
    before = os.times()
    subprocess.run([sys.executable, "-c", script], check=True)  # born and gone between two measurements
    after = os.times()
    childs = after.children_user + after.children_system - before.children_user - before.children_system
    assert childs > 0.1
    assert own.step() == pytest.approx(0.3 + childs, abs=0.15)
    assert own.step() < 0.1


def test_a_busy_program_is_anothers_until_it_is_hearths(burner: psutil.Process) -> None:
    hearths: list[int] = []
    own = processes.Own(lambda: hearths)
    used = burner.cpu_times().user
    while burner.cpu_times().user < used + 0.4:
        time.sleep(0.02)  # it is real time that is measured
    assert own.step() < 0.2
    hearths.append(burner.pid)
    assert own.step() < 0.2  # what it used before counts for nobody
    used = burner.cpu_times().user
    while burner.cpu_times().user < used + 0.4:
        time.sleep(0.02)
    assert 0.35 < own.step() < 0.8


def test_others_use_is_seen_within_three_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, busy = FakeTime(), [0.0, 0.0]

    def cpu_times() -> object:  # the kernel's counters of two cores
        return psutil._ntp.scputimes(busy[0], 0.0, 0.0, busy[1], 0, 0, 0, 0, 0, 0)

    monkeypatch.setattr(psutil, "cpu_times", cpu_times)
    cpu = portable.CpuOthers(lambda: (), clock.now, clock.sleep)
    busy[1] += 1.0
    assert cpu.read() < 0.05
    for _ in range(3):
        clock.sleep(1.0)
        busy[0] += 1.6
        busy[1] += 0.4
        seen = cpu.read()
    assert 0.72 < seen <= 0.8
    for _ in range(3):
        clock.sleep(1.0)
        busy[1] += 2.0
        seen = cpu.read()
    assert seen < 0.06


def test_memory_and_disk(tmp_path: Path) -> None:
    assert 0 < portable.MemoryFree().read() <= psutil.virtual_memory().total
    assert abs(portable.DiskFree(tmp_path).read() - psutil.disk_usage(str(tmp_path)).free) < 1 << 30
    with pytest.raises(SourceError, match="No such file"):
        portable.DiskFree(tmp_path / "gone").read()


def test_names_of_programs_are_whole_lower_case_and_renewed(tmp_path: Path) -> None:
    def program(pid: int, comm: str, cmdline: str = "") -> None:
        (tmp_path / str(pid)).mkdir(exist_ok=True)
        (tmp_path / str(pid) / "comm").write_text(comm + "\n")
        (tmp_path / str(pid) / "cmdline").write_bytes(cmdline.replace(" ", "\0").encode())

    (tmp_path / "meminfo").write_text("x")
    program(1, "systemd", "/sbin/init splash")
    program(20, "gnome-system-mo", "/usr/bin/gnome-system-monitor --show")
    program(30, "Hades.exe", "Z:\\Hades.exe")
    program(40, "bash")
    read = processes.Names(tmp_path)
    assert read() == {"systemd", "gnome-system-monitor", "hades", "bash"}
    program(40, "blender")  # what was forked a moment ago becomes another program
    assert "blender" in read() and "bash" not in read()
    program(1, "renamed")
    assert any("renamed" in read() for _ in range(processes.SURE_SCANS + 1))
    for file in (tmp_path / "30").iterdir():
        file.unlink()
    (tmp_path / "30").rmdir()
    assert "hades" not in read()


def test_names_of_the_programs_of_this_machine(burner: psutil.Process) -> None:
    found = portable.Programs().read()
    assert any(name.startswith("python") for name in found)
    assert processes._names_elsewhere() & found


def chip(root: Path, number: int, name: str, **sensors: str) -> None:
    folder = root / "hwmon" / f"hwmon{number}"
    folder.mkdir(parents=True)
    (folder / "name").write_text(name + "\n")
    for sensor, text in sensors.items():
        label, milli = text.rsplit(" ", 1)
        (folder / f"{sensor}_label").write_text(label + "\n")
        (folder / f"{sensor}_input").write_text(milli + "\n")


@pytest.mark.parametrize(
    ("name", "sensors", "celsius"),
    [
        ("coretemp", {"temp1": "Package id 0 61000", "temp2": "Core 0 65000"}, 61.0),
        ("coretemp", {"temp2": "Core 0 55000", "temp3": "Core 1 59000"}, 59.0),
        ("k10temp", {"temp1": "Tctl 95000", "temp2": "Tdie 68000", "temp3": "Tccd1 67000"}, 68.0),
        ("k10temp", {"temp1": "Tctl 71000"}, 71.0),
        ("cpu_thermal", {"temp1": "x 48312"}, 48.312),
    ],
)
def test_the_processors_temperature(tmp_path: Path, name: str, sensors: dict[str, str], celsius: float) -> None:
    chip(tmp_path, 0, "nvme", temp1="Composite 90000")
    chip(tmp_path, 1, "acpitz", temp1="x 27800")
    chip(tmp_path, 2, name, **sensors)
    source = hardware.Temperature(tmp_path)
    assert (source.name, source.read()) == (name, celsius)


def test_two_processors_thermal_zones_and_broken_sensors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not report how hot"):
        hardware.Temperature(tmp_path)
    zone = tmp_path / "thermal" / "thermal_zone3"
    zone.mkdir(parents=True)
    (zone / "type").write_text("x86_pkg_temp\n")
    (zone / "temp").write_text("52000\n")
    assert hardware.Temperature(tmp_path).read() == 52.0
    chip(tmp_path, 0, "coretemp", temp1="Package id 0 0")  # says nothing: the zone is better
    assert hardware.Temperature(tmp_path).name == "x86_pkg_temp"
    chip(tmp_path, 1, "coretemp", temp1="Package id 1 77000")
    source = hardware.Temperature(tmp_path)
    assert source.read() == 77.0
    (tmp_path / "hwmon" / "hwmon1" / "temp1_input").write_text("-273000")
    with pytest.raises(SourceError, match="coretemp reports no temperature"):
        source.read()


def domain(root: Path, zone: str, name: str, microjoules: int, span: int = 262_143_328_850) -> Path:
    folder = root / "powercap" / zone
    folder.mkdir(parents=True)
    (folder / "name").write_text(name + "\n")
    (folder / "max_energy_range_uj").write_text(f"{span}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    return folder / "energy_uj"


def test_watts_of_the_packages_over_a_wrap_and_after_sleep(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not report how much power"):
        hardware.Rapl(tmp_path)
    span, clock = 1_000_000_000, FakeTime()
    package = domain(tmp_path, "intel-rapl:0", "package-0", 990_000_000, span)
    domain(tmp_path, "intel-rapl:0:0", "core", 5)
    dram = domain(tmp_path, "intel-rapl:0:1", "dram", 0)
    domain(tmp_path, "intel-rapl:1", "psys", 10**9)
    rapl = hardware.Rapl(tmp_path, clock.now, clock.sleep)
    clock.sleep(2.0)
    package.write_text("50000000")  # 60 joules later, wrapped
    dram.write_text("4000000")
    assert rapl.read() == pytest.approx(32.0)
    clock.sleep(3600.0)
    package.write_text("999000000")
    assert rapl.read() == pytest.approx(32.0)
    clock.sleep(1.0)
    package.write_text("9000000")
    assert rapl.read() == pytest.approx(10.0)


def test_watts_that_only_the_administrator_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = domain(tmp_path, "intel-rapl:0", "package-0", 1)
    if os.geteuid() == 0:  # root may read everything: a child without rights looks instead
        tmp_path.chmod(0o755)
        for parent in tmp_path.parents[:3]:
            parent.chmod(parent.stat().st_mode | 0o055)
    counter.chmod(0o600)
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom core.policy.signals.hardware import Rapl\n"
        "os.geteuid() or os.setuid(65534)\nRapl(Path(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "SourceError: watts.forbidden" in done.stderr  # who has dropped all rights cannot read the sentence
