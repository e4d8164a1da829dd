"""Compute's control group, in folders that look as the kernel's do, and by systemd's interface on a bus of our own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.contracts.errors import HearthError
from core.contracts.notices import Notice, notice, plain
from core.policy.limits import cgroups
from core.policy.limits.cgroups import MANAGER, Scope, Subgroup, group_of
from core.policy.limits.memory_limit import BoundError, beyond
from core.policy.limits.system_limits import Bounds
from tests.desktop.private_bus import Service, bus

PID, GIB = 4711, 1 << 30


class Kernel:
    """/proc and a mounted cgroup2, as far as they are looked at."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.mount = folder / "proc", folder / "cgroup"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "self" / "mountinfo").write_text(
            "25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
            f"35 25 0:30 / {self.mount} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
        )

    def group(self, name: str, controllers: str = "cpu memory pids", divided: str = "", **files: str) -> Path:
        folder = self.mount / name
        folder.mkdir(parents=True)
        for file, text in {"cgroup.controllers": controllers, "cgroup.subtree_control": divided, **files}.items():
            (folder / file.replace("__", ".")).write_text(text + "\n")
        return folder

    def put(self, pid: int, name: str) -> None:
        (self.proc / str(pid)).mkdir(exist_ok=True)
        (self.proc / str(pid) / "cgroup").write_text(f"0::/{name}\n")


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def test_a_service_that_may_divides_its_group(kernel: Kernel) -> None:
    service = kernel.group("hearth.service", cgroup__procs=f"{os.getpid()}\n{PID}", memory__events="low 0\noom_kill 1")
    kernel.put(os.getpid(), "hearth.service")
    bound = Subgroup(PID, GIB, kernel.proc)
    compute = service / "hearth-compute"
    assert (service / "cgroup.subtree_control").read_text() == "+memory"
    assert int((service / "hearth-worker" / "cgroup.procs").read_text()) in (os.getpid(), PID)
    assert (compute / "memory.max").read_text() == str(beyond(GIB)) and beyond(GIB) == GIB * 5 // 4
    assert (compute / "cgroup.procs").read_text() == str(PID)
    bound.keep(2 * GIB)
    assert (compute / "memory.max").read_text() == str(beyond(2 * GIB))
    assert bound.said() == notice("memory.bound_cgroup", most=beyond(2 * GIB))
    assert not bound.overran()
    (service / "memory.events").write_text("low 0\noom_kill 2\n")
    assert bound.overran()

    kernel.put(os.getpid(), "hearth.service/hearth-worker")  # the next process of compute
    (service / "cgroup.subtree_control").write_text("memory\n")
    Subgroup(PID + 1, GIB, kernel.proc)
    assert (compute / "cgroup.procs").read_text() == str(PID + 1) and not (
        service / "hearth-worker/hearth-compute"
    ).exists()


def test_a_group_with_other_programs_is_left_as_it_is(kernel: Kernel) -> None:
    terminal = kernel.group("terminal.scope", cgroup__procs=f"{os.getpid()}\n{PID}\n1234")
    kernel.put(os.getpid(), "terminal.scope")
    with pytest.raises(BoundError, match="Other programs"):
        Subgroup(PID, GIB, kernel.proc)
    assert not [path for path in terminal.iterdir() if path.is_dir()]
    undivided = kernel.group("old.service", controllers="pids", cgroup__procs=str(os.getpid()))
    kernel.put(os.getpid(), undivided.name)
    with pytest.raises(BoundError, match="No memory"):
        Subgroup(PID, GIB, kernel.proc)


def test_a_system_without_such_groups_says_so(kernel: Kernel) -> None:
    kernel.put(PID, "a")
    (kernel.proc / str(PID) / "cgroup").write_text("5:memory:/a\n1:name=systemd:/\n")
    with pytest.raises(BoundError, match="version 2"):
        group_of(PID, kernel.proc)


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    address = f"unix:path={tmp_path / 'bus'}"
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    with bus(tmp_path):
        service = Service(address, MANAGER.service)
        service.answer(MANAGER, "StartTransientUnit", "o", "/org/freedesktop/systemd1/job/7")
        service.answer(MANAGER, "SetUnitProperties", "")
        yield service
        service.end()


