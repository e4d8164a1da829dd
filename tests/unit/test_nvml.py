"""NVIDIA's cards through the real bindings, over a stand-in of the driver's library."""

import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pynvml
import pytest

from core.policy.signals import nvml, plausible
from core.policy.signals.reading import Gpu, SourceError
from tests.unit.nvml_library import NOT_LOADED, Card, Library

OURS = 4242


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[Library, nvml.Nvml]]]:
    def with_cards(*cards: Card, pci: Path = Path("/nowhere")) -> tuple[Library, nvml.Nvml]:
        library = Library(*cards)
        library.time_us = 1 << 60
        monkeypatch.setattr(pynvml, "nvmlLib", library)
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
        return library, nvml.Nvml(lambda: {OURS}, lambda: True, pci, lambda: clock[0])

    clock = [100.0]
    with_cards.clock = clock  # type: ignore[attr-defined]
    yield with_cards


Start = Callable[..., tuple[Library, nvml.Nvml]]


def test_several_cards_with_all_their_figures(start: Start) -> None:
    library, source = start(Card("GPU-a", busy=37), Card("GPU-b", "NVIDIA A2", (16 << 30, 16 << 30), 0, 30, 5000))
    assert source.read() == (
        Gpu("GPU-a", "NVIDIA GeForce RTX 3060", 12 << 30, 10 << 30, 0.37, 0.0, 41.0, 17.25),
        Gpu("GPU-b", "NVIDIA A2", 16 << 30, 16 << 30, 0.0, 0.0, 30.0, 5.0),
    )
    assert plausible.gpus(source.read())
    source.close()
    assert (library.inits, library.shutdowns) == (1, 1)


def test_others_use_is_what_hearth_does_not_use(start: Start) -> None:
    library, source = start(Card("GPU-a", busy=90, shares={OURS: 60, 7: 30}))
    gpu = source.read()[0]
    assert gpu.others == pytest.approx(0.3) and gpu.own == 0.6
    gpu = source.read()[0]  # no newer sample, and Hearth is gone from the card
    assert (gpu.others, gpu.own) == (0.9, 0.0)
    library.cards[0].running = [OURS]
    gpu = source.read()[0]
    assert (gpu.others, gpu.own) == (None, None)
    library.time_us += 10
    library.cards[0].shares = {OURS: 95}
    gpu = source.read()[0]
    assert (gpu.others, gpu.own) == (0.0, 0.95)


def test_a_card_that_does_not_tell_processes_shares(start: Start) -> None:
    _, source = start(Card("GPU-a", busy=50, shares=None, running=[7]), Card("GPU-b", busy=50, shares=None))
    assert [gpu.others for gpu in source.read()] == [0.5, 0.5]
    _, source = start(Card("GPU-a", busy=50, shares=None, running=[7, OURS]))
    assert [gpu.others for gpu in source.read()] == [None]
    _, source = start(Card("GPU-a", busy=50, shares=None, running=None))
    assert [gpu.others for gpu in source.read()] == [None]
    _, source = start(Card("GPU-a", busy=0, shares=None, running=None))
    assert [gpu.others for gpu in source.read()] == [0.0]


def test_functions_that_a_card_lacks_leave_the_others(start: Start) -> None:
    mig = Card("GPU-m", "NVIDIA H100", busy=None, celsius=None, milliwatts=None, memory=None)
    _, source = start(mig, Card("GPU-a"))
    assert source.read()[0] == Gpu("GPU-m", "NVIDIA H100")
    assert source.read()[1].celsius == 41.0


def test_an_old_driver_without_a_function(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Library, "nvmlDeviceGetProcessUtilization")
    monkeypatch.delattr(Library, "nvmlDeviceGetPowerUsage")
    _, source = start(Card("GPU-a", busy=20))
    gpu = source.read()[0]
    assert (gpu.others, gpu.watts, gpu.celsius) == (0.2, None, 41.0)


def test_nonsense_of_one_function_is_left_out(start: Start) -> None:
    _, source = start(Card("GPU-a", celsius=4_000_000_000, milliwatts=4_294_967_295))
    gpu = source.read()[0]
    assert (gpu.celsius, gpu.watts, gpu.memory_bytes) == (None, None, 12 << 30)


def test_a_card_that_is_unplugged_and_comes_back(start: Start) -> None:
    gone = Card("GPU-a")
    library, source = start(gone, Card("GPU-b"))
    assert len(source.read()) == 2
    gone.lost = True
    library.cards.remove(gone)
    assert [gpu.id for gpu in source.read()] == ["GPU-b"]
    library.cards.append(Card("GPU-a"))
    assert [gpu.id for gpu in source.read()] == ["GPU-b"]
    start.clock[0] += nvml.REOPEN_S  # type: ignore[attr-defined]
    assert [gpu.id for gpu in source.read()] == ["GPU-b", "GPU-a"]
    assert library.inits == library.shutdowns + 1 == 2


def test_no_driver_a_driver_without_a_card_and_a_broken_one(start: Start) -> None:
    assert nvml.Nvml(lambda: (), lambda: False).read() == ()
    library, source = start(Card("GPU-a"))
    library.init_code = NOT_LOADED
    assert source.read() == source.read() == ()
    assert library.inits == 1
    library.init_code = 0
    start.clock[0] += nvml.REOPEN_S  # type: ignore[attr-defined]
    assert len(source.read()) == 1
    library, source = start(Card("GPU-a"))
    library.init_code = 18
    with pytest.raises(SourceError, match=r"driver does not work: .*mismatch"):
        source.read()
    source.close()


def test_a_library_that_is_missing_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        return
    load = ctypes.CDLL

    def in_a_package(name: str) -> None:
        """As PyInstaller has it."""
        try:
            load(name)
        except OSError as error:
            raise OSError(f"Failed to load dynlib/dll {name!r}.") from error

    if not Path("/proc/driver/nvidia").exists():
        assert nvml.load() is False
        monkeypatch.setattr(ctypes, "CDLL", in_a_package)
        assert nvml.load() is False

    def broken(name: str) -> None:
        raise OSError(f"{name}: undefined symbol: nvRmBroken")

    monkeypatch.setattr(ctypes, "CDLL", broken)
    with pytest.raises(SourceError, match=r"driver is broken: libnvidia-ml\.so\.1: undefined"):
        nvml.load()


def test_cards_that_sleep_are_not_woken(start: Start, tmp_path: Path) -> None:
    def device(slot: str, vendor: str, kind: str, state: str) -> None:
        (tmp_path / slot / "power").mkdir(parents=True, exist_ok=True)
        for name, text in (("vendor", vendor), ("class", kind), ("power/runtime_status", state)):
            (tmp_path / slot / name).write_text(text + "\n")

    device("0000:00:02.0", "0x8086", "0x030000", "active")
    device("0000:01:00.0", "0x10de", "0x030000", "suspended")
    device("0000:01:00.1", "0x10de", "0x040300", "active")  # its sound device
    library, source = start(Card("GPU-a", busy=30), pci=tmp_path)
    assert source.read() == () and library.inits == 0
    device("0000:01:00.0", "0x10de", "0x030000", "active")
    assert source.read()[0].others == 0.3
    device("0000:01:00.0", "0x10de", "0x030000", "suspended")
    assert source.read() == (Gpu("GPU-a", "NVIDIA GeForce RTX 3060", 12 << 30, others=0.0, own=0.0),)
