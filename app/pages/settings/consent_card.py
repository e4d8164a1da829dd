"""Consent: when it was given, and how to take it back; beside it the plain way to quit."""

import contextlib
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QHideEvent, QShowEvent

from app import theme as look
from app.actions import Actions
from app.language import day, mark, told, tr
from app.pages.settings.setting_row import Section, action_row
from app.pages.settings.synonyms import synonyms
from app.widgets.basics import Divider, Label, Notice, Panel
from app.widgets.boxes import STRETCH, hbox, vbox
from app.widgets.buttons import Button
from core import consent
from core.contracts.errors import HearthError
from core.system.start_at_login import start_at_login

WITHDRAW = mark(
    "The worker saves and ends, Hearth no longer starts when you log in, and asks again before it does anything. "
    "What was trained stays on this PC."
)
QUIT = mark("The worker saves and ends, and this window closes. If you only close the window, Hearth keeps running.")


class ConsentCard(Section):
    """Asks once more before the consent is withdrawn.

    Args:
        folder: the data folder.
        actions: to quit by.
    """

    def __init__(self, folder: Path, actions: Actions) -> None:
        words = (tr("Withdraw consent"), tr(WITHDRAW), tr("Quit Hearth"), tr(QUIT), synonyms("consent"))
        super().__init__(tr("Consent and quitting"), " ".join(words))
        self._folder, self._actions = folder, actions
        self.given = Label("", "cap", "text2", wrap=True)
        self.withdraw = Button(tr("Withdraw consent"), clicked=self._ask)
        self.sure = Button(tr("Withdraw and quit"), clicked=self._withdraw)
        self.keep = Button(tr("Keep it"), clicked=self._keep)
        self.quit = Button(tr("Quit"), icon="power", name=tr("Quit Hearth"), clicked=actions.quit)
        self.notice = Notice()
        self.question = Panel("sunken", "line", look.RADIUS_CONTROL)
        asks = Label(tr("Withdraw your consent and quit Hearth now?"), "strong", wrap=True)
        row = hbox(STRETCH, self.keep, self.sure, spacing=look.S)
        vbox(asks, row, spacing=look.S, margins=(look.L, look.M, look.L, look.M), within=self.question)
        self.question.hide()
        self.body.addWidget(action_row(tr("Withdraw consent"), tr(WITHDRAW), self.withdraw, self.given))
        self.body.addWidget(self.question)
        self.body.addWidget(self.notice)
        self.body.addWidget(Divider())
        self.body.addWidget(action_row(tr("Quit Hearth"), tr(QUIT), self.quit))

    def _ask(self) -> None:
        self.withdraw.setEnabled(False)
        self.question.show()
        self.keep.setFocus(Qt.FocusReason.OtherFocusReason)

    def _keep(self) -> None:
        self.question.hide()
        self.withdraw.setEnabled(True)
        self.notice.set_text("")

    def _withdraw(self) -> None:
        try:
            consent.withdraw(self._folder)
        except HearthError as error:
            self.notice.set_text(told(error.notice))
            return
        with contextlib.suppress(HearthError):  # then it starts at login, and asks before it does anything
            start_at_login(self._folder, False)
        self._actions.quit.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        given = consent.read(self._folder)
        where = mark("You agreed on {date}, in the window.")
        if given is not None and given.given != "app":
            where = mark("You agreed on {date}, by starting a worker on the command line.")
        if given is not None:
            self.given.setText(tr(where, date=day(given.date.astimezone(), year=True)))
        self.given.setVisible(given is not None)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._keep()
