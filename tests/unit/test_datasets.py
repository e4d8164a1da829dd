"""The digits, and pictures of digits as somebody draws or scans them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError, PictureError
from core.training.data import digits as handwritten
from core.training.data.stream import Part, Stream, Table, open_stream
from core.training.tasks.picture import picture_to_input

if TYPE_CHECKING:  # every process that runs tests imports this module: two seconds in each
    from sklearn.svm import SVC


@pytest.fixture(scope="module")
def digits() -> tuple[Part, Part]:
    return handwritten.read()


def stream(batch: int = 32, seed: int = 5) -> Table:
    """The digits as they are; the run's own stream varies them."""
    return Table(*handwritten.read(), 10, batch, seed)


def varied(batch: int = 32, seed: int = 5) -> Stream:
    manifest = manifests.load("digits")
    training = msgspec.structs.replace(manifest.training, batch=batch, seed=seed)
    return open_stream(msgspec.structs.replace(manifest, training=training))


@pytest.fixture(scope="module")
def reader() -> SVC:
    """A quick stand-in for the network, trained on the same batches."""
    from sklearn.svm import SVC

    batches = varied(1437, seed=0)
    inputs, labels = (torch.cat(parts) for parts in zip(*(batches[number] for number in range(5)), strict=True))
    return SVC(C=5, gamma=1.0).fit(inputs.numpy(), labels.numpy())


def test_the_digits_are_scikit_learns_with_360_held_out(digits: tuple[Part, Part]) -> None:
    from sklearn.datasets import load_digits

    train, held_out = digits
    assert (train.inputs.shape, held_out.inputs.shape) == ((1437, 64), (360, 64))
    reference = load_digits()
    inputs, labels = torch.cat([train.inputs, held_out.inputs]), torch.cat([train.labels, held_out.labels])
    found = torch.cat([inputs * 16, labels[:, None]], dim=1).tolist()
    expected = torch.cat([torch.tensor(reference.data), torch.tensor(reference.target)[:, None]], dim=1).tolist()
    assert sorted(found) == sorted(expected)
    assert sorted(set(held_out.labels.tolist())) == list(range(10))


def test_the_split_is_the_same_every_time(digits: tuple[Part, Part]) -> None:
    torch.manual_seed(123)
    assert torch.equal(handwritten.read()[1].inputs, digits[1].inputs)


def test_loading_the_digits_does_not_import_scikit_learn() -> None:
    program = "import sys; from core.training.data import digits; digits.read(); print('sklearn' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "False"


def test_an_unknown_data_set_names_those_that_exist() -> None:
    with pytest.raises(ManifestError, match=r"'faces'.*digits"):
        open_stream(msgspec.structs.replace(manifests.load("digits"), data="faces"))


def test_batches_are_a_function_of_their_number_and_cover_every_epoch() -> None:
    batches, again = stream(), stream()
    numbers = [0, 43, 44, 45, 7, 100]
    for number in reversed(numbers):
        assert torch.equal(again[number].inputs, batches[number].inputs)
    epoch = torch.cat([batches[number].inputs for number in range(44)])
    assert len(torch.unique(epoch, dim=0)) >= 1400, "a sample came twice in one pass over the data"
    assert not torch.equal(batches[0].labels, batches[44].labels)
    assert not torch.equal(batches[0].labels, stream(seed=6)[0].labels)


def test_training_digits_are_varied_a_little() -> None:
    found = varied()[3].inputs
    assert torch.equal(found, varied()[3].inputs)
    change = (found - stream()[3].inputs).abs().mean()
    assert 0.01 < float(change) < 0.15
    assert float(found.min()) >= 0
    assert float(found.max()) <= 1


def enlarged(digit: Tensor, side: int, box: int, top: int, left: int, mode: str = "nearest") -> Tensor:
    """A picture of `side` pixels with the 8x8 digit drawn `box` pixels large somewhere in it."""
    picture = torch.zeros(side, side)
    image = functional.interpolate(digit.view(1, 1, 8, 8), size=(box, box), mode=mode)[0, 0]
    picture[top : top + box, left : left + box] = image
    return (picture * 255).round().to(torch.uint8)


@pytest.mark.parametrize(
    ("side", "box", "top", "left", "mode"),
    [
        (64, 64, 0, 0, "nearest"),
        (200, 104, 13, 71, "nearest"),
        (200, 160, 30, 5, "bilinear"),
        (28, 20, 4, 4, "bilinear"),
    ],
)
def test_pictures_of_held_out_digits_are_as_readable_as_the_digits(
    digits: tuple[Part, Part], reader: SVC, side: int, box: int, top: int, left: int, mode: str
) -> None:
    truth = digits[1].labels.numpy()
    seen = torch.stack([picture_to_input(enlarged(x, side, box, top, left, mode)) for x in digits[1].inputs])
    accuracy = float((reader.predict(digits[1].inputs.numpy()) == truth).mean())
    assert accuracy > 0.98
    assert float((reader.predict(seen.numpy()) == truth).mean()) > accuracy - 0.02


def one(width: int, slant: float = 0.0, side: int = 200) -> Tensor:
    """A vertical stroke of the pen, `width` pixels wide, leaning by `slant` pixels a row."""
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    stroke = ((x - side / 2 - slant * (y - side / 2)).abs() < width / 2) & (y > 20) & (y < side - 20)
    return stroke.to(torch.uint8) * 255


def test_the_width_and_the_slant_of_the_stroke_do_not_matter() -> None:
    usual = picture_to_input(one(40))
    for picture in (one(3), one(12), one(80), one(40, slant=0.4), one(40, slant=-0.4), one(4, slant=0.5)):
        seen = picture_to_input(picture)
        assert seen.shape == (64,)
        assert float((seen - usual).abs().mean()) < 0.12
        assert 0.15 < float(seen.mean()) < 0.4


def test_faint_grey_ink_and_paper_that_is_not_quite_white_are_read_alike() -> None:
    clean = picture_to_input(one(40))
    faint = (one(40).float() * 0.4).to(torch.uint8)
    dirty = torch.clamp(one(40).float() + torch.rand(200, 200) * 20, max=255).to(torch.uint8)
    torch.testing.assert_close(picture_to_input(faint), clean, atol=0.02, rtol=0)
    torch.testing.assert_close(picture_to_input(dirty), clean, atol=0.1, rtol=0)


@pytest.mark.parametrize("shape", [(1, 1), (1, 256), (256, 1), (2, 3), (256, 256)])
def test_any_size_with_ink_gives_64_numbers_from_0_to_1(shape: tuple[int, int]) -> None:
    for picture in (torch.full(shape, 255, dtype=torch.uint8), torch.zeros(shape, dtype=torch.uint8)):
        picture[shape[0] // 2, shape[1] // 2] = 200
        seen = picture_to_input(picture)
        assert seen.shape == (64,)
        assert bool(seen.isfinite().all())
        assert 0 <= float(seen.min()) <= float(seen.max()) <= 1


def test_fine_ink_far_apart_is_read_like_any_other() -> None:
    picture = torch.zeros(128, 128, dtype=torch.uint8)
    picture[0, 0] = picture[127, 127] = 255
    seen = picture_to_input(picture)
    assert seen.isfinite().all() and 0 < float(seen.max()) <= 1


def test_an_empty_picture_is_refused_in_words() -> None:
    for picture in (torch.zeros(50, 50), torch.full((50, 50), 9), torch.zeros(0, 0)):
        with pytest.raises(PictureError, match="empty"):
            picture_to_input(picture.to(torch.uint8))
