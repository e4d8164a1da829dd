"""VC-ASGD's work: which part of the data which client trains on (Atre, Jha and Rao, 2021, sections III-A and III-B).

A table and the rules by which it changes. Time is an argument, and the table is a message: it is kept in the store of
the parameters, so that any server can go on with it when another has died.
"""

import math
import statistics
from collections.abc import Collection
from typing import Annotated, TypeVar

import msgspec

from core.contracts.trunk import MOST, PARTS, Accuracy, Line, Part, VcAsgd, Whole, check_possible

T = TypeVar("T")
AHEAD = 4
"""Epochs from which subtasks are given at once: nobody waits for an epoch's last subtasks, which may time out twice."""
CLIENTS = 1000
"""Remembered; who has returned nothing yet and then who was not heard of for longest is forgotten first."""
SHARE = 0.5
"""Of all subtasks that can be open: clients that have returned nothing yet hold no more together, once others have, nor
do all of one voice where there are others. Anybody can have a thousand names; those who work still get work."""
RENEWED = 3.0
"""Times the time-out: as long as one client keeps a subtask at most, however often it asks for it again."""
EPOCHS = 1000
"""Whose means are kept."""
DISTANCES, KNOWN = 8, 8
"""Of the results of each voice, kept; and so many results in all tell what is usual."""
VECTORS = 16
"""Of each client, that it was given or returned, and that are known again."""
LATE = 15
"""Clients before the last one whose result of a subtask is still taken when it comes late."""
ASSIMILATION_S = 60.0
"""That a server takes at most to mix in a result."""
RETRY_SHARE = 0.5
"""A subtask that was late once goes to a client that returns at least so much of what it is given."""


class Subtask(msgspec.Struct, frozen=True, array_like=True):
    """One pass over one part of the data."""

    epoch: Annotated[int, msgspec.Meta(ge=1, le=MOST // PARTS)]
    part: Part


NAME = 64
"""Letters of a client's, or a voice's, at most."""
Name = Annotated[str, msgspec.Meta(max_length=NAME)]
Distance = Annotated[float, msgspec.Meta(ge=0.0, le=1e30)]
When = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
"""Unix time."""
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e6)]


class Open(msgspec.Struct, array_like=True):
    """What is known of a subtask until its result is there."""

    subtask: Subtask
    client: Name | None = None
    """Who trains on it; None: it waits for somebody."""
    due: When = 0.0
    """When it is given to another one."""
    arrived: bool = False
    """Its result is there and is being assimilated."""
    late: Annotated[list[Name], msgspec.Meta(max_length=LATE + 1)] = []
    """Clients that had it and did not return it in time."""
    since: When = 0.0
    """When this client was given it first."""


class Client(msgspec.Struct, array_like=True):
    """What is known of a client."""

    returned: Whole = 0
    late: Whole = 0
    parts: set[Part] = set()
    """Of the data, that it has been given: it has these files."""
    voice: Name = ""
    vectors: Annotated[list[Line], msgspec.Meta(max_length=VECTORS)] = []
    """Digests of the last parameters that it was given, and of its last results: who returns one has learnt nothing."""

    @property
    def reliability(self) -> float:
        """Share of its subtasks that it returns in time; before the first one, a half (Laplace's rule)."""
        return (self.returned + 1) / (self.returned + self.late + 2)


