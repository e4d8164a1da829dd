"""What a source of signals tells: a value or "unknown", with its source and age.

A source may block, fail or lie; `core.policy.signals.watch` asks it in a thread of its own and bounds all three, so
that who reads a `Reading` never waits.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, Literal, Protocol, TypeVar

from core.contracts.errors import HearthError
from core.contracts.notices import Notice, notice

Value = TypeVar("Value", covariant=True)


@dataclasses.dataclass(frozen=True)
class Reading(Generic[Value]):
    """One signal as last measured."""

    value: Value | None
    """None: unknown."""
    source: str | Notice
    """What measured it, or why nothing can."""
    age_s: float = 0.0
    """Seconds since it was measured."""


class SourceError(HearthError):
    """A source cannot measure, now or ever; the notice says why."""


class AbsentError(SourceError):
    """What would be asked is not there at all: its service does not run, or this is another kind of session."""


class Source(Protocol[Value]):
    """One way to measure one signal. Its methods are called from one thread, its own, and may block.

    A source of idle time may have `tells_return: bool`. True: it calls the function that it was opened with within
    50 ms when the user comes back (only then, not at every key), and is asked once a second. Any other is asked every
    50 ms while Hearth computes and the user is away.
    """

    @property
    def name(self) -> str:
        """What the user reads: "Mutter", "XScreenSaver", "NVML"."""

    def read(self) -> Value:
        """Measure now.

        Raises:
            SourceError: it cannot. Any other exception is treated alike, with its text.
        """

    def close(self) -> None:
        """Let go of connections and handles. Never raises."""


class Stateless:
    """A source that holds nothing between two readings."""

    def close(self) -> None:
        """There is nothing to let go of."""


Open = Callable[[Callable[[], None]], Source[Value]]
"""Make a source. Its argument may be called, from any thread, when the signal changed and should be read at once."""


OWN = "hearth"
"""Class, application id, name and program of Hearth's own windows: its screensaver is no game."""


@dataclasses.dataclass(frozen=True)
class Front:
    """What covers the screen that the user looks at."""

    kind: Literal["window", "fullscreen", "presentation", "game"]
    program: str = ""
    """Name of its program; empty if unknown."""


@dataclasses.dataclass(frozen=True)
class Power:
    """Where the electricity comes from."""

    mains: bool
    charge: float | None = None
    """Of the battery, 0 to 1; None without one."""


@dataclasses.dataclass(frozen=True)
class Gpu:
    """One graphics processor. What it does not tell is None."""

    id: str
    """Stable name, as the settings keep it."""
    name: str
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None
    others: float | None = None
    """Share of its time that other programs use, 0 to 1."""
    own: float | None = None
    """Share of its time that Hearth uses, 0 to 1."""
    celsius: float | None = None
    watts: float | None = None


UNKNOWN: Reading[Any] = Reading(None, notice("signal.pending"))


@dataclasses.dataclass(frozen=True)
class Signals:
    """All readings at one moment."""

    idle_s: Reading[float] = UNKNOWN
    locked: Reading[bool] = UNKNOWN
    front: Reading[Front] = UNKNOWN
    desktop: Reading[bool] = UNKNOWN
    """Somebody can be at a screen of this PC: false on a server without one."""
    power: Reading[Power] = UNKNOWN
    cpu_others: Reading[float] = UNKNOWN
    """Share of all cores that programs other than Hearth use, 0 to 1."""
    memory_free: Reading[int] = UNKNOWN
    """Bytes that programs can get without swapping."""
    disk_free: Reading[int] = UNKNOWN
    """Bytes, where Hearth's data is."""
    gpus: Reading[tuple[Gpu, ...]] = UNKNOWN
    celsius: Reading[float] = UNKNOWN
    """The hottest core or package."""
    hot: Reading[bool] = UNKNOWN
    """The system itself says that it is too hot (macOS, where no degrees are told)."""
    watts: Reading[float] = UNKNOWN
    metered: Reading[bool] = UNKNOWN
    """Bytes over this network cost money."""
    programs: Reading[frozenset[str]] = UNKNOWN
    """Names of the running programs, in lower case, without ".exe"."""
