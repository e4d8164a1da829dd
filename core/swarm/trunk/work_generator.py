"""VC-ASGD's work: which part of the data which client trains on (Atre, Jha and Rao, 2021, sections III-A and III-B).

A table and the rules by which it changes. Time is an argument, and the table is a message: it is kept in the store of
the parameters, so that any server can go on with it when another has died.
"""

import math
import statistics
from collections.abc import Collection

import msgspec

from core.contracts.trunk import VcAsgd, check_possible

AHEAD = 4
"""Epochs from which subtasks are given at once: nobody waits for an epoch's last subtasks, which may time out twice."""
CLIENTS = 1000
"""Remembered; who was not heard of for longest is forgotten first."""
EPOCHS = 1000
"""Whose means are kept."""
DISTANCES, KNOWN = 64, 8
"""Of results, kept; and so many of which tell what is usual."""
LATE = 15
"""Clients before the last one whose result of a subtask is still taken when it comes late."""
ASSIMILATION_S = 60.0
"""That a server takes at most to mix in a result."""
RETRY_SHARE = 0.5
"""A subtask that was late once goes to a client that returns at least so much of what it is given."""


class Subtask(msgspec.Struct, frozen=True, array_like=True):
    """One pass over one part of the data."""

    epoch: int
    """Counted from 1."""
    part: int


class Open(msgspec.Struct, array_like=True):
    """What is known of a subtask until its result is there."""

    subtask: Subtask
    client: str | None = None
    """Who trains on it; None: it waits for somebody."""
    due: float = 0.0
    """When it is given to another one."""
    arrived: bool = False
    """Its result is there and is being assimilated."""
    late: list[str] = []
    """Clients that had it and did not return it in time."""


class Client(msgspec.Struct, array_like=True):
    """What is known of a client."""

    returned: int = 0
    late: int = 0
    parts: set[int] = set()
    """Of the data, that it has been given: it has these files."""

    @property
    def reliability(self) -> float:
        """Share of its subtasks that it returns in time; before the first one, a half (Laplace's rule)."""
        return (self.returned + 1) / (self.returned + self.late + 2)


class Work(msgspec.Struct):
    """The table."""

    generated: int = 0
    """Epochs whose subtasks were made."""
    open: list[Open] = []
    clients: dict[str, Client] = {}
    """In the order in which they were heard of."""
    judged: dict[int, list[float]] = {}
    """Accuracies of what the subtasks began with, by epoch that is not complete."""
    means: list[float] = []
    """Of the accuracies of each complete epoch that has some."""
    done: int = 0
    """Subtasks whose results were assimilated."""
    samples: int = 0
    """That were trained on in them."""
    stopped: bool = False
    """The accuracy is reached: no more work."""
    turns: int = 0
    """Clients that were given work, or told that there is none: of two tables the one with more is the newer."""
    distances: list[float] = []
    """Of the last results from the servers' parameters, as they arrived."""

    def __post_init__(self) -> None:
        check_possible(self.turns)


