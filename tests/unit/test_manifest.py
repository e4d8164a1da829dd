"""Manifests: those that come with Hearth, and an organiser's own file."""

import importlib
import os
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from core.contracts import manifest
from core.contracts.errors import ManifestError
from core.contracts.kinds import DATA, EXPERTS, MODELS, TASKS, Kinds
from core.contracts.trunk import Trunk
from core.experts import kinds
from core.experts.grid import Uid
from core.experts.kinds.expert import ADDED
from core.swarm import trunk as swarm_trunk
from core.training import data, models, tasks, trunk
from core.training.models.network import build as build_trunk
from tests.experts import build
from tests.workers import hearth


def test_a_run_is_named_or_is_the_path_of_its_manifest(tmp_path: Path) -> None:
    digits = manifest.load("digits")
    path = tmp_path / "mine.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(digits, run="mine")))
    mine = manifest.load(str(path))
    assert mine.run == "mine" and mine.model == digits.model


def test_a_file_with_the_name_of_a_built_in_run_is_a_run_of_its_own_unless_it_is_that(tmp_path: Path) -> None:
    digits, path = manifest.load("digits"), tmp_path / "digits.json"

    def named(**changes: object) -> str:
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(digits, **changes)))
        return manifest.load(str(path)).run_id

    assert named() == named(bootstrap=("0" * 64 + "@127.0.0.1:4401",)) == digits.run_id
    wider, deeper = (
        named(model=msgspec.structs.replace(digits.model, **change)) for change in ({"width": 128}, {"layers": 3})
    )
    assert len({digits.run_id, wider, deeper}) == 3 and wider.startswith("digits-")
    assert named(model=msgspec.structs.replace(digits.model, width=128)) == wider
    assert manifest.decode(msgspec.json.encode(manifest.load(str(path))), "again").run_id == wider


def changed(name: str, place: str = "", /, **values: object) -> bytes:
    """The document of a built-in run with other or more fields, at the top or in one of its parts."""
    document = msgspec.to_builtins(manifest.load(name))
    (document[place] if place else document).update(values)
    return msgspec.json.encode(document)


def test_a_run_s_id_is_its_name_and_a_digest_of_what_it_lastingly_is() -> None:
    digits = manifest.load("digits")
    assert re.fullmatch(r"digits-[0-9a-f]{8}", digits.run_id)
    passing = [
        changed("digits", title="Other words"),
        changed("digits", bootstrap=["0" * 64 + "@127.0.0.1:4401"]),
        changed("digits", "training", trunk_rate=0.1, in_flight=2),
        changed("digits", "model", heads=None),  # as if it were not named
    ]
    assert {manifest.decode(document, "it").run_id for document in passing} == {digits.run_id}
    lasting = [
        changed("digits", run="other"),
        changed("digits", "model", width=128),
        changed("digits", "model", grid=[4, 8]),
        changed("digits", "training", seed=1338),
        changed("digits", shards=[{"sha256": "0" * 64, "size": 7}]),
        changed("digits", shards=[{"sha256": "0" * 64, "size": 7, "held_out": True}]),
    ]
    assert len({digits.run_id, *(manifest.decode(document, "it").run_id for document in lasting)}) == 7


def test_a_run_s_id_is_the_same_in_every_version_of_hearth() -> None:
    assert manifest.load("digits").run_id == "digits-2ac90b73"
    assert manifest.load("text").run_id == "text-ea451a92"


def test_a_field_of_a_newer_hearth_that_can_be_done_without_is_left_out() -> None:
    digits = manifest.load("digits")
    for document in (changed("digits", banner="a.png"), changed("digits", "training", z_loss=0.1, warm={"a": [1]})):
        assert manifest.decode(document, "new") == digits
    assert manifest.decode(changed("digits", needs="0.1"), "new") == msgspec.structs.replace(digits, needs="0.1")


def test_what_must_be_understood_says_which_hearth_is_needed() -> None:
    newer = changed("digits", needs="7.2.0", data="dreams", model={"shape": "sphere"})
    with pytest.raises(ManifestError, match=r"The manifest new cannot be used: it needs Hearth 7\.2\.0 or newer"):
        manifest.decode(newer, "new")
    with pytest.raises(ManifestError, match=r"there is no `model.tokenizer`.*This is Hearth 0\."):
        manifest.decode(changed("digits", "model", tokenizer="x"), "new")
    with pytest.raises(ManifestError, match="needs"):
        manifest.decode(changed("digits", needs="the newest"), "new")


