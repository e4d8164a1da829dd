"""The app's icon as the files that systems want, painted when a package is built."""

import os
from collections.abc import Iterable
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter

from app.tray.tray_icons import paint_app_icon

PNG = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ICO = (16, 20, 24, 32, 40, 48, 64, 256)
ICNS = (16, 32, 64, 128, 256, 512, 1024)
"""Pixels."""
MARGIN = 0.1
"""Of the side, which macOS' icons leave free at each edge."""


def write_pngs(folder: Path) -> None:
    """As Linux has them: a folder for each size.

    Args:
        folder: of a theme.
    """
    for image in _painted(PNG):
        path = folder / f"{image.width}x{image.width}" / "apps" / "hearth.png"
        path.parent.mkdir(parents=True)
        image.save(path)


def write_ico(path: Path) -> None:
    """For Windows.

    Args:
        path: the file.
    """
    *others, largest = _painted(ICO)
    largest.save(path, sizes=[(side, side) for side in ICO], append_images=others)


def write_icns(path: Path) -> None:
    """For macOS.

    Args:
        path: the file.
    """
    *others, largest = _painted(ICNS, MARGIN)
    largest.save(path, append_images=others)


def _painted(sides: Iterable[int], margin: float = 0.0) -> list[Image.Image]:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    _app = QGuiApplication.instance() or QGuiApplication([])
    found = []
    for side in sides:
        image = QImage(side, side, QImage.Format.Format_RGBA8888)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        free = round(side * margin)
        paint_app_icon(painter, QRectF(free, free, side - 2 * free, side - 2 * free))
        painter.end()
        found.append(Image.frombytes("RGBA", (side, side), bytes(image.constBits())))
    return found
