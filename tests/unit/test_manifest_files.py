"""An organiser's own file: TOML or JSON, and what is told of a mistake: what, where, what to write instead."""

import base64
import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.contracts import manifest
from core.contracts.allowed import allowed
from core.contracts.errors import ManifestError
from core.contracts.manifest import Manifest, Training
from core.contracts.model import Model
from core.contracts.positions import Path as Keys
from core.contracts.positions import place_of, places
from core.contracts.run_times import closed
from tests.workers import hearth

TINY = """\
version = 1
run = "tiny"
title = "Tiny digits"  # a comment
data = "digits"

[model]
kind = "ffn_dmoe"
layers = 1
grid = [2, 2]
width = 16
hidden = 16
expert = "ffn"
k = 2

[training]
batch = 32
trunk_rate = 0.0005
expert_rate = 0.001
warmup_samples = 640
decay_samples = 9600
target_samples = 8
max_age_s = 2
clip = 1
balance = 0.01
in_flight = 4
evaluate_every = 64
seed = 1337

[trunk]
strategy = "diloco"
fragments = 2
"""


def told(tmp_path: Path, *changes: tuple[str, str], text: str = TINY, name: str = "mine.toml") -> list[str]:
    """What is wrong with a file in which some words are others."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / name
    path.write_text(text, encoding="utf8")
    return [str(one) for one in manifest.check(path)[1]]


@pytest.mark.parametrize("left", ["", "# nothing yet", TINY[: TINY.index("[model]")], TINY[: TINY.index("[training]")]])
def test_a_file_that_is_only_begun_is_told_what_it_lacks(left: str, tmp_path: Path) -> None:
    assert any("`training` is missing" in said for said in told(tmp_path, text=left))


@pytest.mark.parametrize("left", [1, 30, 180, -1])
def test_a_file_that_was_cut_off_is_told_from_one_that_is_wrong(left: int, tmp_path: Path) -> None:
    text = json.dumps(tomllib.loads(TINY), indent=1)
    [said] = told(tmp_path, text=text[:left], name="mine.json")
    assert "here the file ends too soon: it was cut off" in said and "Copy the whole" in said
    [said] = told(tmp_path, (":", ";"), text=text, name="mine.json")
    assert "cut off" not in said
    [said] = told(tmp_path, text=TINY[: TINY.index("digits")], name="mine.toml")
    assert "it was cut off" in said


def test_a_manifest_in_toml_is_the_one_in_json(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text("\ufeff" + TINY, encoding="utf8")
    run = manifest.load(str(path))
    kept = tmp_path / "kept.json"
    kept.write_bytes(manifest.read(str(path))[1])
    assert manifest.load(str(kept)) == run and run.run == "tiny" and run.training.max_age_s == 2.0
    assert manifest.check(path) == (run, [])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("title =", "titel =", "line 3, column 1: there is no `titel`: write `title`."),
        ("k = 2", "k = 2\nmoe = 1", r"line 14, column 1: there is no `model.moe`, only kind, layers, .*"),
        ("[model]", "batch = 3\n[model]", "line 6, column 1: `batch` belongs into `training`: write `training.batch`."),
        (
            "width = 16",
            "width = 0",
            "line 10, column 1: `model.width` is 0; it must be a whole number .* to 16,384.",
        ),
        ("[2, 2]", "[2, 'x']", 'line 9, column 12: `model.grid[1]` is "x"; it must be a whole number from 1 to 4,096.'),
        ("[2, 2]", "[1, 1, 1, 1, 1]", r"line 9, column 1: `model.grid` is .*; it must be a list of at most 4."),
        ("seed = 1337\n", "", "line 15, column 1: `training.seed` is missing: a whole number from 0 to .*"),
        ("balance = 0.01", "balance = true", "line 24, column 1: `training.balance` is true; .* a number from 0 to 1."),
        ("clip = 1", "clip = 0", "line 23, column 1: `training.clip` is 0; it must be a number above 0."),
        ('"Tiny digits"', '"a\\u001b[31m"', r"line 3, column 1: `title` is .* text of 1 to 80 characters in one line."),
        ('"Tiny digits"', '"\\u202eevil"', r"line 3, column 1: `title` is .*"),
        ('run = "tiny"', 'run = "Tiny"', 'line 2, column 1: `run` is "Tiny"; it must be a name of at most 32 .*'),
        ("fragments = 2", "fragment = 2", r"line 31, column 1: the strategy diloco of its `trunk` has no `fragment`.*"),
        ('"diloco"', '"delico"', 'line 30, column 1: there is no strategy "delico" for its `trunk`, only: local, .*'),
        ('"digits"\n', '"digit"\n', "line 4, column 1: this Hearth has no data set named 'digit', only .*"),
        ("k = 2", "k = 5", "line 13, column 1: it asks for 5 experts of a grid with 4 cells."),
        ("k = 2", "k 2", "line 13, column 3: Expected '=' after a key in a key/value pair."),
        ('"ffn"', '"ffn', r"line 12, column \d+: Illegal character.*"),
        ("clip = 1", "clip = inf", "inf is not a number that a manifest may have."),
        (
            "[model]",
            f"organiser = '{'0' * 64}'\n[model]",
            "line 6, column 1: `organiser` is set by .*",
        ),
        ("[model]", "needs = '99.1'\n[model]", "line 6, column 1: it needs Hearth 99.1 or newer, .*"),
        ("[model]", "needs = 'new'\n[model]", 'line 6, column 1: `needs` is "new"; .* a version of Hearth such as .*'),
        ("[model]", "licence = {data = 'CC0-1.0'}\n[model]", "line 6, column 1: `licence.model` is missing: a text .*"),
        ("[model]", "schedule = {start = '2030-13-01'}\n[model]", r".* `schedule.start` .*a day in UTC such as .*"),
        ("[model]", "schedule = {start = 2030-01-01}\n[model]", r".* `schedule.start` .*a day in UTC such as .*"),
        ("[model]", "schedule = {end = '2030-02-30'}\n[model]", r"line 6, .*: There is no day 2030-02-30."),
        (
            "[model]",
            "schedule = {start = '2030-02-02 18:00', end = '2030-02-02'}\n[model]",
            r"line 6, .*: The run ends \(2030-02-02\) before it has begun .*",
        ),
        (
            "[model]",
            "picture = 'GIF'\n[model]",
            r"line 6, .* `picture` is \"GIF\"; .* a PNG or JPEG of up to 32 KB, .*",
        ),
        ("[model]", f"picture = '{'A' * 50_000}'\n[model]", r"line 6, .* a PNG or JPEG of up to .*"),
        ("[model]", "picture = 'R0lGODlh'\n[model]", r"line 6, .*: The picture is not a PNG or JPEG: .*"),
        (
            "[model]",
            f"bootstrap = ['{'72c0' * 16}@127.0.0.1:4401.']\n[model]",
            r'line 6, column \d+: `bootstrap\[0\]` is "72c0.*\.\.\..*@127.0.0.1:4401."; .*',
        ),
        ("[model]", "shards = 7\n[model]", "line 6, column 1: `shards` is 7; it must be a list of at most 4,096."),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_to_write(tmp_path: Path, old: str, new: str, expected: str) -> None:
    [one] = told(tmp_path, (old, new))
    assert re.fullmatch(expected.replace("[1]", r"\[1\]"), one), one


def test_all_mistakes_are_told_at_once_and_the_first_one_where_a_run_is_wanted(tmp_path: Path) -> None:
    found = told(tmp_path, ("width = 16", "width = -1"), ("clip = 1", "klip = 1"), ("k = 2", "k = 'two'"))
    assert [re.match(r"line (\d+)", one)[1] for one in found] == ["10", "13", "23"]  # type: ignore[index]
    with pytest.raises(ManifestError, match=r"mine\.toml cannot be used: line 10, column 1: `model.width` is -1"):
        manifest.load(str(tmp_path / "mine.toml"))
    done = hearth(tmp_path / "data", "run", "check", str(tmp_path / "mine.toml"))
    assert done.returncode == ManifestError.exit_code and len(done.stdout.splitlines()) == 3
    assert not (tmp_path / "data").exists()


def test_sizes_that_no_pc_could_train_are_told_beside_other_mistakes(tmp_path: Path) -> None:
    huge = ("width = 16", "width = 16384"), ("hidden = 16", "hidden = 16384")
    clip, expert = told(tmp_path, *huge, ("clip = 1", "klip = 1"))
    assert clip.startswith("line 23") and "an expert" in expert.lower()
    assert told(tmp_path, *huge, ("title", "titel"))[1:] == [expert]
    assert len(told(tmp_path, *huge, ("k = 2", "k = 'two'"))) == 1
    assert len(told(tmp_path, ("layers = 1\n", ""), ("seed = 1337\n", ""))) == 2


def test_places_are_told_of_json_as_well(tmp_path: Path) -> None:
    fields = tomllib.loads(TINY)
    fields["model"]["width"] = 0
    [wrong] = told(tmp_path, text=json.dumps(fields, indent=2), name="mine.json")
    assert wrong.startswith("line 13, column 5: `model.width` is 0")
    [broken] = told(tmp_path, text='{"version": 1,\n "run" 2}', name="mine.json")
    assert broken.startswith("line 2, column 8: ")
    (tmp_path / "latin.toml").write_bytes(b"version = 1\ntitle = '\xe4'")
    assert "line 2, column 10: this is not UTF-8" in str(manifest.check(tmp_path / "latin.toml")[1][0])
    for text, name in (("[]", "mine.json"), ('{"a":' * 100_000, "mine.json"), ("a = " + "[" * 100_000, "deep.toml")):
        assert len(told(tmp_path, text=text, name=name)) == 1


def test_what_each_field_may_be_has_words() -> None:
    """Also those of texts with a pattern, unless they are told by it."""
    for kind in (Manifest, Training, Model):
        info = msgspec.inspect.type_info(kind)
        assert isinstance(info, msgspec.inspect.StructType)
        for field in info.fields:
            if field.name != "trunk":
                assert "manifest." not in str(allowed(field.name, field.type)), field.name


KEYS = st.text(st.characters(codec="utf8", exclude_categories=["Cs"]), min_size=1, max_size=5)
VALUES = st.recursive(
    st.integers(-9, 9) | st.booleans() | KEYS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(KEYS, inside, max_size=3),
    max_leaves=8,
)


def paths(value: Any, path: Keys = ()) -> set[Keys]:
    """Of all keys and all values of lists."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path} - {()} | {found for key, each in inside for found in paths(each, (*path, key))}


