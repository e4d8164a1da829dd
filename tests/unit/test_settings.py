"""Settings and manifests: declared types hold at the border; bad files cost nothing."""

import dataclasses
import json
from importlib.resources import files
from pathlib import Path

import pytest

from core.contracts import manifest, settings
from core.contracts.errors import DataFolderError, ManifestError, SettingsError
from core.contracts.settings import Settings
from core.store import data_folder, settings_file


def test_settings_come_back_as_they_were_saved(tmp_path: Path) -> None:
    chosen = Settings().changed({"idle_only": True, "threads": 3})
    settings_file.save(tmp_path, chosen)
    assert settings_file.load(tmp_path) == (chosen, None)


@pytest.mark.parametrize(
    "changes", [{"threads": -1}, {"threads": "many"}, {"idle_threshold_s": 1}, {"colour": "red"}, {"idle_unknown": "x"}]
)
def test_a_wrong_change_is_refused_whole(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        Settings().changed({"idle_only": True, **changes})


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"version": 0}', b"\xff\xfe", b""])
def test_an_unreadable_file_is_set_aside_and_the_defaults_are_used(tmp_path: Path, content: bytes) -> None:
    (tmp_path / settings_file.FILE).write_bytes(content)
    loaded, sentence = settings_file.load(tmp_path)
    assert loaded == Settings()
    assert sentence is not None and sentence.code == "settings.unreadable"
    (aside,) = tmp_path.glob("settings.bad-*.json")
    assert aside.read_bytes() == content


