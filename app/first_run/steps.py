"""The steps of the first run: what Hearth is, consent, what to share, and the key, the start, the speed."""

import dataclasses
import typing
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QWidget

from app import theme as look
from app.first_run import estimates
from app.first_run.speed import SpeedTest
from app.first_run.step import Step
from app.first_run.together import Together
from app.formats import data_size, number, percent
from app.language import at_most, mark, temperature, told, tr, tr_setting
from app.pages.settings.recovery_words import RecoveryWords
from app.pages.settings.setting_row import Row, login_row, row_of
from app.widgets.basics import Card, Facts, Label, Pair
from app.widgets.boxes import STRETCH, add, vbox
from app.widgets.inputs import Field
from app.worker.client import WorkerClient
from core import consent
from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError
from core.contracts.run_link import HEAD, parse_link
from core.contracts.settings import Settings, profile_values
from core.contracts.words import size
from core.policy.limits.bandwidth import UNMEASURED
from core.store import settings_file

OFFERED = ("run", "profile", "idle_only")
"""Settings that are asked for; all others have their page."""
CUSTOM = (
    "cpu_share_in_use",
    "cpu_share_idle",
    "memory_in_use_percent",
    "memory_idle_percent",
    "gpu_in_use",
    "cpu_celsius",
)
"""What a profile sets, and Custom opens."""


class Welcome(Step):
    def __init__(self) -> None:
        super().__init__(
            tr("Welcome"),
            tr("One network, many PCs"),
            tr("Together, volunteers train one neural network that is too large for any single PC."),
        )
        add(
            self.body,
            (Together(), 1),
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
                tr("Three more steps, about two minutes. Enter continues, Alt+Left goes back."),
                "cap",
                "text3",
                wrap=True,
            ),
        )


