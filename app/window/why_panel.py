""" "Why am I (not) running?": every rule with its live value and verdict, what ends it, and the measured promise."""

import random
from functools import partial

from PySide6.QtCore import QCoreApplication, QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QFontMetrics, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme as look
from app.actions import Actions
from app.formats import number
from app.icons import StateGlyph, smooth
from app.language import told, tr
from app.theme import theme
from app.widgets.basics import Divider, Label, Notice, Panel
from app.widgets.boxes import STRETCH, hbox, scrolling, vbox
from app.widgets.buttons import Button
from app.window.focus_ring import FocusRing
from app.window.rule_row import MARKS, RuleRow
from app.window.sheet import Sheet
from core.contracts.status import STATE_WORD, Status, YieldStatus
from core.control.why import FEW, LIFTED, PROMISE_MS, UNKNOWN, Why, promise, uses_gpus, verdict, why

WIDTH = 612
DOTS_HEIGHT = 64


class YieldDots(QWidget):
    """One dot for each measured yield, on a line from 0 to a little more than the promise."""

    def __init__(self) -> None:
        super().__init__()
        self._yields = YieldStatus(0, None, None)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumSize(theme().px(120), theme().px(DOTS_HEIGHT))
        self.setAccessibleName(tr("How fast this PC came back to you, each time"))

    def sizeHint(self) -> QSize:
        return QSize(theme().px(300), theme().px(DOTS_HEIGHT))

    def set_yields(self, yields: YieldStatus) -> None:
        if yields != self._yields:
            self._yields = yields
            self.setAccessibleDescription(told(promise(yields)))
            self.setToolTip(told(promise(yields)))
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, times = theme(), self._yields.recent_ms
        painter = smooth(self)
        metrics = QFontMetrics(colors.font("cap"))
        middle = (self.height() - metrics.height() - 2) / 2
        end = max(PROMISE_MS * 1.18, 1.04 * max(times, default=0.0))

        def at(value: float) -> float:
            return 3 + (self.width() - 6) * value / end

        painter.setPen(QPen(colors.color("border"), 1))
        painter.drawLine(QPointF(0, middle), QPointF(self.width(), middle))
        painter.setPen(Qt.PenStyle.NoPen)
        chance = random.Random(1)  # the same height for the same dot each time it is drawn
        for value in times:
            dot = colors.color("ok" if value <= PROMISE_MS else "bad")
            dot.setAlphaF(0.6)
            painter.setBrush(dot)
            painter.drawEllipse(QPointF(at(value), middle + chance.uniform(-0.5, 0.5) * middle), 3.2, 3.2)
        marks = [(0.0, "0 ms", "")]
        p95 = self._yields.p95_ms
        if p95 is not None and self._yields.count >= FEW:
            marks.append((p95, f"p95 {number(p95)} ms", "ok" if p95 <= PROMISE_MS else "bad"))
        marks.append((PROMISE_MS, tr("target {ms} ms", ms=PROMISE_MS), "text2"))
        painter.setFont(colors.font("cap"))
        taken = -1.0
        for value, words, tone in marks:
            if tone:
                pen = QPen(colors.color(tone), 1.5, Qt.PenStyle.DashLine if tone == "text2" else Qt.PenStyle.SolidLine)
                painter.setPen(pen)
                painter.drawLine(QPointF(at(value), 1), QPointF(at(value), 2 * middle - 1))
            wide = metrics.horizontalAdvance(words) + 2
            left = min(max(0.0, at(value) - wide / 2), self.width() - wide)
            if left > taken:
                painter.setPen(colors.color("text2"))
                rect = QRectF(left, self.height() - metrics.height(), wide, metrics.height())
                painter.drawText(rect, int(Qt.AlignmentFlag.AlignLeft), words)
                taken = left + wide + 4


