"""How sure the model was of what it wrote, in words, lines and bars."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QWidget

from app import theme as look
from app.formats import percent
from app.language import tr
from app.pages.model.text_generation import Byte
from app.pages.model.unit_words import UnitWords
from app.theme import theme
from app.widgets.basics import Bar, Label
from app.widgets.boxes import grid_box, vbox
from core.contracts.control import CHOICES, Choice
from core.logs import printable

SURE, HALF_SURE = 0.8, 0.4
"""From which probability on there is no line under a character, and only a dotted one."""


def doubt(sure: float | None) -> int:
    """0: no line; 1: a dotted one; 2: a whole one.

    Args:
        sure: the probability that the model gave a character; None: not known.
    """
    return 0 if sure is None or sure >= SURE else 1 if sure >= HALF_SURE else 2


def underlined(level: int) -> QTextCharFormat:
    """How characters of a level of doubt look: lines of their own shape, not of another colour alone."""
    how, styles = QTextCharFormat(), QTextCharFormat.UnderlineStyle
    how.setUnderlineStyle((styles.NoUnderline, styles.DotLine, styles.SingleUnderline)[level])
    how.setUnderlineColor(theme().color("ember"))
    return how


def name_of(text: bytes) -> str:
    """ "“i”", "“ing”", "space", or the number of a byte that is no character by itself."""
    names = {b"": tr("end of the text"), b" ": tr("space"), b"\n": tr("new line"), b"\t": tr("tab")}
    if len(text) == 1 and not 32 < text[0] < 127:
        return names.get(text) or tr("byte {value}", value=text[0])
    shown = printable(text.decode("utf8", "replace")).replace(chr(10), "⏎")
    return names.get(text) or tr("“{sign}”", sign=shown)


def about(byte: Byte) -> str:
    """A sentence about how sure the model was and what else it found likely; "" if it is not told."""
    if byte.choice is None:
        return ""
    others = [one for one in byte.best if one.text != byte.choice.text]
    sure = tr("{share} sure", share=percent(byte.choice.share, 0))
    if not others:
        return f"{sure}."
    listed = ", ".join(f"{name_of(one.text)} {percent(one.share, 0)}" for one in others)
    return f"{sure}. {tr('Also likely: {others}.', others=listed)}"


class Likeliest(QWidget):
    """What the model found likeliest at a place, with what it wrote among them.

    Args:
        words: of what it writes one by one.
    """

    def __init__(self, words: UnitWords) -> None:
        super().__init__()
        self._words = words
        self._rows: list[tuple[Label, Bar, Label]] = []
        grid = grid_box(look.S, 2, stretch={1: 1})
        for place in range(CHOICES):
            share = Label("", "cap", tabular=True, align=Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            row = (Label("", "cap"), Bar("text2"), share)
            for column, widget in enumerate(row):
                grid.addWidget(widget, place, column, Qt.AlignmentFlag.AlignVCenter)
            row[0].setMinimumWidth(row[0].fontMetrics().horizontalAdvance(tr("new line")))
            share.setMinimumWidth(share.fontMetrics().horizontalAdvance(percent(1, 0)))
            self._rows.append(row)
        vbox(Label(tr(words.next), "body", "text2"), grid, spacing=look.XS, within=self)
        self.show_byte(None)

    def show_byte(self, byte: Byte | None) -> None:
        """Show a byte's choice; None: nothing yet."""
        choices = [] if byte is None or byte.choice is None else _with(byte.choice, byte.best)
        self.setAccessibleName(tr(self._words.next))
        self.setAccessibleDescription("" if byte is None else about(byte))
        for place, (name, bar, share) in enumerate(self._rows):
            one = choices[place] if place < len(choices) else None
            written = byte is not None and one is not None and one == byte.choice
            name.setText("" if one is None else name_of(one.text))
            share.setText("" if one is None else percent(one.share, 0))
            bar.set_value(0.0 if one is None else one.share, "ember_fill" if written else "text2")
            bar.setAccessibleName("" if one is None else f"{name.text()}: {share.text()}")
            for label in (name, share):
                theme().set_tone(label, "text" if written else "text2")
                label.setFont(theme().font("cap_strong" if written else "cap", tabular=True))


def _with(choice: Choice, best: list[Choice]) -> list[Choice]:
    """The likeliest ones, and what was written as the last of them if it is not among them."""
    if any(one.text == choice.text for one in best):
        return [choice if one.text == choice.text else one for one in best]
    return [*best[: CHOICES - 1], choice]
