"""Try the model: what people give it depends on the run, and so does the demonstration."""

from app.language import mark, tr
from app.pages.model.digits_demo import DigitsDemo
from app.pages.model.text_demo import TextDemo
from app.window.page import Page
from app.worker.client import WorkerClient
from core.contracts.kinds import TASKS
from core.contracts.status import CurvePoint, Status

SUBTITLES = {
    "picture": mark("The model is still in training: its answers can be wrong."),
    "text": mark("The model is still in training: it continues what you type, byte by byte."),
    "nothing": mark("The model learns to tell pictures of its own apart. It cannot be tried yet."),
}


class ModelPage(Page):
    """Shows the demonstration that fits the run's model."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__("model", tr("Try the model"), "model", tr(SUBTITLES["picture"]))
        self.digits, self.text = DigitsDemo(client), TextDemo(client)
        self._demos: dict[str, DigitsDemo | TextDemo] = {"picture": self.digits, "text": self.text}
        for demo in self._demos.values():
            self.body.addWidget(demo, 1)
        self._takes = "picture"
        self.text.hide()

    def update_status(self, status: Status) -> None:
        takes = TASKS[status.task].takes
        if takes != self._takes:
            self._takes = takes
            self.subtitle.setText(tr(SUBTITLES[takes]))
            for taken, demo in self._demos.items():
                demo.setVisible(taken == takes)
        if takes in self._demos:
            self._demos[takes].update_status(status)

    def update_curve(self, points: list[CurvePoint]) -> None:
        self.text.update_curve(points)

    def set_connected(self, connected: bool, sentence: str) -> None:
        for demo in self._demos.values():
            demo.set_connected(connected, sentence)
