"""Telemetry: a peer's connections to the brokers of its runs.

They live in a thread with a loop of its own, as the library wants to be told when sockets are ready, which Windows'
usual loop cannot. What is told is kept by topic, the newest of each: that is all that a connection has to tell when it
is made anew, so there is no other buffer.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from core.community.lines import Joined, Line, Moved, added
from core.contracts.telemetry import BrokerStatus
from core.identity import Identity


class Telemetry:
    """That of one PC. To be used by the worker's loop; the thread begins with the first run that names a broker."""

    def __init__(self, identity: Identity, named: Callable[[], tuple[str, str]] = lambda: ("", "")) -> None:
        """
        Args:
            identity: this PC's key.
            named: the name and the team that the user wishes to be shown.
        """
        self._identity, self._named = identity, named
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._runs: dict[str, list[Line]] = {}
        self._left: dict[str, Moved] = {}
        """Bytes of connections that have ended, by run."""

    def follow(self, run: Joined) -> None:
        """Connect to a run's brokers, and stay connected."""
        if not run.brokers:
            return
        if self._thread is None:
            self._loop = asyncio.SelectorEventLoop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="telemetry", daemon=True)
            self._thread.start()
        from core.community.connection import Connection  # loads the library, which many runs do without

        hear = _in_loop(asyncio.get_running_loop())
        made = [Connection(self._identity, self._named, run, broker, hear) for broker in run.brokers]
        self._runs[run.id] = [*made]
        for one in made:
            self._loop.call_soon_threadsafe(one.start)

    def tell(self, run: str, topic: str, payload: bytes) -> None:
        """Tell something now, and again to whoever is connected to later; it takes the place of what was told there.

        Args:
            run: the run's id; nothing happens if it names no broker.
            topic: one of the run's.
            payload: signed.
        """
        for one in self._runs.get(run, ()):
            self._loop.call_soon_threadsafe(one.tell, topic, payload)

    def status(self) -> list[BrokerStatus]:
        """All connections."""
        return [BrokerStatus(one.run.id, one.broker, one.connected, one.trouble) for one in self._all()]

    def leave(self, run: str) -> Coroutine[Any, Any, None]:
        """Tell a run's boards that this peer is gone, and let its brokers go; it can be followed anew at once."""
        connections = self._runs.pop(run, [])
        self._left[run] = added([self._left.get(run, Moved(0, 0)), *(one.moved for one in connections)])
        return self._end(connections)

    def moved(self) -> dict[str, Moved]:
        """Bytes since the start by run, with headers, about."""
        found = dict(self._left)
        for run, connections in self._runs.items():
            found[run] = added([found.get(run, Moved(0, 0)), *(one.moved for one in connections)])
        return found

    async def close(self) -> None:
        """Leave all runs and end the thread."""
        await self._end(self._all())
        self._runs.clear()
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join)
            if not asyncio.all_tasks(self._loop):  # else the process ends with them
                self._loop.close()

    def _all(self) -> list[Line]:
        return [one for connections in self._runs.values() for one in connections]

    async def _end(self, connections: Sequence[Line]) -> None:
        await asyncio.gather(*(self._there(one.end()) for one in connections))

    async def _there(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


def _in_loop(loop: asyncio.AbstractEventLoop) -> Callable[..., object]:
    """Calls in another thread's loop, as long as there is one."""

    def call(what: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(what, *arguments)

    return call
