"""The window's cards, labels, bars and pills. All take their colours from `theme()` when they paint."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLabel,
    QSizePolicy,
    QWidget,
)

from app import theme as look
from app.formats import NONE, tip
from app.icons import Icon, placed, rounded, smooth
from app.theme import theme
from app.widgets.boxes import STRETCH, add, grid_box, hbox, items_of, vbox
from app.widgets.buttons import Button


class Label(QLabel):
    """Text in a type role and a tone.

    Args:
        role: key of `app.theme.TYPE`.
        tone: one of `app.theme.TONES`.
        wrap: break lines.
        tabular: figures of one width, for those that change in columns.
        selectable: for values that one copies.
        align: where it stands in a larger room.
    """

    def __init__(
        self,
        text: str = "",
        role: str = "body",
        tone: str = "text",
        *,
        wrap: bool = False,
        tabular: bool = False,
        selectable: bool = False,
        align: Qt.AlignmentFlag | None = None,
    ) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(theme().font(role, tabular))
        theme().set_tone(self, tone)
        self.setWordWrap(wrap)
        if align is not None:
            self.setAlignment(align)
        if selectable:
            self.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )

    def setText(self, text: str) -> None:
        if text != self.text():
            super().setText(text)


class ElidedLabel(Label):
    """One line that is shortened in the middle where it does not fit; the whole text is its tooltip."""

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(40), super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        full = self.text()
        shown = self.fontMetrics().elidedText(full, Qt.TextElideMode.ElideMiddle, self.width())
        self.setToolTip(tip(full) if shown != full else "")
        painter = QPainter(self)
        painter.setFont(self.font())
        painter.setPen(theme().color(self.property("tone")))
        painter.drawText(self.rect(), int(self.alignment() | Qt.AlignmentFlag.AlignVCenter), shown)


class Divider(QWidget):
    """A horizontal hairline."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), theme().color("border"))


class Panel(QFrame):
    """A rounded surface with a hairline border; `fill` and `border` are colour roles ("" for none)."""

    def __init__(self, fill: str = "surface", border: str = "border", radius: float = look.RADIUS_CARD) -> None:
        super().__init__()
        self.fill, self.border, self._radius = fill, border, radius

    def paintEvent(self, event: QPaintEvent) -> None:
        edge = theme().color(self.border) if self.border else None
        rounded(smooth(self), QRectF(self.rect()), self._radius, theme().color(self.fill), edge)


