"""The steps of the first run that need no worker: what Hearth is, consent, what to lend, the key, starting at login."""

import dataclasses
import typing
from pathlib import Path
from typing import Any

from app.first_run.step import Step
from app.formats import percent
from app.language import told, tr, tr_setting
from app.pages.settings.recovery_words import RecoveryWords
from app.pages.settings.setting_row import Row, login_row, row_of
from app.widgets.basics import Card, Facts, Label, Pair
from app.widgets.boxes import STRETCH, add
from core import consent
from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError
from core.contracts.settings import Settings, profile_values
from core.store import settings_file

OFFERED = ("run", "profile", "idle_only")
"""Settings that are asked for; all others have their page."""


class Welcome(Step):
    def __init__(self) -> None:
        super().__init__(
            tr("Welcome"),
            tr("One network, many PCs"),
            tr("Together, volunteers train one neural network that is too large for any single PC."),
        )
        add(
            self.body,
            Facts(
                tr("How it works"),
                "ember",
                [
                    (
                        "experts",
                        tr("Each PC hosts a few experts"),
                        tr("Small networks that make up the large one."),
                    ),
                    ("person", tr("You come first"), tr("The moment you need this PC, Hearth gives it back.")),
                    (
                        "model",
                        tr("What you train is yours to try"),
                        tr("Ask the model at any time, and see who answered."),
                    ),
                ],
            ),
            Label(
                tr("The next steps take about two minutes. Alt+Right continues, Alt+Left goes back."),
                "cap",
                "text3",
                wrap=True,
            ),
            STRETCH,
        )


class Consent(Step):
    """What happens with the user's leave, and what never does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            tr("Your consent"),
            tr("Share this PC while you are away?"),
            tr("Nothing has been started or sent so far. Here is what it means if you agree."),
        )
        self._folder = folder
        does = Facts(
            tr("What your PC does"),
            "ember",
            [
                (
                    "cpu",
                    tr("Computes, while you are away"),
                    tr(
                        "Matrix arithmetic for a neural network. It stops as soon as you are back, unless you choose "
                        "otherwise in the next step."
                    ),
                ),
                (
                    "energy",
                    tr("Uses power"),
                    tr("Home shows how much, and its cost once you enter your electricity price. You set the limit."),
                ),
            ],
        )
        leaves = Facts(
            tr("What leaves your PC"),
            "peer",
            [
                (
                    "up",
                    tr("Tensors, encrypted on the way"),
                    tr("Numbers that result from the computation, to peers of the same run. None on metered networks."),
                ),
                (
                    "globe",
                    tr("Your address and public key"),
                    tr("Peers you work with see your internet address and your key. No name is asked for."),
                ),
            ],
        )
        never = Facts(
            tr("What never happens"),
            "ok",
            [
                (
                    "lock",
                    tr("Your files and keystrokes are not read"),
                    tr(
                        "Hearth asks how long ago the last input was, not what it was, and which programs run, to give "
                        "way to them. That stays on this PC."
                    ),
                ),
                (
                    "shield",
                    tr("No code from others is run"),
                    tr("Peers exchange tensors only. The program is the one you installed."),
                ),
            ],
        )
        self.pair = Pair(does, leaves)
        add(self.body, self.pair, never)
        stored = Label(
            tr("Settings, logs and what is trained are stored on this PC, in {folder}.", folder=folder),
            "cap",
            "text3",
            wrap=True,
        )
        add(self.body, stored, STRETCH)

    def agree(self) -> None:
        """Keep the consent; whoever has chosen nothing yet lends only while away, as they were told.

        Raises:
            DataFolderError: it cannot be written.
        """
        if not (self._folder / settings_file.FILE).exists():
            settings_file.save(self._folder, Settings(idle_only=True))
        consent.give(self._folder, "app")


class Lend(Step):
    """The run, the profile with its limits, and when."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            tr("What you share"),
            tr("What will you share?"),
            tr("You can change all of this at any time, and much more, in Settings."),
        )
        self._folder = folder
        self.values: dict[str, Any] = {}
        self.changes: dict[str, Any] = {}
        self.rows: dict[str, Row] = {}
        types = typing.get_type_hints(Settings, include_extras=True)
        fields = {field.name: field for field in dataclasses.fields(Settings)}
        self.limits = Label("", "cap", "text2", wrap=True)
        for name in OFFERED:
            row = self.rows[name] = row_of(fields[name], types[name])
            row.divider.hide()
            row.leave_unmarked()
            row.chosen.connect(lambda value, name=name: self._choose(name, value))
            card = Card(tr_setting(fields[name].metadata["group"]))
            card.body.addWidget(row)
            if name == "profile":
                card.body.addWidget(self.limits)
            self.body.addWidget(card)
        self.body.addStretch(1)

    def load(self) -> None:
        """Show what the data folder's file says; only while no worker owns it."""
        settings, note = settings_file.load(self._folder)
        self.notice.set_text(told(note) if note else "")
        self.show_values(dataclasses.asdict(settings))

    def show_values(self, values: dict[str, Any]) -> None:
        """Show settings as they are in force."""
        self.values, self.changes = values, {}
        self._show()

    def _choose(self, name: str, value: Any) -> None:
        if name == "run":
            try:
                manifests.load(value)
            except ManifestError as error:
                self.rows["run"].show_value(self._now("run"), told(error.notice))
                return
        self.changes[name] = value
        self._show()

    def _now(self, name: str) -> Any:
        return self.changes.get(name, self.values[name])

    def _show(self) -> None:
        for name, row in self.rows.items():
            row.show_value(self._now(name))
        profile = self._now("profile")
        brought = self.values if profile == "own" or "profile" not in self.changes else profile_values(profile)
        self.limits.setText(limits({**self.values, **brought}))

    def save(self) -> None:
        """Write what was chosen to the file; only while no worker owns it.

        Raises:
            HearthError: a value cannot be, or the file not be written.
        """
        settings = settings_file.load(self._folder)[0].changed(self.changes)
        settings_file.save(self._folder, settings)
        self.show_values(dataclasses.asdict(settings))


