"""The experts of this process, which come and go at the worker's word."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from core.compute.trials import Trials, are_related, believed, check_usual
from core.contracts.errors import CheckpointError, HearthError
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.contracts.taking_on import Reach, Taken, TakeOn
from core.experts.directory import LocalDirectory
from core.experts.grid import Grid, Uid
from core.runtime.adam import State
from core.runtime.backend import ExpertBackend
from core.runtime.out_of_memory import give_memory_back
from core.runtime.part_files import Part, read, unpack
from core.runtime.runtime import Runtime
from core.store.checkpoints import CheckpointStore
from core.training.trainer import Trainer

TRAINED = 100
"""Steps from which on a state here is not given up for one that is not related to it."""


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

    async def host(self, asked: TakeOn, trials: Trials) -> Taken:
        """Take experts on, each between two kernels, so that training does not stall.

        Args:
            asked: the experts, and what they may go on from.
            trials: what other peers gave is tried by these.

        Returns:
            What failed, and why.
        """
        failed, refused, newer = dict[str, Notice](), dict[str, Notice](), list[str]()
        async with self._one_by_one:
            found: dict[Uid, _Found] = {}
            for text, paths in asked.experts.items():
                try:
                    uid = Uid.parse(text)
                    found[uid] = await self._find(uid, paths, asked.most, refused)
                except HearthError as error:
                    failed[text] = error.notice
            chosen = await trials.best({uid: one.options for uid, one in found.items()})
            for uid, (backend, states, options) in found.items():
                if chosen is not None:
                    number = chosen[uid]
                    refused |= dict.fromkeys([*states][:number], notice("checkpoint.worse"))
                else:
                    number = len(states) if uid in self.backends else _untried(backend, options)
                if number < len(states) and options[number].version > backend.version:
                    backend.adopt([*states.values()][number])
                    newer.append(str(uid))
                if uid not in self.backends:
                    self._enter(uid, backend)
                await asyncio.sleep(0)
        return Taken(failed, refused, newer)

    async def _find(self, uid: Uid, paths: Sequence[str], most: Reach, refused: dict[str, Notice]) -> "_Found":
        """The states that an expert may go on from.

        Args:
            uid: the expert.
            paths, most: as in `host`.
            refused: files that are of no use are added to these.

        Raises:
            CheckpointError: there is no such expert in the run's grid, or a new one would begin though there may be
                other states of it.
        """
        if uid not in self._grid:
            raise CheckpointError(notice("checkpoint.no_expert", run=self._manifest.run, uid=str(uid)))
        backend = self.backends.get(uid)
        if backend is None:
            backend = self._new(uid)
            accept = partial(load_part, backend)
            await asyncio.to_thread(self._store.restore, {str(uid): accept})
        states, useless = dict[str, State](), 0
        own = None
        if paths and backend.version >= TRAINED:
            own = {name: weights.clone() for name, weights in backend.named_weights.items()}
        for path in paths:
            try:
                state = await asyncio.to_thread(self._read, backend, Path(path), most, own)
            except CheckpointError as error:
                refused[path], useless = error.notice, useless + 1
            else:
                if state.version > backend.version:
                    states[path] = state
        if useless and useless == len(paths) and not backend.version:
            raise CheckpointError(notice("checkpoint.none_good"))
        options = [self._new(uid) for _ in states]
        for option, state in zip(options, states.values(), strict=True):
            option.adopt(state)
        if backend.version or not states:  # a new one is not what trained ones are measured by
            options.append(backend)
        return _Found(backend, states, options)

    def _read(self, backend: ExpertBackend, path: Path, most: Reach, own: dict[str, Tensor] | None) -> State:
        """A state from a file.

        Raises:
            CheckpointError: it is none of this expert, none that training leads to, or none that what is here can have
                become.
        """
        part: Part = read(self._manifest.run, str(backend.uid), path)
        state = backend.read_state(believed(part.tensors, most))  # first, as it checks names, shapes and types
        if int(part.tensors["version"]) != part.version:
            raise CheckpointError(notice("checkpoint.mixed_versions"))
        check_usual(part.tensors, backend.norm)
        if own is not None and not are_related(part.tensors, own):
            raise CheckpointError(notice("checkpoint.not_related"))
        return state

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


class _Found(NamedTuple):
    """Of an expert that is to be hosted."""

    backend: ExpertBackend
    """As it is here."""
    states: dict[str, State]
    """Newer ones, by file."""
    options: list[ExpertBackend]
    """With these, and as it is here if it was ever trained."""


def _untried(backend: ExpertBackend, options: Sequence[ExpertBackend]) -> int:
    """The place of the state that a new host goes on from where none can be tried: the one in the middle of those that
    what is here, first weights as a rule, can have become. That one peer names a great number is no reason to prefer
    its state.

    Args:
        backend: the expert as it is here.
        options: its states.
    """
    here = backend.named_weights
    related = [place for place, one in enumerate(options) if are_related(one.named_weights, here)]
    likely = related or range(len(options))
    return likely[len(likely) // 2]


def load_part(owner: ExpertBackend | Trainer, data: bytes) -> None:
    """Have an expert or the trunk go on from its part of a checkpoint (CheckpointError: it cannot)."""
    owner.load_state(unpack(data).tensors)
