"""The sidebar: the mark, the pages, and the state at its foot; a narrow rail of icons in a small window."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app import theme as look
from app.colors import mix
from app.formats import tip
from app.icons import paint_icon, paint_state, placed, rounded, smooth
from app.language import tr
from app.theme import STATE_TONE, theme
from app.tray.tray_icons import paint_app_icon
from app.widgets.basics import Divider
from app.widgets.boxes import add, hbox, scrolling, vbox
from app.widgets.buttons import Toggle
from core.contracts.status import STATE_WORD, State

WIDTH, RAIL_WIDTH = 212, 64
MARGIN = 12
CHIP_HEIGHT, CHIP_MARGIN, REASON_LINES = 72, 10, 6
"""Its least height, what is free above and below the words together, and the lines of the longest reason."""
LEAST_HEIGHT = 26
"""Of a page's row, in a low window with large text."""
COUNT_GAP = 12


class _Mark(QWidget):
    """The app icon and the name."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(theme().px(34))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        side = theme().px(28)
        left = 8.0 if self.width() > theme().px(RAIL_WIDTH) else (self.width() - side) / 2
        paint_app_icon(painter, placed(self, QRectF(left, (self.height() - side) / 2, side, side)))
        if self.width() > theme().px(RAIL_WIDTH):
            painter.setFont(theme().font("head"))
            painter.setPen(theme().color("text"))
            rect = QRectF(self.rect()).adjusted(left + side + 10, 0, 0, 0)
            painter.drawText(placed(self, rect), int(Qt.AlignmentFlag.AlignVCenter), "Hearth")


class PageButton(Toggle):
    """One page's row; in the rail only its icon, with the word as tooltip."""

    def __init__(self, title: str, icon: str) -> None:
        super().__init__()
        self._icon = icon
        self._count = ""
        self.setText(title)
        self.setAccessibleName(title)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setMinimumSize(theme().px(36), theme().px(LEAST_HEIGHT))

    def sizeHint(self) -> QSize:
        bold = QFontMetrics(theme().font("head"))
        count = QFontMetrics(theme().font("cap", tabular=True)).horizontalAdvance(self._count)
        return QSize(
            theme().px(54) + bold.horizontalAdvance(self.text()) + (count and count + COUNT_GAP), theme().px(36)
        )

    def set_count(self, count: str, meaning: str) -> None:
        """Show a figure at the end of the row; `meaning` says it to those who do not see it."""
        if count != self._count:
            self._count = count
            self.setAccessibleDescription(meaning)
            self.updateGeometry()
            self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = smooth(self)
        rail = self.width() < colors.px(RAIL_WIDTH)
        if self.isChecked():
            rounded(painter, QRectF(self.rect()), look.RADIUS_CONTROL, colors.color("raised"), colors.color("border"))
            rounded(painter, placed(self, QRectF(0, self.height() / 2 - 8, 3, 16)), 1.5, colors.color("ember"))
        elif self.underMouse():
            rounded(
                painter,
                QRectF(self.rect()),
                look.RADIUS_CONTROL,
                mix(colors.color("sidebar"), colors.color("text"), 0.05),
            )
        side = colors.px(20)
        left = (self.width() - side) / 2 if rail else 12.0
        tone = colors.color("ember" if self.isChecked() else "text2")
        paint_icon(painter, self._icon, placed(self, QRectF(left, (self.height() - side) / 2, side, side)), tone)
        self.setToolTip(self.text() if rail else "")
        if not rail:
            font = QFont(colors.font("body"))
            font.setWeight(QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Medium)
            painter.setFont(font)
            painter.setPen(colors.color("text" if self.isChecked() else "text2"))
            words = QRectF(self.rect()).adjusted(left + side + 9, 0, -4, 0)
            painter.drawText(placed(self, words), int(Qt.AlignmentFlag.AlignVCenter), self.text())
            painter.setFont(colors.font("cap", tabular=True))
            painter.setPen(colors.color("text2"))
            end = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
            painter.drawText(placed(self, QRectF(self.rect()).adjusted(0, 0, -COUNT_GAP, 0)), end, self._count)


def broken(text: str, metrics: QFontMetrics, width: int, most: int) -> list[str]:
    """A text in lines, broken between words; what does not fit into the last one is elided.

    Args:
        text: what is shown.
        metrics: of its font.
        width: of a line, pixels.
        most: lines at most.
    """
    words, lines = [word for word in text.split(" ") if word], list[str]()
    while words:
        fits = 1
        while fits < len(words) and metrics.horizontalAdvance(" ".join(words[: fits + 1])) <= width:
            fits += 1
        fits = fits if len(lines) < most - 1 else len(words)
        lines.append(metrics.elidedText(" ".join(words[:fits]), Qt.TextElideMode.ElideRight, width))
        words = words[fits:]
    return lines


