"""Style sheets of Qt's own controls, by kind of control; `$` names a colour's role or a measure.

Each control gets its own: one for the whole application takes 9 KB of memory, and much time, for every label.
"""

from collections.abc import Mapping
from string import Template
from typing import Literal

Kind = Literal["field", "choice", "low_choice", "text", "help", "table", "week", "menu", "scroll_bar"]

FIELD = """
QLineEdit, QSpinBox, QComboBox {
    border: 1px solid $line; border-radius: ${radius}px; background: $sunken; color: $text;
    min-height: ${height}px; padding: 0 8px; selection-background-color: $ember_fill; selection-color: $on_fill;
}
QLineEdit:disabled, QSpinBox:disabled, QComboBox:disabled { color: $text3; border-color: $border; }
QSpinBox::up-button, QSpinBox::down-button, QComboBox::drop-down {
    background: transparent; border: none; width: ${arrows}px;
}
QSpinBox::up-arrow, QSpinBox::down-arrow, QComboBox::down-arrow { image: none; }
QComboBox QAbstractItemView {
    background: $raised; color: $text; border: 1px solid $border;
    selection-background-color: $ember_soft; selection-color: $text;
}
"""
SCROLL_BAR = """
QScrollBar:vertical { background: transparent; width: 8px; margin: 2px 1px; }
QScrollBar:horizontal { background: transparent; height: 8px; margin: 1px 2px; }
QScrollBar::handle { background: $line; border-radius: 3px; min-height: 28px; min-width: 28px; }
QScrollBar::handle:hover { background: $text3; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {
    background: transparent; border: none; width: 0; height: 0;
}
"""
TEXT = f"""{SCROLL_BAR}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
QPlainTextEdit, QTextEdit {{
    background: $sunken; color: $text; border: 1px solid $border; border-radius: ${{radius}}px;
    selection-background-color: $ember_fill; selection-color: $on_fill;
}}
QPlainTextEdit[readOnly="false"] {{ border-color: $line; }}
"""
HEAD = """
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
    background: transparent; color: $text2; border: none; border-bottom: 1px solid $line; padding: 4px 9px;
}
"""
TABLE = f"""{HEAD} {SCROLL_BAR}
QTreeView {{ background: transparent; border: none; color: $text; outline: none; }}
QTreeView::item {{ padding: 5px 6px; border-bottom: 1px solid $border; }}
QTreeView::item:selected {{ background: $ember_soft; color: $text; }}
"""
WEEK = f"""{HEAD}
QTableView {{ background: transparent; border: none; outline: none; }}
QTableCornerButton::section {{ background: transparent; border: none; }}
QHeaderView::section {{ border: none; padding: 0 4px 0 1px; }}
"""
MENU = """
QMenu { background: $raised; color: $text; border: 1px solid $border; padding: 6px; }
QMenu::item { padding: 8px 40px 8px 14px; border-radius: ${radius}px; }
QMenu::item:selected { background: $ember_soft; color: $text; }
QMenu::item:disabled { color: $text3; }
QMenu::separator { height: 1px; background: $border; margin: 6px 8px; }
"""
TEMPLATES: dict[Kind, str] = {
    "field": FIELD,
    "choice": FIELD + SCROLL_BAR,
    "low_choice": f"{FIELD} {SCROLL_BAR} QComboBox {{ min-height: 22px; }}",
    "text": TEXT,
    "help": f"{TEXT} QTextEdit {{ background: $surface; border-radius: ${{card_radius}}px; }}",
    "table": TABLE,
    "week": WEEK,
    "menu": MENU,
    "scroll_bar": SCROLL_BAR,
}


def style_sheets(names: Mapping[str, object]) -> dict[Kind, str]:
    """All of them.

    Args:
        names: colours by role, and the measures radius, card_radius, height and arrows in pixels.
    """
    return {kind: Template(text).substitute(names) for kind, text in TEMPLATES.items()}
