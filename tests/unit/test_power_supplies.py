"""What the kernel's power supplies say, from folders as Linux has them."""

from pathlib import Path

import pytest

from core.policy.signals.linux.power import PowerSupplies
from core.policy.signals.reading import Power, SourceError


def supply(folder: Path, name: str, **files: str) -> None:
    (folder / name).mkdir()
    for file, text in files.items():
        (folder / name / file).write_text(f"{text}\n")


def battery(folder: Path, name: str = "BAT0", **files: str) -> None:
    supply(folder, name, **{"type": "Battery", "present": "1", "status": "Discharging", "capacity": "63", **files})


def test_a_laptop_on_mains_and_on_battery(tmp_path: Path) -> None:
    battery(tmp_path, status="Charging")
    supply(tmp_path, "AC", type="Mains", online="1")
    assert PowerSupplies(tmp_path).read() == Power(mains=True, charge=0.63)
    (tmp_path / "AC" / "online").write_text("0\n")
    assert PowerSupplies(tmp_path).read() == Power(mains=False, charge=0.63)


def test_a_desktop_pc_with_a_wireless_mouse_is_on_mains(tmp_path: Path) -> None:
    assert PowerSupplies(tmp_path).read() == Power(mains=True)
    battery(tmp_path, "hidpp_battery_0", scope="Device", capacity="4")
    assert PowerSupplies(tmp_path).read() == Power(mains=True)


def test_two_batteries_count_by_what_they_hold(tmp_path: Path) -> None:
    battery(tmp_path, "BAT0", capacity="100", energy_now="10000000", energy_full="10000000", status="Full")
    battery(tmp_path, "BAT1", capacity="0", energy_now="0", energy_full="30000000")
    assert PowerSupplies(tmp_path).read() == Power(mains=False, charge=0.25)
    (tmp_path / "BAT1" / "energy_full").unlink()
    assert PowerSupplies(tmp_path).read() == Power(mains=False, charge=0.5)


def test_one_of_several_cables_is_enough(tmp_path: Path) -> None:
    battery(tmp_path, status="Not charging")
    supply(tmp_path, "AC", type="Mains", online="0")
    supply(tmp_path, "ucsi-source-psy-1", type="USB", online="1")
    assert PowerSupplies(tmp_path).read() == Power(mains=True, charge=0.63)


def test_an_empty_bay_is_no_battery(tmp_path: Path) -> None:
    battery(tmp_path, "BAT1", present="0")
    assert PowerSupplies(tmp_path).read() == Power(mains=True)


@pytest.mark.parametrize("capacity", ["", "-1", "101", "nan", "inf", "1e3", "9" * 60, "63\x00", "sixty", "٦٣"])
def test_a_damaged_charge_is_unknown_and_the_cable_still_counts(tmp_path: Path, capacity: str) -> None:
    battery(tmp_path, capacity=capacity)
    supply(tmp_path, "AC", type="Mains", online="0")
    assert PowerSupplies(tmp_path).read() == Power(mains=False)


def test_a_worn_battery_is_at_most_full(tmp_path: Path) -> None:
    battery(tmp_path, energy_now="12", energy_full="10")
    assert PowerSupplies(tmp_path).read() == Power(mains=False, charge=1.0)


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="reports no power supplies"):
        PowerSupplies(tmp_path / "nowhere").read()
    (tmp_path / "BAT0").mkdir()
    with pytest.raises(SourceError, match="cannot be read"):
        PowerSupplies(tmp_path).read()
    (tmp_path / "BAT0" / "type").write_text("Battery")
    with pytest.raises(SourceError, match="whether the battery is being used"):
        PowerSupplies(tmp_path).read()


def test_strange_files_do_no_harm(tmp_path: Path) -> None:
    battery(tmp_path)
    (tmp_path / "a file").write_text("x")
    (tmp_path / "loop").symlink_to(tmp_path)
    supply(tmp_path, "odd", type="x" * 100_000)
    (tmp_path / "BAT0" / "scope").mkdir()
    assert PowerSupplies(tmp_path).read() == Power(mains=False, charge=0.63)
