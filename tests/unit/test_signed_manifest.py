"""Signed manifests: who signed, what may follow, and that nothing else is believed."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from core.contracts import manifest
from core.contracts.errors import ManifestError
from core.contracts.manifest import Manifest
from core.contracts.signed import CONTEXT, enveloped
from core.contracts.succession import changes, check_successor, of_organiser
from core.identity import Identity, peer_text
from tests.tampering import tampered
from tests.unit.test_manifest_files import TINY
from tests.workers import hearth

ORGANISER, STRANGER = Identity(bytes(range(32))), Identity(bytes(32))


SIGNED = (
    b'{"signed":1,"manifest":{"bootstrap":[],"data":"digits","description":"","licence":null,"model":{"expert":"ffn"'
    b',"grid":[4,4],"hidden":128,"k":4,"kind":"ffn_dmoe","layers":2,"width":64},"needs":null,"needs_disk_mb":null,"n'
    b'eeds_memory_mb":null,"organiser":"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","revision"'
    b':1,"run":"digits","shards":[],"title":"Handwritten digits","training":{"audit":0.01,"balance":0.01,"batch":32,'
    b'"clip":1.0,"codec":"fp16","decay_samples":9600,"evaluate_every":64,"expert_rate":0.001,"in_flight":4,"k_min":n'
    b'ull,"max_age_s":2.0,"max_staleness":4096,"patience_s":1.0,"planned_samples":null,"products":"fp32","seed":1337'
    b',"target_samples":8,"trunk_rate":0.0005,"warmup_samples":640},"trunk":{"strategy":"local"},"version":1},"signa'
    b'ture":"705fda7eb9af4e486507c9355d4b835a17a15499248cca5b65f6b6af500d8c90d93099ec92ba5ee050e9d51395c5d38a08bd400'
    b'b914db30d4cfd2727dcee5607"}'
)
"""The run `digits` as the organiser of these tests signed it with Hearth 0.1.0."""


def signed(run: str = "digits", by: Identity = ORGANISER, **changes: Any) -> bytes:
    """The document of a run that somebody signed."""
    made = of_organiser(msgspec.structs.replace(manifest.load(run), **changes), peer_text(by.peer))
    return enveloped(made.canonical, by.sign(CONTEXT + made.canonical))


def decoded(document: bytes) -> Manifest:
    return manifest.decode(document, "it")


def test_a_signed_run_is_its_organiser_s_and_another_one_than_anybody_else_s() -> None:
    mine, theirs, nobody_s = decoded(signed()), decoded(signed(by=STRANGER)), manifest.load("digits")
    assert mine.organiser == peer_text(ORGANISER.peer)
    assert len({mine.run_id, theirs.run_id, nobody_s.run_id}) == 3
    assert decoded(signed(title="Other", revision=2)).run_id == mine.run_id == "digits-85ceec1d"


def test_what_an_older_hearth_has_signed_is_signed() -> None:
    older = decoded(SIGNED)
    then = msgspec.structs.replace(manifest.load("digits").training, balance=0.01)
    assert older == decoded(signed(licence=None, training=then)) and older.run_id == "digits-85ceec1d"
    keys = [*json.loads(signed())["manifest"]]
    assert keys == sorted(keys) and signed() == signed()


def test_what_was_changed_cut_or_signed_by_others_is_refused_with_its_reason() -> None:
    document = signed()
    envelope = json.loads(document)
    pretty = json.dumps(envelope, indent=1).encode()
    foreign = document.replace(peer_text(ORGANISER.peer).encode(), peer_text(STRANGER.peer).encode())
    for wrong, why in (
        (document.replace(b"Handwritten", b"Underwritten"), "it was changed, or somebody else signed it"),
        (foreign, "it was changed, or somebody else signed it"),
        (document.replace(b'"signature":"', b'"signature":"0')[:-3] + b'"}', "it was changed"),
        (pretty, "it was changed"),
        (document[: len(document) // 2], "line 1, column"),
        (msgspec.json.encode({**envelope, "more": 1}), "not a whole signed manifest"),
        (msgspec.json.encode({"signed": 1, "manifest": envelope["manifest"]}), "not a whole signed manifest"),
        (msgspec.json.encode({**envelope, "signed": 2}), "not a whole signed manifest"),
        (msgspec.json.encode({**envelope, "manifest": {"run": "x"}}), "not a whole signed manifest"),
        (msgspec.json.encode(envelope["manifest"]), "`organiser` is set by “hearth run sign”"),
    ):
        with pytest.raises(ManifestError, match=why):
            decoded(wrong)


@settings(max_examples=300, deadline=None)
@given(tampered([signed()]))
def test_no_change_of_a_signed_manifest_is_believed(changed: bytes) -> None:
    try:
        same = decoded(changed)
    except ManifestError:
        return
    assert same == decoded(signed())  # blanks around it, or nothing was changed


def test_a_signature_of_something_else_is_none_of_a_manifest() -> None:
    """The key of a PC signs its records, too; nothing that somebody had it sign becomes a manifest."""
    content = decoded(signed()).canonical
    with pytest.raises(ManifestError, match="somebody else signed it"):
        decoded(enveloped(content, ORGANISER.sign(content)))


def test_what_a_newer_hearth_has_added_is_signed_with_the_rest() -> None:
    fields = msgspec.to_builtins(decoded(signed())) | {"smell": "of roses"}
    content = msgspec.json.encode(fields, order="sorted")
    document = enveloped(content, ORGANISER.sign(CONTEXT + content))
    assert decoded(document) == decoded(signed())
    with pytest.raises(ManifestError, match="it was changed"):
        decoded(document.replace(b"roses", b"daisy"))


def test_a_successor_is_of_the_same_run_and_key_and_newer() -> None:
    first, second = decoded(signed()), decoded(signed(title="Digits", revision=2))
    check_successor(first, second)
    rates = msgspec.structs.replace(first.training, trunk_rate=0.1, clip=2.0)
    third = decoded(signed(training=rates, revision=3, description="New"))
    check_successor(first, third)
    assert changes(second, third) == ["title", "training.clip", "training.trunk_rate", "description"]
    for before, after, why in (
        (first, decoded(signed(title="Digits")), "has revision 1, and 1 holds"),
        (second, first, "has revision 1, and 2 holds"),
        (first, decoded(signed(by=STRANGER, revision=2)), "not signed by the organiser"),
        (manifest.load("digits"), second, "not signed by the organiser"),
        (first, decoded(signed(model=msgspec.structs.replace(first.model, width=32), revision=2)), "is of the run"),
        (first, decoded(signed(training=msgspec.structs.replace(rates, seed=5), revision=2)), "is of the run"),
    ):
        with pytest.raises(ManifestError, match=why):
            check_successor(before, after)


def test_an_organiser_signs_shows_and_changes_a_run(tmp_path: Path) -> None:
    folder, path, out = tmp_path / "data", tmp_path / "tiny.toml", tmp_path / "tiny.signed.json"
    path.write_text(TINY)
    done = hearth(folder, "run", "sign", str(path))
    assert "Name both, under [licence]" in done.stdout
    key = peer_text(Identity.load(folder).peer)
    first = manifest.load(str(out))
    assert done.returncode == 0 and first.run_id in done.stdout and first.organiser == key, done.stderr
    assert key in hearth(folder, "run", "check", str(out)).stdout
    shown = hearth(folder, "run", "show", str(out)).stdout
    assert all(
        words in shown for words in ("Tiny digits", first.run_id, "revision 1", f"Signed by {key}", '"clip":1.0')
    )
    assert json.loads(hearth(folder, "run", "show", str(out), "--json").stdout)["id"] == first.run_id
    path.write_text(TINY.replace("Tiny digits", "Small digits"))
    refused = hearth(folder, "run", "sign", str(path))
    assert refused.returncode == ManifestError.exit_code and "Raise `revision`" in refused.stderr
    assert manifest.load(str(out)) == first
    path.write_text(f"revision = 2\n{TINY.replace('Tiny digits', 'Small digits')}")
    path.write_text(f"{path.read_text()}\n[licence]\ndata = 'CC-BY-4.0'\nmodel = 'MIT'\n")
    done = hearth(folder, "run", "sign", str(path))
    assert done.returncode == 0 and "[licence]" not in done.stdout
    assert (second := manifest.load(str(out))).title == "Small digits" and second.run_id == first.run_id
    stranger = hearth(tmp_path / "other", "run", "sign", str(path))
    assert stranger.returncode == ManifestError.exit_code and "not signed by the organiser" in stranger.stderr
