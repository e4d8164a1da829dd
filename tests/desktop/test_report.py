"""The report: what helps to find a fault, and nothing that is a secret."""

import io
import zipfile
from pathlib import Path

import pytest

from app.problem_report import bundle, clean
from core.contracts.control import ADDRESS_FILE
from core.contracts.settings import Settings
from core.identity import Identity, peer_text
from core.logs import FILE as LOG_FILE
from core.store import settings_file
from tests.desktop.conftest import make_status

HOME = Path("/home/anna")


def test_keys_addresses_and_the_home_folder_are_left_out() -> None:
    key = "1afe4578" * 8
    said = {
        f"This PC is peer {key}@192.0.2.2:49260.": "This PC is peer [key]@[address]:49260.",
        "Peer 1afe4578 is seen from 198.51.100.7.": "Peer 1afe4578 is seen from [address].",
        "It was called from [2001:db8::1]:4401.": "It was called from [[address]]:4401.",
        "A peer of ::ffff:203.0.113.7 came, udp:203.0.113.8": "A peer of [address]:[address] came, udp:[address]",
        f"token_{key} in /media/anna/disk, by hannah": "token_[key] in /media/~/disk, by hannah",
        "/home/anna/.local/share/Hearth is full": "~/.local/share/Hearth is full",
        "12:28:34 Hearth 0.1.0, torch 2.13.0+cpu, 25% at 0.5.": "12:28:34 Hearth 0.1.0, torch 2.13.0+cpu, 25% at 0.5.",
    }
    assert clean("\n".join(said), HOME) == "\n".join(said.values())


def test_the_report_holds_log_settings_and_state_but_no_secret(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: folder.parent)
    identity, token = Identity.load_or_create(folder), "5f" * 32
    settings_file.save(folder, Settings(theme="dark"))
    (folder / ADDRESS_FILE).write_text(token)
    log = folder / LOG_FILE
    log.parent.mkdir(exist_ok=True)
    log.write_text(f"The disk is full.\nSaid {token} and {identity.seed.hex()} to 203.0.113.9 in {folder}.\n")
    status = make_status(data_dir=str(folder), attention=[f"{folder}/ledger.db cannot be written."])
    with zipfile.ZipFile(io.BytesIO(bundle(folder, status))) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert texts.keys() == {"about.txt", "settings.json", "status.json", "logs/hearth.log"}
    assert "The disk is full." in texts["logs/hearth.log"] and '"theme": "dark"' in texts["settings.json"]
    assert "ledger.db cannot be written" in texts["status.json"] and "build" in texts["about.txt"]
    whole = "\n".join(texts.values())
    secrets = (
        identity.seed.hex(),
        token,
        peer_text(identity.peer),
        "203.0.113.9",
        str(folder.parent),
        identity.words(),
    )
    assert not [secret for secret in secrets if secret in whole]


def test_only_the_end_of_a_large_log_is_sent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.problem_report.LOG_BYTES", 100)
    log = folder / LOG_FILE
    log.parent.mkdir(exist_ok=True)
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    with zipfile.ZipFile(io.BytesIO(bundle(folder, None))) as archive:
        lines = archive.read("logs/hearth.log").decode().splitlines()
    assert lines[-1] == "line 99" and 5 < len(lines) < 15 and all(line.startswith("line ") for line in lines)
