"""An organiser's labelled pictures: a folder for each class, or MNIST's two files of images and labels."""

import gzip
import hashlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from PIL import Image, UnidentifiedImageError

from core.contracts.errors import DataError
from core.contracts.model import LABEL, Pictures
from core.contracts.notices import notice
from core.regular_files import open_regular
from core.store.cutting import Source

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")
IMAGES, LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"
"""In the names of MNIST's files."""
USUAL, LARGEST = 32, 64
"""Pixels along each side of pictures that have no common size, or a larger one."""
LOOKED_AT = 200
"""Pictures of which it is seen how large they are, and whether they are grey."""
HELD_OUT = 0.1
CLASSES = 1000
MOST = 5_000_000


class Found(NamedTuple):
    """Pictures that can be cut into shards."""

    source: Source
    pictures: Pictures
    number: int


def find(place: Path) -> Found | None:
    """The pictures of a folder; None: there are none.

    Raises:
        DataError: they cannot be used.
    """
    if not place.is_dir():
        return None
    # what links lead to is passed over: in a folder that came from others it may be nobody's business
    names = {path.name: path for path in place.iterdir() if not path.is_symlink()}
    images = next((path for name, path in sorted(names.items()) if IMAGES in name), None)
    if images is not None:
        labels = names.get(images.name.replace(IMAGES, LABELS))
        if labels is None:
            raise DataError(notice("data.no_labels", path=str(images)))
        return _of_idx(images, labels)
    classes = sorted(name for name, path in names.items() if path.is_dir() and not name.startswith("."))
    files = [(number, path) for number, name in enumerate(classes) for path in _files(place / name)]
    if not files:
        return None
    used = sorted({number for number, _ in files})
    if len(used) == 1:
        raise DataError(notice("data.one_class", place=str(place), name=classes[used[0]]))
    if not 2 <= len(used) <= CLASSES:
        raise DataError(notice("data.classes", n=len(used), most=CLASSES))
    files = [(used.index(number), path) for number, path in files]
    # in an order by chance that is always the same: a shard has pictures of all classes
    files.sort(key=lambda file: hashlib.sha256(f"{file[0]}/{file[1].name}".encode()).digest())
    side, channels = _form(files)
    pictures = Pictures(side[0], side[1], channels, tuple(classes[number][:64] for number in used))
    return _found(partial(_of_folders, files, pictures), pictures, len(files))


def loose(place: Path) -> int:
    """How many pictures lie in a folder itself, and so are of no class."""
    return sum(path.suffix.lower() in ENDINGS and path.is_file() for path in place.iterdir()) if place.is_dir() else 0


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(parent, name) for name in sorted(names) if Path(name).suffix.lower() in ENDINGS)
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _found(read: "partial[Iterator[bytes]]", pictures: Pictures, count: int) -> Found:
    if count > MOST:
        raise DataError(notice("data.too_many_files", most=MOST))
    return Found(Source(read, b"", HELD_OUT, LABEL + pictures.pixels, LABEL), pictures, count)


# folders


def _opened(path: Path) -> Image.Image:
    """Raises:
    DataError: it is no picture.
    """
    try:
        picture = Image.open(path)
        picture.load()
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, ValueError) as error:
        raise DataError(notice("data.bad_picture", path=str(path), why=str(error))) from error
    return picture


def _form(files: list[tuple[int, Path]]) -> tuple[tuple[int, int], Literal[1, 3]]:
    """Width and height for all, and whether they are grey (1) or in colour (3), as the first ones are."""
    sizes, grey = set(), True
    for _, path in files[:LOOKED_AT]:
        picture = _opened(path)
        sizes.add(picture.size)
        grey = grey and picture.mode in ("1", "L", "LA", "I", "I;16", "F")
    (size, *others) = sizes
    return (size if not others and max(size) <= LARGEST else (USUAL, USUAL)), 1 if grey else 3


def _of_folders(files: list[tuple[int, Path]], pictures: Pictures) -> Iterator[bytes]:
    for label, path in files:
        picture = _opened(path).convert("L" if pictures.channels == 1 else "RGB")
        if picture.size != (pictures.width, pictures.height):
            picture = picture.resize((pictures.width, pictures.height), Image.Resampling.BOX)
        yield label.to_bytes(LABEL, "big") + picture.tobytes()


# MNIST's files


def _of_idx(images: Path, labels: Path) -> Found:
    with _file(images) as file, _file(labels) as label_file:
        count, height, width = _numbers(images, file, 0x803, 3)
        (named,) = _numbers(labels, label_file, 0x801, 1)
        if count != named or count > MOST or not 0 < height <= 256 or not 0 < width <= 256:
            raise DataError(notice("data.bad_idx", path=str(images)))
        classes = max(label_file.read(count), default=0) + 1
    pictures = Pictures(width, height, 1, tuple(map(str, range(max(2, classes)))))
    return _found(partial(_of_mnist, images, labels, pictures), pictures, count)


def _of_mnist(images: Path, labels: Path, pictures: Pictures) -> Iterator[bytes]:
    with _file(images) as file, _file(labels) as label_file:
        count, *_ = _numbers(images, file, 0x803, 3)
        _numbers(labels, label_file, 0x801, 1)
        for _ in range(count):
            label, pixels = label_file.read(1), file.read(pictures.pixels)
            if len(label) < 1 or len(pixels) < pictures.pixels:
                raise DataError(notice("data.bad_idx", path=str(images)))
            yield b"\0" + label + pixels


def _file(path: Path) -> BinaryIO:
    open_regular(path).close()  # a pipe would never begin
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _numbers(path: Path, file: BinaryIO, magic: int, count: int) -> list[int]:
    """The sizes at the start of a file.

    Raises:
        DataError: it is none of MNIST's.
    """
    try:
        head = file.read(4 + 4 * count)
    except (OSError, EOFError) as error:
        raise DataError(notice("data.bad_idx", path=str(path))) from error
    if len(head) < 4 + 4 * count or int.from_bytes(head[:4], "big") != magic:
        raise DataError(notice("data.bad_idx", path=str(path)))
    return [int.from_bytes(head[4 * at : 4 * at + 4], "big") for at in range(1, count + 1)]
