"""That this PC is alone in its run, said plainly, and the ways out: a peer, an invitation, nearby runs, firewall.

Who is not alone finds the same ways here, if asked for.
"""

from PySide6.QtGui import QHideEvent

from app import theme as look
from app.actions import Actions
from app.language import mark, told, tr
from app.theme import theme
from app.widgets.basics import Card, Label, Notice
from app.widgets.boxes import STRETCH, add, hbox, holding, vbox
from app.widgets.buttons import Button
from app.widgets.inputs import Field
from app.worker.client import WorkerClient
from core.contracts.errors import HearthError
from core.contracts.network_status import Met, NetworkStatus
from core.contracts.run_link import is_link

NOBODY = mark(
    "No other PC is connected. This PC trains all the same, and what it learns is not lost: it counts as soon as "
    "others are here."
)
NOT_WANTED = mark(
    "“Work with other peers” is off in Settings, or the worker was started by hand without a network. It trains for "
    "itself and calls nobody."
)


CONNECTED = mark("Connected. The two PCs now find out what they can do for each other.")


class AloneCard(Card):
    """Not seen while others are connected, unless the user asks for it.

    Whoever has just added a peer sees that here until the page is left.
    """

    def __init__(self, client: WorkerClient, actions: Actions) -> None:
        super().__init__(tr("You are alone in this run"))
        self._client, self._actions = client, actions
        self._words = Label(tr(NOBODY), "body", wrap=True)
        self._has_met = self._is_asked = False
        self.line = Field()
        self.line.setAccessibleName(tr("Address of a peer, or a link to a run"))
        self.line.setPlaceholderText(tr("Address or link from somebody you know"))
        self.line.setMinimumWidth(theme().px(220))
        self.line.returnPressed.connect(self._add)
        self.add_button = Button(tr("Add"), "plain", "plus", name=tr("Add this peer or run"), clicked=self._add)
        self.nearby = Button(tr("Runs nearby"), "plain", "globe", clicked=lambda: actions.add_run.emit(""))
        self.invite = Button(
            tr("Invite somebody"), "plain", "person", clicked=lambda: actions.invite.emit(client.shown_run)
        )
        self.settings = Button(
            tr("Open this setting"), "plain", "settings", clicked=lambda: actions.show_setting.emit("peers")
        )
        self._notice = Notice()
        self.said = Label("", "cap", "ok", wrap=True)
        self.said.setMinimumHeight(self.said.fontMetrics().height())  # so that nothing moves when it is told
        self._firewall = Label("", "cap", "text2", wrap=True)
        row = hbox((self.line, 1), self.add_button, spacing=look.S)
        self._ways = holding(vbox(row, hbox(self.nearby, self.invite, STRETCH, spacing=look.S), spacing=look.S))
        add(self.body, self._words, self._ways, hbox(self.settings, STRETCH), self._notice, self.said, self._firewall)
        self.hide()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        if self._has_met or self._is_asked:
            self._is_asked = False
            self._show_met(False)
            self.hide()

    def ask(self) -> None:
        """Show how to add a peer, though others are connected."""
        if not self.isVisible():
            self._is_asked = True
            self._show_met(False)
            self._words.hide()
            self.show()
        self.line.setFocus()

    def _show_met(self, met: bool) -> None:
        self._has_met = met
        alone = tr("You are no longer alone") if met else tr("You are alone in this run")
        self.title.setText(tr("Add a peer") if self._is_asked else alone)
        self.setAccessibleName(self.title.text())
        self.setMinimumHeight(self.height() if met else 0)  # the cards below stay where they are
        self._say(tr(CONNECTED) if met else "")

    def show_network(self, network: NetworkStatus) -> None:
        """Show it where nobody is connected."""
        if self._is_asked and not network.connected:
            self._is_asked = False
            self._show_met(False)
        self._words.setText("" if self._has_met else tr(NOBODY))
        self._words.setVisible(not self._is_asked)
        self._ways.show()
        self.settings.hide()
        port = network.address.rpartition(":")[2]
        self._firewall.setText(
            tr("For others to reach this PC, its firewall has to let UDP port {port} through.", port=port)
            if port.isdigit()
            else ""
        )
        self._firewall.setVisible(bool(self._firewall.text()))
        if self._has_met and not network.connected:
            self._show_met(False)  # who was met has gone again
        elif not self._has_met and self.add_button.isEnabled():
            self._say("")  # nobody is being called
        self.setVisible(network.connected == 0 or self._has_met or self._is_asked)

    def set_alone(self) -> None:
        """This worker has no network."""
        self._words.setText(tr(NOT_WANTED))
        self._words.show()
        self._ways.hide()
        self._firewall.hide()
        self.settings.show()
        self.show()

    def _add(self) -> None:
        text = self.line.text().strip()
        if not text:
            self.line.setFocus()
        elif is_link(text):
            self._actions.add_run.emit(text)
        else:
            self._notice.set_text("")
            self._say(tr("Calling this peer ..."))
            self.add_button.setEnabled(False)
            self._client.meet(text, self._met, self._failed)

    def _met(self, met: Met) -> None:
        self.add_button.setEnabled(True)
        self.line.clear()
        self._show_met(True)

    def _failed(self, error: HearthError) -> None:
        self.add_button.setEnabled(True)
        self._say("")
        self._notice.set_text(told(error.notice))

    def _say(self, words: str) -> None:
        self.said.setText(words)
