"""Something of the release feed that a click installs: a look, the offer, how far it is, and what went wrong."""

import json
import logging
import os
import subprocess
from pathlib import Path

from PySide6.QtCore import Signal

from app.background import in_background
from app.formats import number
from app.language import told, tr
from app.pages.settings.setting_row import Section, action_row
from app.widgets.basics import Bar, Label, Notice
from app.widgets.boxes import add
from app.widgets.buttons import Button
from app.worker.supervisor import DETACHED, hearth
from core.contracts.notices import FAULTS_AS_NOTICES, fault_of
from core.contracts.words import size

logger = logging.getLogger(__name__)

LEFT_S = 10.0
"""What takes longer tells how long."""


class OfferCard(Section):
    """Asks processes of its own.

    Args:
        title: of the card.
        found_by: further words by which it is found.
        is_so: what is here, in a few words.
        folder: the data folder.
    """

    KEPT = ""
    """What is promised of the click; as all texts here, as it is before it is translated."""
    LOOK, INSTALL, FETCHING = "", "", ""
    """What the buttons look for and install, and what is told then."""
    ASK: tuple[str, ...] = ()
    """The command that looks, and answers in JSON."""
    COMMAND: tuple[str, ...] = ()
    """The one that installs."""
    _answered = Signal(dict)
    _progressed = Signal(dict)
    _ended = Signal(str)
    """What went wrong, or "" if all went well."""

    def __init__(self, title: str, found_by: str, is_so: str, folder: Path) -> None:
        super().__init__(title, f"{tr(self.KEPT)} {found_by}")
        self.start = folder
        self._busy = False
        self._process: subprocess.Popen[str] | None = None
        self.says, self.notes = Label("", "body", "text2", wrap=True), Label("", "cap", "text2", wrap=True)
        self.look_now = Button(tr("Look now"), name=tr(self.LOOK), clicked=self.look)
        self.install = Button(tr("Install"), "primary", name=tr(self.INSTALL), clicked=self._install)
        self.bar, self.notice = Bar(), Notice()
        self.top = action_row(is_so, tr(self.KEPT), self.look_now)
        add(self.body, self.top, self.says, self.notes, self.install, self.bar, self.notice)
        for part in (self.install, self.bar, self.notes):
            part.hide()
        self._answered.connect(self._show_answer)
        self._progressed.connect(self._show_progress)
        self._ended.connect(self._show_end)

    def show_offer(self, answer: dict[str, object]) -> None:
        """Say what there is, and show the button that installs it, if there is anything."""
        raise NotImplementedError

    def look(self) -> None:
        """Ask the feed."""
        self._begin(tr("Asking the release feed…"))
        in_background("offer", self._asked, self._answered.emit)

    def _install(self) -> None:
        self.run(tr(self.FETCHING), *self.COMMAND)

    def run(self, says: str, *words: str) -> None:
        """Install, or what else takes long, by a process that outlives this one.

        Args:
            says: what is shown meanwhile.
            words: the command.
        """
        self._begin(says)
        in_background("offer", lambda: self._ran(*words), self._ended.emit)

    def _begin(self, says: str) -> None:
        self._busy = True
        self.look_now.setEnabled(False)
        self.install.setEnabled(False)
        self.notice.set_text("")
        self.says.setText(says)

    def _asked(self) -> dict[str, object]:
        """What there is, or under "fault" why nobody knows."""
        try:
            done = subprocess.run(
                hearth(self.start, *self.ASK), capture_output=True, env={**os.environ, **FAULTS_AS_NOTICES}, check=False
            )
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            if done.returncode:
                return {"fault": lines[-1] if lines else ""}
            answer: dict[str, object] = json.loads(done.stdout)
        except (OSError, ValueError) as error:  # it could not be started, or says something else
            return {"fault": _not_run(error)}
        return answer

    def _show_answer(self, answer: dict[str, object]) -> None:
        self._busy = False
        self.look_now.setEnabled(True)
        self.says.setText("")
        if "fault" in answer:
            self.notice.set_text(told(fault_of(str(answer["fault"]))))
        else:
            self.show_offer(answer)

    def _ran(self, *words: str) -> str:
        try:
            return self._result(*words)
        except (OSError, ValueError) as error:
            return _not_run(error)

    def _result(self, *words: str) -> str:
        last = ""
        with subprocess.Popen(
            hearth(self.start, *words, "--progress"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, **FAULTS_AS_NOTICES},
            start_new_session=True,
            creationflags=DETACHED,
        ) as process:
            self._process = process
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("{"):
                    self._progressed.emit(json.loads(line))
                else:
                    last = line.strip() or last
        return last if process.returncode else ""

    def _show_progress(self, progress: dict[str, float]) -> None:
        self.bar.show()
        self.bar.set_value(progress["done"] / max(progress["total"], 1))
        self.says.setText(how_far(progress))

    def _show_end(self, fault: str) -> None:
        self._busy, self._process = False, None
        self.bar.hide()
        self.look_now.setEnabled(True)
        self.install.setEnabled(True)
        self.says.setText("")
        self.notice.set_text(told(fault_of(fault)) if fault else "")


def _not_run(error: Exception) -> str:
    logger.warning("a command of the settings did not run: %s", error)
    return tr("That did not work. Try again.")


def how_far(progress: dict[str, float]) -> str:
    """What is done, and how long the rest takes, as `core.commands.progress` tells it."""
    amounts = {"done": size(progress["done"], number), "total": size(progress["total"], number)}
    if progress["left_s"] > LEFT_S:
        return tr("{done} of {total}, %Ln second(s) left", round(progress["left_s"]), **amounts)
    return tr("{done} of {total}", **amounts)
