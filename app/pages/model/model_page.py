"""Try the model: what people give it depends on the run, and so does the demonstration."""

from PySide6.QtCore import Signal

from app.language import mark, tr
from app.pages.model.digits_demo import DigitsDemo
from app.pages.model.model_choice import ModelChoice
from app.pages.model.text_demo import TextDemo
from app.pages.model.tried_texts import Tried, TriedTexts
from app.window.page import Page
from app.worker.client import WorkerClient
from core.contracts.kinds import TASKS
from core.contracts.status import CurvePoint, Status

SUBTITLES = {
    "picture": mark("The model is still in training: its answers can be wrong."),
    "text": mark("The model is still in training: it continues what you type, byte by byte."),
    "tokens": mark("The model is still in training: it continues what you type, token by token."),
    "talk": mark("The model is still in training: what it says can be wrong."),
    "pictures": mark("The model learns to tell pictures of its own apart. It cannot be tried yet."),
}
"""By task (`core.contracts.kinds.TASKS`), and of a model that one can talk to."""


class ModelPage(Page):
    """Shows the demonstration that fits the run's model; each run keeps its own prompt or drawing."""

    former_asked = Signal()
    """The user wants to see what was tried before."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__("model", tr("Try the model"), "model", tr(SUBTITLES["picture"]))
        self._client = client
        self.choice = ModelChoice()
        self.choice.chosen.connect(client.show_run)
        self.head.addWidget(self.choice)
        self.tried = TriedTexts(client.folder)
        self._wanted: Tried | None = None
        """To be shown as soon as its run is."""
        self._joined: set[str] = set()
        self.digits, self.text = DigitsDemo(client), self._text_demo(TASKS["text"].unit)
        self._spare: dict[str, DigitsDemo | TextDemo] = {"picture": self.digits, "text": self.text}
        """For the first run of their task."""
        self._demos: dict[str, DigitsDemo | TextDemo] = {}
        """By run."""
        self._shown: DigitsDemo | TextDemo | None = self.digits
        self._points: list[CurvePoint] = []
        for demo in self._spare.values():
            self.body.addWidget(demo, 1)
        self.body.addStretch()  # the head stays at the top where a model cannot be tried
        self.text.hide()

    def update_status(self, status: Status) -> None:
        self.choice.update_status(status)
        demo = self._demo_of(status.run_id, status.task)
        if demo is not self._shown:
            if self._shown is not None:
                self._shown.hide()
            self._shown = demo
            if demo is not None:
                demo.update_curve(self._points)
                demo.show()
        self.subtitle.setText(tr(SUBTITLES["talk" if status.chat else status.task]))
        if demo is not None:
            demo.update_status(status)
        self._joined = {status.run_id, *(run.id for run in status.runs)}
        if self._wanted is not None and self._wanted.run == status.run_id and isinstance(demo, TextDemo):
            demo.open_former(self._wanted)
            self._wanted = None

    def open_former(self, text: Tried) -> None:
        """Show a text that was tried before, with the model that it is from."""
        demo = self._demos.get(text.run)
        if isinstance(demo, TextDemo) and demo is self._shown:
            demo.open_former(text)
        else:
            self._wanted = text
            self._client.show_run(text.run)

    def can_open(self, text: Tried) -> bool:
        """Whether the model that a text is from is on this PC."""
        return text.run in self._joined

    def _text_demo(self, unit: str) -> TextDemo:
        demo = TextDemo(self._client, unit, self.tried)
        demo.former_asked.connect(self.former_asked)
        return demo

    def _demo_of(self, run: str, task: str) -> DigitsDemo | TextDemo | None:
        """A run's own; None: its model cannot be tried."""
        _, unit, _, takes = TASKS[task]
        if task not in self._spare and takes != "nothing" and run not in self._demos:
            demo = self._demos[run] = DigitsDemo(self._client) if takes == "picture" else self._text_demo(unit)
            demo.hide()
            demo.set_connected(self._client.is_connected, "")
            self.body.addWidget(demo, 1)
        elif task in self._spare and run not in self._demos:
            self._demos[run] = self._spare.pop(task)
        return self._demos.get(run)

    def update_curve(self, points: list[CurvePoint]) -> None:
        self._points = points
        if self._shown is not None:
            self._shown.update_curve(points)

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        for demo in [*self._spare.values(), *self._demos.values()]:
            demo.set_connected(connected, sentence, calm)
