"""Colour roles, type roles and measures of the window: the only place that holds a colour.

Widgets ask `theme()` for them when they paint, or carry a `tone` property that the style sheet colours, so a change of
the desktop's light or dark setting needs no work of theirs.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

Mode = Literal["system", "light", "dark"]
Stops = tuple[tuple[float, str], ...]


@dataclasses.dataclass(frozen=True)
class Colors:
    """The colour roles of one theme as #RRGGBB; `shade` is the shadow's and scrim's opacity."""

    canvas: str
    sidebar: str
    surface: str
    sunken: str
    raised: str
    border: str
    line: str
    text: str
    text2: str
    text3: str
    ember: str
    ember_fill: str
    on_fill: str
    ember_muted: str
    peer: str
    ok: str
    warn: str
    bad: str
    pause: str
    ember_soft: str
    peer_soft: str
    ok_soft: str
    warn_soft: str
    bad_soft: str
    pause_soft: str
    peer_a: str
    peer_b: str
    peer_c: str
    peer_rest: str
    on_peer: str
    """The letter on `peer_a` to `peer_rest`."""
    tray_waiting: str
    heat: Stops
    """Colours of the heat ramp at their places from 0 to 1."""
    heat_end: float
    """Greatest place of the ramp used in the window."""


LIGHT = Colors(
    canvas="#F6F4F1",
    sidebar="#EEEBE6",
    surface="#FFFFFF",
    sunken="#F2EFEB",
    raised="#FFFFFF",
    border="#E3DED7",
    line="#8C8379",
    text="#211D1A",
    text2="#5A524B",
    text3="#6F665E",
    ember="#AF420B",
    ember_fill="#C24A10",
    on_fill="#FFFFFF",
    ember_muted="#D97B47",
    peer="#2A689B",
    ok="#1F7246",
    warn="#805400",
    bad="#B3261E",
    pause="#5B51B5",
    ember_soft="#FBEBE0",
    peer_soft="#E6F0F8",
    ok_soft="#E5F3EB",
    warn_soft="#FAF0D8",
    bad_soft="#FCE9E7",
    pause_soft="#EDEBFA",
    peer_a="#2A689B",
    peer_b="#1F7A78",
    peer_c="#98408C",
    peer_rest="#5F6B77",
    on_peer="#FFFFFF",
    tray_waiting="#3A3531",
    heat=((0.0, "#F6E7DA"), (0.3, "#F5BE92"), (0.6, "#E57B36"), (0.85, "#BC4A10"), (1.0, "#8A2F06")),
    heat_end=1.0,
)
DARK = Colors(
    canvas="#141210",
    sidebar="#191614",
    surface="#1E1B18",
    sunken="#171412",
    raised="#2A2622",
    border="#332E29",
    line="#857A6F",
    text="#F3EEE8",
    text2="#BDB3A9",
    text3="#9C9187",
    ember="#FF9A5C",
    ember_fill="#F0793A",
    on_fill="#1C0F06",
    ember_muted="#A5542A",
    peer="#7FB8E6",
    ok="#6CC795",
    warn="#E3B341",
    bad="#FF8A80",
    pause="#ADA6F2",
    ember_soft="#3A2315",
    peer_soft="#17293A",
    ok_soft="#16301F",
    warn_soft="#33270C",
    bad_soft="#3D1A17",
    pause_soft="#27233F",
    peer_a="#7FB8E6",
    peer_b="#5CC8C0",
    peer_c="#E39AD6",
    peer_rest="#AEB7C0",
    on_peer="#14100D",
    tray_waiting="#E8E2DB",
    heat=(
        (0.0, "#2A211B"),
        (0.25, "#5A2A15"),
        (0.5, "#B4481A"),
        (0.75, "#FF8A3D"),
        (0.92, "#FFC37A"),
        (1.0, "#FFF0D2"),
    ),
    heat_end=0.85,
)


@dataclasses.dataclass(frozen=True)
class AppIconColors:
    """The app icon is the same in both themes."""

    tile_top: str = "#3B302A"
    tile_bottom: str = "#15110F"
    rim: str = "#5A4638"
    arch_edge: str = "#7A240A"
    arch_middle: str = "#E2571A"
    arch_heart: str = "#FFB35C"
    flame: str = "#FFF3DC"
    cell: str = "#E2571A"


APP_ICON = AppIconColors()
TEMPLATE = "#000000"
"""Colour of the macOS menu bar's template images; the system paints them."""

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


