"""What others of this PC, and files that came from others, can see and reach: nothing of the data folder."""

import io
import os
import stat
import zipfile
from pathlib import Path

import msgspec
import pytest

from app.problem_report import bundle
from core.commands import picture_files
from core.contracts.control import Address
from core.contracts.trunk import PeerText
from core.logs import FILE as LOG_FILE
from core.store.backup import back_up
from core.store.data_folder import data_folder
from tests.unit.test_own_pictures import coloured

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows keeps a user's folders from others itself")


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_data_folder_that_was_open_to_all_is_its_owner_s(tmp_path: Path) -> None:
    made, public = tmp_path / "made", tmp_path / "public"
    made.mkdir()
    public.mkdir()
    made.chmod(0o755)
    public.chmod(0o1777)
    assert rights(data_folder(made)) == 0o700 == rights(data_folder(tmp_path / "new"))
    assert rights(data_folder(public)) == 0o1777, "a folder of all users, such as /tmp, stays one"


def test_a_backup_is_not_written_into_what_somebody_else_has_put_there(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "shared" / "mine.zip"
    for folder in (data, out.parent):
        folder.mkdir()
    (data / "identity.key").write_text("secret")
    with (out.parent / "mine.zip.partial").open("wb+") as listening:
        back_up(data, out)
        assert listening.read() == b"" and rights(out) == 0o600
    (out.parent / "mine.zip.partial").symlink_to(tmp_path / "elsewhere")
    back_up(data, out, force=True)
    assert not (tmp_path / "elsewhere").exists() and not out.is_symlink()


def test_a_class_of_pictures_is_no_link_to_somebody_s_own(tmp_path: Path) -> None:
    coloured(tmp_path / "private", 3)
    coloured(tmp_path / "from others", 3)
    before = picture_files.find(tmp_path / "from others")
    (tmp_path / "from others" / "me").symlink_to(tmp_path / "private" / "red", target_is_directory=True)
    after = picture_files.find(tmp_path / "from others")
    assert before and after and after.pictures == before.pictures and after.number == before.number == 9


def test_a_report_takes_no_file_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("Dear Anna")
    log = tmp_path / "data" / LOG_FILE
    log.parent.mkdir(parents=True)
    log.write_text("line\n")
    (log.parent / "letter.log").symlink_to(tmp_path / "letter")
    with zipfile.ZipFile(io.BytesIO(bundle(tmp_path / "data", None))) as archive:
        assert set(archive.namelist()) == {"about.txt", f"logs/{log.name}"}


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_key_or_token_is_its_64_digits_and_no_line_more(end: str) -> None:
    said = "ab" * 32 + end
    address = {"protocol": 1, "port": 1, "token": said, "pid": 1, "data_dir": "x"}
    for value, kind in ((said, PeerText), (address, Address)):
        if end:
            with pytest.raises(msgspec.ValidationError):
                msgspec.convert(value, kind)
        else:
            msgspec.convert(value, kind)