class StateChip(QAbstractButton):
    """The state's glyph, word and reason at the foot of the sidebar."""

    def __init__(self) -> None:
        super().__init__()
        self._state: State | None = None
        self._reason = ""
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFixedHeight(theme().px(CHIP_HEIGHT))

    def set_state(self, state: State, reason: str) -> None:
        if (state, reason) != (self._state, self._reason):
            self._state, self._reason = state, reason
            self.setText(tr(STATE_WORD[state]))
            self.setAccessibleName(tr("State: {state}. {reason}", state=tr(STATE_WORD[state]), reason=reason))
            self.setToolTip(tip(f"{tr(STATE_WORD[state])}. {reason}"))
            self._fit()
            self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Take the height that the words need; in the rail there are none."""
        word, line = (QFontMetrics(theme().font(role)).height() for role in ("cap_strong", "micro"))
        lines = 0 if self.width() < theme().px(RAIL_WIDTH) else len(self.reason_lines())
        self.setFixedHeight(max(theme().px(CHIP_HEIGHT), word + lines * line + CHIP_MARGIN))

    def reason_lines(self) -> list[str]:
        """The reason as it is shown."""
        width = self.width() - theme().px(20) - 30
        return broken(self._reason, QFontMetrics(theme().font("micro")), width, REASON_LINES)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._state is None:
            return
        colors = theme()
        painter = smooth(self)
        tone = colors.color(STATE_TONE[self._state])
        side = colors.px(20)
        top = (self.height() - side) / 2
        if self.width() < colors.px(RAIL_WIDTH):
            paint_state(painter, self._state, QRectF((self.width() - side) / 2, top, side, side), tone)
            return
        rounded(painter, QRectF(self.rect()), look.RADIUS_CARD - 2, colors.color("surface"), colors.color("border"))
        paint_state(painter, self._state, placed(self, QRectF(12, top, side, side)), tone)
        left = 12 + side + 10
        width = self.width() - left - 8
        reason = (("micro", "text2", line) for line in self.reason_lines())
        rows = [("cap_strong", "text", tr(STATE_WORD[self._state])), *reason]
        heights = [QFontMetrics(colors.font(role)).height() for role, _, _ in rows]
        top = (self.height() - sum(heights)) // 2
        for (role, tone_of_row, words), high in zip(rows, heights, strict=True):
            painter.setFont(colors.font(role))
            painter.setPen(colors.color(tone_of_row))
            place = placed(self, QRectF(left, top, width, high))
            painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), words)
            top += high


class Sidebar(QWidget):
    """Lists the pages.

    Args:
        pages: title and icon of each, in order; a hairline stands before "Settings".
    """

    chosen = Signal(int)
    """The user chose the page with this number."""
    state_clicked = Signal()

    def __init__(self, pages: list[tuple[str, str]]) -> None:
        super().__init__()
        canvas = QWidget()
        self._area = scrolling(canvas)  # in a low window
        self._area.verticalScrollBar().rangeChanged.connect(self._set_margins)
        vbox(self._area, within=self)
        column = self._column = vbox(_Mark(), 14, spacing=2, within=canvas)
        self._set_margins()
        self.buttons: list[PageButton] = []
        for number, (title, icon) in enumerate(pages):
            if icon == "settings":
                add(column, 8, hbox(Divider(), margins=(10, 0, 10, 0)), 8)
            button = PageButton(title, icon)
            button.clicked.connect(lambda _=False, number=number: self.chosen.emit(number))
            self.buttons.append(button)
            column.addWidget(button)
        column.addStretch(1)
        self.chip = StateChip()
        self.chip.clicked.connect(self.state_clicked)
        column.addWidget(self.chip)
        self.setFixedWidth(theme().px(WIDTH))

    def _set_margins(self, low: int = 0, high: int = 0) -> None:
        # The bar takes its width from the margin, so that showing it moves nothing.
        bar = self._area.verticalScrollBar().sizeHint().width() if high > low else 0
        left, right = MARGIN, MARGIN - bar
        if self.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            left, right = right, left
        self._column.setContentsMargins(left, 13, right, 14)

    def show_button(self, number: int) -> None:
        """Scroll to a page's row."""
        self._area.ensureWidgetVisible(self.buttons[number], 0, 0)

    def set_rail(self, rail: bool) -> None:
        """Show icons only."""
        needed = max(button.sizeHint().width() for button in self.buttons) + 24
        self.setFixedWidth(theme().px(RAIL_WIDTH) if rail else max(theme().px(WIDTH), needed))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme().color("sidebar"))
        painter.fillRect(placed(self, QRectF(self.width() - 1, 0, 1, self.height())), theme().color("border"))
