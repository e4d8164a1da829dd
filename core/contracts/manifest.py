"""A run's manifest: what is trained, on which data, by which rules. Typed, versioned, validated when read."""

import functools
import hashlib
import logging
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from core import version
from core.contracts.chat import Chat
from core.contracts.documents import Document, parsed
from core.contracts.errors import ManifestError
from core.contracts.kinds import DATA, TASKS, Ends, TaskKind
from core.contracts.manifest_faults import faults_in
from core.contracts.manifest_limits import ABOUT, impossible, impossible_beside, impossible_tokens
from core.contracts.model import LINE, PICTURE_STARTS, Licence, Line, Model, Name, Picture, Pictures, TokenizerFile
from core.contracts.notices import Notice, notice
from core.contracts.run_times import Times, impossible_times
from core.contracts.signed import is_signed, opened
from core.contracts.telemetry import Broker
from core.contracts.trunk import Local, PeerText, Trunk

log = logging.getLogger(__name__)

VERSION = 1
DIGEST = 8
"""Hex digits of a run id's digest."""
MAX_BYTES = 1 << 20
"""Of a manifest's file; 4,096 shards take half of it."""
Rate = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Megabytes = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]
Release = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,2}\Z")]
"""A version of Hearth."""
_ADDRESS = r"([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-f:.]{2,45}\]):[0-9]{1,5}"
Bootstrap = Annotated[str, msgspec.Meta(pattern=rf"^[0-9a-f]{{64}}@{_ADDRESS}(,{_ADDRESS}){{0,7}}\Z", max_length=640)]
"""PEER@ADDRESS,ADDRESS as `hearth address` prints it."""
Source = Annotated[
    str, msgspec.Meta(pattern=r"^https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?(/[A-Za-z0-9._~-]{1,128}){0,16}/?\Z")
]
"""No user, no query: what is asked for there is always a file with a hash for a name."""
MOST_BOOTSTRAP = 16


class Shard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a run's text, named by its content (`core.store.shards`)."""

    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    size: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    """Bytes."""
    held_out: bool = False
    """Never trained on."""


class ShardList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that lists a run's shards (`core.contracts.data`), named by its content as they are."""

    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
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
    organiser: str | None = None
    tokenizer: TokenizerFile | None = None


class Manifest(msgspec.Struct, frozen=True, dict=True):
    """One training effort.

    Fields that a newer Hearth has added here or in `training` are left out by an older one, unless `needs` says that it
    cannot do without them.
    """

    version: Literal[1]
    run: Name
    title: Line
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
    tokenizer: TokenizerFile | None = None
    data_bytes: Annotated[int, msgspec.Meta(ge=1, le=1 << 40)] | None = None
    """Of all shards of a list, as the organiser says to those who do not have it yet."""
    sources: Annotated[tuple[Source, ...], msgspec.Meta(max_length=16)] = ()
    """Folders on web servers that have the shards, and their list, by hash."""
    bootstrap: Annotated[tuple[Bootstrap, ...], msgspec.Meta(max_length=MOST_BOOTSTRAP)] = ()
    """Peers through which a newcomer joins, beside those that it is told."""
    brokers: Annotated[tuple[Broker, ...], msgspec.Meta(max_length=4)] = ()
    """Where peers tell what they do, and hear the organiser and the boards; each of them speaks to all of these."""
    trunk: Trunk = Local()
    """How trainers agree on the trunk."""
    needs: Release | None = None
    """The oldest Hearth that understands all that matters in this manifest; None: any."""
    needs_memory_mb: Megabytes | None = None
    """Of the whole PC; a smaller one does not join."""
    needs_disk_mb: Megabytes | None = None
    """That the PC has free; one with less does not join."""
    description: Annotated[str, msgspec.Meta(pattern=LINE, max_length=2000)] = ""
    """What it is for, for those who are asked to join."""
    picture: Picture | None = None
    """Shown with the run."""
    licence: Licence | None = None
    chat: Chat | None = None
    schedule: Times | None = None
    """From when and until when it is trained."""
    access: Literal["open", "tokens"] = "open"
    """Who may take part: everybody, or those to whom the organiser has given a token (`core.contracts.access`)."""
    revision: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1
    """Of the signed manifests of one run the one with the highest holds."""
    organiser: PeerText | None = None
    """The key of who signed it; None: nobody did (`core.contracts.signed`)."""

    @property
    def canonical(self) -> bytes:
        """The bytes that its organiser signs."""
        return msgspec.json.encode(self, order="sorted")

    @functools.cached_property
    def run_id(self) -> str:
        """The run's name in folders, DHT keys and calls: its name and the digest of what it lastingly is, such as
        `digits-1f2e3d4c`. All but its data, model, seed and organiser may change while it lives."""
        return f"{self.run}-{hashlib.sha256(self.lasting).hexdigest()[:DIGEST]}"

    @property
    def lasting(self) -> bytes:
        """What the run is as long as it lives, in canonical form."""
        more = self.training.seed, self.shard_list, self.pictures, self.organiser, self.tokenizer
        lasting = _Lasting(self.run, self.data, self.model, self.shards, *more)
        return msgspec.json.encode(lasting, order="sorted")

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