class Work(msgspec.Struct):
    """The table. Where a peer without a name in the manifest serves, it comes from others: all in it is bounded."""

    generated: Annotated[int, msgspec.Meta(ge=0, le=MOST // PARTS)] = 0
    """Epochs whose subtasks were made."""
    open: Annotated[list[Open], msgspec.Meta(max_length=AHEAD * PARTS)] = []
    clients: Annotated[dict[Name, Client], msgspec.Meta(max_length=CLIENTS)] = {}
    """In the order in which they were heard of."""
    judged: Annotated[
        dict[Whole, Annotated[list[Accuracy], msgspec.Meta(max_length=PARTS)]], msgspec.Meta(max_length=AHEAD)
    ] = {}
    """Accuracies of what the subtasks began with, by epoch that is not complete."""
    said: Annotated[dict[Name, tuple[Whole, Accuracy]], msgspec.Meta(max_length=CLIENTS)] = {}
    """The accuracy that each voice told of its last epoch, and that epoch; who told last is last."""
    means: Annotated[list[Accuracy], msgspec.Meta(max_length=EPOCHS)] = []
    """Of the accuracies of each complete epoch that has some."""
    done: Whole = 0
    """Subtasks whose results were assimilated."""
    samples: Whole = 0
    """That were trained on in them."""
    best: Accuracy = 0.0
    """What the best epoch so far counts for, where the manifest asks how accurate the model is."""
    turns: Whole = 0
    """Clients that were given work, or told that there is none: of two tables the one with more is the newer."""
    spans: Annotated[
        dict[Name, Annotated[list[Distance], msgspec.Meta(max_length=DISTANCES)]], msgspec.Meta(max_length=CLIENTS)
    ] = {}
    """Distances of the last results of each voice from the servers' parameters, as they arrived; who gave last is
    last."""
    took: Annotated[
        dict[Name, Annotated[list[Seconds], msgspec.Meta(max_length=DISTANCES)]], msgspec.Meta(max_length=CLIENTS)
    ] = {}
    """From a subtask's giving to its result, as `spans`."""

    def __post_init__(self) -> None:
        check_possible(self.turns, self.generated * PARTS)


class WorkGenerator:
    """Gives subtasks and takes their results, by the table and its rules."""

    def __init__(self, rules: VcAsgd, work: Work) -> None:
        """
        Args:
            rules: Of the run.
            work: The table; changed in place.
        """
        self._rules, self.work = rules, work

    @property
    def stopped(self) -> bool:
        """Whether the accuracy is reached: no more work. A manifest that wants more goes on."""
        return self._rules.accuracy is not None and self.work.best >= self._rules.accuracy

    def give(self, client: str, now: float, holding: Collection[Subtask] = (), voice: str = "") -> Subtask | None:
        """The next subtask for a client; None: there is none for it now.

        It is first given what it had before it was restarted. Then subtasks of earlier epochs come before later ones,
        those that were late before others (unless this client is often late itself), parts that it has the data of
        before others, and parts that nobody has before those that others have. Nobody has more at once than the
        manifest says.

        Args:
            client: its name.
            now: seconds.
            holding: subtasks that it still works on; it gets one more.
            voice: as in `finish`; empty: its own.
        """
        self._expire(now)
        self.work.turns += 1
        known = self._heard_of(client)
        known.voice = voice or client
        if self.stopped:
            return None
        held = [each for each in self.work.open if each.client == client and not each.arrived]
        for each in held:
            if each.subtask not in holding:
                each.due = min(now, each.since + (RENEWED - 1.0) * self._rules.timeout_s) + self._rules.timeout_s
                return each.subtask
        if len(held) >= self._rules.at_once or self._crowded(known):
            return None
        self._generate()
        waiting = [each for each in self.work.open if each.client is None] or self._held_up(known, now)
        if not waiting:
            return None
        others = {part for other in self.work.clients.values() if other is not known for part in other.parts}
        distrusted = known.reliability < RETRY_SHARE

        def rank(each: Open) -> tuple[bool, int, bool, bool, bool]:
            part, late = each.subtask.part, bool(each.late)
            return distrusted and late, each.subtask.epoch, not late, part not in known.parts, part in others

        chosen = min(waiting, key=rank)
        if chosen.client is not None:
            chosen.late = [*chosen.late[-LATE:], chosen.client]  # its result is taken as well, if it comes first
        chosen.client, chosen.since, chosen.due = client, now, now + self._rules.timeout_s
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
                if each.client != client:
                    each.since = now - self._rules.timeout_s  # it had it before the one that has it now
                each.client, each.due, each.arrived = client, now + ASSIMILATION_S, True
                return True
        return False

    def usual(self) -> float | None:
        """The median distance of results from the servers' parameters, in which each voice counts once however many it
        gives; None: too few have come."""
        medians = self._medians()
        return (statistics.median(medians) or None) if medians else None

    def least(self) -> float:
        """The median distance of the voice whose results are nearest; 0: too few have come. Of those that have gone
        some came further, as rates fall."""
        return min(self._medians(), default=0.0)

    def _medians(self) -> list[float]:
        spans = self.work.spans.values()
        return [statistics.median(each) for each in spans] if sum(map(len, spans)) >= KNOWN else []

    def finish(self, client: str, subtask: Subtask, samples: int, distance: float, voice: str) -> None:
        """A result that was reserved is assimilated.

        Args:
            client: whose it was.
            subtask: what it was given.
            samples: that it trained on.
            distance: of it from the servers' parameters, if it was much further as far as it was believed.
            voice: all clients of it count as one in what is usual, and good enough.
        """
        _add(self.work.spans, voice, distance)
        for each in self.work.open:
            if each.subtask == subtask and each.arrived:
                took_s = each.due - ASSIMILATION_S - each.since  # clocks of servers differ
                _add(self.work.took, voice, min(max(0.0, took_s), RENEWED * self._rules.timeout_s))
        known = self._heard_of(client)
        known.returned = _more(known.returned)
        self.work.open = [each for each in self.work.open if each.subtask != subtask]
        self.work.done = _more(self.work.done)
        self.work.samples = _more(self.work.samples, samples)

    def refuse(self, client: str, subtask: Subtask) -> None:
        """A result that was reserved is none: its subtask is given to another one.

        Args:
            client: whose it was.
            subtask: what it was given.
        """
        known = self._heard_of(client)
        known.late = _more(known.late)
        for each in self.work.open:
            if each.subtask == subtask:
                each.client, each.arrived = None, False
                each.late = [name for name in each.late if name != client]

    def know(self, client: str, vector: bytes) -> None:
        """Know again what a client was given, or returned.

        Args:
            client: its name.
            vector: the parameters' digest.
        """
        known = self._heard_of(client)
        if vector not in known.vectors:
            known.vectors = [*known.vectors[1 - VECTORS :], vector]

    def knows(self, client: str, vector: bytes) -> bool:
        """Whether a client has learnt nothing.

        Args:
            client: its name.
            vector: the digest of what it returns.
        """
        return vector in self._heard_of(client).vectors

    def judge(self, subtask: Subtask, accuracy: float, voice: str) -> None:
        """Note how good the servers' parameters were; an epoch's mean that is good enough ends the job, unless half of
        the voices or more say of it, or of the `AHEAD` epochs before it, that they are not, however few of the subtasks
        are theirs.

        Args:
            subtask: whose client has measured it; its result is assimilated.
            accuracy: on data that are not trained on, 0 to 1.
            voice: as in `finish`.
        """
        work = self.work
        work.judged.setdefault(subtask.epoch, []).append(accuracy)
        if work.said.get(voice, (0, 0.0))[0] <= subtask.epoch:
            _last(work.said, voice, (subtask.epoch, accuracy))
        for epoch in sorted(work.judged):
            if any(each.subtask.epoch <= epoch for each in work.open):
                break
            work.means = [*work.means[1 - EPOCHS :], statistics.mean(work.judged.pop(epoch))]
            lately = [said for at, said in work.said.values() if at > epoch - AHEAD]
            if lately:  # else the table is of somebody who made it up
                work.best = max(work.best, min(work.means[-1], statistics.median_low(lately)))

    def _expire(self, now: float) -> None:
        for each in self.work.open:
            if each.client is not None and each.due <= now:
                if known := self.work.clients.get(each.client):
                    known.late = _more(known.late)
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

    def _held_up(self, known: Client, now: float) -> list[Open]:
        """The subtask, if there is one, for which this client need not wait: of those that others have for longer than
        the time-out, or, if this one returns what it is given, that those have for longer than results take which have
        returned nothing yet, or seldom, the one that was given first. Else one name that keeps a subtask would have all
        wait for it. Who answers at once does not tell how long results take: it would get all that newcomers have."""
        trusted = known.reliability > RETRY_SHARE
        by_others, by_all = self._takes_s(but=known.voice), self._takes_s()
        held = list[Open]()
        for each in self.work.open:
            holder, held_s = self.work.clients.get(each.client or "", Client()), now - each.since
            is_late = held_s >= self._rules.timeout_s and known.reliability >= RETRY_SHARE
            is_slow = held_s >= (by_all if holder.late else by_others) and holder.reliability <= RETRY_SHARE
            if not each.arrived and ((is_late and holder.voice != known.voice) or (trusted and is_slow)):
                held.append(each)
        return [min(held, key=lambda each: each.since)] if held else []

    def _takes_s(self, but: str = "") -> float:
        """How long a result usually takes; each voice counts once, except one. As long as the time-out if none came."""
        took = [statistics.median(each) for voice, each in self.work.took.items() if voice != but]
        return min(statistics.median_high(took) if took else math.inf, self._rules.timeout_s)

    def _crowded(self, known: Client) -> bool:
        """Whether those of this client's voice, or those who have returned nothing yet, as this one, have enough."""
        clients, most = self.work.clients, max(1.0, SHARE * AHEAD * self._rules.parts)
        holders = [clients.get(each.client) for each in self.work.open if each.client is not None]
        alike = sum(holder is not None and holder.voice == known.voice for holder in holders)
        if alike >= most and any(each.voice != known.voice for each in clients.values()):
            return True
        if known.returned or not any(each.returned for each in clients.values()):
            return False
        return sum(holder is None or not holder.returned for holder in holders) >= most

    def _heard_of(self, client: str) -> Client:
        clients = self.work.clients
        known = clients.pop(client, None) or Client()
        while len(clients) >= CLIENTS:
            del clients[next((name for name, each in clients.items() if not each.returned), next(iter(clients)))]
        clients[client] = known
        return known


def _add(table: dict[str, list[float]], voice: str, value: float) -> None:
    """Put a value at the end of a voice's last ones."""
    _last(table, voice, [*table.get(voice, [])[1 - DISTANCES :], value])


def _more(count: int, by: int = 1) -> int:
    """A count that never grows too large to be read again: it may have come from a liar."""
    return min(MOST, count + by)


def _last(table: dict[str, T], voice: str, value: T) -> None:
    """Put a voice's value at the end of a table that has room for `CLIENTS`."""
    table.pop(voice, None)
    while len(table) >= CLIENTS:
        del table[next(iter(table))]
    table[voice] = value
