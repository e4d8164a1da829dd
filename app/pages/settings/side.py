"""What stands beside the settings and does not scroll: the search, the sections, and what can be taken back."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QKeySequence, QPaintEvent, QResizeEvent, QShortcut
from PySide6.QtWidgets import QBoxLayout, QSizePolicy, QWidget

from app import theme as look
from app.colors import mix
from app.icons import placed, rounded, smooth
from app.language import tr
from app.theme import theme
from app.widgets.basics import ElidedLabel
from app.widgets.boxes import STRETCH, add, hbox, vbox
from app.widgets.buttons import Button, Toggle
from app.widgets.inputs import Choice, Field

WIDTH, ENTRY, LEAST_ENTRY, INDENT = 176, 28, 20, 12


class Entry(Toggle):
    """A section of the index; arrow keys move between them, Enter goes into the section."""

    entered = Signal()
    moved = Signal(int)
    """To the one after it, or the one before."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.setText(title)
        self.setAccessibleName(title)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)

    def sizeHint(self) -> QSize:
        bold = QFontMetrics(theme().font("head"))
        return QSize(bold.horizontalAdvance(self.text()) + theme().px(2 * INDENT), theme().px(ENTRY))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.sizeHint().width(), theme().px(LEAST_ENTRY))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            self.entered.emit()
        elif event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.moved.emit(1 if event.key() == Qt.Key.Key_Down else -1)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, painter, rect = theme(), smooth(self), QRectF(self.rect())
        if self.isChecked():
            rounded(painter, rect, look.RADIUS_CONTROL, colors.color("raised"), colors.color("border"))
            rounded(painter, placed(self, QRectF(0, self.height() / 2 - 7, 3, 14)), 1.5, colors.color("ember"))
        elif self.underMouse():
            rounded(painter, rect, look.RADIUS_CONTROL, mix(colors.color("canvas"), colors.color("text"), 0.05))
        font = QFont(colors.font("body"))
        font.setWeight(QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Normal)
        painter.setFont(font)
        painter.setPen(colors.color("text" if self.isChecked() else "text2"))
        inset = colors.px(INDENT)
        painter.drawText(placed(self, rect.adjusted(inset, 0, -2, 0)), int(Qt.AlignmentFlag.AlignVCenter), self.text())


class Side(QWidget):
    """At the side of a wide page, over a narrow one: there the sections are a drop-down list."""

    chosen = Signal(str)
    """The user chose this section."""
    entered = Signal(str)
    """They want to go on within it."""

    def __init__(self) -> None:
        super().__init__()
        self.back = Button(tr("Back to Why"), "link", "chevron-left", name=tr("Back to “Why am I running, or not?”"))
        self.back.hide()
        self.search = Field()
        self.search.setPlaceholderText(tr("Search settings"))
        self.search.setAccessibleName(tr("Search settings by label, explanation and similar words"))
        self.search.setClearButtonEnabled(True)
        words = self.search.fontMetrics().horizontalAdvance(self.search.placeholderText())
        self.search.setMinimumWidth(words + theme().px(2 * look.L))
        self.undo = Button(tr("Undo"), "plain", "undo")
        self.undoes = ElidedLabel("", "cap", "text2")
        self.folded = Choice()
        self.folded.setAccessibleName(tr("Section"))
        self.folded.activated.connect(lambda at: self.chosen.emit(self.folded.itemData(at)))
        self.entries: dict[str, Entry] = {}
        self.index = QWidget()
        self.index.setAccessibleName(tr("Sections"))
        self._index = vbox(spacing=2, within=self.index)
        top, foot = hbox(self.back, self.search, self.folded, spacing=look.S), hbox(spacing=look.S)
        self._top, self._foot = top, foot
        add(foot, self.undo, (self.undoes, 1))
        self._box = vbox(top, self.index, STRETCH, foot, spacing=look.L, within=self)
        clear = QShortcut(QKeySequence(Qt.Key.Key_Escape), self.search)
        clear.setContext(Qt.ShortcutContext.WidgetShortcut)
        clear.activated.connect(self.search.clear)
        self.show_undo("")

    def list_sections(self, sections: Sequence[tuple[str, str]]) -> None:
        """Name and title of all sections, in their order."""
        for name, title in sections:
            entry = self.entries[name] = Entry(title)
            entry.clicked.connect(lambda _=False, name=name: self._choose(name))
            entry.entered.connect(lambda name=name: self.entered.emit(name))
            entry.moved.connect(lambda step, name=name: self._move(name, step))
            self._index.addWidget(entry)
        self.show_sections(list(self.entries))
        self.fold(False)

    def show_sections(self, names: Sequence[str]) -> None:
        """Show those that hold what was searched for."""
        self.folded.clear()
        for name, entry in self.entries.items():
            entry.setVisible(name in names)
            if name in names:
                self.folded.addItem(entry.text(), name)
        if names:
            self.set_current(names[0])
            self._let_tab_reach(names[0])

    def set_current(self, name: str) -> None:
        """Mark the section that is read."""
        for one, entry in self.entries.items():
            entry.setChecked(one == name)
        self.folded.setCurrentIndex(self.folded.findData(name))

    def _let_tab_reach(self, name: str) -> None:
        """One entry is a stop of the Tab key, the one chosen last; arrow keys reach the others."""
        for one, entry in self.entries.items():
            entry.setFocusPolicy(Qt.FocusPolicy.StrongFocus if one == name else Qt.FocusPolicy.ClickFocus)

    def _move(self, name: str, step: int) -> None:
        seen = [one for one, entry in self.entries.items() if entry.isVisible()]
        to = seen[min(max(seen.index(name) + step, 0), len(seen) - 1)]
        self.entries[to].setFocus(Qt.FocusReason.OtherFocusReason)
        self._choose(to)

    def _choose(self, name: str) -> None:
        self.set_current(name)
        self._let_tab_reach(name)
        self.chosen.emit(name)

    def show_undo(self, what: str) -> None:
        """Name what can be taken back; "": nothing."""
        self.undo.setEnabled(bool(what))
        self.undo.setAccessibleName(tr("Undo: {what}", what=what) if what else tr("Undo"))
        self.undo.setToolTip(tr("Undoes: {what}", what=what) if what else "")
        self.undoes.setText(what)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """All in one row over a page that is wide enough for that."""
        directions = QBoxLayout.Direction
        least = self._top.minimumSize().width() + self._foot.minimumSize().width() + 2 * (look.L + look.PAGE_MARGIN)
        in_row = self.folded.isVisibleTo(self) and self.width() >= least
        self._box.setDirection(directions.LeftToRight if in_row else directions.TopToBottom)

    def fold(self, folded: bool) -> None:
        """Stand over the page, or at its side."""
        directions = QBoxLayout.Direction
        self.index.setVisible(not folded)
        self.folded.setVisible(folded)
        self._top.setDirection(directions.LeftToRight if folded else directions.TopToBottom)
        self._foot.setDirection(directions.LeftToRight if folded else directions.TopToBottom)
        self._place()
        policy = QSizePolicy.Policy
        self.setSizePolicy(policy.Preferred, policy.Maximum if folded else policy.Preferred)
        left = look.PAGE_MARGIN
        self._box.setContentsMargins(left, 22 if not folded else look.M, left if folded else 0, look.M)
        widest = max(entry.sizeHint().width() for entry in self.entries.values())
        wide = max(theme().px(WIDTH), widest) + left
        self.setMinimumWidth(0 if folded else wide)
        self.setMaximumWidth(16_777_215 if folded else wide)
        self.search.setMaximumWidth(theme().px(220) if folded else wide)
