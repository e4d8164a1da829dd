"""Changes of settings on their way to the worker, one after the other, and those that can be taken back."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from core.contracts.errors import HearthError
from core.contracts.settings import PROFILES, Settings, profile_values

Values = dict[str, Any]
DEFAULTS: Values = dataclasses.asdict(Settings())
Send = Callable[[Values, Callable[[Values], None], Callable[[HearthError], None]], object]
"""Gives changes to the worker; calls the second with all values then, or the third."""


class Done(NamedTuple):
    """A change that the worker has taken."""

    asked: tuple[str, ...]
    """Names that the user changed; a profile brings more."""
    before: Values
    after: Values


class Changes:
    """Each waits for the answer to the one before it, so that what it alone has changed is known.

    Args:
        send: see `Send`.
        took: called with all values when the worker has taken a change.
        refused: called with the change and why.
        told: called when something else can be taken back.
    """

    def __init__(
        self,
        send: Send,
        took: Callable[[Values], None],
        refused: Callable[[Values, HearthError], None],
        told: Callable[[], None],
    ) -> None:
        self._send, self._took, self._refused, self._told = send, took, refused, told
        self._waiting: list[Values | None] = []
        """What is to be sent; None: what takes back the last change."""
        self._under_way = False
        self._sent: Values = {}
        self._done: list[Done] = []
        self.values = dict(DEFAULTS)
        """As the worker has them."""

    @property
    def last(self) -> Done | None:
        """What would be taken back next."""
        return self._done[-1] if self._done else None

    @property
    def asked(self) -> set[str]:
        """Names that the worker has not answered for yet: what is shown of them is the user's."""
        return {name for one in (self._sent, *self._waiting) if one for name in one}

    def learn(self, values: Values) -> None:
        """Take the worker's values. What somebody else has changed since is not taken back any more."""
        self.values = values
        while not self._under_way and self.last and any(values[n] != one for n, one in self.last.after.items()):
            self._done.pop()
        self._told()

    def apply(self, changes: Values) -> None:
        """Ask the worker for changes."""
        self._waiting.append(changes)
        self._next()

    def undo(self) -> None:
        """Take the last change back, and nothing else; the next time the one before it."""
        self._waiting.append(None)
        self._next()

    def forget(self) -> None:
        """The worker is gone; it answers nothing any more."""
        self._waiting.clear()
        self._under_way, self._sent = False, {}

    def _next(self) -> None:
        if self._under_way or not self._waiting:
            return
        wanted, undone = self._waiting.pop(0), None
        if wanted is None:
            if not self._done:
                return self._next()
            undone = self._done.pop()
        changes = undone.before if undone else wanted or {}
        self._under_way, self._sent = True, changes
        before = dict(self.values)

        def done(values: Values) -> None:
            self._sent = {}
            self._took(values)
            names = _reach(changes)
            changed = [name for name in names if before[name] != self.values[name]]
            if undone is None and changed:
                asked = tuple(name for name in changes if name in changed) or tuple(changes)
                old, new = ({name: one[name] for name in changed} for one in (before, self.values))
                self._done.append(Done(asked, old, new))
            self._go_on()

        def failed(error: HearthError) -> None:
            self._sent = {}
            if undone is not None:
                self._done.append(undone)
            self._refused(changes, error)
            self._go_on()

        self._send(changes, done, failed)

    def _go_on(self) -> None:
        self._under_way = False
        self._told()
        self._next()


def _reach(changes: Values) -> set[str]:
    """Names of all that changes can change: a profile brings its values, and a value may be another profile's."""
    brought = profile_values(changes["profile"]) if changes.get("profile") in PROFILES else {}
    return {*changes, "profile", *brought} & DEFAULTS.keys()