class WhyPanel(Sheet):
    """Opened by F1, by the state chip and by Home's question; follows the status while it is open."""

    def __init__(self, window: QWidget, ring: FocusRing, actions: Actions) -> None:
        super().__init__(window, ring, WIDTH)
        self._actions = actions
        self._led = ""
        """The rule whose setting was opened last: who comes back goes on there."""
        self.setAccessibleName(tr("Why am I running, or not?"))
        self.rows: list[RuleRow] = []
        self._status: Status | None = None
        self._was: str | None = None
        self._title = Label(tr("Why am I not running?"), "title", wrap=True)
        self._said = Label("", "body", "text2", wrap=True)
        self.close_button = Button(tr("Close"), clicked=self.close_sheet)
        self.start = Button(tr("Start now"), icon="play", clicked=actions.start_now)
        self.resume = Button(tr("Resume"), icon="play", clicked=actions.resume)
        self.retry = Button(tr("Try again"), icon="refresh", clicked=actions.retry)
        for button in (self.start, self.resume, self.retry):
            button.hide()
        self._glyph, self._word = StateGlyph(24), Label("", "strong")
        self._reason, self._until = Label("", "body", wrap=True), Label("", "body", "text2", wrap=True)
        self.notice = Notice()
        self.dots = YieldDots()
        self._promise = Label("", "body", "text2", wrap=True)
        self._rules = vbox(spacing=0)
        self._build()

    def _build(self) -> None:
        head = hbox(
            (vbox(self._title, self._said, spacing=2), 1),
            (self.close_button, Qt.AlignmentFlag.AlignTop),
            margins=(0, 0, look.XL, 0),
        )
        content = QWidget()
        vbox(
            self.notice,
            self._state_band(),
            self._rules,
            Divider(),
            Label(tr("How fast this PC comes back to you"), "head"),
            self._promise,
            self.dots,
            STRETCH,
            spacing=look.M,
            margins=(0, 0, look.XL, look.XL),
            within=content,
        )
        self._area = scrolling(content)
        self._area.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._area.setAccessibleName(tr("The rules; arrow keys scroll"))
        vbox(head, (self._area, 1), spacing=look.M, margins=(look.XL, look.XL, 0, 0), within=self.panel)

    def _state_band(self) -> Panel:
        band = Panel("sunken", "", look.RADIUS_CONTROL)
        texts = vbox(self._word, self._reason, self._until, spacing=1)
        parts = (self._glyph, (texts, 1), self.start, self.resume, self.retry)
        hbox(*parts, spacing=look.M, margins=(look.L, look.M, look.L, look.M), within=band)
        return band

    def open_panel(self) -> None:
        """Show it with the newest status."""
        if self._status is not None:
            self._show(self._status)
        else:
            self._show_nothing()
        led = next((row for row in self.rows if self._led and row.rule == self._led and row.isVisibleTo(self)), None)
        self._led = ""
        self.open(led.setting if led else self.close_button)
        if led:
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
            self._area.ensureWidgetVisible(led)

    def update_status(self, status: Status) -> None:
        self._status = status
        if self.isVisible():
            self._show(status)

    def set_connected(self, connected: bool, sentence: str, calm: bool = False) -> None:
        """While the worker is away the rules shown are those of before."""
        old = f" {tr('Below is what it said last.')}" if self._status is not None else ""
        self.notice.set_text("" if connected else f"{sentence.rstrip('.')}.{old}", calm)
        self.retry.setVisible(not connected)
        if not connected:
            self.start.hide()
            self.resume.hide()
        if self._status is None:
            self._show_nothing()

    def _show_nothing(self) -> None:
        self._title.setText(tr("Why am I not running?"))
        self._said.setText(tr("The rules are shown as soon as the worker answers."))
        self._word.setText(tr(STATE_WORD["preparing"]))
        self._reason.setText(tr("The worker has not answered yet."))
        self._promise.setText(told(promise(YieldStatus(0, None, None))))

    def _show_setting(self, row: RuleRow) -> None:
        self._actions.show_setting.emit(row.setting_name)
        self._led = row.rule

    def _show(self, status: Status) -> None:
        answer = why(status)
        running = answer.cpu or answer.gpu
        self._title.setText(tr("Why am I running?" if running else "Why am I not running?"))
        self._said.setText(_summary(answer))
        self._glyph.set_state(answer.state)
        self._word.setText(tr(STATE_WORD[answer.state]))
        self.start.setVisible(answer.start_now)
        self.resume.setVisible(answer.state == "paused")
        self._reason.setText(told(answer.reason))
        self._until.setText(told(answer.until))
        self._until.setVisible(bool(answer.until))
        while len(self.rows) < len(answer.rules):
            row = RuleRow()
            row.asked.connect(partial(self._show_setting, row))
            row.lift.connect(self._actions.lift)
            row.end_lift.connect(self._actions.end_lift)
            self.rows.append(row)
            self._rules.addWidget(row)
        gpus = uses_gpus(answer.rules)
        for place, row in enumerate(self.rows):
            row.setVisible(place < len(answer.rules))
            if place < len(answer.rules):
                rule = answer.rules[place]
                row.show_rule(rule, verdict(rule, gpus), rule.rule == answer.decides)
        self._promise.setText(told(promise(answer.yields)))
        self.dots.set_yields(answer.yields)
        if self._was not in (None, answer.state):
            QAccessible.updateAccessibility(
                QAccessibleAnnouncementEvent(self, f"{tr(STATE_WORD[answer.state])}. {told(answer.reason)}")
            )
        self._was = answer.state


def _summary(answer: Why) -> str:
    """ "1 of 11 rules stops the work. Rules are read from top to bottom."."""
    gpus = uses_gpus(answer.rules)
    stopping = sum(verdict(rule, gpus).code not in MARKS for rule in answer.rules)
    many = len(answer.rules)
    if not many:
        return tr("The worker sent no rules.")
    unknown = sum(verdict(rule, gpus).code == UNKNOWN for rule in answer.rules)
    if stopping:
        first = tr("{some} of %Ln rule(s) stop something.", many, some=number(stopping))
        if stopping == 1:
            first = tr("1 of %Ln rule(s) stops something.", many)
    elif lifted := sum(verdict(rule, gpus).code == LIFTED for rule in answer.rules):
        first = tr("No rule stops anything; %Ln of {all} is (are) lifted.", lifted, all=number(many))
    elif unknown:
        first = tr("No rule stops anything; %Ln of {all} is (are) not known.", unknown, all=number(many))
    else:
        first = tr("All {all} rules agree.", all=number(many))
    return f"{first} {tr('They are read from top to bottom.')}"
