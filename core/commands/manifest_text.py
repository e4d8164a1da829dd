"""A new run's manifest as an organiser reads and edits it: TOML with a word on each value."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from core.commands.proposal import Proposal
from core.contracts.manifest import ShardList
from core.contracts.model import PICTURE_BYTES, Licence, Pictures, TokenizerFile
from core.contracts.trunk import Diloco, Local, VcAsgd

UNKNOWN = "unknown"
"""A licence that nobody has named."""

NOTES = {
    "kind": "kind of model",
    "layers": "layers of experts",
    "grid": "cells of each dimension: so many experts in a layer, multiplied",
    "width": "of what goes from layer to layer",
    "hidden": "width inside an expert",
    "expert": "kind of expert",
    "k": "experts asked for each sample",
    "heads": "of attention; the width is a multiple of twice as many",
    "sequence": "bytes or tokens that the model sees at once",
    "kv_heads": "of keys and values, which the heads of attention share",
    "dense": "layers without experts, before the others",
    "tied": "whether tokens are told by the numbers by which they are read",
    "vocabulary": "tokens that the model can tell apart",
    "end": "the token that ends a text",
    "batch": "sequences or pictures",
    "trunk_rate": "learning rates, of the dense part ...",
    "expert_rate": "... and of experts",
    "warmup_samples": "over which the rates rise",
    "decay_samples": "after which they fall with the inverse square root",
    "target_samples": "gradients that an expert gathers before a step, ...",
    "max_age_s": "... or as many as came by then",
    "clip": "greatest norm of a step's gradient",
    "balance": "weight of the loss by which experts are used alike",
    "in_flight": "batches that a trainer has on the way",
    "evaluate_every": "batches, on what is held out",
    "seed": "the run begins with it; another one is another run",
}
"""On the values of `model` and `training`."""
OF_PICTURES = {
    "width": "pixels",
    "height": "pixels",
    "channels": "1 grey, 3 red, green and blue",
    "classes": "what there is to tell apart, by number",
}
TRUNKS = {
    Local: "One trainer: nothing is to be agreed on.",
    Diloco: "Trainers agree on the dense part now and then: for home lines.",
    VcAsgd: "One PC deals out parts of the data and mixes in what comes back; another one takes over when it goes.",
}


class Cut(NamedTuple):
    """Data that became shards."""

    kind: str
    listed: ShardList
    shards: int
    rows: int
    """Of a pass over what is trained on: bytes or tokens of text, or pictures."""
    size: int
    """Bytes of all shards."""
    about: str
    """What they are, in a sentence."""
    pictures: Pictures | None = None
    tokenizer: TokenizerFile | None = None
    vocabulary: int = 0


def lacks_licence(licence: Licence | None) -> bool:
    """Whether that of the data or of the model is not named."""
    return licence is None or UNKNOWN in (licence.data, licence.model)


def written(name: str, title: str, licence: Licence, cut: Cut, proposal: Proposal) -> str:
    """The manifest.

    Args:
        name: of the run.
        title: as people read it.
        licence: of the data, and of what is trained on them.
        cut: the data.
        proposal: model and rules.
    """
    lines = [
        "# A run of Hearth. What the values mean: the help page Organisers.",
        "# With another name, other data, another model or seed it is another run.",
        "version = 1",
        _line("run", name, "its name: small letters, digits, - and _"),
        _line("title", title, "as people read it"),
        _line("description", "", "what it is for, shown to people before they join"),
        f"# A PNG or JPEG of up to {PICTURE_BYTES >> 10} KB, shown with the run, as base64 in one line:",
        '# picture = ""',
        "# When it is trained, in UTC; either may be left out:",
        '# schedule = {start = "2030-01-01", end = "2030-03-01 18:00"}',
        "# Only those to whom you give a token may take part (`hearth access`); without this line everybody may:",
        '# access = "tokens"',
    ]
    lines += [
        _line("data", cut.kind, ""),
        _line("data_bytes", cut.size, "total size of the shards, shown to people before they join"),
        "# Peers through which others join, as `hearth address` prints them.",
        "bootstrap = []",
        "# Brokers for notices and the leaderboard, such as mqtt://example.org:1883; see `hearth backbone`.",
        "brokers = []",
    ]
    lines += ["# Web servers with a copy of the shards, such as https://example.org/my-run", "sources = []"]
    lines += ["", f"# {cut.about}", "[shard_list]", *_table(cut.listed), ""]
    if cut.pictures:
        lines += ["[pictures]", *_table(cut.pictures, OF_PICTURES), ""]
    if cut.tokenizer:
        lines += ["# The vocabulary, a tokenizer.json.", "[tokenizer]", *_table(cut.tokenizer), ""]
    lines += ["[model]", *_table(proposal.model)]
    lines += ["", "[training]", *_table(proposal.training)]
    lines.append("")
    if lacks_licence(licence):
        lines.append("# Volunteers read this before they join: name the licences, such as CC-BY-4.0, before you sign.")
    lines += ["[licence]", _line("data", licence.data, ""), _line("model", licence.model, "that which is trained")]
    lines += ["", f"# {TRUNKS[type(proposal.trunk)]}", "[trunk]"]
    lines += [_line("strategy", str(proposal.trunk.__struct_config__.tag), ""), *_table(proposal.trunk)]
    return "\n".join(lines) + "\n"


def _table(values: msgspec.Struct, notes: Mapping[str, str] = NOTES) -> list[str]:
    """Those that are not what they are anyway."""
    usual = {field.name: field.default for field in msgspec.structs.fields(values)}
    chosen = ((name, getattr(values, name)) for name in usual)
    return [_line(name, value, notes.get(name, "")) for name, value in chosen if value != usual[name]]


def _line(key: str, value: Any, note: str) -> str:
    shown = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    return f"{key} = {shown}" + (f"  # {note}" if note else "")
