"""Peers that failed an expert's call: when each may be back, so that it is asked again at once."""

import time
from typing import NamedTuple

from core.experts.dht_directory import DHTDirectory
from core.identity import PeerId
from core.net.limits import Newest
from core.net.rpc import RpcNode

REMEMBERED = 1024


class _Failure(NamedTuple):
    since: float
    """time.monotonic() from which on it must be heard of."""
    silent: bool
    """It says nothing at all: it is frozen, cut off or gone. Who is only slow, or refuses, is heard all the time."""


class ReturningPeers:
    """Looks at what the network hears of those peers anyway; nobody is asked for it."""

    def __init__(self, node: RpcNode, directory: DHTDirectory) -> None:
        """Nobody has failed yet.

        Args:
            node: its links tell when a peer was heard.
            directory: tells when a peer announced itself.
        """
        self._node, self._directory = node, directory
        self._failures = Newest[PeerId, _Failure](REMEMBERED)

    def failed(self, peer: PeerId, asked: float) -> None:
        """A call was not answered, or refused.

        Args:
            peer: who was called.
            asked: time.monotonic() of the call; who was heard since then is not silent.
        """
        link = self._node.pool.links.get(peer)
        self._failures[peer] = _Failure(time.monotonic(), link is None or link.heard < asked)

    def answered(self, peer: PeerId) -> None:
        """A call was answered."""
        self._failures.pop(peer, None)

    def look(self) -> list[PeerId]:
        """Those that were heard of since they fell silent, or announced themselves since they failed; each once."""
        now, back = time.monotonic(), []
        for peer, (since, silent) in [*self._failures.items()]:
            link = self._node.pool.links.get(peer)
            heard = silent and link is not None and link.heard > since
            if heard or self._directory.announced_at(peer) > self._directory.now() - (now - since):
                self._failures[peer] = _Failure(now, False)
                back.append(peer)
        return back