class Pair(QWidget):
    """Two widgets side by side that stack where they do not fit so.

    Args:
        stretch: how they share the room.
        early: they also stack where the page is narrow (see `Page.set_narrow`).
        spacing: between them, pixels.
    """

    def __init__(
        self,
        left: QWidget,
        right: QWidget,
        stretch: tuple[int, int] = (1, 1),
        *,
        early: bool = True,
        spacing: int = look.CARD_GAP,
    ) -> None:
        super().__init__()
        self._early, self._narrow, self._spacing = early, False, spacing
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.addWidget(left, stretch[0])
        self._row.addWidget(right, stretch[1])

    def set_narrow(self, narrow: bool) -> None:
        self._narrow = narrow and self._early
        self._place()

    def minimumSizeHint(self) -> QSize:
        return QSize(max(self._least()), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()  # what is in it may need more room now
        return super().event(event)

    def _least(self) -> list[int]:
        return [item.minimumSize().width() for item in items_of(self._row)]

    def _place(self) -> None:
        least = self._least()
        spacing = self._spacing if min(least) else 0  # one that is empty needs no distance
        if spacing != self._row.spacing():  # which has the layout done anew, and so this called again, for ever
            self._row.setSpacing(spacing)
        stacked = self._narrow or self.width() < sum(least) + spacing
        directions = QBoxLayout.Direction
        self._row.setDirection(directions.TopToBottom if stacked else directions.LeftToRight)


class Card(Panel):
    """A titled panel; put its content into `body`, more of its head into `head`.

    Args:
        title: sentence case, no full stop.
        link: text of the one link at the right of the head, "" for none.
    """

    link_clicked = Signal()

    def __init__(self, title: str, link: str = "") -> None:
        super().__init__()
        horizontal, vertical = look.CARD_PADDING
        outer = vbox(spacing=look.XS, margins=(horizontal, vertical - look.XS, horizontal, vertical), within=self)
        self.title, more = Label(title, "head"), QWidget()
        self.head = hbox(spacing=look.S, within=more)
        self.head.addStrut(theme().px(24))
        self.head.addStretch(1)
        if link:
            button = Button(link, "link", icon="chevron-right", icon_after=True, clicked=self.link_clicked)
            self.head.addWidget(button)
        outer.addWidget(Pair(self.title, more, (0, 1), early=False, spacing=look.S))
        self.body = vbox(spacing=look.S)
        outer.addLayout(self.body, 1)
        self.setAccessibleName(title)


class StaleCard(Card):
    """A card that can mark its figures as old."""

    def __init__(self, title: str, link: str = "") -> None:
        super().__init__(title, link)
        self._since = Label("", "cap", "text3")
        self._since.setVisible(False)
        self.head.insertWidget(1, self._since)
        self.values: list[Label] = []
        """What turns grey then."""

    def set_stale(self, since: str) -> None:
        self._since.setText(since)
        self._since.setVisible(bool(since))
        for label in self.values:
            theme().set_tone(label, "text3" if since else "text")


class Facts(Card):
    """A card of statements: an icon, a sentence in short, and what is meant by it."""

    def __init__(self, title: str, tone: str, facts: list[tuple[str, str, str]]) -> None:
        """A card with all statements.

        Args:
            title: of the card.
            tone: of the icons.
            facts: of each statement its icon, short form and explanation.
        """
        super().__init__(title)
        grid = grid_box(look.M, look.M, stretch={1: 1})
        for row, (icon, short, words) in enumerate(facts):
            texts = vbox(Label(short, "strong", wrap=True), Label(words, "body", "text2", wrap=True), spacing=2)
            grid.addWidget(Icon(icon, tone, 20), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addLayout(texts, row, 1)
        add(self.body, grid, STRETCH)


LEAST_SHARE, SLIVER = 0.001, 2.0
"""A share that is told as 0.0% has no bar; the others have at least so many pixels."""


class Bar(QWidget):
    """A share from 0 to 1 as a bar; the figure stands beside it as text.

    Args:
        tone: colour role of the filled part ("ember_fill" for this PC, "text2" for what is neutral).
    """

    def __init__(self, tone: str = "ember_fill", height: int = 5) -> None:
        super().__init__()
        self._tone, self._value = tone, 0.0
        self.setFixedHeight(theme().px(height))
        self.setMinimumWidth(theme().px(48))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_value(self, value: float, tone: str | None = None) -> None:
        value, tone = min(1.0, max(0.0, value)), tone or self._tone
        if (value, tone) != (self._value, self._tone):
            self._value, self._tone = value, tone
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = smooth(self)
        painter.setPen(Qt.PenStyle.NoPen)
        radius = self.height() / 2
        painter.setBrush(theme().color("border"))
        painter.drawRoundedRect(QRectF(self.rect()), radius, radius)
        if self._value >= LEAST_SHARE:
            painter.setBrush(theme().color(self._tone))
            end = max(SLIVER, self.width() * self._value)
            whole = QPainterPath()
            whole.addRoundedRect(QRectF(self.rect()), radius, radius)
            painter.setClipPath(whole)  # what is less wide than its ends are round is a sliver of the bar, not a dot
            painter.drawRoundedRect(
                placed(self, QRectF(end - self.width(), 0, self.width(), self.height())), radius, radius
            )


class Pill(Panel):
    """A short remark on a soft background: icon and words, never colour alone.

    Args:
        tone: "ember", "peer", "ok", "warn", "bad" or "pause".
    """

    def __init__(self, text: str = "", tone: str = "ok", icon: str = "") -> None:
        super().__init__(f"{tone}_soft", "", theme().px(11))
        self._icon = Icon(icon or "info", tone, 14)
        self._icon.setVisible(bool(icon))
        self._label = Label(text, "cap_strong", tone)
        hbox(self._icon, self._label, spacing=look.XS, margins=(8, 3, 8, 3), within=self)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set(self, text: str, tone: str, icon: str = "") -> None:
        self._label.setText(text)
        theme().set_tone(self._label, tone)
        self._icon.setVisible(bool(icon))
        if icon:
            self._icon.set(icon, tone)
        self.fill = f"{tone}_soft"
        self.update()


class Notice(Panel):
    """A sentence that matters now, with its icon, in the place it concerns; hidden while there is none."""

    def __init__(self, tone: str = "bad", icon: str = "alert") -> None:
        super().__init__(f"{tone}_soft", "", look.RADIUS_CONTROL)
        self._look, self._icon = (icon, tone), Icon(icon, tone, 18)
        self._label = Label("", "body", "text", wrap=True)
        hbox(
            (self._icon, Qt.AlignmentFlag.AlignTop),
            (self._label, 1),
            spacing=look.S,
            margins=(look.M, look.S, look.M, look.S),
            within=self,
        )
        self.setVisible(False)

    def set_text(self, text: str, calm: bool = False) -> None:
        """Show a sentence, or nothing.

        Args:
            text: the sentence; "": nothing matters.
            calm: nothing is wrong, whatever the notice is usually about.
        """
        icon, tone = ("info", "peer") if calm else self._look
        self._icon.set(icon, tone)
        self.fill = f"{tone}_soft"
        self._label.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self.update()


class Figures(QWidget):
    """Small figures side by side.

    Args:
        figures: from where lines begin.
        spacing: between them, pixels.
    """

    def __init__(self, *figures: "Figure", spacing: int = look.XL) -> None:
        super().__init__()
        hbox(*figures, STRETCH, spacing=spacing, within=self)


class Figure(QWidget):
    """A small figure under its label; the unit stands behind it in grey."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label
        self._word = Label(label, "cap", "text2")
        self.value = Label("", "nums", tabular=True)
        self._unit = Label("", "cap", "text2")
        base = Qt.AlignmentFlag.AlignBaseline
        row = hbox((self.value, base), (self._unit, base), STRETCH, spacing=look.XS)
        vbox(self._word, row, spacing=2, within=self)
        self.set(NONE)

    def set_label(self, label: str) -> None:
        self._label = label
        self._word.setText(label)

    def set(self, value: str, unit: str = "") -> None:
        self.value.setText(value)
        self._unit.setText(unit)
        self._unit.setVisible(bool(unit))
        self.setAccessibleName(f"{self._label}: {value} {unit}".strip())