UNIT = f"hearth-compute-{PID}.scope"


def test_systemd_makes_a_group_of_its_own_for_compute(kernel: Kernel, systemd: Service) -> None:
    scope = kernel.group(f"user@1000.service/background.slice/{UNIT}", memory__max=str(beyond(GIB)), cpu__weight="100")
    kernel.put(PID, f"user@1000.service/background.slice/{UNIT}")
    bound = Scope(PID, GIB, kernel.proc)
    unit, mode, properties, others = systemd.said(MANAGER, "StartTransientUnit")
    assert (unit, mode, others) == (UNIT, "fail", [])
    asked = {name: value for name, (_, value) in properties}
    assert asked.pop("Description") and asked == {
        "Slice": "background.slice",
        "CollectMode": "inactive-or-failed",
        "PIDs": [PID],
        "MemoryMax": beyond(GIB),
    }
    assert systemd.said(MANAGER, "SetUnitProperties") == [UNIT, True, [["CPUWeight", ["t", 10]]]]
    bound.keep(2 * GIB)
    assert systemd.said(MANAGER, "SetUnitProperties") == [UNIT, True, [["MemoryMax", ["t", beyond(2 * GIB)]]]]
    assert bound.said() == notice("memory.bound_systemd", most=beyond(2 * GIB))
    (scope.parent / "memory.events").write_text("oom_kill 1\n")
    assert bound.overran()


def test_the_processor_is_not_divided_where_it_is_not_already(kernel: Kernel, systemd: Service) -> None:
    kernel.group(UNIT, memory__max=str(beyond(GIB)))
    kernel.put(PID, UNIT)
    Scope(PID, GIB, kernel.proc)
    assert systemd.calls(MANAGER, "SetUnitProperties") == 0


def test_what_systemd_only_says_is_not_believed(
    kernel: Kernel, systemd: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "START_S", 0.05)
    kernel.group("elsewhere")
    kernel.put(PID, "elsewhere")
    with pytest.raises(BoundError, match="did not move"):
        Scope(PID, GIB, kernel.proc)
    kernel.group(UNIT, memory__max="max")  # memory is not delegated to this user
    kernel.put(PID, UNIT)
    with pytest.raises(BoundError, match="bounded by max"):
        Scope(PID, GIB, kernel.proc)


async def test_without_any_group_the_next_way_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Next:
        def __init__(self, pid: int, left: int) -> None:
            self.left = left

        def keep(self, left: int) -> None:
            self.left = left

        def said(self) -> Notice:
            return plain(f"holds at {self.left}")

        def overran(self) -> bool:
            return True

        def close(self) -> None:
            self.left = -1

    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'none'}")
    with pytest.raises(HearthError):
        Scope(os.getpid(), GIB)
    bounds = Bounds([[Scope, Next]])
    assert bounds.kept_by is None
    bounds.keep(5 * GIB, 0)
    await bounds.admit(os.getpid())
    assert str(bounds.kept_by) == f"holds at {5 * GIB}"
    bounds.keep(3 * GIB, 4 * GIB)  # it uses more already: experts are parked first
    assert bounds._keeping is None
    bounds.keep(3 * GIB, 2 * GIB)
    assert bounds._keeping is not None
    await bounds._keeping
    assert str(bounds.kept_by) == f"holds at {3 * GIB}"
    assert "3 GB" in str(bounds.explain(-9)) and bounds.explain(1) is None and bounds.explain(-11) is None
    alone = Bounds([])
    await alone.admit(os.getpid())
    assert alone.kept_by == notice("memory.bound_none") and alone.explain(-9) is None