class WorkGenerator:
    """Gives subtasks and takes their results, by the table and its rules."""

    def __init__(self, rules: VcAsgd, work: Work) -> None:
        """
        Args:
            rules: Of the run.
            work: The table; changed in place.
        """
        self._rules, self.work = rules, work

    def give(self, client: str, now: float, holding: Collection[Subtask] = ()) -> Subtask | None:
        """The next subtask for a client; None: there is none for it now.

        It is first given what it had before it was restarted. Then subtasks of earlier epochs come before later ones,
        those that were late before others (unless this client is often late itself), parts that it has the data of
        before others, and parts that nobody has before those that others have.

        Args:
            client: its name.
            now: seconds.
            holding: subtasks that it still works on; it gets one more.
        """
        self._expire(now)
        self.work.turns += 1
        known = self._heard_of(client)
        if self.work.stopped:
            return None
        for each in self.work.open:
            if each.client == client and not each.arrived and each.subtask not in holding:
                each.due = now + self._rules.timeout_s
                return each.subtask
        self._generate()
        waiting = [each for each in self.work.open if each.client is None]
        if not waiting:
            return None
        others = {part for other in self.work.clients.values() if other is not known for part in other.parts}
        distrusted = known.reliability < RETRY_SHARE

        def rank(each: Open) -> tuple[bool, int, bool, bool, bool]:
            part, late = each.subtask.part, bool(each.late)
            return distrusted and late, each.subtask.epoch, not late, part not in known.parts, part in others

        chosen = min(waiting, key=rank)
        chosen.client, chosen.due = client, now + self._rules.timeout_s
        known.parts.add(chosen.subtask.part)
        return chosen.subtask

    def reserve(self, client: str, subtask: Subtask, now: float) -> bool:
        """Whether a client's result is to be assimilated: the first one of a subtask is, also if it comes late.

        If it is, nobody else's is, unless it is not told of its end within `ASSIMILATION_S`, as when the server died.

        Args:
            client: its name.
            subtask: what it was given.
            now: seconds.
        """
        self._expire(now)
        self._heard_of(client)
        for each in self.work.open:
            if each.subtask == subtask and not each.arrived and (each.client == client or client in each.late):
                each.client, each.due, each.arrived = client, now + ASSIMILATION_S, True
                return True
        return False

    def usual(self) -> float | None:
        """The median distance of results from the servers' parameters; None: too few have come."""
        distances = self.work.distances
        return statistics.median(distances) or None if len(distances) >= KNOWN else None

    def finish(self, client: str, subtask: Subtask, samples: int, distance: float = 0.0) -> None:
        """A result that was reserved is assimilated.

        Args:
            client: whose it was.
            subtask: what it was given.
            samples: that it trained on.
            distance: of it from the servers' parameters, if it was much further as far as it was believed.
        """
        self.work.distances = [*self.work.distances[1 - DISTANCES :], distance]
        self._heard_of(client).returned += 1
        self.work.open = [each for each in self.work.open if each.subtask != subtask]
        self.work.done += 1
        self.work.samples += samples

    def judge(self, subtask: Subtask, accuracy: float) -> None:
        """Note how good the servers' parameters were; an epoch's mean that is good enough ends the job, unless it is
        that of a few clients which say what most others do not: the median must be as good.

        Args:
            subtask: whose client has measured it; its result is assimilated.
            accuracy: on data that are not trained on, 0 to 1.
        """
        work = self.work
        work.judged.setdefault(subtask.epoch, []).append(accuracy)
        for epoch in sorted(work.judged):
            if any(each.subtask.epoch <= epoch for each in work.open):
                break
            accuracies = work.judged.pop(epoch)
            work.means = [*work.means[1 - EPOCHS :], statistics.mean(accuracies)]
            good_enough = min(work.means[-1], statistics.median(accuracies))
            work.stopped = work.stopped or good_enough >= (self._rules.accuracy or math.inf)

    def _expire(self, now: float) -> None:
        for each in self.work.open:
            if each.client is not None and each.due <= now:
                if each.client in self.work.clients:
                    self.work.clients[each.client].late += 1
                each.late = [*each.late[-LATE:], each.client]
                each.client, each.arrived = None, False

    def _generate(self) -> None:
        """Make an epoch's subtasks when all of those before have been given, and not too many epochs are unfinished."""
        work = self.work
        if all(each.client is not None for each in work.open):
            unfinished = {each.subtask.epoch for each in work.open}
            if not unfinished or work.generated - min(unfinished) + 1 < AHEAD:
                work.generated += 1
                work.open += [Open(Subtask(work.generated, part)) for part in range(self._rules.parts)]

    def _heard_of(self, client: str) -> Client:
        known = self.work.clients.pop(client, None) or Client()
        self.work.clients[client] = known
        while len(self.work.clients) > CLIENTS:
            del self.work.clients[next(iter(self.work.clients))]
        return known