def test_what_cannot_be_a_manifest_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    with pytest.raises(ManifestError, match=r"bad\.json cannot be read"):
        manifest.load(str(path))
    path.write_text('{"version": 1}')
    with pytest.raises(ManifestError, match=r"bad\.json cannot be used"):
        manifest.load(str(path))
    path.write_bytes(bytes(manifest.MAX_BYTES + 1))
    with pytest.raises(ManifestError, match="larger than 1 MB"):
        manifest.load(str(path))
    with pytest.raises(ManifestError, match=r"Known runs: digits.*\.json"):
        manifest.load("nobody")


def test_what_may_never_end_is_not_read(tmp_path: Path) -> None:
    pipe, device = tmp_path / "pipe.json", tmp_path / "device.json"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        with pytest.raises(ManifestError, match="is not a file"):
            manifest.load(str(path))


def written(package: ModuleType, attribute: str) -> set[str]:
    """The modules of a package that bring something."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return {name for name in names if hasattr(importlib.import_module(f"{package.__name__}.{name}"), attribute)}


def test_what_a_manifest_may_name_is_what_there_is() -> None:
    sorts: list[tuple[Kinds[Any], ModuleType, str]] = [
        (MODELS, models, "KIND"),
        (EXPERTS, kinds, "KIND"),
        (DATA, data, "STREAM"),
        (TASKS, tasks, "TASK"),
    ]
    added = ADDED.keys() | {"mnist"}  # by benchmarks for themselves, in this process
    for declared, package, attribute in sorts:
        assert declared.keys() - added == written(package, attribute) != set()
    strategies = {kind.__struct_config__.tag for kind in get_args(Trunk)}
    assert strategies == written(trunk, "STRATEGY") == written(swarm_trunk, "AGREEMENT") | {"local"}


@pytest.mark.parametrize(
    ("place", "field", "what"),
    [("model", "kind", "kind of model"), ("model", "expert", "kind of expert"), ("", "data", "data set")],
)
def test_what_there_is_not_is_refused_before_compute_starts(tmp_path: Path, place: str, field: str, what: str) -> None:
    document = msgspec.to_builtins(manifest.load("digits"))
    (document[place] if place else document)[field] = "mystery"
    path = tmp_path / "strange.json"
    path.write_bytes(msgspec.json.encode(document))
    with pytest.raises(ManifestError, match=f"has no {what} named 'mystery', only"):
        manifest.load(str(path))
    if field == "kind":
        refused = hearth(tmp_path / "data", "worker", "--run", str(path))
        assert refused.returncode == 2 and "'mystery'" in refused.stderr


@pytest.mark.parametrize(
    ("run", "changes", "told"),
    [
        ("digits", {"width": 0}, "width"),
        ("digits", {"width": 10**12}, "width"),
        ("digits", {"grid": [1000, 1000, 1000]}, "1,000,000,000 cells a layer.*smaller"),
        ("digits", {"grid": [10**9]}, "grid"),
        ("digits", {"grid": []}, "grid"),
        ("digits", {"layers": 0}, "layers"),
        ("digits", {"k": 17}, "17 experts of a grid with 16 cells"),
        ("digits", {"width": 16384, "hidden": 16384}, "an expert would take 9 GB.*Lower width or hidden"),
        ("digits", {"width": 16384, "hidden": 64, "layers": 256, "grid": [4096, 4096]}, "the trunk would take .* GB"),
        ("digits", {"batch": 10**6, "width": 4096}, "a batch at a layer would take 15.3 GB"),
        ("text", {"heads": None}, "`heads` whose double divides"),
        ("text", {"sequence": None}, "needs `sequence`"),
        ("text", {"heads": 3}, "`heads` whose double divides"),
        ("digits", {"kind": "transformer_dmoe", "heads": 2, "sequence": 16}, "samples of 64, not of 16"),
        ("text", {"sequence": 4096, "batch": 10**6}, "a batch at a layer"),
        ("digits", {"batch": 10**5, "in_flight": 1024}, "in flight would take .*16 GB"),
        ("digits", {"layers": 256, "grid": [256, 257]}, "16,842,752 experts.*16,777,216"),
    ],
)
def test_sizes_that_no_pc_could_train_are_refused_with_a_sentence(run: str, changes: dict, told: str) -> None:  # type: ignore[type-arg]
    document = msgspec.to_builtins(manifest.load(run))
    for field, value in changes.items():
        document["training" if field in document["training"] else "model"][field] = value
    with pytest.raises(ManifestError, match=f"The manifest big cannot be used: .*{told}"):
        manifest.decode(msgspec.json.encode(document), "big")


def test_a_trunk_that_is_too_large_for_a_message_is_refused_where_servers_mix_it() -> None:
    document = msgspec.to_builtins(manifest.load("digits-vc"))
    document["model"] |= {"width": 16_384, "hidden": 1300}
    vc = {"strategy": "vc_asgd"}
    for rules in (vc, vc | {"servers": ["00" * 32], "store": "redis://host"}):
        document["trunk"] = rules
        told = "servers of `vc_asgd` mix at most 19,300,000 parameters, and its trunk has .* or choose another strategy"
        with pytest.raises(ManifestError, match=told):
            manifest.decode(msgspec.json.encode(document), "big")
    for rules in ({"strategy": "diloco"}, vc | {"store": "redis://host"}):
        document["trunk"] = rules
        manifest.decode(msgspec.json.encode(document), "big")


@pytest.mark.parametrize("kind", sorted(EXPERTS.keys() - ADDED.keys()))
def test_what_an_expert_costs_is_known_without_torch(kind: str) -> None:
    model = msgspec.structs.replace(manifest.load("digits").model, expert=kind, width=96, hidden=160)
    module, declared = build(model, 1, Uid("digits", 0, (0, 0))), EXPERTS[kind]
    assert sum(parameter.numel() for parameter in module.parameters()) == declared.numbers(model)
    with FlopCounterMode(display=False) as counted:
        module(torch.randn(7, *declared.sample(model)))
    assert counted.get_total_flops() == 2 * 7 * declared.multiplications(model)


DECODER = {"kind": "decoder", "expert": "swiglu", "heads": 4, "kv_heads": 2, "width": 32, "hidden": 24}
MODELS_OF_TEXT = [DECODER, DECODER | {"dense": 2, "tied": True}, DECODER | {"dense": 1, "layers": 0}]


@pytest.mark.parametrize("changes", [{}, *MODELS_OF_TEXT])
@pytest.mark.parametrize("run", ["digits", "digits-vc", "stories", "text"])
def test_what_a_trunk_costs_is_known_without_torch(run: str, changes: dict[str, Any]) -> None:
    rules = manifest.load(run)
    if run == "text":
        rules = msgspec.structs.replace(rules, model=msgspec.structs.replace(rules.model, **changes))
    kind, ends = MODELS[rules.model.kind], rules.ends
    network = build_trunk(rules, ends)
    assert sum(parameter.numel() for parameter in network.parameters()) == kind.numbers(rules.model, ends)
    cut = [
        (parameter.numel(), parameter.ndim < 2 or name.startswith("gates."))
        for name, parameter in network.named_parameters()
    ]
    assert kind.parameters(rules.model, ends) == cut, "by which all cut it into the same fragments"
    rows, sequence = kind.rows(rules.model), bool(rules.model.sequence)
    h = torch.zeros(3, ends.inputs, dtype=torch.int64 if sequence else torch.float32)
    beside = network.beside(h)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:  # the counter knows no other
        for segment, gate in zip(network.segments, network.gates, strict=False):
            given = segment(h, *beside)
            gate(network.into_layer(given).flatten(0, -2))
            h = network.after_layer(given, network.into_layer(given))
        network.segments[-1](h, *beside)
    assert counted.get_total_flops() == 2 * 3 * rows * kind.multiplications(rules.model, ends)


@pytest.mark.parametrize(
    ("document", "toml"),
    [
        (changed("digits").replace(b'"title"', b'"titel"'), False),
        (b'{"version": 1, "x": ' + b'{"a":' * 800 + b"1" + b"}" * 801, False),
        (b'{"version": ' + b"9" * 5000 + b"}", False),
        (b"version = " + b"9" * 5000, True),
        (b"a." * 100_000 + b"a = 1", True),
        (msgspec.json.encode({f"titl{number}": 1 for number in range(50_000)}), False),
    ],
    ids=["another word", "deep", "digits", "digits in TOML", "dots", "keys"],
)
def test_a_stranger_s_nonsense_is_refused_at_once(document: bytes, toml: bool) -> None:
    with pytest.raises(ManifestError):
        manifest.decode(document, "theirs", toml=toml)
