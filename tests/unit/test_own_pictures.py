"""An organiser's labelled pictures: folders by class or MNIST's files become shards that a model learns from."""

import gzip
import random
import tomllib
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import torch
from PIL import Image

from core import cli
from core.commands import picture_files
from core.contracts import manifest as manifests
from core.contracts.errors import DataError, ManifestError
from core.contracts.manifest import Manifest
from core.contracts.model import LABEL, Pictures
from core.store import cutting
from core.training.data.shuffle_buffer import ShuffleBuffer
from core.training.data.stream import Table, open_stream
from tests.shards import listed_run, put

COLOURS = {"blue": (0, 0, 255), "green": (0, 255, 0), "red": (255, 0, 0)}


def idx(folder: Path, count: int, side: int = 4, ending: str = "") -> list[tuple[int, bytes]]:
    """MNIST's two files with pictures by chance; what is in them."""
    chance = random.Random(count)
    found = [(chance.randrange(5), chance.randbytes(side * side)) for _ in range(count)]
    sizes = b"".join(number.to_bytes(4, "big") for number in (0x803, count, side, side))
    contents = {
        f"train-images-idx3-ubyte{ending}": sizes + b"".join(pixels for _, pixels in found),
        f"train-labels-idx1-ubyte{ending}": (0x801).to_bytes(4, "big")
        + count.to_bytes(4, "big")
        + bytes(n for n, _ in found),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(gzip.compress(content) if ending else content)
    return found


def coloured(folder: Path, each: int, size: tuple[int, int] = (6, 5)) -> None:
    """A folder for each colour, with pictures that are nearly of it."""
    chance = random.Random(each)
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            picture = Image.new("RGB", size, colour)
            picture.putpixel((number % size[0], chance.randrange(size[1])), tuple(chance.randbytes(3)))
            picture.save(folder / name / f"{number}.png")


def new(place: Path, data: Path, *arguments: str) -> Manifest:
    out = data.with_suffix(".toml")
    assert cli.main(["run", "new", str(place), "--data-dir", str(data), "--out", str(out), "--yes", *arguments]) == 0
    return manifests.load(str(out))


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_mnists_files_become_shards_of_whole_samples(ending: str, tmp_path: Path) -> None:
    samples = idx(tmp_path / "in", 3000, ending=ending)
    found = picture_files.find(tmp_path / "in")
    assert found and found.pictures == Pictures(4, 4, 1, ("0", "1", "2", "3", "4"))
    (out := tmp_path / "out").mkdir()
    survey = cutting.survey(found.source)
    written = cutting.write(found.source, survey, out)
    size = LABEL + 16
    rows = []
    for shard in written:
        content = (out / shard.sha256).read_bytes()
        assert len(content) % size == 0
        rows += [(content[at + 1], content[at + LABEL : at + size]) for at in range(0, len(content), size)]
    assert Counter(rows) == Counter(samples)
    assert 250 <= survey.held_out <= 350


def test_folders_are_classes_and_pictures_are_brought_to_one_size(tmp_path: Path) -> None:
    coloured(tmp_path / "in", 20)
    found = picture_files.find(tmp_path / "in")
    assert found and found.pictures == Pictures(6, 5, 3, ("blue", "green", "red")) and found.number == 60
    Image.new("L", (90, 70), 200).save(tmp_path / "in" / "red" / "large.png")
    found = picture_files.find(tmp_path / "in")
    assert found and (found.pictures.width, found.pictures.height, found.pictures.channels) == (32, 32, 3)
    assert {len(sample) for sample in found.source.read()} == {LABEL + 32 * 32 * 3}


def test_the_same_picture_is_kept_once_also_in_another_class(tmp_path: Path) -> None:
    coloured(tmp_path / "in", 10)
    for name in ("copy.png", "again.png"):
        (tmp_path / "in" / "blue" / name).write_bytes((tmp_path / "in" / "red" / "3.png").read_bytes())
    found = picture_files.find(tmp_path / "in")
    assert found
    assert cutting.survey(found.source).duplicates == 2


def test_a_run_of_folders_learns_what_is_what(tmp_path: Path) -> None:
    coloured(tmp_path / "in", 300)
    manifest = new(tmp_path / "in", tmp_path / "data")
    assert (manifest.data, manifest.model.kind, manifest.task.name) == ("pictures", "ffn_dmoe", "pictures")
    assert manifest.ends == (6 * 5 * 3, 3)
    stream = open_stream(manifest, tmp_path / "data" / "runs" / manifest.run_id)
    part = stream[0]
    assert part.inputs.shape == (32, 90) and float(part.inputs.max()) == 1.0
    mean = part.inputs.view(32, 30, 3).mean(1)
    assert torch.equal(mean.argmax(1), 2 - part.labels), "blue is the first class and the last channel"
    assert set(stream.held_out.labels.tolist()) == {0, 1, 2} and 60 <= len(stream.held_out.labels) <= 120


def test_many_are_mixed_as_they_come_and_for_vc_asgd_all_are_here(tmp_path: Path) -> None:
    idx(tmp_path / "in", 20_000, 8)
    manifest = new(tmp_path / "in", tmp_path / "data")
    folder = tmp_path / "data" / "runs" / manifest.run_id
    stream = open_stream(manifest, folder)
    assert isinstance(stream, ShuffleBuffer)
    dealt = new(tmp_path / "in", tmp_path / "dealt", "--template", "vc-asgd")
    assert (dealt.model.kind, dealt.strategy) == ("mlp", "vc_asgd")
    table = open_stream(dealt, tmp_path / "dealt" / "runs" / dealt.run_id)
    assert isinstance(table, Table) and table.train.inputs.dtype is torch.uint8
    for part in (stream[0], table[0]):
        assert part.inputs.dtype is torch.float32 and part.labels.max() < 5
    assert torch.equal(table[7].inputs, table[7].inputs) and table.samples == 18_000


def test_samples_of_no_class_are_left_out_whoever_made_the_shards(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "x"
    good, bad = b"\x00\x01" + bytes(16), b"\x00\x07" + bytes(16)
    base = new(_idx(tmp_path / "in"), tmp_path / "data")
    contents = [bytes([0, n % 2, n]) + bytes(15) + (good + bad) * 20 for n in range(15)]
    manifest = _with(base, listed_run(put(folder, contents), folder))
    stream = open_stream(manifest, folder)
    assert isinstance(stream, ShuffleBuffer)
    labels = Counter(label for number in range(20) for label in stream[number].labels.tolist())
    assert labels.keys() == {0, 1}
    nothing = [bad * (20 + n) for n in range(15)]
    with pytest.raises(ManifestError, match="no pictures held out"):
        open_stream(_with(base, listed_run(put(folder, nothing), folder)), folder)
    with pytest.raises(DataError, match="No part of the run's data"):
        open_stream(_with(base, listed_run(put(folder, [*nothing, good * 9]), folder)), folder)[0]


def _idx(folder: Path) -> Path:
    idx(folder, 400)
    return folder


def _with(base: Manifest, listed: Manifest) -> Manifest:
    pictures = Pictures(4, 4, 1, ("no", "yes"))
    return msgspec.structs.replace(base, shard_list=listed.shard_list, pictures=pictures)


def test_a_manifest_says_what_its_pictures_are_and_only_then(tmp_path: Path) -> None:
    new(_idx(tmp_path / "in"), tmp_path / "data")
    fields = tomllib.loads((tmp_path / "data.toml").read_text())
    for change, said in (
        ({"pictures": None}, "does not say which"),
        ({"data": "digits"}, "its data are none"),
        ({"pictures": {**fields["pictures"], "width": 5000}}, "pictures.width"),
        ({"pictures": {**fields["pictures"], "classes": ["one"]}}, "pictures.classes"),
    ):
        with pytest.raises(ManifestError, match=said):
            manifests.decode(msgspec.json.encode({**fields, **change}), "m")
    one, other = (manifests.decode(msgspec.json.encode(each), "m").run_id for each in (fields, _renamed(fields)))
    assert one != other, "another class is another run"


def _renamed(fields: dict[str, object]) -> dict[str, object]:
    pictures = fields["pictures"]
    assert isinstance(pictures, dict)
    return {**fields, "pictures": {**pictures, "classes": [*pictures["classes"][:-1], "other"]}}


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    assert picture_files.find(tmp_path) is None and picture_files.find(tmp_path / "nothing") is None
    coloured(tmp_path / "in", 3)
    (tmp_path / "in" / "red" / "x.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"x\.png is not a picture"):
        found = picture_files.find(tmp_path / "in")
        assert found
        cutting.survey(found.source)
    (tmp_path / "one" / "only").mkdir(parents=True)
    Image.new("L", (4, 4)).save(tmp_path / "one" / "only" / "a.png")
    with pytest.raises(DataError, match=r"are in one folder, .* nothing to tell apart"):
        picture_files.find(tmp_path / "one")
    idx(tmp_path / "short", 100)
    images = tmp_path / "short" / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-5])
    with pytest.raises(DataError, match="is damaged"):
        found = picture_files.find(tmp_path / "short")
        assert found
        cutting.survey(found.source)
    (tmp_path / "short" / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError, match="no file of labels"):
        picture_files.find(tmp_path / "short")


@pytest.mark.parametrize("template", [[], ["--template", "pictures"]])
def test_pictures_without_folders_are_of_no_class(
    template: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coloured(tmp_path / "in", 2)
    arguments = ["--data-dir", str(tmp_path / "data"), "--out", str(tmp_path / "x.toml"), "--yes", *template]
    assert cli.main(["run", "new", str(tmp_path / "in" / "red"), *arguments]) == DataError.exit_code
    assert "into a folder of its own" in capsys.readouterr().err


def test_pictures_are_no_texts_for_a_template_that_reads_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coloured(tmp_path / "in", 2)
    arguments = ["--data-dir", str(tmp_path / "data"), "--out", str(tmp_path / "x.toml"), "--yes"]
    assert cli.main(["run", "new", str(tmp_path / "in"), *arguments, "--template", "decoder"]) == DataError.exit_code
    assert "no texts in" in (said := capsys.readouterr().err) and "for the template decoder" in said