def decode(document: bytes, source: str, *, toml: bool = False) -> Manifest:
    """Read a manifest, signed or not.

    Args:
        document: JSON, or what people write, UTF-8.
        source: where it came from, for sentences.
        toml: whether it is TOML.

    Raises:
        ManifestError: not JSON or TOML, a signature that is not its organiser's, for another version of Hearth, or
            impossible values; `source` is named.
    """
    try:
        read = _opened(document, toml)
    except ManifestError as error:
        raise _invalid(source, error.notice) from error
    return _made(read, source)


def _opened(document: bytes, toml: bool) -> Document:
    """What a document says that somebody wrote or signed."""
    read = parsed(document, toml)
    if is_signed(read.fields):
        _, content = opened(document)
        return parsed(content, toml=False)._replace(text="")  # nobody wrote that by hand: its places tell nothing
    if read.fields.get("organiser") is not None:
        raise ManifestError(read.located(notice("manifest.organiser_unsigned"), ("organiser",)))
    return read


def _made(document: Document, source: str) -> Manifest:
    """The manifest of a document, as `decode` makes it. A field that nothing knows is no fault where it may have come
    with a newer Hearth."""
    fields = document.fields
    if update := _too_new(fields.get("needs")):
        raise ManifestError(notice("manifest.unusable", source=source, trouble=update))
    try:
        manifest = msgspec.convert(fields, Manifest)
    except msgspec.ValidationError as error:
        fault = next(faults_in(Manifest, _known(fields)))
        raise _invalid(source, document.located(fault.what, fault.path)) from error
    if unknown := [".".join(path) for path in _left_out(fields)]:
        log.info("Fields of the manifest %s that this Hearth does without: %s.", source, ", ".join(sorted(unknown)))
    unsigned = manifest.access == "tokens" and manifest.organiser is None  # before it is signed that is no fault
    if trouble := notice("manifest.access_unsigned") if unsigned else _impossible(manifest):
        raise ManifestError(notice("manifest.unusable", source=source, trouble=_located(document, trouble)))
    return manifest


def _left_out(fields: dict[str, Any]) -> list[tuple[str, ...]]:
    """Paths of what this Hearth does without: all that may have been added, where it may have been."""
    training = fields.get("training")
    inside = training.keys() - _names(Training) if isinstance(training, dict) else set()
    return [*((name,) for name in fields.keys() - _names(Manifest)), *(("training", name) for name in inside)]


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    """All others: what may have been added is no fault, and there may be very many of it."""
    training, names = fields.get("training"), _names(Training)
    known = {name: fields[name] for name in fields.keys() & _names(Manifest)}
    if isinstance(training, dict):
        known["training"] = {name: training[name] for name in training.keys() & names}
    return known


def _invalid(source: str, why: Notice) -> ManifestError:
    return ManifestError(notice("manifest.invalid", source=source, why=why, version=version.VERSION))