def toml(value: Any) -> str:
    """A value within its line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=True) if isinstance(value, str) else str(value).lower()


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_key_of_a_document_has_its_place(fields: dict[str, Any]) -> None:
    text = "".join(f"{toml(key)} = {toml(value)} # [x] = 1\n" for key, value in fields.items())
    if "\\ud" in text or "\\u007f" in text.lower():  # TOML has no halves of a character
        return
    assert tomllib.loads(text) == fields
    assert places(text, toml=True).keys() == paths(fields)
    written = json.dumps(fields, indent=1)
    found = places(written, toml=False)
    assert found.keys() == paths(fields)
    for path, at in found.items():
        line, column = place_of(written, at)
        if isinstance(path[-1], str):
            assert written.splitlines()[line - 1][column - 1 :].startswith(json.dumps(path[-1]))


def test_a_run_has_a_picture_and_dates_within_which_it_is_trained(tmp_path: Path) -> None:
    content = b"\x89PNG\r\n\x1a\n" + bytes(100)
    dates = "{start = '2030-01-31 18:00', end = '2030-03-01'}"
    lines = f"picture = '{base64.b64encode(content).decode()}'\nschedule = {dates}\n"
    path = tmp_path / "tiny.toml"
    path.write_text(lines + TINY, encoding="utf8")
    run = manifest.load(str(path))
    assert run.picture == content and manifest.decode(run.canonical, "again") == run
    start, end = (
        moment.timestamp() for moment in (datetime(2030, 1, 31, 18, tzinfo=UTC), datetime(2030, 3, 1, tzinfo=UTC))
    )
    told = [closed(run.schedule, moment) for moment in (start - 1, start, end - 1, end)]
    assert [one and one.code for one in told] == ["run.not_yet", None, None, "run.over"]
    assert str(told[0]) == "The run begins on 2030-01-31 18:00 (UTC), as its organiser has planned."
    assert closed(manifest.load("digits").schedule, 0.0) is None
