"""How far a peer's forward passes here may be ahead of its backward passes.

Training is not held to what a peer may ask the model (`core.swarm.allowance`), but who never sends a gradient asks and
does not train. So a peer has a lead: what a trainer of the run has on its way at once, twice, and `START` rows more. A
row that is answered in a forward pass takes one from it; one whose gradient was applied, once, gives back `BACK`; an
hour gives back all of it. Trainers may therefore lose most of their backward passes for good, check answers, and begin
anew. Each key has its own lead, as strangers who share one could keep newcomers from training. Who sends a gradient, be
it a useless one, for each fourth row that it asks is not bounded here.
"""

import time

from core.contracts.errors import AllowanceSpent
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.net.limits import Newest, TokenBucket

START = 100_000
"""Rows of an expert."""
BACK = 4
"""Rows that a peer may ask for each that it has sent a gradient for."""
HOUR_S = 3600.0
PEERS = 4096
"""Remembered; of too many, those that were answered last."""


def on_the_way(manifest: Manifest) -> int:
    """Rows that a trainer of the run has on the way at once, at most."""
    model, training = manifest.model, manifest.training
    return training.in_flight * training.batch * MODELS[model.kind].rows(model) * model.layers * model.k


class Lead:
    """Of all peers that train with the experts here."""

    def __init__(self, on_the_way: int = 0) -> None:
        """Nobody has asked yet.

        Args:
            on_the_way: rows that an honest trainer has on the way at once.
        """
        self._most = float(START + 2 * on_the_way)
        self._left = Newest[str, TokenBucket](PEERS)

    def check(self, peer: str) -> None:
        """Let a peer ask for a forward pass, or not.

        Args:
            peer: its key as hex digits.

        Raises:
            AllowanceSpent: gradients for too many of its forward passes have not come.
        """
        if self._take(peer, 0.0):
            raise AllowanceSpent("You have sent too few gradients for your forward passes. Ask again later.")

    def answered(self, peer: str, rows: int) -> None:
        """So many rows of a peer's forward passes were answered."""
        self._take(peer, rows)

    def learnt(self, peer: str, rows: int) -> None:
        """So many rows of a peer's gradients were applied."""
        self._take(peer, -BACK * rows)

    def _take(self, peer: str, rows: float) -> float:
        left = self._left[peer] = self._left.get(peer) or TokenBucket(self._most / HOUR_S, self._most)
        return left.spend(rows, time.monotonic())
