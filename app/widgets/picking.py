"""Charts of which one part at a time is chosen, by the mouse or by the arrow keys, and told in words."""

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from app.formats import tip


class Picking(QWidget):
    """The base of these charts; their parts are numbered. As it is, nothing can be chosen."""

    picked = Signal(str)
    """Words about the part under the mouse or the keyboard; "" for none."""

    def __init__(self) -> None:
        super().__init__()
        self.setMouseTracking(True)
        self.at: int | None = None
        """The chosen part."""

    def describe(self) -> str:
        """All of it in words."""
        raise NotImplementedError

    def words(self, at: int) -> str:
        """A part in words."""
        raise NotImplementedError

    def _under(self, place: QPointF) -> int | None:
        """The part at a place of the widget."""
        return None

    def _start(self) -> int | None:
        """The part that is chosen when the focus comes by keyboard, or before the first key."""
        return None

    def _beside(self, at: int, key: Qt.Key) -> int | None:
        """Where a key leads to from a part; `at` at an edge, None for a key that chooses nothing."""
        return None

    def _pick(self, at: int | None) -> None:
        if at != self.at:
            self.at = at
            self._tell()
            self.update()

    def _tell(self) -> None:
        words = "" if self.at is None else self.words(self.at)
        self.setToolTip(tip(words))
        self.setAccessibleDescription(words or self._whole())
        self.picked.emit(words)

    def _retell(self) -> None:
        """The figures are other ones now."""
        if self.at is None:
            self.setAccessibleDescription(self._whole())
        else:
            self._tell()

    def _whole(self) -> str:
        """What a screen reader tells while no part is chosen."""
        return self.describe()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._pick(self._under(event.position()))
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._pick(None)
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        if self.at is None and event.reason() != Qt.FocusReason.MouseFocusReason:
            self._pick(self._start())
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._pick(None)
        super().focusOutEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        here = self._start() if self.at is None else self.at
        to = None if here is None else self._beside(here, Qt.Key(event.key()))
        if to is None:
            super().keyPressEvent(event)
        else:
            self._pick(to)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.words(to)))


def beside(at: int, key: Qt.Key, columns: int, count: int) -> int | None:
    """Where a key leads to among cells that stand row by row.

    Args:
        at: the cell that is left.
        key: one of the arrow keys, Home or End.
        columns: cells of a row.
        count: all cells.

    Returns:
        `at` itself at an edge; None for another key.
    """
    before, after = at % columns, columns - 1 - at % columns
    steps = {Qt.Key.Key_Left: -min(1, before), Qt.Key.Key_Right: min(1, after)}
    steps |= {Qt.Key.Key_Home: -before, Qt.Key.Key_End: after}
    if count > columns:
        steps |= {Qt.Key.Key_Up: -columns, Qt.Key.Key_Down: columns}
    if key not in steps:
        return None
    to = at + steps[key]
    return to if 0 <= to < count else at