def _located(document: Document, trouble: Notice) -> Notice:
    """What is impossible, with the place of the field that it is about, or of the model."""
    return document.located(trouble, ABOUT.get(trouble.code, ("model",)))


def check(path: Path) -> tuple[Manifest | None, list[Notice]]:
    """All that is wrong with an organiser's own file, with its places; also fields that nothing knows, which only look
    like a newer Hearth's. The manifest, unless something is.

    Args:
        path: of a file in TOML or JSON.

    Raises:
        ManifestError: it cannot be read.
    """
    content = _read(path)
    try:
        document = _opened(content, toml=path.suffix == ".toml")
    except ManifestError as error:
        return None, [error.notice]
    if update := _too_new(document.fields.get("needs")):
        return None, [document.located(update, ("needs",))]
    if faults := [*faults_in(Manifest, document.fields)]:
        trouble = impossible_beside(document.fields, {str(fault.path[0]) for fault in faults if fault.path})
        wrong = [document.located(fault.what, fault.path) for fault in faults]
        return None, [*wrong, *([_located(document, trouble)] if trouble else [])]
    manifest = msgspec.convert(document.fields, Manifest)
    return (None, [_located(document, trouble)]) if (trouble := _impossible(manifest)) else (manifest, [])


def _impossible(manifest: Manifest) -> Notice | None:
    if manifest.shards and manifest.shard_list:
        return notice("manifest.two_lists")
    if manifest.picture and not manifest.picture.startswith(PICTURE_STARTS):
        return notice("manifest.picture_kind")
    times = impossible_times(manifest.schedule) if manifest.schedule else None
    data, model, of, tokens = manifest.data, manifest.model, manifest.training, manifest.tokenizer
    rest = manifest.pictures, model, of.batch, of.in_flight, manifest.trunk
    return times or impossible_tokens(data, tokens, model) or impossible(data, *rest)


def _names(struct: type[msgspec.Struct]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(struct)}


def _too_new(needs: object) -> Notice | None:
    """Why this Hearth is too old for a manifest that needs a newer one; None if it is not, or that is no version."""
    try:
        wanted = [int(part) for part in msgspec.convert(needs, Release).split(".")]
    except msgspec.ValidationError:
        return None
    if wanted <= [int(part) for part in version.VERSION.split(".")[:3]]:
        return None
    return notice("manifest.too_new", needs=str(needs), have=version.VERSION)


def built_in_runs() -> list[str]:
    """Names of the runs that come with Hearth."""
    names = [entry.name for entry in files("resources").joinpath("runs").iterdir()]
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def is_path(run: str) -> bool:
    """Whether a run is named by the path of its manifest."""
    return run.endswith((".json", ".toml"))


def load(run: str) -> Manifest:
    """The manifest of a run, see `read`."""
    return read(run)[0]


def read(run: str) -> tuple[Manifest, bytes]:
    """The manifest of a built-in run, or that of an organiser's file, and the document to keep of it: what was signed,
    with its signature, or as JSON what was not.

    Args:
        run: its name, or a path that ends with .json or .toml.

    Raises:
        ManifestError: no run has that name (the message lists those that exist), or the file cannot be used.
    """
    if is_path(run):
        document = _read(Path(run))
        manifest = decode(document, run, toml=run.endswith(".toml"))
    else:
        runs = built_in_runs()
        if run not in runs:
            raise ManifestError(notice("manifest.no_run", run=repr(run), known=", ".join(runs)))
        document = files("resources").joinpath("runs", f"{run}.json").read_bytes()
        manifest = decode(document, f"{run}.json")
        if manifest.run != run:
            raise ManifestError(notice("manifest.other_name", run=run, name=repr(manifest.run)))
    return manifest, document if manifest.organiser else msgspec.json.format(msgspec.json.encode(manifest))


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise ManifestError(notice("manifest.no_file", path=str(path)))
        if path.stat().st_size > MAX_BYTES:
            raise ManifestError(notice("manifest.too_large", path=str(path), most=MAX_BYTES >> 20))
        return path.read_bytes()
    except OSError as error:
        raise ManifestError(notice("manifest.unreadable", path=str(path), why=str(error.strerror))) from error
