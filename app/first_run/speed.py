"""The speed test: the worker measures this PC before it trains; here one waits for it and sees the figures."""

import time
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent

from app import theme as look
from app.formats import number
from app.language import at_most, mark, told, tr
from app.widgets.basics import Bar, Card, Figure, Figures, Label, Notice
from app.widgets.boxes import add, hbox, vbox
from app.widgets.buttons import Button
from app.worker.client import WorkerClient
from app.worker.supervision import Phase, Report
from core.contracts import control as wire
from core.contracts.errors import HearthError
from core.contracts.status import BenchmarkStatus, Status
from core.contracts.words import size

POLL_MS = 500
WORDS_LINES = 2
LENT_S, ENDED_S = 60.0, 0.001
"""For how long it may compute for the test although the user is here; what ends that."""
WAITING = mark("The worker is starting.")
OFFER = mark("A few seconds of computing, even while you are here. They decide how many experts this PC hosts.")


class SpeedTest(Card):
    """It begins by itself as soon as it is seen and there is a worker, unless this PC was measured before."""

    retry_asked = Signal()
    """The worker could not run; somebody wants to try again."""

    def __init__(self, client: WorkerClient) -> None:
        super().__init__(tr("Speed test"))
        self.notice = Notice()
        self._client = client
        self._status: Status | None = None
        self._began: float | None = None
        self._before: float | None = None
        self._offered = False
        """Whether it has begun by itself; a second time only the user begins it."""
        self.bar = Bar(height=8)
        self.bar.setAccessibleName(tr("Progress of the speed test"))
        self.words = Label(tr(WAITING), "body", "text2", wrap=True)
        self.start = Button(tr("Start the test"), "plain", "play", clicked=self.begin)
        self.retry = Button(tr("Try again"), "plain", "refresh", clicked=self.retry_asked)
        self.speed, self.threads, self.memory = (
            Figure(tr("One expert")),
            Figure(tr("Fastest with")),
            Figure(tr("Memory of an expert")),
        )
        self.figures = Figures(self.speed, self.threads, self.memory)
        self._device = Label("", "cap", "text2")
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._poll)
        self._build()
        self._show_words(tr(WAITING))
        client.connected.connect(self._connected)
        client.status.connect(self._take_status)

    def _build(self) -> None:
        """Room for what the test will tell, so that no card below moves meanwhile."""
        self.head.addWidget(self._device)
        self.words.setMinimumHeight(WORDS_LINES * self.words.fontMetrics().lineSpacing())
        self.words.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for part in (self.words, self.bar):
            keeps = part.sizePolicy()
            keeps.setRetainSizeWhenHidden(True)
            part.setSizePolicy(keeps)
        told = vbox(self.words, self.bar, spacing=look.XS)
        foot = hbox(self.start, self.retry, (told, 1), spacing=look.L)
        add(self.body, vbox(self.notice, self.figures, foot, spacing=look.M))
        self.retry.hide()

    @property
    def is_running(self) -> bool:
        return self._began is not None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._client.is_connected and not self.is_running:
            self._ask()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._stop()

    def show_report(self, report: Report) -> None:
        """What the supervisor of the worker tells."""
        if self._client.is_connected:
            return
        fault = report.phase in (Phase.FAILED, Phase.WAITING)
        sentence = told(report.notice) if report.notice else ""
        self.notice.set_text(sentence if fault else "")
        self._offer_retry(fault)
        self._stop()
        self.start.setEnabled(False)
        self._show_words("" if fault else sentence or tr(WAITING))

    def begin(self) -> None:
        """Let it compute for the test, and wait for figures."""
        self._began = time.monotonic()
        self.start.setEnabled(False)
        self.bar.show()
        self._show_words(tr("Compute is starting."), 0.1)
        self._client.request("start_now", wire.StartNowParams(LENT_S), failed=self._failed)
        if self._before is not None:
            self._client.request("benchmark", wire.BenchmarkParams(again=True), failed=self._failed)
        self._timer.start()

    def _connected(self, snapshot: wire.Snapshot) -> None:
        self.notice.set_text("")
        self._offer_retry(False)
        self._status = snapshot.status
        if self.isVisible() and not self.is_running:
            self._ask()

    def _offer_retry(self, offered: bool) -> None:
        self.retry.setVisible(offered)
        self.start.setVisible(not offered)

    def _take_status(self, status: Status) -> None:
        self._status = status

    def _ask(self) -> None:
        self._client.request("benchmark", None, BenchmarkStatus, self._show_first, self._failed)

    def _show_first(self, answer: BenchmarkStatus) -> None:
        self.start.setEnabled(True)
        self._show_figures(answer)
        if answer.time is None and not self._offered:
            self._offered = True
            self.begin()
        elif not self.is_running:
            self._show_words("" if answer.time is not None else tr(OFFER))

    def _poll(self) -> None:
        self._client.request("benchmark", None, BenchmarkStatus, self._look, self._failed)

    def _look(self, answer: BenchmarkStatus) -> None:
        if self._began is None:
            return
        if answer.time is not None and answer.time != self._before:
            self._stop()
            self.start.setEnabled(True)
            self._show_figures(answer)
            self._show_words(tr("Measured."))
            return
        seconds = time.monotonic() - self._began
        computes = self._status is not None and any(process.name == "compute" for process in self._status.processes)
        if self._status is not None and not self._status.cpu and seconds > 2:
            self._show_words(
                tr(
                    "It is measured as soon as this PC may compute. {reason} {until}",
                    reason=told(self._status.reason),
                    until=told(self._status.until),
                ),
                0.1,
            )
        elif computes:
            self._show_words(tr("Measuring, for {seconds} s so far.", seconds=f"{seconds:.0f}"), 0.6)
        else:
            self._show_words(tr("Compute is starting, for {seconds} s so far.", seconds=f"{seconds:.0f}"), 0.3)
        if seconds > LENT_S:
            self._stop()
            self.start.setEnabled(True)
            self._show_words(
                tr("It takes longer than usual. You can continue: it is measured as soon as this PC may compute.")
            )

    def _failed(self, error: HearthError) -> None:
        self._stop()
        self.start.setEnabled(self._client.is_connected)
        self._show_words(told(error.notice))

    def _stop(self) -> None:
        paused = self._status is not None and self._status.state == "paused"
        if self.is_running and self._client.is_connected and not paused:  # a pause has ended it, and would end by this
            self._client.request("start_now", wire.StartNowParams(ENDED_S), failed=lambda error: None)
        self._began = None
        self._timer.stop()
        self.bar.hide()

    def _show_words(self, words: str, share: float = 0.0) -> None:
        self.words.setText(words)
        self.words.setVisible(bool(words))
        self.bar.setVisible(self.is_running)
        self.bar.set_value(share)
        self.bar.setAccessibleDescription(words)

    def _show_figures(self, answer: BenchmarkStatus) -> None:
        self._before = answer.time
        self._device.setText(f"{answer.device}, {tr('%Ln core(s)', answer.cores)}")
        self.start.setText(tr("Start the test") if answer.time is None else tr("Measure again"))
        fastest = max(answer.speeds, key=lambda speed: speed.samples_per_s, default=None)
        if fastest is not None:
            self.speed.set(number(fastest.samples_per_s), tr("samples/s"))
            self.threads.set(number(fastest.threads), tr("thread(s)", fastest.threads))
            self.memory.setVisible(answer.expert_bytes is not None)
            parts: list[Any] = size(answer.expert_bytes or 0, at_most).rsplit(" ", 1)
            self.memory.set(*parts)
