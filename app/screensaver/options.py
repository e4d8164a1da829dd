"""The screensaver's command line, in all the ways in which desktops call one.

XScreenSaver and its kin (MATE, Xfce) draw into a window that they name by `-root` and XSCREENSAVER_WINDOW, or by
`--window-id`; Windows says `/s` for the whole screen, `/p HWND` for its preview, `/c` for the settings.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from app.formats import seconds_of
from core.contracts.errors import SettingsError

WINDOWS = re.compile(r"[/-]([spc])(?:[: ]?(\d+))?", re.IGNORECASE)
TRANSLATED = {"s": "--full-screen", "p": "--window-id", "c": "--settings"}
VARIABLE = "XSCREENSAVER_WINDOW"
WINDOW_LIMIT = 1 << 64
"""Of a window's number; those of X11 have 29 bits, Windows' 64."""
ROOT = 0
"""Instead of a window's number: whatever serves as the background."""


class Options(NamedTuple):
    """What is asked for."""

    folder: Path | None
    """The data folder, None: the standard one."""
    window: int | None = None
    """Draw into this window of another program, or into `ROOT`; None: all screens."""
    settings: bool = False
    """Open Hearth's settings instead."""
    black_s: float | None = None
    """Turn black after so many seconds, 0: never; None: as the settings say."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SettingsError(f"{message[:1].upper()}{message[1:]}. See: hearth screensaver --help")


def parse(words: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Read the words after `hearth screensaver`.

    Raises:
        SettingsError: they say nothing that can be done.
    """
    parser = _Parser(
        prog="hearth screensaver",
        description="Show the experts at work: on all screens, until the next input, or in another program's window.",
        epilog="Windows' own words /s, /p HWND and /c mean --full-screen, --window-id HWND and --settings.",
        allow_abbrev=False,
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--full-screen", action="store_true", help="on all screens; so it is if nothing else is said")
    way.add_argument("-root", "--root", action="store_true", help=f"on the background, or in the window of {VARIABLE}")
    way.add_argument(
        "-window-id", "--window-id", type=_window, metavar="ID", help="in this window of another program (X11, Windows)"
    )
    way.add_argument("--settings", action="store_true", help="open Hearth's settings")
    parser.add_argument("--black-after", type=_seconds, metavar="TIME", help="such as 30s or 10m; 0: never")
    parser.add_argument("--data-dir", type=Path, help="folder of all of Hearth's data")
    found = parser.parse_args([part for word in words for part in _translated(word)])
    window = found.window_id
    if window is None and not (found.full_screen or found.settings):
        named = environment.get(VARIABLE, "")
        window = _named(named) if named else ROOT if found.root else None
    return Options(found.data_dir, window, found.settings, found.black_after)


def _translated(word: str) -> list[str]:
    """A word of Windows' as ours; the number may follow a colon or be a word of its own."""
    match = WINDOWS.fullmatch(word)
    if match is None:
        return [word]
    letter, number = match[1].lower(), match[2]
    return [TRANSLATED[letter], *([number] if number and letter == "p" else [])]  # /c:HWND names who asks


def _named(text: str) -> int:
    try:
        return _window(text)
    except argparse.ArgumentTypeError as error:
        raise SettingsError(f"{VARIABLE} cannot be used: {error}.") from None


def _window(text: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        number = 0
    if not 0 < number < WINDOW_LIMIT:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not the number of a window, such as 0x2a00007")
    return number


def _seconds(text: str) -> float:
    seconds = seconds_of(text)
    if seconds is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no time such as 30s or 10m")
    return float(seconds)
