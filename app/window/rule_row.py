"""A rule of "Why am I (not) running?": its verdict, the way to its setting, what can be done about it for a while."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent

from app import theme as look
from app.icons import Icon
from app.language import phrase, told, tr
from app.theme import theme
from app.widgets.basics import Label, Panel
from app.widgets.boxes import STRETCH, grid_box, hbox
from app.widgets.buttons import Button
from core.contracts import notices as wire
from core.contracts.status import RuleStatus
from core.control.why import FINE, LIFTED, UNKNOWN

ICONS = {
    "choice": "person",
    "role": "network",
    "battery": "energy",
    "user": "clock",
    "hours": "calendar",
    "programs": "monitor",
    "game": "monitor",
    "cpu_busy": "cpu",
    "memory": "memory",
    "heat_cpu": "thermometer",
    "heat_gpu": "thermometer",
    "disk": "disk",
    "own_disk": "disk",
    "energy": "energy",
    "network_hours": "calendar",
    "metered": "network",
    "quota": "network",
    "gpu_choice": "person",
    "gpu_user": "gpu",
    "gpu_programs": "gpu",
    "gpu": "gpu",
    "trunk": "network",
}
"""Of the rules, by `RuleStatus.rule`; others get "info"."""
SETTINGS = {
    "battery": "on_battery",
    "user": "idle_only",
    "hours": "compute_hours",
    "programs": "exclusive_programs",
    "game": "game_stops",
    "cpu_busy": "busy_cpu_percent",
    "memory": "memory_free_mb",
    "own_memory": "memory_in_use_percent",
    "heat_cpu": "cpu_celsius",
    "heat_gpu": "gpu_celsius",
    "disk": "disk_free_mb",
    "own_disk": "checkpoints_disk_mb",
    "energy": "energy_budget_kwh",
    "network_hours": "network_hours",
    "metered": "on_metered",
    "quota": "quota_mb",
    "gpu_user": "gpu_in_use",
    "gpu_programs": "exclusive_gpu_programs",
    "gpu_busy": "busy_cpu_percent",
}
"""The setting that a rule goes by; the others have none."""
UNKNOWN_SETTINGS = {"user": "idle_unknown"}
"""The one that says what happens where nothing measures it."""
MARKS = {FINE: ("check", "ok"), UNKNOWN: ("question", "text3"), LIFTED: ("clock", "pause")}
"""Icon and tone of a verdict; one that stops something gets the cross."""


class RuleRow(Panel):
    """One rule: verdict, name, live value, what the settings ask for; what ends it, if it stops anything."""

    asked = Signal()
    """Its setting is wanted."""
    lift = Signal(str)
    end_lift = Signal(str)

    def __init__(self) -> None:
        super().__init__("surface", "", look.RADIUS_CONTROL)
        self._shown: tuple[RuleStatus, wire.Notice, bool] | None = None
        grid = grid_box(look.M, 2, margins=(look.M, 6, look.S, 6), within=self)
        self._mark, self._icon = Icon("check", "ok", 16), Icon("info", "text2", 18)
        self._title = Label("", "strong", wrap=True)
        self._live = Label("", "body", wrap=True)
        self._wants = Label(
            "", "cap", "text2", wrap=True, align=Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        )
        self._until = Label("", "cap", "text2", wrap=True)
        self.setting = Button("", "link", "chevron-right", clicked=self._ask)
        keep = self.setting.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self.setting.setSizePolicy(keep)
        self.do = Button("", "link", "clock", clicked=self._do)
        for column, (widget, stretch) in enumerate(
            ((self._mark, 0), (self._icon, 0), (self._title, 9), (self._live, 11), (self._wants, 12), (self.setting, 0))
        ):
            grid.addWidget(widget, 0, column)
            grid.setColumnStretch(column, stretch)
        grid.addWidget(self._until, 1, 2, 1, 4)
        grid.addLayout(hbox(self.do, STRETCH), 2, 2, 1, 4)
        self.setMinimumHeight(theme().px(36))

    @property
    def rule(self) -> str:
        """Its name."""
        return self._shown[0].rule if self._shown else ""

    def show_rule(self, rule: RuleStatus, says: wire.Notice, decides: bool) -> None:
        """Show a rule.

        Args:
            rule: as it stands.
            says: its verdict (`core.control.why.verdict`).
            decides: it is the one that decides.
        """
        if (rule, says, decides) == self._shown:
            return
        self._shown = (rule, says, decides)
        stops = says.code not in MARKS
        self._mark.set(*MARKS.get(says.code, ("close", "warn")))
        self._icon.set(ICONS.get(rule.rule, "info"), "text2")
        title, live, wants, until = told(rule.title), phrase(rule.live), phrase(rule.wants), told(rule.until)
        self._title.setText(title)
        self._live.setText(live)
        self._wants.setText(wants)
        word = told(says)
        end = f"{word[:1].upper()}{word[1:]}. {until}".strip()
        self._until.setText(end if stops else "")
        self._until.setVisible(stops)
        self.fill = "warn_soft" if decides else "surface"
        theme().set_tone(self._live, "text" if not rule.unknown else "text2")
        self._offer(rule, title)
        self.setAccessibleName(f"{title}: {word}")
        self.setAccessibleDescription(f"{live}. {wants}. {until}".strip())
        self.update()

    def _offer(self, rule: RuleStatus, title: str) -> None:
        """What can be done about it."""
        leads = rule.rule in SETTINGS
        self.setting.setVisible(leads)
        self.setting.setAccessibleName(tr("Open the setting of “{rule}”", rule=title))
        self.setting.setToolTip(tr("Open its setting") if leads else "")
        self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
        words = {"lift": tr("Lift for 1 hour"), "end": tr("End now")}
        names = {"lift": tr("Lift “{rule}” for 1 hour", rule=title), "end": tr("End it: {rule}", rule=title)}
        self.do.setVisible(rule.offers is not None)
        if rule.offers is not None:
            self.do.setText(words[rule.offers])
            self.do.setAccessibleName(names[rule.offers])

    @property
    def setting_name(self) -> str:
        """The setting that it leads to; "" if none."""
        unknown = self._shown is not None and self._shown[0].unknown
        other = UNKNOWN_SETTINGS.get(self.rule) if unknown else None
        return other or SETTINGS.get(self.rule, "")

    def _ask(self) -> None:
        self.asked.emit()

    def _do(self) -> None:
        if self._shown is not None:
            (self.lift if self._shown[0].offers == "lift" else self.end_lift).emit(self.rule)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self.rule in SETTINGS and self.rect().contains(event.position().toPoint()):
            self._ask()

    @property
    def words(self) -> str:
        """All that it says."""
        return f"{self.accessibleName()}. {self.accessibleDescription()}"
