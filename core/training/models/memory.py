"""What attention keeps of a text that grows: keys and values, so that a further token costs a pass of one row."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import torch
from torch import Tensor, nn

_memory: ContextVar["Memory | None"] = ContextVar("memory", default=None)
"""That of the pass that is being made."""


class Memory:
    """Of one text, and one network."""

    def __init__(self) -> None:
        self._tokens = torch.empty(1, 0, dtype=torch.int64)
        self._kept: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    @property
    def length(self) -> int:
        """Tokens that are known."""
        return self._tokens.shape[1]

    @contextlib.contextmanager
    def passing(self, tokens: Tensor) -> Iterator[Tensor]:
        """Make a pass; gives the tokens that are to go through the network. One that fails leaves nothing behind.

        Args:
            tokens: [1, length], all of the text; if it is no continuation, nothing of the former one is used.
        """
        known = self._tokens
        if known.shape[1] >= tokens.shape[1] or not torch.equal(known, tokens[:, : known.shape[1]]):
            self._tokens = known[:, :0]
        before = _memory.set(self)
        try:
            yield tokens[:, self.length :]
        finally:
            _memory.reset(before)
        self._tokens = tokens

    def extended(self, of: nn.Module, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Those of all tokens.

        Args:
            of: which attention's.
            keys: of the new tokens, [1, heads, length, width of one].
            values: of the same.
        """
        if self.length:
            kept = [one[:, :, : self.length].to(keys.device) for one in self._kept[of]]
            keys, values = torch.cat((kept[0], keys), 2), torch.cat((kept[1], values), 2)
        self._kept[of] = keys, values
        return keys, values


def current() -> Memory | None:
    """The memory of the pass that is being made; None: nothing is kept."""
    return _memory.get()
