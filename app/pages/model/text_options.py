"""How a text is written: temperature and length, and, folded away, what few people change."""

from PySide6.QtWidgets import QWidget

from app import theme as look
from app.formats import number, percent
from app.language import tr
from app.pages.model.unit_words import UnitWords
from app.widgets.basics import Label
from app.widgets.boxes import STRETCH, grid_box, hbox, vbox
from app.widgets.buttons import Button
from app.widgets.inputs import Field, NumberField, Slider
from core.contracts.control import GenerateParams, Said

LENGTHS, LENGTH = (10, 2000), 200
"""Bytes or tokens."""
COLDEST, HOTTEST, TENTHS = 0, 20, 7
"""The temperature, in tenths."""
TWENTIETHS = 20
"""Of top-p: that many are all."""
STOP = 256
"""Characters."""
ANY_SEED, SEEDS = -1, 2**31 - 1


class TextOptions(QWidget):
    """The controls.

    Args:
        words: of what the model writes one by one.
        go: the button that begins; it stands at the end of their first part.
    """

    def __init__(self, words: UnitWords, go: Button) -> None:
        super().__init__()
        self.temperature = Slider(tr("Temperature"), COLDEST, HOTTEST, TENTHS, lambda tenths: number(tenths / 10, 1))
        self.length, self.seed, self.stop = NumberField(), NumberField(), Field()
        self.top_p = Slider(tr("Top-p"), 1, TWENTIETHS, TWENTIETHS, lambda part: percent(part / TWENTIETHS, 0))
        self.more = Button(tr("More"), "link", "chevron-right", icon_after=True, clicked=self._fold)
        self._folded = QWidget()
        self._name_all(words)
        warmth = hbox(
            Label(tr("Temperature"), "body", "text2"), (self.temperature, 1), self.temperature.figure, spacing=look.M
        )
        length = hbox(Label(tr("Length"), "body", "text2"), self.length, STRETCH, go, spacing=look.M)
        grid = grid_box(look.M, look.S, stretch={1: 1}, within=self._folded)
        top = hbox((self.top_p, 1), self.top_p.figure, spacing=look.M)
        seldom = {tr("Top-p"): top, tr("Stop text"): hbox(self.stop), tr("Seed"): hbox(self.seed, STRETCH)}
        for row, (name, control) in enumerate(seldom.items()):
            grid.addWidget(Label(name, "body", "text2"), row, 0)
            grid.addLayout(control, row, 1)
        self._folded.hide()
        vbox(warmth, length, hbox(self.more, STRETCH), self._folded, spacing=look.S, within=self)

    def _name_all(self, words: UnitWords) -> None:
        self.length.setRange(*LENGTHS)
        self.length.setSingleStep(50)
        self.length.setValue(LENGTH)
        self.length.setSuffix(f" {tr(words.units)}")
        self.length.setAccessibleName(tr(words.length))
        self.stop.setMaxLength(STOP)
        self.stop.setPlaceholderText(tr("None", about="no text"))
        self.stop.setAccessibleName(tr("Stop text"))
        self.seed.setRange(ANY_SEED, SEEDS)
        self.seed.setValue(ANY_SEED)
        self.seed.setSpecialValueText(tr("Another each time"))
        self.seed.setAccessibleName(tr("Seed"))
        tips = {
            self.temperature: tr(words.temperature),
            self.top_p: tr(words.top_p),
            self.stop: tr("The text ends before this one. Write \\n for a new line."),
            self.seed: tr("The same seed and prompt give the same text again, as long as the model stays the same."),
        }
        for control, told in tips.items():
            control.setToolTip(told)
            control.setAccessibleDescription(told)

    @property
    def shows_all(self) -> bool:
        """Whether nothing is folded away."""
        return not self._folded.isHidden()

    def params(self, prompt: str, messages: tuple[Said, ...], run: str | None) -> GenerateParams:
        """What the worker is asked.

        Args:
            prompt: what is continued; "" in a conversation.
            messages: the conversation.
            run: whose model.
        """
        stop, seed = self.stop.text().replace("\\n", "\n"), self.seed.value()
        return GenerateParams(
            prompt,
            self.length.value(),
            self.temperature.value() / 10,
            None if seed == ANY_SEED else seed,
            run,
            self.top_p.value() / TWENTIETHS,
            (stop,) if stop else (),
            messages,
        )

    def _fold(self) -> None:
        self._folded.setVisible(self._folded.isHidden())
        self.more.setText(tr("Less") if self.shows_all else tr("More"))
        self.more.set_icon("chevron-down" if self.shows_all else "chevron-right")