def test_a_value_that_cannot_be_costs_no_other_one(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + json.dumps({"version": 2, "idle_only": True, "idle_threshold_s": 1}).encode()
    (tmp_path / settings_file.FILE).write_bytes(content)
    loaded, sentence = settings_file.load(tmp_path)
    assert loaded == Settings(idle_only=True)
    assert sentence is not None and sentence.args["names"] == ["“Away after”"]
    (kept,) = tmp_path.glob("settings.bad-*.json")
    assert kept.read_bytes() == content
    assert settings_file.load(tmp_path) == (loaded, None)  # told once


def test_an_unknown_setting_is_ignored(tmp_path: Path) -> None:
    (tmp_path / settings_file.FILE).write_text(json.dumps({"version": 2, "idle_threshold_s": 20, "colour": 1}))
    assert settings_file.load(tmp_path) == (Settings(idle_threshold_s=20), None)


@pytest.mark.parametrize("version", [{"version": 1}, {}])
def test_a_file_of_version_1_is_brought_to_the_newest(tmp_path: Path, version: dict[str, int]) -> None:
    (tmp_path / settings_file.FILE).write_text(json.dumps({**version, "threads": 2, "idle_only": True}))
    assert settings_file.load(tmp_path) == (Settings(profile="own", threads=2, idle_only=True), None)
    (tmp_path / settings_file.FILE).write_text(json.dumps({**version, "threads": 0}))
    assert settings_file.load(tmp_path) == (Settings(), None)


def test_a_quota_in_gb_is_one_in_mb(tmp_path: Path) -> None:
    for quota, expected in ((20, 20_000), (0, 0)):
        (tmp_path / settings_file.FILE).write_text(json.dumps({"version": 2, "quota_gb": quota}))
        assert settings_file.load(tmp_path) == (Settings(quota_mb=expected), None)
    (tmp_path / settings_file.FILE).write_text(json.dumps({"version": 2, "quota_gb": "much", "idle_only": True}))
    loaded, sentence = settings_file.load(tmp_path)
    assert loaded == Settings(idle_only=True) and sentence is not None and "“Monthly traffic”" in str(sentence)


def test_there_is_a_migration_from_every_old_version() -> None:
    assert list(settings_file.MIGRATIONS) == list(range(1, settings_file.VERSION))


def test_of_a_newer_file_what_is_understood_is_used_and_a_copy_is_kept(tmp_path: Path) -> None:
    content = json.dumps({"version": 9, "idle_only": True, "theme": "sepia", "lan": "maybe", "smoke": 1})
    (tmp_path / settings_file.FILE).write_text(content)
    loaded, sentence = settings_file.load(tmp_path)
    assert loaded == Settings(idle_only=True)
    assert sentence is not None and sentence.code == "settings.of_newer_kept"
    settings_file.save(tmp_path, loaded.changed({"idle_only": False}))
    assert (tmp_path / "settings.version-9.json").read_text() == content


@pytest.mark.parametrize("version", ["two", 0, None, 1.5])
def test_a_version_that_cannot_be_is_an_unreadable_file(tmp_path: Path, version: object) -> None:
    (tmp_path / settings_file.FILE).write_text(json.dumps({"version": version, "idle_only": True}))
    loaded, sentence = settings_file.load(tmp_path)
    assert loaded == Settings() and sentence is not None


def test_a_profile_brings_its_values_and_a_value_by_hand_makes_it_ones_own() -> None:
    quiet = Settings().changed({"profile": "quiet"})
    assert (quiet.profile, quiet.cpu_share_in_use, quiet.cpu_celsius) == ("quiet", 25, 70)
    mine = quiet.changed({"cpu_celsius": 75})
    assert (mine.profile, mine.cpu_share_in_use) == ("own", 25)
    assert mine.changed({"cpu_celsius": 70}) == quiet  # taken back
    assert mine.changed({"theme": "dark"}).profile == "own"
    assert quiet.changed({"theme": "dark"}).profile == "quiet"
    assert Settings().changed({"profile": "own"}).profile == "own"
    assert mine.changed({"profile": "balanced"}) == Settings()
    assert Settings().changed({"profile": "full", "busy_cpu_percent": 50}).profile == "own"


def test_the_defaults_are_the_profile_that_they_name() -> None:
    defaults = dataclasses.asdict(Settings())
    assert settings.profile_values("balanced").items() <= defaults.items()
    for profile in settings.PROFILES:
        assert Settings().changed({"profile": profile}).profile == profile


@pytest.mark.parametrize(
    "changes",
    [
        {"compute_hours": "mo-fr 18:00-"},
        {"network_hours": "whenever"},
        {"exclusive_programs": [""]},
        {"exclusive_programs": "blender"},
        {"exclusive_programs": ["x"] * 65},
        {"price_kwh": float("nan")},
        {"price_kwh": float("inf")},
        {"profile": "loud"},
        {"profile": ["quiet"]},
        {"cpu_share_in_use": 0},
    ],
)
def test_policy_settings_are_checked_at_the_border(changes: dict[str, object]) -> None:
    with pytest.raises(SettingsError) as refused:
        Settings().changed(changes)
    assert str(refused.value).endswith(".")


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataFolderError, match="--data-dir"):
        data_folder.data_folder(tmp_path / "file" / "data")


def test_a_folder_whose_name_no_message_can_carry_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="UTF-8"):
        data_folder.data_folder(tmp_path / "bad\udcff")


def test_a_file_that_cannot_be_written_stays_whatever_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text("old")
    (tmp_path / "kept.json.partial").mkdir()  # can neither be written nor removed
    with pytest.raises(DataFolderError, match="old file stays"):
        settings_file.write_atomically(tmp_path / "kept.json", b"new")
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


@pytest.mark.parametrize(("field", "value"), [("layers", 1), ("grid", [4, 4]), ("expert", "ffn"), ("k", 4)])
def test_a_kind_of_model_has_experts_or_has_none(field: str, value: object) -> None:
    dense, mixed = (
        json.loads(files("resources").joinpath("runs", f"{n}.json").read_bytes()) for n in ("digits-vc", "digits")
    )
    dense["model"][field] = value
    with pytest.raises(ManifestError, match="mlp has no experts"):
        manifest.decode(json.dumps(dense).encode(), "bad.json")
    mixed["model"] |= {"layers": 0, "grid": [], "k": 0}
    with pytest.raises(ManifestError, match="ffn_dmoe needs `layers`"):
        manifest.decode(json.dumps(mixed).encode(), "bad.json")


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