def luminance(color: str) -> float:
    """Relative luminance of #RRGGBB, 0 to 1 (WCAG 2.2)."""
    channels = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mix(one: QColor, other: QColor, share: float) -> QColor:
    """`one` with `share` (0 to 1) of `other`."""
    kept = 1.0 - share
    return QColor.fromRgbF(
        one.redF() * kept + other.redF() * share,
        one.greenF() * kept + other.greenF() * share,
        one.blueF() * kept + other.blueF() * share,
    )


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
    """The colours are other ones now; style sheet and palette are already set."""

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

    @contextlib.contextmanager
    def styled_together(self) -> Iterator[None]:
        """Widgets made in here are styled at its end: to style each one whenever it is put into another takes thrice as
        long."""
        self._app.setStyleSheet("")
        yield
        self._app.setStyleSheet(style_sheet(self))

    def color(self, role: str) -> QColor:
        """The colour of a role of `Colors`."""
        return QColor(getattr(self.colors, role))

    def heat(self, value: float, whole: bool = False) -> QColor:
        """The heat ramp at `value`, 0 to 1; `whole`: to its white end, which the window does not use."""
        at = min(1.0, max(0.0, value)) * (1.0 if whole else self.colors.heat_end)
        low_at, low = self.colors.heat[0]
        for high_at, high in self.colors.heat[1:]:
            if at <= high_at:
                return mix(QColor(low), QColor(high), (at - low_at) / (high_at - low_at))
            low_at, low = high_at, high
        return QColor(low)

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

    def _refresh(self) -> None:
        hints = QGuiApplication.styleHints()
        self.dark = self._mode == "dark" or (self._mode == "system" and hints.colorScheme() == Qt.ColorScheme.Dark)
        colors = DARK if self.dark else LIGHT
        if hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast:
            colors = dataclasses.replace(colors, border=colors.line, text3=colors.text2)
        if (colors, self.scale) == self._shown:
            return  # to style all widgets anew takes a part of a second
        self.colors, self._shown = colors, (colors, self.scale)
        self._app.setFont(self.font("body"))
        self._app.setPalette(palette(colors))
        self._app.setStyleSheet(style_sheet(self))
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
        QPalette.ColorRole.Window: colors.canvas,
        QPalette.ColorRole.WindowText: colors.text,
        QPalette.ColorRole.Base: colors.surface,
        QPalette.ColorRole.AlternateBase: colors.sunken,
        QPalette.ColorRole.Text: colors.text,
        QPalette.ColorRole.PlaceholderText: colors.text3,
        QPalette.ColorRole.Button: colors.raised,
        QPalette.ColorRole.ButtonText: colors.text,
        QPalette.ColorRole.ToolTipBase: colors.raised,
        QPalette.ColorRole.ToolTipText: colors.text,
        QPalette.ColorRole.Highlight: colors.ember_fill,
        QPalette.ColorRole.HighlightedText: colors.on_fill,
        QPalette.ColorRole.Accent: colors.ember_fill,
        QPalette.ColorRole.Link: colors.ember,
        QPalette.ColorRole.Mid: colors.border,
    }
    for role, color in roles.items():
        result.setColor(role, QColor(color))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(colors.text3))
    return result


TONES = ("text", "text2", "text3", "ember", "peer", "ok", "warn", "bad", "pause")


def style_sheet(look: Theme) -> str:
    """The application's style sheet: tones of labels, and Qt's own controls."""
    c = look.colors
    tones = "\n".join(f'QLabel[tone="{tone}"] {{ color: {getattr(c, tone)}; }}' for tone in TONES)
    control = f"border: 1px solid {c.line}; border-radius: {RADIUS_CONTROL}px; background: {c.sunken}; color: {c.text};"
    return f"""
{tones}
QLabel {{ background: transparent; }}
QBalloonTip QLabel {{ color: black; }}
QToolTip {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.border}; padding: 4px 6px; }}
QScrollArea, QScrollArea > QWidget > QWidget[canvas="true"] {{ background: transparent; border: none; }}
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox {{
    {control} min-height: {look.px(BUTTON_HEIGHT - 4)}px; padding: 0 8px;
    selection-background-color: {c.ember_fill}; selection-color: {c.on_fill};
}}
QLineEdit:disabled, QSpinBox:disabled, QComboBox:disabled {{ color: {c.text3}; border-color: {c.border}; }}
QSpinBox::up-button, QSpinBox::down-button, QComboBox::drop-down {{
    background: transparent; border: none; width: {ARROWS_WIDTH}px;
}}
QSpinBox::up-arrow, QSpinBox::down-arrow, QComboBox::down-arrow {{ image: none; }}
QComboBox QAbstractItemView {{
    background: {c.raised}; color: {c.text}; border: 1px solid {c.border};
    selection-background-color: {c.ember_soft}; selection-color: {c.text};
}}
QPlainTextEdit, QTextEdit {{
    background: {c.sunken}; color: {c.text}; border: 1px solid {c.border}; border-radius: {RADIUS_CONTROL}px;
    selection-background-color: {c.ember_fill}; selection-color: {c.on_fill};
}}
QPlainTextEdit[readOnly="false"] {{ border-color: {c.line}; }}
QTreeView[table="true"] {{ background: transparent; border: none; color: {c.text}; outline: none; }}
QTreeView[table="true"]::item {{ padding: 5px 6px; border-bottom: 1px solid {c.border}; }}
QTreeView[table="true"]::item:selected {{ background: {c.ember_soft}; color: {c.text}; }}
QHeaderView {{ background: transparent; border: none; }}
QHeaderView::section {{
    background: transparent; color: {c.text2}; border: none; border-bottom: 1px solid {c.line}; padding: 4px 9px;
}}
QMenu {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.border}; padding: 6px; }}
QMenu::item {{ padding: 8px 40px 8px 14px; border-radius: {RADIUS_CONTROL}px; }}
QMenu::item:selected {{ background: {c.ember_soft}; color: {c.text}; }}
QMenu::item:disabled {{ color: {c.text3}; }}
QMenu::separator {{ height: 1px; background: {c.border}; margin: 6px 8px; }}
QScrollBar:vertical {{ background: transparent; width: 8px; margin: 2px 1px; }}
QScrollBar:horizontal {{ background: transparent; height: 8px; margin: 1px 2px; }}
QScrollBar::handle {{ background: {c.line}; border-radius: 3px; min-height: 28px; min-width: 28px; }}
QScrollBar::handle:hover {{ background: {c.text3}; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{
    background: transparent; border: none; width: 0; height: 0;
}}
"""
