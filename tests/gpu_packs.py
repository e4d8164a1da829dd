"""A release feed with GPU packs, and a PC with an NVIDIA card whose Hearth knows that feed."""

import contextlib
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import torch

from core.update import packs
from core.update.installation import ROOT as INSTALLATION
from installers import release
from tests.release_feed import Feed, release_feed
from tests.swarm.fake_gpu import FOLDER, NEEDS_PACK
from tests.workers import PATIENCE_S, ROOT, give_key

TORCH = """
import sys, time
{then}
_mine, __file__ = __file__, {real!r}
__path__ = [{real!r}.rpartition("/")[0]]
exec(compile(open(__file__).read(), __file__, "exec"))
__file__, __version__ = _mine, "{version}"
"""
"""The torch of this environment, under another version, from the pack's folder."""
LIBRARY = 3_000_000
"""Bytes of what stands for CUDA's libraries."""


class Packs:
    """A feed with packs, and a PC with an NVIDIA card whose Hearth knows the feed."""

    def __init__(self, feed: Feed, folder: Path, data: Path) -> None:
        self.feed, self.folder, self.data = feed, folder, data

    @property
    def runtimes(self) -> Path:
        return self.data / "runtimes"

    def publish(self, version: str, then: str = "pass", *more: str) -> None:
        """Publish a pack whose torch does something when it is imported."""
        wheels = self.folder / f"wheels-{version}"
        wheels.mkdir()
        code = TORCH.format(then=then, real=torch.__file__, version=version)
        info = f"torch-{version}.dist-info/METADATA"
        about = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
        with zipfile.ZipFile(wheels / f"torch-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("torch/__init__.py", code)
            wheel.writestr(info, about)
        library = hashlib.shake_128(b"cuda").digest(LIBRARY)
        with zipfile.ZipFile(wheels / "nvidia_cuda-13-py3-none-any.whl", "w") as wheel:
            wheel.writestr("nvidia/lib/libcuda.so", library)
            wheel.writestr("nvidia_cuda-13.data/purelib/nvidia/__init__.py", "")
            wheel.writestr("nvidia_cuda-13.data/scripts/nvcc", "#!/bin/sh\n")
        self.feed.release("pack", self.feed.feed, self.feed.keys, wheels, *more)

    def command(self, what: str, *words: str) -> list[str]:
        return [sys.executable, "-m", "tests.swarm.fake_gpu", "pack", what, *words, "--data-dir", str(self.data)]

    def pack(self, what: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `hearth pack` to its end."""
        command = self.command(what, *words)
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    @property
    def chosen(self) -> str:
        """The version of torch that compute is started with; "": Hearth's own."""
        pack = packs.chosen(self.data)
        found = packs.read(pack) if pack else None
        return found.version if found else ""


@contextlib.contextmanager
def a_pc_with_packs(folder: Path) -> Iterator[tuple[Packs, dict[str, str]]]:
    """The PC, with what its processes find in their environment.

    Args:
        folder: for all that belongs to it; `data` in it is the data folder.
    """
    with release_feed(folder / "feed") as feed:
        here = Packs(feed, folder, folder / "data")
        here.publish("2.90.0")
        release.write_address(feed.feed, [feed.server.url], folder / "installed")
        give_key(here.data)
        yield here, {INSTALLATION: str(folder / "installed"), FOLDER: str(folder), NEEDS_PACK: str(PATIENCE_S)}
