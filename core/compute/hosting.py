"""The experts of this process, which come and go at the worker's word."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

import torch

from core.contracts.errors import CheckpointError, HearthError
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.experts.directory import LocalDirectory
from core.experts.grid import Grid, Uid
from core.runtime.backend import ExpertBackend
from core.runtime.out_of_memory import give_memory_back
from core.runtime.part_files import Part, read, unpack
from core.runtime.runtime import Runtime
from core.store.checkpoints import CheckpointStore
from core.training.trainer import Trainer


class Residents:
    """Experts that are hosted here, from their first weights or newest checkpoint to the last one that is saved."""

    def __init__(
        self, manifest: Manifest, uids: Iterable[str] | None, store: CheckpointStore, runtime: Runtime
    ) -> None:
        """
        Args:
            manifest: the run's.
            uids: the experts to begin with; None: all of the run's grid.
            store: where they go on from.
            runtime: where they are served.

        Raises:
            ManifestError: unknown kind of expert.
            ProtocolError: something that is no uid.
        """
        self._manifest, self._store, self._runtime = manifest, store, runtime
        self._grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
        chosen = self._grid.uids() if uids is None else map(Uid.parse, uids)
        self.backends: dict[Uid, ExpertBackend] = {}
        self.leaving: dict[Uid, ExpertBackend] = {}
        """Hosted no more, but their newest state is still to be saved."""
        self.directory = LocalDirectory(())
        for uid in chosen:
            self._enter(uid, self._new(uid))
        self._one_by_one = asyncio.Lock()

    def _new(self, uid: Uid) -> ExpertBackend:
        return ExpertBackend(uid, self._manifest.model, self._manifest.training)

    async def host(self, experts: Mapping[str, str | None]) -> dict[str, Notice]:
        """Take experts on, each between two kernels, so that training does not stall.

        Args:
            experts: by uid, the checkpoint file to go on from; None: the newest one of the run's folder.

        Returns:
            What failed, and why.
        """
        failed: dict[str, Notice] = {}
        async with self._one_by_one:
            for text, path in experts.items():
                try:
                    await self._host(Uid.parse(text), path)
                except HearthError as error:
                    failed[text] = error.notice
        return failed

    async def _host(self, uid: Uid, path: str | None) -> None:
        """Raises:
        CheckpointError: there is no such expert in the run's grid, or the file cannot be used; nothing has changed.
        """
        if uid not in self._grid:
            raise CheckpointError(notice("checkpoint.no_expert", run=self._manifest.run, uid=str(uid)))
        backend = self.backends.get(uid)
        if backend is None:
            backend = self._new(uid)
            accept = partial(load_part, backend)
            await asyncio.to_thread(self._store.restore, {str(uid): accept})
        if path is not None:
            await self._load(backend, Path(path))
        if uid not in self.backends:
            self._enter(uid, backend)
        await asyncio.sleep(0)

    async def _load(self, backend: ExpertBackend, path: Path) -> None:
        """Go on from a file if it is newer.

        Raises:
            CheckpointError: it cannot be used; the expert is unchanged.
        """
        part: Part = await asyncio.to_thread(read, self._manifest.run, str(backend.uid), path)
        if part.version <= backend.version:
            return
        if int(part.tensors.get("version", torch.tensor(-1))) != part.version:
            raise CheckpointError(notice("checkpoint.mixed_versions"))
        backend.adopt(await asyncio.to_thread(backend.read_state, part.tensors))

    async def unhost(self, uids: Iterable[str], save: Callable[[], Awaitable[Notice | None]]) -> dict[str, Notice]:
        """Let experts go once their calls are served and their state is saved; all stay if that fails.

        Args:
            uids: the experts.
            save: saves all experts; returns what went wrong.

        Returns:
            What failed, and why.
        """
        async with self._one_by_one:
            gone = {uid: self.backends[uid] for uid in map(Uid.parse, uids) if uid in self.backends}
            for uid in gone:
                self.directory.remove(uid)
            await asyncio.gather(*map(self._runtime.remove, gone))
            for uid in gone:
                del self.backends[uid]
            self.leaving = gone
            error = await save()
            self.leaving = {}
            if error is not None:
                for uid, backend in gone.items():
                    self._enter(uid, backend)
                return dict.fromkeys(map(str, gone), error)
        gone.clear()
        give_memory_back()
        return {}

    def _enter(self, uid: Uid, backend: ExpertBackend) -> None:
        self.backends[uid] = backend
        self._runtime.add(backend)
        self.directory.add(uid)


def load_part(owner: ExpertBackend | Trainer, data: bytes) -> None:
    """Have an expert or the trunk go on from its part of a checkpoint (CheckpointError: it cannot)."""
    owner.load_state(unpack(data).tensors)
