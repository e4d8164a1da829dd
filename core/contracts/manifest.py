"""A run's manifest: what is trained, on which data, by which rules. Typed, versioned, validated when read."""

import functools
import hashlib
import logging
import math
import tomllib
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from core.contracts.errors import ManifestError
from core.contracts.kinds import DATA, EXPERTS, MODELS, TASKS, Ends, TaskKind
from core.contracts.model import Model, Name, Pictures
from core.contracts.notices import Notice, notice
from core.contracts.trunk import Local, Trunk
from core.contracts.trunk_faults import fault_of

log = logging.getLogger(__name__)

VERSION = 1
DIGEST = 8
"""Hex digits of a run id's digest."""
MAX_BYTES = 1 << 20
"""Of a manifest's file; 4,096 shards take half of it."""
MAX_CELLS = 1 << 24
"""Of a layer's grid, and of all layers' together: 16 million experts are as many as a swarm of thousands of PCs will
ever host."""
MAX_STATE = 4 << 30
"""Bytes of an expert or a trunk with its optimizer's state, as files of checkpoints may have
(`core.store.part_header`), and of a layer's inputs for one batch."""
MAX_IN_FLIGHT = 16 << 30
"""Bytes of all layers' inputs for all batches that a trainer keeps on the way: it has them until the gradients come. A
built-in run needs 6 MB; eight sequences of 2,048 tokens in 32 layers of width 4,096 are 8 GiB."""
STATE_BYTES = 12
"""Of a number that is trained: itself and two Adam moments."""
Rate = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Release = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,2}\Z")]
"""A version of Hearth."""

_ADDRESS = r"([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-f:.]{2,45}\]):[0-9]{1,5}"
Bootstrap = Annotated[str, msgspec.Meta(pattern=rf"^[0-9a-f]{{64}}@{_ADDRESS}(,{_ADDRESS}){{0,7}}\Z", max_length=640)]
"""PEER@ADDRESS,ADDRESS as `hearth address` prints it."""
Source = Annotated[
    str, msgspec.Meta(pattern=r"^https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?(/[A-Za-z0-9._~-]{1,128}){0,16}/?\Z")
]
"""No user, no query: what is asked for there is always a file with a hash for a name."""


class Shard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a run's text, named by its content (`core.store.shards`)."""

    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    """Bytes."""
    held_out: bool = False
    """Never trained on."""


class ShardList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that lists a run's shards (`core.contracts.data`), named by its content as they are."""

    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
    size: Annotated[int, msgspec.Meta(ge=1, le=4 << 20)]
    """Bytes; 32,768 shards take 3.6 MB."""


class Training(msgspec.Struct, frozen=True):
    """Hyperparameters shared by all peers of a run."""

    batch: Count
    trunk_rate: Rate
    expert_rate: Rate
    warmup_samples: Annotated[int, msgspec.Meta(ge=0, le=10**12)]
    """Samples over which the rates rise. An expert's, which gets k of the grid's cells of them, rises in its share."""
    decay_samples: Annotated[int, msgspec.Meta(ge=1, le=10**12)]
    """Samples after which the rates fall with the inverse square root of the samples' number."""
    target_samples: Count
    """Gradients an expert gathers before it takes a step."""
    max_age_s: Annotated[float, msgspec.Meta(gt=0.0, le=3600.0)]
    """Gradients older than this are applied even if there are fewer."""
    clip: Annotated[float, msgspec.Meta(gt=0.0)]
    """Greatest norm of a step's averaged gradient."""
    balance: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
    """Weight of the joint load-balancing loss."""
    in_flight: Annotated[int, msgspec.Meta(ge=1, le=1024)]
    """Batches a trainer keeps on the way at once."""
    evaluate_every: Count
    """Trained batches between two evaluations on the held-out part."""
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    max_staleness: Count = 4096
    """Steps that an expert may have taken since the forward pass of a gradient that it is sent."""
    codec: Literal["fp32", "fp16", "int8"] = "fp16"
    """How numbers travel between peers (`core.experts.codec`)."""
    products: Literal["fp32", "bf16"] = "fp32"
    """Matrix products: bf16 rounds their factors to 8 bits where the processor is faster so, and sums in fp32."""
    k_min: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None
    """Answers with which a sample does not wait for late peers, nor asks others in their place; None: all but one."""
    audit: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.01
    """Share of the requests to other peers of which a part is repeated, and the answers compared."""
    patience_s: Annotated[float, msgspec.Meta(gt=0.0, le=60.0)] = 1.0
    """The longest wait for a peer's answer. One that is frozen costs a batch this once; it is left out then."""
    planned_samples: Annotated[int, msgspec.Meta(ge=1, le=10**12)] | None = None
    """Samples after which the run is planned to end: up to then the rates also fall in a straight line, to a twentieth.
    None: it goes on. An expert's rate falls by its own samples, measured against its share of these."""


