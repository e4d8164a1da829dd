"""A whole worker on a PC with a graphics processor: it computes there while it may, and survives its failure."""

from pathlib import Path

import pytest

from core.contracts.status import DeviceStatus, Status
from tests.swarm.fake_gpu import FOLDER, ID, NAME
from tests.workers import RunningWorker, codes, hearth, worker


def gpu(status: Status) -> DeviceStatus:
    return next(device for device in status.devices if device.id == ID)


def trains_on(running: RunningWorker, name: str) -> Status:
    """Wait until some batches more were trained there."""
    status = running.until(lambda status: status.device == name and status.samples_per_s > 0, f"training on {name}")
    return running.until(lambda now: now.device == name and now.step > status.step + 20, f"more training on {name}")


def test_the_gpu_computes_while_it_may_and_the_processor_otherwise_or_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with worker(tmp_path / "data", program="tests.swarm.fake_gpu") as running:
        running.call("set_settings", {"changes": {"gpu_in_use": True}})
        there = trains_on(running, NAME)
        assert there.gpu and gpu(there).on and gpu(there).experts == 32 and there.threads == 1
        assert gpu(there).taken_bytes == 7 << 20
        processor = next(device for device in there.devices if device.id == "cpu")
        assert processor.experts == 0 and processor.on

        compute, yields = running.compute(), there.yields.count
        running.call("set_settings", {"changes": {"gpus_off": [ID]}})
        here = running.until(lambda status: status.device != NAME, "leaving the GPU")
        assert not gpu(here).on and codes(gpu(here).why) == ["device.off"]
        assert here.yields.count == yields + 1 and here.yields.last_ms is not None
        here = trains_on(running, here.device)
        assert here.state == "contributing" and not here.gpu and here.step >= there.step
        running.call("set_settings", {"changes": {"gpus_off": []}})
        trains_on(running, NAME)

        yields = running.status().yields.count
        assert hearth(running.folder, "pause", "--gpu").stdout == "The GPU is paused until you resume.\n"
        here = running.until(lambda status: status.device != NAME, "leaving the GPU")
        assert here.yields.count == yields + 1 and not here.gpu
        here = trains_on(running, here.device)
        assert here.state == "contributing" and "gpu_choice.reason" in codes(here.reason)
        assert hearth(running.folder, "resume").stdout.startswith("Resumed. Now contributing")
        trains_on(running, NAME)

        running.call("pause")  # saves
        saved = running.until(lambda status: status.checkpoint_step is not None, "a checkpoint").checkpoint_step
        running.call("resume")
        trains_on(running, NAME)
        assert running.compute() == compute, "it was started again to change the device"

        (tmp_path / "broken").touch()
        failed = running.until(lambda status: any("failed" in str(text) for text in status.attention), "the failure")
        (told,) = (str(text) for text in failed.attention if "failed" in str(text))
        assert told.startswith("The GPU failed: CUDA error: unspecified launch failure.")
        assert "The CPU computes instead until" in told
        here = running.until(lambda status: status.device not in (NAME, "") and status.samples_per_s > 0, "the CPU")
        assert here.step >= (saved or 0) > 0
        (tmp_path / "broken").unlink()
        there = trains_on(running, NAME)
        assert not there.attention and gpu(there).experts == 32
