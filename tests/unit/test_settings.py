"""Settings and manifests: declared types hold at the border; bad files cost nothing."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from core import manifest, settings
from core.errors import DataFolderError, ManifestError, SettingsError
from core.settings import Settings


def test_settings_come_back_as_they_were_saved(tmp_path: Path) -> None:
    chosen = Settings().changed({"idle_only": True, "threads": 3})
    settings.save(tmp_path, chosen)
    assert settings.load(tmp_path) == (chosen, None)


@pytest.mark.parametrize(
    "changes", [{"threads": -1}, {"threads": "many"}, {"idle_threshold_s": 1}, {"colour": "red"}, {"idle_unknown": "x"}]
)
def test_a_wrong_change_is_refused_whole(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        Settings().changed({"idle_only": True, **changes})


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"threads": -4}', b"\xff\xfe", b""])
def test_an_unreadable_file_is_set_aside_and_the_defaults_are_used(tmp_path: Path, content: bytes) -> None:
    (tmp_path / settings.FILE).write_bytes(content)
    loaded, sentence = settings.load(tmp_path)
    assert loaded == Settings()
    assert sentence is not None and "defaults" in sentence
    (aside,) = tmp_path.glob("settings.bad-*.json")
    assert aside.read_bytes() == content


def test_a_setting_of_a_newer_version_is_ignored(tmp_path: Path) -> None:
    (tmp_path / settings.FILE).write_text(json.dumps({"version": 1, "threads": 2, "from_the_future": 1}))
    assert settings.load(tmp_path) == (Settings(threads=2), None)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataFolderError, match="--data-dir"):
        settings.data_folder(tmp_path / "file" / "data")


def test_a_folder_whose_name_no_message_can_carry_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="UTF-8"):
        settings.data_folder(tmp_path / "bad\udcff")


def test_a_file_that_cannot_be_written_stays_whatever_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("old")
    (tmp_path / "kept.json.partial").mkdir()  # can neither be written nor removed
    with pytest.raises(DataFolderError, match="old file stays"):
        settings.write_atomically(tmp_path / "kept.json", b"new")
    assert (tmp_path / "kept.json").read_text() == "old"


def test_every_setting_explains_itself() -> None:
    for field in Settings.__dataclass_fields__.values():
        assert field.metadata["label"] and field.metadata["help"].endswith(".") and field.metadata["group"]


def test_the_built_in_runs_are_valid() -> None:
    assert "digits" in manifest.built_in_runs()
    for run in manifest.built_in_runs():
        assert manifest.load(run).run == run


def test_an_unknown_run_names_those_that_exist() -> None:
    with pytest.raises(ManifestError, match="digits"):
        manifest.load("../settings")


@pytest.mark.parametrize(
    ("field", "value"),
    [("k", 17), ("k", 0), ("grid", []), ("grid", [0]), ("width", 1e9), ("kind", "Rm -rf"), ("surprise", 1)],
)
def test_an_impossible_manifest_is_refused(field: str, value: object) -> None:
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["model"][field] = value
    with pytest.raises(ManifestError, match=r"bad\.json"):
        manifest.decode(json.dumps(document).encode(), "bad.json")


PEER = "ab" * 32


@pytest.mark.parametrize(
    "known",
    [[f"{PEER}@203.0.113.1:4401"], [f"{PEER}@203.0.113.1:4401,[2001:db8::1]:4401"], [f"{PEER}@127.0.0.1:1"] * 16, []],
)
def test_a_manifest_may_name_peers_to_join_through(known: list[str]) -> None:
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["bootstrap"] = known
    assert manifest.decode(json.dumps(document).encode(), "good.json").bootstrap == tuple(known)


@pytest.mark.parametrize(
    "known",
    [[PEER], [f"{PEER}@"], [f"{PEER}@host:4401"], [f"{PEER[1:]}@127.0.0.1:1"], [f"{PEER}@1.2.3.4:5\n"],
     [f"{PEER}@127.0.0.1:1"] * 17, "x", [1], [f"{PEER}@{','.join(['127.0.0.1:1'] * 9)}"]],
)  # fmt: skip
def test_a_peer_that_cannot_be_dialled_is_refused(known: object) -> None:
    document = json.loads(files("resources").joinpath("runs", "digits.json").read_bytes())
    document["bootstrap"] = known
    with pytest.raises(ManifestError, match=r"bad\.json"):
        manifest.decode(json.dumps(document).encode(), "bad.json")
