"""The look in use: colours by role, fonts by role, and the measures of the window.

Widgets ask `theme()` for them when they paint, or carry a `tone` property, by which they get a palette, so a change of
the desktop's light or dark setting needs no work of theirs.
"""

import sys
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from app.colors import DARK, LIGHT, Colors, mix
from app.style_sheets import Kind, style_sheets

Mode = Literal["system", "light", "dark"]

# Spacing (grid of 4), pixels.
XS, S, M, L, XL = 4, 8, 12, 16, 24
PAGE_MARGIN = 24
CARD_GAP = 14
CARD_PADDING = (18, 16)
"""Horizontal, vertical."""
BUTTON_HEIGHT = 34
ARROWS_WIDTH = 26
"""Of the part of a field that has its arrows."""
CONTENT_WIDTH = 1180
RADIUS_CONTROL, RADIUS_MENU, RADIUS_CARD, RADIUS_HERO = 8, 10, 12, 14
CELL_RADIUS = 0.24
"""Of a cell's side."""

# Type roles: pixels, weight, spacing in percent.
TYPE: dict[str, tuple[int, int, int]] = {
    "display": (28, 600, 98),
    "num": (24, 600, 98),
    "title": (20, 600, 98),
    "nums": (16, 600, 100),
    "head": (14, 600, 100),
    "body": (13, 400, 100),
    "strong": (13, 500, 100),
    "cap": (12, 400, 100),
    "cap_strong": (12, 500, 100),
    "micro": (11, 400, 100),
    "micro_strong": (11, 500, 100),
}
SANS = {
    "win32": ["Inter", "Segoe UI Variable Text", "Segoe UI"],
    "darwin": ["Inter", ".AppleSystemUIFont"],
    "linux": ["Inter", "Noto Sans", "DejaVu Sans"],
}
MONO = {
    "win32": ["Cascadia Mono", "Consolas"],
    "darwin": ["SF Mono", "Menlo"],
    "linux": ["DejaVu Sans Mono", "Noto Sans Mono"],
}
STATE_TONE = {
    "contributing": "ember",
    "waiting": "text2",
    "yielding": "peer",
    "paused": "pause",
    "limited": "warn",
    "preparing": "ember",
    "leaving": "text2",
    "attention": "bad",
}


def system_text_scale(app: QApplication) -> float:
    """The user's text size as a factor of the platform's standard one, 1 to 2."""
    if sys.platform == "linux":
        scale = app.primaryScreen().logicalDotsPerInchY() / 96.0
    else:
        scale = QFontInfo(app.font()).pixelSize() / (13.0 if sys.platform == "darwin" else 12.0)
    return min(2.0, max(1.0, scale))


