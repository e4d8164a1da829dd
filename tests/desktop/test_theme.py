"""The colour table of the design holds: every ratio is computed, and no colour stands anywhere else."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import theme as look
from app.colors import DARK, LIGHT, Colors
from app.theme import theme
from app.widgets.basics import Label
from app.widgets.inputs import Field
from tests.desktop.contrast import contrast

ROOT = Path(__file__).parents[2]
GROUNDS = ("canvas", "sidebar", "surface", "sunken")
RATIOS = [
    # role, light, dark: the lowest contrast on the four grounds
    ("line", 3.1, 4.1),
    ("text", 14.1, 14.9),
    ("text2", 6.4, 8.3),
    ("text3", 4.7, 5.6),
    ("ember", 4.9, 8.2),
    ("ember_fill", 4.1, 6.1),
    ("peer", 5.0, 8.1),
    ("ok", 5.0, 8.4),
    ("warn", 5.5, 8.8),
    ("bad", 5.5, 7.5),
    ("pause", 5.4, 7.8),
]
ROUNDING = 0.05


@pytest.mark.parametrize("role,light,dark", RATIOS)
def test_roles_have_the_contrast_of_the_table(role: str, light: float, dark: float) -> None:
    for colors, promised in ((LIGHT, light), (DARK, dark)):
        lowest = min(contrast(colors.of[role], colors.of[ground]) for ground in GROUNDS)
        assert lowest >= promised - ROUNDING, f"{role}: {lowest:.2f}"
        assert lowest == pytest.approx(promised, abs=0.1), "the table of the design says another ratio"


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_text_needs_four_and_a_half(colors: Colors) -> None:
    for role in ("text", "text2", "text3", "ember", "peer", "ok", "warn", "bad", "pause"):
        for ground in GROUNDS:
            assert contrast(colors.of[role], colors.of[ground]) >= 4.5, (role, ground)


@pytest.mark.parametrize(
    "colors,on_fill,muted,raised", [(LIGHT, 4.9, 3.05, 4.7), (DARK, 6.7, 3.2, 4.9)], ids=["light", "dark"]
)
def test_fills_and_raised_surfaces(colors: Colors, on_fill: float, muted: float, raised: float) -> None:
    assert contrast(colors.of["on_fill"], colors.of["ember_fill"]) >= on_fill - ROUNDING
    assert contrast(colors.of["ember_muted"], colors.of["surface"]) >= muted - ROUNDING
    assert contrast(colors.of["text3"], colors.of["raised"]) >= raised - ROUNDING


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_soft_backgrounds_and_peers_carry_their_text(colors: Colors) -> None:
    for role in ("ember", "peer", "ok", "warn", "bad", "pause"):
        assert contrast(colors.of[role], colors.of[f"{role}_soft"]) >= 5.0 - ROUNDING, role
    for peer in ("peer_a", "peer_b", "peer_c", "peer_rest"):
        assert contrast(colors.of["on_peer"], colors.of[peer]) >= 5.1 - ROUNDING, peer


def test_no_colour_stands_outside_of_its_roles() -> None:
    pattern = re.compile(r"#[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3}){0,1}\b|(?<!\.)\brgba?\(|QColor\(\s*[\d\"']")
    sources = [path for path in (ROOT / "app").rglob("*.py") if path.name != "colors.py"]
    sources += (ROOT / "resources" / "icons").glob("*.svg")
    assert len(sources) > 20
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def test_dark_and_light_switch_at_once(qtbot: QtBot, qapp: QApplication) -> None:
    theme().set_mode("light")
    label, field = Label("Hearth", tone="ember"), Field()
    for widget in (label, field):
        qtbot.addWidget(widget)
    with qtbot.waitSignal(theme().changed):
        theme().set_mode("dark")
    assert theme().color("canvas") == QColor(DARK.of["canvas"])
    assert qapp.palette().window().color() == QColor(DARK.of["canvas"])
    assert DARK.of["sunken"] in field.styleSheet() and LIGHT.of["sunken"] not in field.styleSheet()
    assert not qapp.styleSheet(), "it takes 9 KB for each label"
    assert label.palette().windowText().color() == QColor(DARK.of["ember"])
    theme().set_mode("system")
    system_is_dark = qapp.styleHints().colorScheme() == Qt.ColorScheme.Dark
    assert theme().dark == system_is_dark


def test_heat_ramp_runs_from_end_to_end(qapp: QApplication) -> None:
    theme().set_mode("light")
    assert theme().heat(0.0).name().upper() == "#F6E7DA"
    assert theme().heat(0.6).name().upper() == "#E57B36"
    assert theme().heat(1.0).name().upper() == "#8A2F06"
    theme().set_mode("dark")
    assert theme().heat(0.0).name().upper() == "#2A211B"
    assert theme().heat(2.0) == theme().heat(1.0)
    theme().set_mode("system")


def test_type_roles_are_never_below_eleven_pixels(qapp: QApplication) -> None:
    for role, (size, weight, _) in look.TYPE.items():
        font = theme().font(role)
        assert font.pixelSize() == round(size * theme().scale) >= 11
        assert font.weight() == weight
