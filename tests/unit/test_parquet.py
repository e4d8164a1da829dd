"""An organiser's texts in Parquet files: the column that is meant, little memory, and what is told of other files."""

import random
import sys
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from core import cli
from core.contracts.errors import DataError, SettingsError
from core.store import parquet as limits
from core.store.documents import documents, find
from core.store.parquet import texts


def put(path: Path, **columns: list[object]) -> Path:
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_each_row_is_a_document(tmp_path: Path) -> None:
    path = put(tmp_path / "a.parquet", text=["one", None, "  ", "zwei ä"], title=["x"] * 4, stars=[1, 2, 3, 4])
    assert find([tmp_path]) == [path]
    assert [*documents(path)] == [b"one", "zwei ä".encode()], "the column named text, if nobody says another"
    assert [*documents(path, "title")] == [b"x"] * 4
    only = put(tmp_path / "b.parquet", body=["a", "b"], stars=[1, 2])
    assert [*documents(only)] == [b"a", b"b"], "the only one with texts"


def test_a_column_is_named_for_lines_of_json_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"body": "one", "text": "no"}\n{"body": "two", "text": 1}\n')
    assert [*documents(path, "body")] == [b"one", b"two"]
    with pytest.raises(DataError, match=r"Line 2 .* with a .text."):
        [*documents(path)]


def test_what_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = put(tmp_path / "two.parquet", title=["x"], body=["y"])
    for column, said in ((None, r"not clear which column .* title, body"), ("stars", "no column of texts named stars")):
        with pytest.raises(DataError, match=said):
            [*documents(two, column)]
    for column in (None, "text"):
        with pytest.raises(DataError, match=r"numbers\.parquet has no column of texts\.$"):
            [*documents(put(tmp_path / "numbers.parquet", text=[1, 2]), column)]
    whole = put(tmp_path / "cut.parquet", text=[f"{number} words" for number in range(2000)]).read_bytes()
    for content in (whole[:-10], whole[: len(whole) // 2], b"", b"PAR1" * 9, b"PAR1" + bytes(500) + whole[504:]):
        (tmp_path / "cut.parquet").write_bytes(content)
        with pytest.raises(DataError, match=r"cut\.parquet is not a Parquet file, or is damaged"):
            [*documents(tmp_path / "cut.parquet")]
    with pytest.raises(DataError, match="cannot be read: No such file"):
        [*documents(tmp_path / "none.parquet")]
    monkeypatch.delitem(sys.modules, "core.store.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install \"hearth\[parquet\]\""):
        [*documents(two)]


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_little_is_in_memory_however_large_a_group_of_rows_is(compression: str, tmp_path: Path) -> None:
    chance = random.Random(1)
    written = ["".join(chance.choices("abcdefgh ", k=4000)) for _ in range(10_000)]
    path = tmp_path / "large.parquet"
    parquet.write_table(pyarrow.table({"text": written}), path, compression=compression, use_dictionary=False)
    assert parquet.ParquetFile(path).num_row_groups == 1
    before, most, count = pyarrow.total_allocated_bytes(), 0, 0
    for count, text in enumerate(texts(path, None), 1):
        assert text == written[count - 1]
        most = max(most, pyarrow.total_allocated_bytes() - before)
    assert count == 10_000 and most < 8 << 20, "of 40 MB"


def test_a_group_of_rows_that_would_take_too_much_memory_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.parquet"
    table = pyarrow.table({"text": ["a" * (1 << 20)] * 64, "other": ["x"] * 64})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False)
    assert len([*texts(path, None)]) == 64 and len([*texts(path, "other")]) == 64
    monkeypatch.setattr(limits, "GROUP", 32 << 20)
    with pytest.raises(DataError, match=r"large\.parquet has a group of rows with 64 MB of text.* up to 32 MB"):
        next(texts(path, None))
    assert len([*texts(path, "other")]) == 64, "only what is read counts"
    parquet.write_table(table, path, row_group_size=8)
    assert len([*texts(path, None)]) == 64


def test_a_text_that_many_rows_share_is_not_in_memory_for_each(tmp_path: Path) -> None:
    path = tmp_path / "shared.parquet"
    parquet.write_table(
        pyarrow.table({"text": ["a" * (8 << 20)] * 20}), path, compression="zstd", dictionary_pagesize_limit=1 << 30
    )
    before, most = pyarrow.total_allocated_bytes(), 0
    for _ in texts(path, None):
        most = max(most, pyarrow.total_allocated_bytes() - before)
    assert most <= limits.BATCH + (16 << 20), "of 160 MB"


def test_columns_of_one_name_are_told(tmp_path: Path) -> None:
    for arrays in (["x"], ["y"]), (["x"], [1]), ([1], ["x"]):
        parquet.write_table(pyarrow.table([*arrays], names=["text", "text"]), tmp_path / "a.parquet")
        with pytest.raises(DataError, match="several columns named text"):
            [*documents(tmp_path / "a.parquet")]
    parquet.write_table(pyarrow.table([["x"], ["y"]], names=["a.b", "c"]), tmp_path / "a.parquet")
    assert [*documents(tmp_path / "a.parquet", "a.b")] == [b"x"]


def test_a_folder_of_them_becomes_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    put(tmp_path / "in" / "a.parquet", body=[f"{number} tales " * 200 for number in range(50)], other=["x"] * 50)
    out = ["--data-dir", str(tmp_path / "data"), "--out", str(tmp_path / "x.toml"), "--yes"]
    assert cli.main(["run", "new", str(tmp_path / "in"), *out]) == DataError.exit_code
    assert "--column" in capsys.readouterr().err
    assert cli.main(["run", "new", str(tmp_path / "in"), *out, "--column", "body"]) == 0
    assert "50 documents of 1 file" in capsys.readouterr().out


def test_what_is_no_text_is_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in" / "more").mkdir(parents=True)
    for number in range(50):
        (tmp_path / "in" / f"{number}.txt").write_text(f"{number} tales " * 200)
    for name in ("b.pdf", "more/c.docx", ".hidden"):
        (tmp_path / "in" / name).write_bytes(b"no text")
    out = ["--data-dir", str(tmp_path / "data"), "--out", str(tmp_path / "x.toml"), "--yes"]
    assert cli.main(["run", "new", str(tmp_path / "in"), *out, "--column", "body"]) == SettingsError.exit_code
    assert "Only files that end with .jsonl or .parquet have columns. Leave out --column." in capsys.readouterr().err
    assert cli.main(["run", "new", str(tmp_path / "in"), *out]) == 0
    assert "2 files left out: texts are files that end with .txt, .md, .jsonl, .parquet." in capsys.readouterr().out