class Theme(QObject):
    """The look in use; one for each process, see `theme`."""

    changed = Signal()
    """The colours are other ones now; style sheets and palette are already set."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._mode: Mode = "system"
        self.scale = system_text_scale(app)
        self.dark = False
        self.colors = LIGHT
        self._shown: tuple[Colors, float] | None = None
        """Colours and scale that all widgets were styled by last."""
        self._platform = sys.platform if sys.platform in SANS else "linux"
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._refresh)
        hints.accessibility().contrastPreferenceChanged.connect(self._refresh)
        self._refresh()

    def set_mode(self, mode: Mode) -> None:
        """Follow the system, or stay light or dark."""
        if mode != self._mode:
            self._mode = mode
            self._refresh()

    def set_scale(self, scale: float) -> None:
        """Text size as a factor of the type roles; widgets made after this call use it."""
        self.scale = scale
        self._refresh()

    def color(self, role: str) -> QColor:
        """The colour of a role of `app.colors.ROLES`."""
        return QColor(self.colors.of[role])

    def set_tone(self, widget: QWidget, tone: str) -> None:
        """Give a widget's text the colour of a role (one of `TONES`), also after a change of the theme.

        Not by a style sheet: that takes 9 KB and much time for each label.
        """
        if widget.property("tone") != tone:
            widget.setProperty("tone", tone)
            widget.setPalette(self._tones[tone])

    def set_sheet(self, widget: QWidget, kind: Kind) -> None:
        """Give one of Qt's own controls its style sheet, also after a change of the theme; all in it get it, too."""
        widget.setProperty("sheet", kind)
        widget.setStyleSheet(self._sheets[kind])

    def heat(self, value: float, whole: bool = False) -> QColor:
        """The heat ramp at `value`, 0 to 1; `whole`: to its white end, which the window does not use."""
        at = min(1.0, max(0.0, value)) * (1.0 if whole else self.colors.heat_end)
        low_at, low = self.colors.heat[0]
        for high_at, high in self.colors.heat[1:]:
            if at <= high_at:
                return mix(QColor(low), QColor(high), (at - low_at) / (high_at - low_at))
            low_at, low = high_at, high
        return QColor(low)

    def cool(self, value: float) -> QColor:
        """What `heat` is for this PC, for the others: pale to blue at `value`, 0 to 1."""
        return mix(self.color("peer_soft"), self.color("peer"), min(1.0, max(0.0, value)))

    def px(self, length: float) -> int:
        """A measure that grows with the text size, pixels."""
        return round(length * self.scale)

    def font(self, role: str, tabular: bool = False) -> QFont:
        """The font of a type role; `tabular` figures have one width, for those that change in columns."""
        size, weight, spacing = TYPE[role]
        font = QFont()
        font.setFamilies(SANS[self._platform])
        font.setPixelSize(self.px(size))
        font.setWeight(QFont.Weight(weight))
        if spacing != 100:
            font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, spacing)
        if tabular:
            font.setFeature(QFont.Tag("tnum"), 1)
        return font

    def mono(self, role: str = "cap") -> QFont:
        """The monospace font, for uids, keys and the log."""
        font = QFont()
        font.setFamilies(MONO[self._platform])
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setPixelSize(self.px(TYPE[role][0]))
        return font

    def _measures(self) -> dict[str, int]:
        heights = {"height": self.px(BUTTON_HEIGHT - 4), "arrows": ARROWS_WIDTH}
        return {"radius": RADIUS_CONTROL, "card_radius": RADIUS_CARD, **heights}

    def _refresh(self) -> None:
        hints = QGuiApplication.styleHints()
        self.dark = self._mode == "dark" or (self._mode == "system" and hints.colorScheme() == Qt.ColorScheme.Dark)
        colors = DARK if self.dark else LIGHT
        if hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast:
            strong = {"border": colors.of["line"], "text3": colors.of["text2"]}
            colors = colors._replace(of={**colors.of, **strong})
        if (colors, self.scale) == self._shown:
            return  # to style all widgets anew takes a part of a second
        self.colors, self._shown = colors, (colors, self.scale)
        self._tones = {tone: _of_tone(colors.of[tone]) for tone in TONES}
        self._app.setFont(self.font("body"))
        self._app.setPalette(palette(colors))
        QToolTip.setPalette(self._app.palette())
        self._sheets = style_sheets({**colors.of, **self._measures()})
        for widget in self._app.allWidgets():
            if tone := widget.property("tone"):
                widget.setPalette(self._tones[tone])
            if kind := widget.property("sheet"):
                widget.setStyleSheet(self._sheets[kind])
        self.changed.emit()


_theme: Theme | None = None


def theme() -> Theme:
    """The process's theme, made at the first call; a QApplication must exist."""
    global _theme
    if _theme is None:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        _theme = Theme(app)
    return _theme


def palette(colors: Colors) -> QPalette:
    """The roles as Qt's palette, for what Qt draws by itself."""
    result = QPalette()
    roles = {
        QPalette.ColorRole.Window: colors.of["canvas"],
        QPalette.ColorRole.WindowText: colors.of["text"],
        QPalette.ColorRole.Base: colors.of["surface"],
        QPalette.ColorRole.AlternateBase: colors.of["sunken"],
        QPalette.ColorRole.Text: colors.of["text"],
        QPalette.ColorRole.PlaceholderText: colors.of["text3"],
        QPalette.ColorRole.Button: colors.of["raised"],
        QPalette.ColorRole.ButtonText: colors.of["text"],
        QPalette.ColorRole.ToolTipBase: colors.of["raised"],
        QPalette.ColorRole.ToolTipText: colors.of["text2"],  # of the frame, too
        QPalette.ColorRole.Highlight: colors.of["ember_fill"],
        QPalette.ColorRole.HighlightedText: colors.of["on_fill"],
        QPalette.ColorRole.Accent: colors.of["ember_fill"],
        QPalette.ColorRole.Link: colors.of["ember"],
        QPalette.ColorRole.Mid: colors.of["border"],
    }
    for role, color in roles.items():
        result.setColor(role, QColor(color))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(colors.of["text3"]))
    return result


def _of_tone(color: str) -> QPalette:
    """What is told of it goes before the application's palette; all else is as there."""
    result = QPalette()
    result.setColor(QPalette.ColorRole.WindowText, QColor(color))
    return result


TONES = ("text", "text2", "text3", "ember", "peer", "ok", "warn", "bad", "pause")


def mode_of(value: object) -> Mode:
    """What was chosen; a spoilt file may hold anything."""
    return value if value in ("system", "light", "dark") else "system"
