"""An organiser's texts become shards: whole documents in one part, each kept once, little of it in memory."""

import hashlib
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from core.contracts.errors import DataError, DataFolderError
from core.contracts.manifest import Shard
from core.store import cutting, documents
from core.store.documents import find


def cut(place: Path, out: Path) -> tuple[cutting.Survey, dict[bool, bytes], list[Shard]]:
    """What a survey finds, the text of each part (held out or not), and the shards."""
    files = cutting.texts(find([place]))
    found = cutting.survey(files)
    out.mkdir(exist_ok=True)
    written = cutting.write(files, found, out)
    for shard in written:
        content = (out / shard.sha256).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (shard.sha256, shard.size)
    parts = {
        part: b"".join((out / shard.sha256).read_bytes() for shard in written if shard.held_out is part)
        for part in (False, True)
    }
    return found, parts, written


def write(place: Path, texts: list[str], name: str = "{}.txt") -> None:
    place.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (place / name.format(number)).write_text(text, encoding="utf8")


def documents_of(part: bytes) -> set[bytes]:
    return set(filter(None, part.split(b"\n\n")))


def test_no_document_is_in_both_parts_and_none_is_lost(tmp_path: Path) -> None:
    texts = [f"text {number} " + "ä word " * (number % 50 * 20) for number in range(300)]
    write(tmp_path / "in", texts)
    found, parts, shards = cut(tmp_path / "in", tmp_path / "out")
    train, held_out = documents_of(parts[False]), documents_of(parts[True])
    assert train | held_out == {text.strip().encode() for text in texts}
    assert not train & held_out and held_out
    assert found.documents == 300 and found.held_out == len(held_out) and found.duplicates == 0
    assert len(parts[True]) <= 0.05 * (len(parts[True]) + len(parts[False])) + 1
    assert len([shard for shard in shards if not shard.held_out]) > 10
    for shard in shards:  # a shard may end within a document, and not within a character
        (tmp_path / "out" / shard.sha256).read_bytes().decode()


def test_exact_duplicates_are_kept_once_wherever_they_stand(tmp_path: Path) -> None:
    texts = [f"document {number} " + "x" * 400 for number in range(60)]
    write(tmp_path / "in" / "a", texts)
    write(tmp_path / "in" / "b", [f"\n{text}  \n" for text in texts], "{}.md")
    lines = "".join(json.dumps({"text": text, "url": "…"}) + "\n" for text in [*texts, "another one", ""])
    (tmp_path / "in" / "all.jsonl").write_text(lines, encoding="utf8")
    found, parts, _ = cut(tmp_path / "in", tmp_path / "out")
    assert (found.documents, found.duplicates) == (61, 120)
    both = (parts[False] + parts[True]).split(b"\n\n")
    assert sorted(filter(None, both)) == sorted(text.encode() for text in [*texts, "another one"])


def test_what_is_held_out_does_not_depend_on_where_it_stands(tmp_path: Path) -> None:
    texts = [f"document {number} " + "x" * 400 for number in range(100)]
    write(tmp_path / "one", texts)
    write(tmp_path / "two", texts[::-1], "other{}.md")
    (_, one, _), (_, two, _) = (cut(tmp_path / name, tmp_path / f"{name} cut") for name in ("one", "two"))
    assert documents_of(one[True]) == documents_of(two[True])


def test_a_long_file_is_many_documents_cut_at_empty_lines(tmp_path: Path) -> None:
    paragraphs = [f"Paragraph {number}.\n" + f"A line of number {number}.\n" * 100 for number in range(400)]
    write(tmp_path / "in", ["\n".join(paragraphs)])
    found, parts, _ = cut(tmp_path / "in", tmp_path / "out")
    assert found.documents > 20 and found.duplicates == 0
    for number, paragraph in enumerate(paragraphs):  # each as a whole, in one of the parts
        assert sum(paragraph.strip().encode() in part for part in parts.values()) == 1, number


def test_hidden_files_links_and_others_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "in", ["one", "two"])
    write(tmp_path / "elsewhere", ["three"])
    (tmp_path / "in" / ".hidden.txt").write_text("four")
    (tmp_path / "in" / "picture.png").write_bytes(b"\x89PNG")
    os.mkfifo(tmp_path / "in" / "pipe.txt")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert [path.name for path in find([tmp_path / "in"])] == ["0.txt", "1.txt"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"caf\xe9 au lait", r"a\.txt is not text in UTF-8: byte 3"),
        ("a.jsonl", b'{"text": "one"}\n{"title": "two"}\n', r"Line 2 of .*a\.jsonl is not a JSON object with a"),
        ("a.jsonl", b'{"text": "one"}\nnonsense\n', r"Line 2 of"),
        ("a.txt", b"only one", r"only one document"),
        ("a.txt", b" \n", r"only one document"),
        ("a.doc", b"Word", r"nothing to train on in .*\.txt, \.md, \.jsonl"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        cutting.survey(cutting.texts(find([tmp_path])))


def test_a_line_that_is_too_long_is_refused_before_all_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_LINE", 1000)
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "x" * 2000}))
    with pytest.raises(DataError, match="Line 1 of"):
        cutting.survey(cutting.texts(find([tmp_path])))


def test_a_file_that_changes_meanwhile_and_a_folder_that_is_none_are_told(tmp_path: Path) -> None:
    write(tmp_path / "in", ["one", "two", "three"])
    files = cutting.texts(find([tmp_path / "in"]))
    found = cutting.survey(files)
    with pytest.raises(DataFolderError, match="cannot be written"):
        cutting.write(files, found, tmp_path / "nowhere")
    (tmp_path / "out").mkdir()
    write(tmp_path / "in", ["one", "two", "three and more"])
    with pytest.raises(DataError, match="changed while it was being read"):
        cutting.write(files, found, tmp_path / "out")


def test_little_is_in_memory(tmp_path: Path) -> None:
    """37 MB of documents in one file."""
    with (tmp_path / "a.jsonl").open("w") as file:
        for number in range(4000):
            file.write(json.dumps({"text": f"{number} " * 2000}) + "\n")
    size = (tmp_path / "a.jsonl").stat().st_size
    assert size > 36 << 20
    tracemalloc.start()
    files = cutting.texts([tmp_path / "a.jsonl"])
    shards = cutting.write(files, cutting.survey(files), _made(tmp_path / "o"))
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    assert sum(shard.size for shard in shards) > 0.99 * size - 4000 * 20


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_what_a_link_leads_to_is_nobody_s_business(tmp_path: Path) -> None:
    write(tmp_path / "in", ["one", "two"])
    (tmp_path / "secret").write_text("private")
    (tmp_path / "in" / "notes.txt").symlink_to(tmp_path / "secret")
    assert [path.name for path in find([tmp_path / "in"])] == ["0.txt", "1.txt"]