class BackUp(Step):
    """The recovery words."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            tr("Back up identity"),
            tr("Keep your key safe"),
            tr("You can skip this: the words are in Settings, under Identity, whenever you want them."),
        )
        card = Card(tr("Recovery words"))
        self.words = RecoveryWords(folder)
        card.body.addWidget(self.words)
        add(self.body, card, STRETCH)


class AtLogin(Step):
    """The last question, and what happens now."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            tr("Start at login"),
            tr("Ready"),
            tr("Closing the window leaves Hearth in the tray, where the desktop has one; Quit ends it."),
        )
        card = Card(tr("When this PC starts"))
        self.row = login_row(folder)
        self.row.divider.hide()
        self.row.leave_unmarked()
        card.body.addWidget(self.row)
        add(self.body, card, STRETCH)


def limits(values: dict[str, Any]) -> str:
    """What these settings allow, in a sentence or two."""
    threads, heat = values["threads"], values["cpu_celsius"]
    share = {"here": percent(values["cpu_share_in_use"] / 100, 0), "away": percent(values["cpu_share_idle"] / 100, 0)}
    memory = {
        "here": percent(values["memory_in_use_percent"] / 100, 0),
        "away": percent(values["memory_idle_percent"] / 100, 0),
    }
    processor = tr("Processor: {here} of the time while you are here, {away} while away", **share)
    on = tr("on %Ln thread(s)", threads) if threads else tr("on half of the cores")
    parts = [processor, on, *([tr("no hotter than {heat} °C", heat=heat)] if heat else [])]
    ram = tr("Memory: {here} while you are here, {away} while away.", **memory)
    gpu = tr("GPU: also while you are here.") if values["gpu_in_use"] else tr("GPU: only while you are away.")
    return f"{', '.join(parts)}. {ram} {gpu}"
