"""What Hearth is likely to take of this PC, told before it runs: by its cores, its settings and the run's manifest."""

import math
from typing import Any, NamedTuple

from core.commands import proposal
from core.contracts import manifest as manifests
from core.contracts.settings import cores
from core.policy.energy import WATTS_A_CORE


class Estimate(NamedTuple):
    """What is likely, at most."""

    experts: int
    """Hosted: all of the run, as long as this PC is alone; 0: the model has none."""
    watts: float
    """Of the processor, on average while the user is away."""
    memory_bytes: int
    """Among `proposal.VOLUNTEERS` PCs."""


def of_settings(values: dict[str, Any]) -> Estimate:
    """What is likely with some settings.

    Args:
        values: of `Settings`, by name.

    Raises:
        ManifestError: the chosen run cannot be used.
    """
    manifest = manifests.load(values["run"])
    costs = proposal.of_manifest(manifest, 0, proposal.VOLUNTEERS)
    used = values["threads"] or max(1, cores() // 2)
    guessed = values["cpu_watts_estimate"] or WATTS_A_CORE * cores()
    watts = guessed * used / cores() * values["cpu_share_idle"] / 100
    return Estimate(
        manifest.model.layers * math.prod(manifest.model.grid) if manifest.model.expert else 0,
        min(watts, values["cpu_watts_limit"] or watts),
        costs.memory_bytes,
    )
