"""How the worker brings about what trainers agree on: for each strategy of `core.contracts.trunk` that has others to
agree with, one module of this package whose `AGREEMENT` is its class.

What others need of this PC is done here, with numpy and without torch, so that it goes on while compute is stopped, on
backbone peers too. A module is loaded only for a run that names it: a worker without such a run stays light.
"""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Self

from core.contracts.errors import CallTimeout, ComputeError
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice
from core.contracts.pipe import AGREE
from core.contracts.taking_on import COMPARE_TRUNKS, Compared, CompareTrunks, Reach, Verdict
from core.contracts.trunk import MOST, Agreed, Local, Offer
from core.contracts.trunk_status import GiverStatus, PartStatus, ProgressStatus, ReducerStatus
from core.pipe.calls import Calls, Incoming
from core.pipe.frames import Payload
from core.swarm.members import Members

Most = Callable[[], Reach]
Who = tuple[list[GiverStatus], list[ReducerStatus]]
"""The trainers that made an agreement, and who brought together what they gave."""
NOBODY: Who = ([], [])
COMPARE_S = 60.0
"""For compute to try some trunks; it gives up earlier by itself, unless a slow PC has much to load."""
POINTS: dict[Verdict, float] = {"worse": 1.0, "unusual": 4.0}
"""For who gave a trunk that was set aside: the third one that training does not lead to means a ban. One that is only
worse than others may be honest now and then."""
LIE = 5.5
"""Points for what no honest peer sends: the second time within some seconds means a ban, as points are forgotten."""
HOSTILE_POINTS = 4.0
"""For what no network learns with, such as NaN: the third one soon after means a ban."""
OUT_S = 300.0
"""For so long nothing counts that this peer tells of trunks: else it would keep others from training all the same."""


def anything() -> Reach:
    """A trunk can have come to every version that there may be."""
    return Reach(MOST, MOST)


class Agreement(ABC):
    """Use as `async with`, inside the directory's own; methods for other peers are registered before."""

    reached = False
    """Whether what is agreed is as good as the manifest wants, as far as this PC knows."""
    reduced = 0
    """Bytes that other trainers gave and this PC combined, since the start."""
    accepted = 0.0
    """Samples of the trainer here that are in what is agreed, since the start; those of a part of the trunk in its
    share."""

    @abstractmethod
    def __init__(self, manifest: Manifest, members: Members, folder: Path, most: Most = anything) -> None:
        """Nothing is begun.

        Args:
            manifest: the run's; its `trunk` holds the strategy's own parameters.
            members: the peers of the run, and through what they find each other.
            folder: the run's own, for what outlives this process.
            most: how far a trunk of the run can have come by now. Learning rates go by what others say of that.
        """
        self._most = most
        self._numbers = MODELS[manifest.model.kind].numbers(manifest.model, manifest.ends)
        """Of the trunk."""
        self._calls: Calls | None = None
        """To compute; None: there is none."""
        self._seen: dict[bytes, Counter[int]] = {}
        """Samples that went into what is agreed, by trainer and part of the trunk."""

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Take part."""

    @abstractmethod
    async def __aexit__(self, *_: object) -> None:
        """Leave it to the others."""

    @abstractmethod
    async def agree(self, offer: Offer, payload: bytes, deadline: float) -> tuple[Agreed, Payload]:
        """Have what compute offers counted by the others; cancelled if compute does not wait any more.

        Args:
            offer: what it is.
            payload: float32; empty: only what is agreed is asked for.
            deadline: time.monotonic() after which nobody waits.

        Raises:
            NetworkError: the others could not be asked; the same may be offered again.
            ProtocolError: they refuse what is offered.
        """

    def status(self) -> list[PartStatus]:
        """What is agreed, as far as this PC knows, where the trunk is cut into parts that have digests."""
        return []

    def who(self) -> Who:
        """The trainers that made the last agreement, and who brought theirs together, as far as this PC knows."""
        return NOBODY

    def progress(self, step: int) -> ProgressStatus | None:
        """How near the next agreement is, if that can be told.

        Args:
            step: that the trainer here has come to.
        """
        return None

    def waits(self) -> Notice | None:
        """What the trainer here waits for; None: it goes on."""
        return None

    def notes(self) -> list[Notice]:
        """What the user is told of what fails here again and again."""
        return []

    def saw(self, trainer: bytes, samples: int, part: int = 0) -> None:
        """Note that a trainer's samples were counted here, or in a round in which this PC took part."""
        parts = self._seen.setdefault(trainer, Counter())
        parts[part] = min(MOST, parts[part] + samples)

    def seen(self) -> dict[bytes, int]:
        """The samples of each trainer that this PC saw counted since its start. Each part of the trunk has all of them:
        they are those of the part of which this PC has seen most."""
        return {trainer: max(parts.values()) for trainer, parts in self._seen.items()}

    async def compare(self, states: Sequence[Mapping[int, bytes]], *, moments: bool = False) -> Compared:
        """Have trunks tried by the trainer here, before it goes on from one that it has of one peer's word.

        Args:
            states: each as the numbers, float32, of some parts, the rest as agreed here; nothing: the trunk here.
            moments: whether each is followed by both moments of the optimizer.

        Raises:
            CallTimeout: it cannot be told now, as there is no trainer, or no expert, or the machine is given back.
        """
        if self._calls is None:
            raise CallTimeout("No trainer is here that could try a trunk.")
        asked = CompareTrunks([[*parts] for parts in states], moments)
        numbers = [part for parts in states for part in parts.values()]
        try:
            return (await self._calls.exchange(COMPARE_TRUNKS, asked, numbers, time.monotonic() + COMPARE_S))[0]
        except ComputeError as error:
            raise CallTimeout(f"A trunk cannot be tried now: {error}") from error

    def serve(self, calls: Calls) -> None:
        """Answer one compute process after the other.

        Args:
            calls: to compute.
        """
        self._calls = calls

        async def agree(offer: Offer, payload: Payload, call: Incoming) -> tuple[Agreed, Payload]:
            pieces = [payload] if isinstance(payload, bytes | bytearray | memoryview) else payload
            offered = b"".join(pieces)
            agreed, answer = await self.agree(offer, offered, call.deadline)
            if agreed.counted:
                self.accepted += offer.samples * len(offered) / (4 * self._numbers)
            return agreed, answer

        calls.register_carrier(AGREE, agree)


def agreement_of(manifest: Manifest, members: Members, folder: Path, most: Most = anything) -> Agreement | None:
    """What brings a run's trainers to one trunk; None where each has its own.

    Args:
        manifest: the run's.
        members: as in `Agreement`.
        folder: as in `Agreement`.
        most: as in `Agreement`.
    """
    if isinstance(manifest.trunk, Local):
        return None
    module = import_module(f"{__package__}.{manifest.strategy}")
    agreement: Agreement = module.AGREEMENT(manifest, members, folder, most)
    return agreement
