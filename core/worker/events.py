"""What happened among peers that a person likes to see: who helped, who took over what, the first use by another PC."""

import time
from collections.abc import Callable
from typing import Annotated

import msgspec

from core.contracts.notices import Notice, notice
from core.contracts.status import EVENTS, EventStatus
from core.store.small_files import Files
from core.worker.places import News

FILE = "events.json"
"""In the data folder."""
HELPERS = 1000
"""Peers remembered to have helped."""
TOGETHER_S = 600.0
"""What goes on, such as peers that take over one expert after the other, is one event for so long."""


class Kept(msgspec.Struct):
    """The file."""

    events: Annotated[list[EventStatus], msgspec.Meta(max_length=EVENTS)] = []
    """The newest ones, oldest first."""
    helpers: Annotated[list[Annotated[str, msgspec.Meta(max_length=64)]], msgspec.Meta(max_length=HELPERS)] = []
    """Peers by their keys, in the order in which they helped first."""
    used: bool = False
    """Another PC has used an expert of this one."""


class Events:
    """Of one PC, kept over its restarts.

    Args:
        files: those of the data folder.
        clock: unix time.
    """

    def __init__(self, files: Files, clock: Callable[[], float] = time.time) -> None:
        self._files, self._clock = files, clock
        self._kept = files.read(FILE, Kept, notice("file.loss_events"))

    @property
    def newest(self) -> list[EventStatus]:
        """At most `EVENTS`, oldest first."""
        return self._kept.events

    def take(self, news: News) -> None:
        """Note what is new of a run."""
        said = [*news.said]
        for peer in news.helpers:
            if peer not in self._kept.helpers:
                self._kept.helpers = [*self._kept.helpers[1 - HELPERS :], peer]
                said.append(notice("event.helped", peer=peer))
        if news.asker and not self._kept.used:
            self._kept.used = True
            said.append(notice("event.first_use", peer=news.asker))
        for one in said:
            self._add(one)
        if said:
            self._files.save(FILE, self._kept)

    def _add(self, said: Notice) -> None:
        now, events = self._clock(), [*self._kept.events]
        for at, event in enumerate(events):
            count = event.said.args.get("n")
            begun = now - event.time < TOGETHER_S
            if begun and isinstance(count, int) and event.said == _with(said, count):
                said = _with(said, count + int(said.args["n"]))  # type: ignore[arg-type]
                del events[at]
                break
        self._kept.events = [*events[1 - EVENTS :], EventStatus(now, said)]


def _with(said: Notice, count: int) -> Notice:
    return Notice(said.code, {**said.args, "n": count} if "n" in said.args else said.args)
