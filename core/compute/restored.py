"""A run's model as its newest states make it, in a process that does nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from core.contracts.errors import CheckpointError
from core.contracts.export import Collected
from core.contracts.files import TRUNK
from core.contracts.notices import notice
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.grid import Grid
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.part_files import read
from core.runtime.runtime import Runtime
from core.training.data.shuffle_buffer import without_place
from core.training.data.stream import open_stream
from core.training.trainer import Trainer


class Restored:
    """Trunk and experts, which can be asked and evaluated."""

    def __init__(self, collected: Collected, all_experts: bool) -> None:
        """Read the states.

        Args:
            collected: the states.
            all_experts: whether an expert without a state is there as it begins; else it is not there.

        Raises:
            HearthError: there is no trunk, a state is damaged, or data are missing.
        """
        manifest = collected.manifest
        if TRUNK not in collected.parts:
            raise CheckpointError(notice("export.no_trunk", run=collected.run))
        states = {uid: part.path for uid, part in collected.parts.items()}
        uids = [
            uid
            for uid in Grid(manifest.run, manifest.model.layers, manifest.model.grid).uids()
            if all_experts or str(uid) in states
        ]
        self.backends = {uid: ExpertBackend(uid, manifest.model, manifest.training) for uid in uids}
        for uid, backend in self.backends.items():
            if path := states.get(str(uid)):
                backend.load_state(read(manifest.run, str(uid), Path(path)).tensors)
        self._gate = KernelGate()
        self._runtime = Runtime(self.backends, self._gate)
        self.stream = open_stream(manifest, Path(collected.folder))
        self.directory = LocalDirectory(self.backends)
        self.trainer = Trainer(manifest, {LOCAL: self._runtime}, self.directory, self._gate, self.stream)
        trunk = read(manifest.run, TRUNK, Path(states[TRUNK])).tensors
        self.trainer.load_state(without_place(trunk))  # the place is one in the order of whoever trained it

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Within it the model can be asked."""
        self._gate.open()
        serving = asyncio.create_task(self._runtime.run())
        try:
            yield
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
