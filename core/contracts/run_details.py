"""What people are shown of a run before they join it, and of one that they have joined."""

import math
import unicodedata
from collections.abc import Sequence

import msgspec

from core.contracts.kinds import EXPERTS, MODELS
from core.contracts.manifest import Manifest, Shard
from core.contracts.notices import Notice, notice


class RunDetails(msgspec.Struct, frozen=True):
    """A run, and what its sizes come to."""

    id: str
    manifest: Manifest
    """Without its list of shards, which may be long."""
    shards: int
    """0: their list is not here yet, or the data come with Hearth."""
    data_bytes: int
    """Of all shards; 0: nobody has said, or the data come with Hearth."""
    experts: int
    numbers: int
    """That are trained, of the trunk and all experts."""
    joined: bool = False
    """Whether this PC trains it."""
    next_revision: int | None = None
    """Of a newer manifest that is here, and holds when compute starts next."""
    changed: tuple[str, ...] = ()
    """What that one changes."""
    namesake: str | None = None
    """Id of a run that this PC has joined, signed by somebody, that looks the same to people: of the same title."""
    invites: bool = False
    """Whether it is open to those with a token only, and this PC gives them."""
    let_in_until: float | None = None
    """Until when this PC's token holds, or that of the link, unix seconds; None: there is none that holds."""


def looks(title: str) -> str:
    """What people see of a title: two that look the same differ in letters, spaces or the width of signs."""
    return " ".join(unicodedata.normalize("NFKC", title).casefold().split())


def details_of(manifest: Manifest, listed: Sequence[Shard] = ()) -> RunDetails:
    """What there is to be shown of a manifest.

    Args:
        manifest: the run's.
        listed: its shards, where a list of them is here.
    """
    shards = listed or manifest.shards
    model, experts = manifest.model, manifest.model.layers * math.prod(manifest.model.grid)
    expert = EXPERTS[model.expert].numbers(model) if model.expert else 0
    return RunDetails(
        manifest.run_id,
        msgspec.structs.replace(manifest, shards=()),
        len(shards),
        sum(shard.size for shard in shards) or manifest.data_bytes or 0,
        experts,
        MODELS[model.kind].numbers(model, manifest.ends) + experts * expert,
    )


def access_of(run: RunDetails) -> Notice:
    """Who may take part, and whether this PC may."""
    if run.manifest.access != "tokens":
        return notice("run.access_open")
    if run.invites:
        return notice("run.access_invites")
    return notice("run.access_none") if run.let_in_until is None else notice("run.access_until", at=run.let_in_until)
