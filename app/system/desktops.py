"""What differs between desktops and Qt does not tell."""

import os

from PySide6.QtCore import QLoggingCategory
from PySide6.QtGui import QGuiApplication

MINIMISE = {
    "gnome",
    "ubuntu",
    "unity",
    "kde",
    "xfce",
    "lxqt",
    "x-cinnamon",
    "mate",
    "budgie",
    "pantheon",
    "cosmic",
    "dde",
}
"""Desktops on Wayland that show minimised windows somewhere, as `XDG_CURRENT_DESKTOP` names them."""


def quieten() -> None:
    """Keep from the terminal what Qt says at each change of focus on Wayland, where nothing is wrong."""
    QLoggingCategory.setFilterRules("qt.qpa.wayland.textinput.warning=false")


def on_wayland() -> bool:
    return QGuiApplication.platformName().startswith("wayland")


def minimises() -> bool:
    """Whether a window can be minimised. Sway and other tiling desktops leave it where it is, and tell nobody so."""
    names = os.environ.get("XDG_CURRENT_DESKTOP", "").lower().split(":")
    return not on_wayland() or not MINIMISE.isdisjoint(names)
