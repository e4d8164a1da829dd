"""A stand-in for an NVIDIA card beneath torch's own interface, for machines without one.

Within `with FakeCuda() as card:` the functions of `torch.cuda` know one card, `tensor.to("cuda:0")` brings a tensor
there, and every operation is checked as CUDA would: operands on two devices are an error, memory is finite, and a card
that has failed answers nothing any more. The arithmetic is the processor's, so results can be compared exactly.
"""

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

UUID = "11111111-2222-3333-4444-555555555555"
ID = f"GPU-{UUID}"
CUDA = torch.device("cuda:0")


class FakeCuda(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The card. Only the thread that made it can use it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._there: dict[int, tuple[StorageWeakRef, int]] = {}
        """Storages and their bytes."""
        self._carrying = False
        self.total = 1 << 30
        self.share = 1.0
        """That this process may use."""
        self.broken = False
        self.synchronized = self.operations = 0
        self.unfinished = 0
        """Operations since the last synchronisation."""
        self.emptied = 0
        self._at_most = 0
        """Bytes that may be in use."""
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "FakeCuda":
        patch = self._stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in self._interface().items():
            patch.setattr(torch.cuda, name, value)
        self._stack.enter_context(_Functions(self))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self._stack.close()

    def _interface(self) -> dict[str, Any]:
        def limit(share: float, device: int) -> None:
            assert isinstance(share, float) and device == 0
            self.share = share

        def empty() -> None:
            self.emptied += 1

        class Event:
            def __init__(self, blocking: bool) -> None:
                assert blocking, "waiting would spin on a core"
                self.recorded = False

            def record(event, stream: object) -> None:
                event.recorded = True

            def synchronize(event) -> None:
                assert event.recorded
                self.check()
                self.synchronized += 1
                self.unfinished = 0

        return {
            "device_count": lambda: 1,
            "get_device_properties": lambda number: types.SimpleNamespace(uuid=UUID, total_memory=self.total),
            "get_device_name": lambda number: "Fake RTX",
            "set_per_process_memory_fraction": limit,
            "Event": Event,
            "current_stream": lambda device: None,
            "device": lambda number: contextlib.nullcontext(),
            "empty_cache": empty,
            "memory_reserved": lambda number: self.used,
        }

    def check(self) -> None:
        if self.broken:
            raise torch.AcceleratorError("CUDA error: unspecified launch failure")

    @property
    def used(self) -> int:
        """Bytes of the tensors that are there."""
        self._there = {place: held for place, held in self._there.items() if not _gone(held[0])}
        return sum(size for _, size in self._there.values())

    def holds(self, tensor: Tensor) -> bool:
        held = self._there.get(tensor.untyped_storage()._cdata)
        return held is not None and not _gone(held[0])

    def mark(self, tensor: Tensor) -> None:
        """The tensor is there from now on, if there is room."""
        if self.holds(tensor):
            return
        storage = tensor.untyped_storage()
        self._at_most += storage.nbytes()
        if self._at_most > self.share * self.total:
            self._at_most = self.used + storage.nbytes()
        if self._at_most > self.share * self.total:
            self._at_most -= storage.nbytes()
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate some.\nGPU 0 has a capacity of ..")
        self._there[storage._cdata] = StorageWeakRef(storage), storage.nbytes()  # type: ignore[no-untyped-call]

    @contextlib.contextmanager
    def carrying(self) -> Iterator[None]:
        """Copies between devices."""
        self.check()
        before, self._carrying = self._carrying, True
        try:
            yield
        finally:
            self._carrying = before

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [item for item in tree_iter((args, kwargs)) if isinstance(item, Tensor)]
        there = [self.holds(tensor) for tensor in tensors]
        mine = any(there)
        if mine:
            self.check()
        if mine and not self._carrying and "copy_" not in func.__name__:
            others = [t for t, here in zip(tensors, there, strict=True) if not here and t.dim() and t.numel()]
            assert not others, f"{func}: operands on cuda:0 and cpu"
        result = func(*args, **kwargs)
        if mine and not self._carrying:
            self.operations += 1
            self.unfinished += 1
            for item in tree_iter(result):
                if isinstance(item, Tensor):
                    self.mark(item)
        return result


class _Functions(TorchFunctionMode):
    """What names a device."""

    def __init__(self, card: FakeCuda) -> None:
        super().__init__()
        self._card = card

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        card = self._card
        if func == Tensor.to and (target := _target(args, kwargs)) is not None:
            tensor = args[0]
            if (target == CUDA) == card.holds(tensor):
                return tensor.clone() if kwargs.get("copy") else tensor
            return (_Put if target == CUDA else _Take).apply(tensor, card)  # type: ignore[no-untyped-call]
        if func == Tensor.device.__get__ and card.holds(args[0]):
            return CUDA
        if func == Tensor.is_cpu.__get__:  # type: ignore[attr-defined]
            return not card.holds(args[0])
        if kwargs.get("device") is not None and torch.device(kwargs["device"]) == CUDA:
            del kwargs["device"]
            result = func(*args, **kwargs)
            card.mark(result)
            return result
        return func(*args, **kwargs)


def _gone(storage: StorageWeakRef) -> bool:
    return bool(storage.expired())  # type: ignore[no-untyped-call]


def _target(args: Any, kwargs: Any) -> torch.device | None:
    wanted = kwargs.get("device", args[1] if len(args) > 1 else None)
    return torch.device(wanted) if isinstance(wanted, str | torch.device) else None


class _Put(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, card: FakeCuda) -> Tensor:
        ctx.card = card
        with card.carrying():
            copy = tensor.clone()
        card.mark(copy)
        return copy

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        with ctx.card.carrying():
            return gradient.clone(), None


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, card: FakeCuda) -> Tensor:
        ctx.card = card
        with card.carrying():
            return tensor.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        with ctx.card.carrying():
            copy = gradient.clone()
        ctx.card.mark(copy)
        return copy, None
