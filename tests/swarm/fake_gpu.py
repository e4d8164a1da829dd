"""`hearth worker` on a PC with a graphics processor, as far as the worker and its compute process can tell.

NVML's bindings are the real ones over a stand-in of NVIDIA's library; in compute, the processor plays the card's part.
The card fails while there is a file `broken` in the folder that HEARTH_FAKE_GPU names. With HEARTH_FAKE_GPU_PACK set,
it can be used with a pack only; the figure says after how many seconds a pack that is tried hangs.

python -m tests.swarm.fake_gpu worker --data-dir ...
"""

import os
import sys
from pathlib import Path

from core.contracts import build
from tests.unit.nvml_library import Card, Library

ID = "GPU-11111111-2222-3333-4444-555555555555"
NAME = "Fake RTX"
FOLDER, NEEDS_PACK = "HEARTH_FAKE_GPU", "HEARTH_FAKE_GPU_PACK"
RETRY_S = 4.0


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "tests.swarm.fake_gpu", *words]


def _fake_driver() -> None:
    import pynvml

    from core.policy.signals import nvml
    from core.worker.compute import accelerator

    pynvml.nvmlLib = Library(Card(ID, NAME))
    nvml.load = lambda: True
    nvml.Nvml.__init__.__defaults__ = (nvml.load, *nvml.Nvml.__init__.__defaults__[1:])  # type: ignore[index]
    accelerator.RETRY_S = RETRY_S


def _fake_torch() -> None:
    import torch
    from torch import Tensor

    from core.compute import benchmark
    from core.contracts.errors import DeviceError
    from core.runtime import device

    class Fake(device.Device):
        id, label = ID, NAME

        def put(self, tensor: Tensor) -> Tensor:
            self._check()
            return tensor.clone()

        def take(self, tensor: Tensor) -> Tensor:
            self._check()
            return tensor.clone()

        @property
        def used_bytes(self) -> int:
            return 7 << 20

        def _check(self) -> None:
            if Path(os.environ[FOLDER], "broken").exists():
                raise torch.AcceleratorError("CUDA error: unspecified launch failure\nFor debugging consider ..")

    fake = Fake()

    def open_device(id_: str) -> device.Device:
        if id_ != ID:
            raise DeviceError(f"There is no {id_}.")
        try:
            fake.put(torch.zeros(1))
        except RuntimeError as error:
            raise DeviceError("It cannot be used.") from error
        return fake

    by_device = benchmark.Benchmark.by_device

    def faster(self: benchmark.Benchmark, threads: int) -> dict[str, float]:
        return {one: 1e6 if one == ID else speed for one, speed in by_device(self, threads).items()}

    benchmark.Benchmark.by_device = faster  # type: ignore[method-assign]
    device.open_device = open_device
    device.can_use_gpus = lambda: NEEDS_PACK not in os.environ or bool(os.environ[build.PACK])


def main() -> int:
    """The command line of `core`, with a graphics processor."""
    if sys.argv[1] in ("compute", "try-pack"):
        if pack := os.environ.get(build.PACK):  # as core.cli does, before torch is imported
            sys.path.insert(0, pack)
        _fake_torch()
    else:
        build.hearth_command = command
        _fake_driver()
    if sys.argv[1] == "pack":
        from core.commands import pack as packs

        packs.TRY_S = float(os.environ[NEEDS_PACK])
    from core.cli import main as cli

    return cli()


if __name__ == "__main__":
    sys.exit(main())
