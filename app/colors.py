"""The colour roles in light and dark: the only place that holds a colour, beside what one does with colours."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

from PySide6.QtGui import QColor

Stops = tuple[tuple[float, str], ...]


ROLES = {
    "canvas": ("#F6F4F1", "#141210"),
    "sidebar": ("#EEEBE6", "#191614"),
    "surface": ("#FFFFFF", "#1E1B18"),
    "sunken": ("#F2EFEB", "#171412"),
    "raised": ("#FFFFFF", "#2A2622"),
    "border": ("#E3DED7", "#332E29"),
    "line": ("#8C8379", "#857A6F"),
    "text": ("#211D1A", "#F3EEE8"),
    "text2": ("#5A524B", "#BDB3A9"),
    "text3": ("#6F665E", "#9C9187"),
    "ember": ("#AF420B", "#FF9A5C"),
    "ember_fill": ("#C24A10", "#F0793A"),
    "on_fill": ("#FFFFFF", "#1C0F06"),
    "ember_muted": ("#D97B47", "#A5542A"),
    "peer": ("#2A689B", "#7FB8E6"),
    "ok": ("#1F7246", "#6CC795"),
    "warn": ("#805400", "#E3B341"),
    "bad": ("#B3261E", "#FF8A80"),
    "pause": ("#5B51B5", "#ADA6F2"),
    "ember_soft": ("#FBEBE0", "#3A2315"),
    "peer_soft": ("#E6F0F8", "#17293A"),
    "ok_soft": ("#E5F3EB", "#16301F"),
    "warn_soft": ("#FAF0D8", "#33270C"),
    "bad_soft": ("#FCE9E7", "#3D1A17"),
    "pause_soft": ("#EDEBFA", "#27233F"),
    "peer_a": ("#2A689B", "#7FB8E6"),
    "peer_b": ("#1F7A78", "#5CC8C0"),
    "peer_c": ("#98408C", "#E39AD6"),
    "peer_rest": ("#5F6B77", "#AEB7C0"),
    "on_peer": ("#FFFFFF", "#14100D"),  # the letter on the peers' colours
    "tray_waiting": ("#3A3531", "#E8E2DB"),
}
"""Each role in light and in dark."""


class Colors(NamedTuple):
    """The colours of one theme."""

    of: Mapping[str, str]
    """#RRGGBB by role."""
    heat: Stops
    """Colours of the heat ramp at their places from 0 to 1."""
    heat_end: float
    """Greatest place of the ramp used in the window."""


LIGHT = Colors(
    {role: light for role, (light, _) in ROLES.items()},
    ((0.0, "#F6E7DA"), (0.3, "#F5BE92"), (0.6, "#E57B36"), (0.85, "#BC4A10"), (1.0, "#8A2F06")),
    1.0,
)
DARK = Colors(
    {role: dark for role, (_, dark) in ROLES.items()},
    ((0.0, "#2A211B"), (0.25, "#5A2A15"), (0.5, "#B4481A"), (0.75, "#FF8A3D"), (0.92, "#FFC37A"), (1.0, "#FFF0D2")),
    0.85,
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


def mix(one: QColor, other: QColor, share: float) -> QColor:
    """`one` with `share` (0 to 1) of `other`."""
    kept = 1.0 - share
    return QColor.fromRgbF(
        one.redF() * kept + other.redF() * share,
        one.greenF() * kept + other.greenF() * share,
        one.blueF() * kept + other.blueF() * share,
    )
