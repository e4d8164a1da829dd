"""The picture that an organiser has put into a run's manifest."""

from PySide6.QtCore import QBuffer, QByteArray, Qt
from PySide6.QtGui import QImage, QImageReader, QPixmap
from PySide6.QtWidgets import QLabel

from app.language import tr
from app.theme import theme
from core.contracts.run_details import RunDetails

SIDE = 64
"""Pixels that it takes at most."""
MOST_SIDE = 1024
"""Of the picture as it came."""


class RunPicture(QLabel):
    """Not seen while there is none."""

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName(tr("Picture of the run"))
        self.hide()

    def show_run(self, run: RunDetails) -> None:
        """Show that of a run."""
        image = unpacked(run.manifest.picture or b"")
        ratio = self.devicePixelRatioF()
        side = round(theme().px(SIDE) * ratio)
        kept, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        shown = QPixmap() if image.isNull() else QPixmap.fromImage(image.scaled(side, side, kept, smooth))
        shown.setDevicePixelRatio(ratio)
        self.setPixmap(shown)
        self.setVisible(not shown.isNull())


def unpacked(content: bytes) -> QImage:
    """A PNG or JPEG; a null picture if it is none or a large one, which is known before it is unpacked."""
    data = QByteArray(content)
    buffer = QBuffer(data)
    reader = QImageReader(buffer)
    kind = bytes(reader.format().data())
    size = reader.size()
    if kind not in (b"png", b"jpeg") or not size.isValid() or max(size.width(), size.height()) > MOST_SIDE:
        return QImage()
    return reader.read()