class _Lasting(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run is as long as it lives: with anything else here it is another run."""

    run: str
    data: str
    model: Model
    shards: tuple[Shard, ...]
    seed: int
    """From which every expert and the trunk begin."""
    shard_list: ShardList | None = None
    pictures: Pictures | None = None


class Manifest(msgspec.Struct, frozen=True, dict=True):
    """One training effort.

    Fields that a newer Hearth has added here or in `training` are left out by an older one, unless `needs` says that it
    cannot do without them.
    """

    version: Literal[1]
    run: Name
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
    data: Name
    """One of `core.contracts.kinds.DATA`."""
    model: Model
    training: Training
    shards: Annotated[tuple[Shard, ...], msgspec.Meta(max_length=4096)] = ()
    """The text in its order, for data that are text."""
    shard_list: ShardList | None = None
    """Where there are more of them: their list, which is fetched as they are."""
    pictures: Pictures | None = None
    """What they are, for data that are pictures."""
    sources: Annotated[tuple[Source, ...], msgspec.Meta(max_length=16)] = ()
    """Folders on web servers that have the shards, and their list, by hash."""
    bootstrap: Annotated[tuple[Bootstrap, ...], msgspec.Meta(max_length=16)] = ()
    """Peers through which a newcomer joins, beside those that it is told."""
    trunk: Trunk = Local()
    """How trainers agree on the trunk."""
    needs: Release | None = None
    """The oldest Hearth that understands all that matters in this manifest; None: any."""

    @functools.cached_property
    def run_id(self) -> str:
        """The run's name in folders, DHT keys and calls: its name and the digest of what it lastingly is, such as
        `digits-1f2e3d4c`. The title, bootstrap peers and all of `training` but the seed may change while it lives."""
        data = self.shard_list, self.pictures
        lasting = _Lasting(self.run, self.data, self.model, self.shards, self.training.seed, *data)
        return f"{self.run}-{hashlib.sha256(msgspec.json.encode(lasting, order='sorted')).hexdigest()[:DIGEST]}"

    @property
    def strategy(self) -> str:
        """How trainers agree on the trunk, by its name in manifests."""
        return str(self.trunk.__struct_config__.tag)

    @property
    def task(self) -> TaskKind:
        """What people give the model and get from it.

        Raises:
            ManifestError: this Hearth does not know the data set.
        """
        return TASKS[DATA[self.data].task]

    @property
    def ends(self) -> Ends:
        """What the data look like to the model.

        Raises:
            ManifestError: this Hearth does not know the data set.
        """
        return DATA[self.data].ends(self.model, self.pictures)

    @property
    def flops(self) -> int:
        """Floating-point operations of a forward pass for each row of a DMoE layer, such as a token: trunk, gates and
        the k experts that are asked. Training takes three times as many, and a fourth time for what is recomputed.

        Raises:
            ManifestError: this Hearth does not know one of its kinds.
        """
        trunk = MODELS[self.model.kind].multiplications(self.model, self.ends)
        expert = EXPERTS[self.model.expert].multiplications(self.model) if self.model.expert else 0
        return 2 * (trunk + self.model.layers * self.model.k * expert)


def decode(document: bytes, source: str) -> Manifest:
    """Read a manifest.

    Args:
        document: JSON, UTF-8.
        source: where it came from, for sentences.

    Raises:
        ManifestError: not JSON, for another version of Hearth, or impossible values; `source` is named.
    """
    try:
        fields = msgspec.json.decode(document, type=dict[str, Any])
        if update := _too_new(fields.get("needs")):
            raise ManifestError(notice("manifest.unusable", source=source, trouble=update))
        if "trunk" in fields and (fault := fault_of(fields["trunk"])):
            raise ManifestError(notice("manifest.unusable", source=source, trouble=fault))
        manifest = msgspec.convert(fields, Manifest)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise ManifestError(
            notice("manifest.invalid", source=source, why=str(error), version=version("hearth"))
        ) from error
    unknown = [*fields.keys() - _names(Manifest), *fields["training"].keys() - _names(Training)]
    if unknown:
        log.info("Fields of the manifest %s that this Hearth does without: %s.", source, ", ".join(sorted(unknown)))
    if trouble := _impossible(manifest):
        raise ManifestError(notice("manifest.unusable", source=source, trouble=trouble))
    return manifest


def from_toml(document: bytes, source: str) -> Manifest:
    """Read a manifest that is TOML.

    Args:
        document: UTF-8.
        source: as in `decode`.

    Raises:
        ManifestError: as `decode`.
    """
    try:
        fields = tomllib.loads(document.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ManifestError(
            notice("manifest.invalid", source=source, why=str(error), version=version("hearth"))
        ) from error
    return decode(msgspec.json.encode(fields), source)


def _names(struct: type[msgspec.Struct]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(struct)}


def _too_new(needs: object) -> Notice | None:
    """Why this Hearth is too old for a manifest that needs a newer one; None if it is not, or that is no version."""
    try:
        wanted = [int(part) for part in msgspec.convert(needs, Release).split(".")]
    except msgspec.ValidationError:
        return None
    have = version("hearth")
    if wanted <= [int(part) for part in have.split(".")[:3]]:
        return None
    return notice("manifest.too_new", needs=str(needs), have=have)


def _impossible(manifest: Manifest) -> Notice | None:
    """Why no PC could train a run although each of its values may be; None if one could. Told here, before anything is
    begun, and not by a process that ends again and again."""
    model, batch, in_flight = manifest.model, manifest.training.batch, manifest.training.in_flight
    try:
        kind, ends = MODELS[model.kind], manifest.ends
        expert = EXPERTS[model.expert].numbers(model) if model.expert else 0
    except ManifestError as error:
        return error.notice
    if manifest.shards and manifest.shard_list:
        return notice("manifest.two_lists")
    if DATA[manifest.data].pictures != (manifest.pictures is not None):
        return notice("manifest.pictures_missing" if DATA[manifest.data].pictures else "manifest.no_pictures")
    if not kind.experts and (model.layers or model.grid or model.expert or model.k):
        return notice("manifest.without_experts", kind=model.kind)
    if kind.experts and not (model.layers and model.grid and model.expert and model.k):
        return notice("manifest.experts_missing", kind=model.kind)
    cells = math.prod(model.grid)
    if cells > MAX_CELLS:
        return notice("manifest.grid_too_large", cells=cells, most=MAX_CELLS)
    if model.k > cells:
        return notice("manifest.k_too_large", k=model.k, cells=cells)
    if trouble := kind.trouble(model, ends):
        return trouble
    for what, size in (
        ("expert", STATE_BYTES * expert),
        ("trunk", STATE_BYTES * kind.numbers(model, ends)),
        ("batch", 4 * batch * kind.rows(model) * model.width),
    ):
        if size > MAX_STATE:
            return notice(f"manifest.{what}_too_large", size=size, most=MAX_STATE)
    if (size := in_flight * model.layers * 4 * batch * kind.rows(model) * model.width) > MAX_IN_FLIGHT:
        return notice("manifest.in_flight_too_large", size=size, most=MAX_IN_FLIGHT)
    if model.layers * cells > MAX_CELLS:
        return notice("manifest.layers_too_many", experts=model.layers * cells, most=MAX_CELLS)
    return None


def built_in_runs() -> list[str]:
    """Names of the runs that come with Hearth."""
    names = [entry.name for entry in files("resources").joinpath("runs").iterdir()]
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def load(run: str) -> Manifest:
    """The manifest of a built-in run, or that of an organiser's file: a path that ends with .json or .toml.

    Raises:
        ManifestError: no run has that name (the message lists those that exist), or the file cannot be used.
    """
    if run.endswith(".toml"):
        return from_toml(_read(Path(run)), run)
    if run.endswith(".json"):
        return decode(_read(Path(run)), run)
    runs = built_in_runs()
    if run not in runs:
        raise ManifestError(notice("manifest.no_run", run=repr(run), known=", ".join(runs)))
    manifest = decode(files("resources").joinpath("runs", f"{run}.json").read_bytes(), f"{run}.json")
    if manifest.run != run:
        raise ManifestError(notice("manifest.other_name", run=run, name=repr(manifest.run)))
    return manifest


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise ManifestError(notice("manifest.no_file", path=str(path)))
        if path.stat().st_size > MAX_BYTES:
            raise ManifestError(notice("manifest.too_large", path=str(path), most=MAX_BYTES >> 20))
        return path.read_bytes()
    except OSError as error:
        raise ManifestError(notice("manifest.unreadable", path=str(path), why=str(error.strerror))) from error