class Consent(Step):
    """What happens with the user's leave, what it is likely to take, and what never happens."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            tr("Your consent"),
            tr("Share this PC while you are away?"),
            tr("This is what you agree to. You can withdraw your consent at any time."),
        )
        self._folder = folder
        does = Facts(tr("What your PC does"), "ember", self._does())
        leaves = Facts(tr("What leaves your PC"), "peer", self._leaves())
        self.pair = Pair(does, leaves)
        stored = Label(
            tr("Settings, logs and what is trained are stored on this PC, in {folder}.", folder=folder),
            "cap",
            "text3",
            wrap=True,
        )
        add(self.body, self.pair, Facts(tr("What Hearth never does"), "ok", _never()), stored, STRETCH)

    @staticmethod
    def _does() -> list[tuple[str, str, str]]:
        likely = estimates.of_settings(dataclasses.asdict(Settings()))
        computes = tr(
            "Matrix arithmetic for a neural network. It stops as soon as you are back, unless you choose "
            "otherwise in the next step."
        )
        hosts = tr(
            "In the run that Hearth suggests, up to %Ln expert(s) in about {memory} of memory.",
            likely.experts,
            memory=size(likely.memory_bytes, at_most),
        )
        power = tr(
            "About {watts} W for the CPU while it computes, estimated from its number of cores; more with a GPU. "
            "You set the limit.",
            watts=number(likely.watts),
        )
        return [
            ("cpu", tr("Computes, while you are away"), computes),
            ("experts", tr("Hosts experts"), hosts),
            ("energy", tr("Uses power"), power),
        ]

    @staticmethod
    def _leaves() -> list[tuple[str, str, str]]:
        tensors = tr("Numbers that result from the computation, to peers of the same run. None on metered networks.")
        limit = tr(
            "To peers outside your local network: until your upload is measured, {rate}/s or {size} an hour at most. "
            "Downloads take at most twice as much. You can change both.",
            rate=data_size(UNMEASURED),
            size=data_size(3600 * UNMEASURED),
        )
        address = tr("Peers you work with see your internet address and your key. No name is asked for.")
        return [
            ("up", tr("Tensors, encrypted on the way"), tensors),
            ("network", tr("At most a quarter of your upload"), limit),
            ("globe", tr("Your address and public key"), address),
        ]

    def agree(self) -> None:
        """Keep the consent; whoever has chosen nothing yet lends only while away, as they were told.

        Raises:
            DataFolderError: it cannot be written.
        """
        if not (self._folder / settings_file.FILE).exists():
            settings_file.save(self._folder, Settings(idle_only=True))
        consent.give(self._folder, "app")


def _never() -> list[tuple[str, str, str]]:
    reads = tr(
        "Hearth asks how long ago the last input was, not what it was, and which programs run, to give "
        "way to them. That stays on this PC."
    )
    return [
        ("lock", tr("Read your files or keystrokes"), reads),
        (
            "shield",
            tr("Run code from others"),
            tr("Peers exchange numbers and short messages. The program is the one you installed."),
        ),
    ]


INVITED = mark("Paste it here. Once Hearth is set up, you see what that run is, and decide whether to join it.")


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
        self.link = Field()
        self.link.setAccessibleName(tr("Link to a run"))
        self.link.setPlaceholderText(HEAD)
        self.custom = QWidget()
        opened = vbox(spacing=look.S, within=self.custom)
        for name in (*OFFERED, *CUSTOM):
            row = self.rows[name] = row_of(fields[name], types[name], first=True)
            row.leave_unmarked()
            row.chosen.connect(lambda value, name=name: self._choose(name, value))
            if name in CUSTOM:
                opened.addWidget(row)
                continue
            row.set_divided(False)
            card = Card(tr_setting(fields[name].metadata["group"]))
            card.body.addWidget(row)
            if name == "run":
                asked, told_of = (
                    Label(tr("Were you sent a link?"), "body"),
                    Label(tr(INVITED), "cap", "text2", wrap=True),
                )
                add(card.body, asked, self.link, told_of)
            if name == "profile":
                add(card.body, self.limits, self.custom)
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
        if name == "profile":
            before = self.changes.get("profile", "own")
            kept = {chosen: kept for chosen, kept in self.changes.items() if chosen in (*OFFERED, *CUSTOM)}
            if value == "own":  # the numbers stay those of the profile before
                self.changes = {**kept, **(profile_values(before) if before != "own" else {})}
            else:
                self.changes = {chosen: kept[chosen] for chosen in kept if chosen in OFFERED}
        self.changes[name] = value
        if name in CUSTOM:
            self.changes["profile"] = "own"
        self._show()

    def _now(self, name: str) -> Any:
        return self.changes.get(name, self.values[name])

    def _show(self) -> None:
        profile = self._now("profile")
        brought = {} if profile == "own" or "profile" not in self.changes else profile_values(profile)
        values = {**self.values, **brought, **self.changes}
        for name, row in self.rows.items():
            row.show_value(values[name])
        self.custom.setVisible(profile == "own")
        self.limits.setText(limits(values))

    def linked(self) -> str:
        """The link that the user was sent; "" if none.

        Raises:
            RunError: it is none, or was cut off.
        """
        text = self.link.text().strip()
        if text:
            parse_link(text)
        return text

    def save(self) -> None:
        """Write what was chosen to the file; only while no worker owns it.

        Raises:
            HearthError: a value cannot be, or the file not be written.
        """
        settings = settings_file.load(self._folder)[0].changed(self.changes)
        settings_file.save(self._folder, settings)
        self.show_values(dataclasses.asdict(settings))


class Ready(Step):
    """The key, starting at login, and the speed test, which runs meanwhile."""

    def __init__(self, folder: Path, client: WorkerClient) -> None:
        super().__init__(
            tr("Ready"),
            tr("Keep your key, and you are ready"),
            tr("Closing the window leaves Hearth running, in the tray if your desktop has one. Ctrl+Q quits it."),
        )
        self.speed = SpeedTest(client)
        key, start = Card(tr("Recovery words")), Card(tr("When this PC starts"))
        self.words, self.login = RecoveryWords(folder), login_row(folder)
        self.login.set_divided(False)
        self.login.leave_unmarked()
        key.body.addWidget(self.words)
        start.body.addWidget(self.login)
        add(self.body, self.speed, key, start, STRETCH)


def limits(values: dict[str, Any]) -> str:
    """What these settings allow, in a sentence or two."""
    threads, heat = values["threads"], values["cpu_celsius"]
    share = {"here": percent(values["cpu_share_in_use"] / 100, 0), "away": percent(values["cpu_share_idle"] / 100, 0)}
    memory = {
        "here": percent(values["memory_in_use_percent"] / 100, 0),
        "away": percent(values["memory_idle_percent"] / 100, 0),
    }
    cpu = tr("CPU: {here} of the time while you are here, {away} while away", **share)
    on = tr("on %Ln thread(s)", threads) if threads else tr("on half of the cores")
    parts = [cpu, on, *([tr("no hotter than {heat}", heat=temperature(heat))] if heat else [])]
    ram = tr("Memory: {here} while you are here, {away} while away.", **memory)
    gpu = tr("GPU: also while you are here.") if values["gpu_in_use"] else tr("GPU: only while you are away.")
    likely = estimates.of_settings(values)
    power = tr("About {watts} W for the CPU while you are away.", watts=number(likely.watts))
    return f"{', '.join(parts)}. {ram} {gpu} {power}"
