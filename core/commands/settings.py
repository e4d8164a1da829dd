"""`hearth settings`: what *Settings* in the app shows, to be read and changed on a terminal."""

import argparse
import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any, get_type_hints

from msgspec import inspect

from core import consent
from core.commands import common
from core.contracts import manifest
from core.contracts.allowed import allowed
from core.contracts.control import SetSettingsParams
from core.contracts.errors import NotRunning, SettingsError
from core.contracts.settings import Settings, late
from core.contracts.status import Status
from core.store import settings_file
from core.store.data_folder import data_folder, data_path

SWITCH = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
KINDS = {field.name: field for field in dataclasses.fields(Settings)}


def settings(options: argparse.Namespace) -> None:
    """List all settings, show one, or change it: through the worker if one runs, else in its file.

    Raises:
        SettingsError: there is no such setting, or it cannot have that value.
        DataFolderError: the file cannot be written.
    """
    if options.name is not None and options.name not in KINDS:
        raise SettingsError(f"There is no setting {options.name!r}. All of them: hearth settings")
    if options.value is not None:
        _change(options)
        return
    now = _read(data_path(options.data_dir))
    if options.name is not None:
        _show(options.name, now)
        _show_limit(options)
    elif options.json:
        common.print_json(dataclasses.asdict(now))
    else:
        width = max(map(len, KINDS))
        for name, field in KINDS.items():
            print(f"{name:{width}}  {_written(name, getattr(now, name))}  ({field.metadata['label']})")


def _read(folder: Path) -> Settings:
    return settings_file.load(folder, consent.standard(folder))[0]


def _show(name: str, now: Settings) -> None:
    field, value = KINDS[name], getattr(now, name)
    unit = "" if _word(name, value) else field.metadata["unit"]
    print(f"{name} = {_written(name, value)}{f' {unit}' if unit else ''}")
    print(" ".join(filter(None, (f"{field.metadata['label']}.", field.metadata["help"], late(field)))))
    if told := _allowed(name):
        print(f"It may be {told}; it is {_written(name, field.default)} unless it is changed.")


def _show_limit(options: argparse.Namespace) -> None:
    """The limit of bandwidth in force, and where it comes from, as a running worker tells."""
    if options.name not in ("upload_kb_s", "download_kb_s"):
        return
    with contextlib.suppress(NotRunning), common.client(options) as client:
        if (line := client.call("status", {}, Status).line) is not None:
            print(f"Now: {(line.upload if options.name == 'upload_kb_s' else line.download).why}")


def _change(options: argparse.Namespace) -> None:
    name, folder = options.name, data_folder(options.data_dir)
    value = _value(name, options.value)
    try:
        changed = _read(folder).changed({name: value})
    except SettingsError:
        if told := _allowed(name):
            raise SettingsError(f"{name} cannot be {options.value!r}; it must be {told}.") from None
        raise
    if name == "run":
        manifest.load(changed.run)
    try:
        with common.client(options) as client:
            client.call("set_settings", SetSettingsParams({name: value}), dict[str, Any])
        when = " after a restart of the worker" if KINDS[name].metadata.get("restart") else ""
    except NotRunning:
        settings_file.save(folder, changed)
        when = " at the next start"
    print(f"{name} is {_written(name, getattr(changed, name))}{when}.")


def _words(name: str) -> dict[str, Any]:
    """What the app calls values of a setting, and these: choices whose name is one word, and what numbers stand for."""
    shown, kind = KINDS[name].metadata, inspect.type_info(get_type_hints(Settings, include_extras=True)[name])
    words = {label: value for value, label in shown.get("choices", {}).items() if " " not in label}
    words |= {shown["zero"]: 0} if "zero" in shown else {}
    if "most" in shown and isinstance(kind, inspect.IntType):
        words[shown["most"]] = kind.le
    return {word.lower(): value for word, value in words.items()}


def _word(name: str, value: Any) -> str:
    return next((word for word, meant in _words(name).items() if meant == value), "")


def _value(name: str, text: str) -> Any:
    """What was typed, as the type of the setting wants it; as text where it is no such thing."""
    usual, words = KINDS[name].default, _words(name)
    if text.lower() in words:
        return words[text.lower()]
    if isinstance(usual, bool):
        return SWITCH.get(text.lower(), text)
    if isinstance(usual, tuple):
        return [part for part in map(str.strip, text.split(",")) if part]
    if isinstance(usual, int | float):
        try:
            return type(usual)(text)
        except ValueError:
            return text
    return text


def _allowed(name: str) -> str:
    """What a setting may be; "": its own errors say that better."""
    kind = inspect.type_info(get_type_hints(Settings, include_extras=True)[name])
    if isinstance(kind, inspect.BoolType):
        return "on or off"
    if isinstance(kind, inspect.StrType | inspect.VarTupleType):
        return ""
    if isinstance(kind, inspect.LiteralType):
        return f"one of: {', '.join(_written(name, value) for value in KINDS[name].metadata['choices'])}"
    return ", or ".join([str(allowed(name, kind)), *(f'"{word}"' if " " in word else word for word in _words(name))])


def _written(name: str, value: Any) -> str:
    """A value as it is typed."""
    value = _word(name, value) or value
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        return ",".join(value) or '""'
    return json.dumps(value, ensure_ascii=False) if value == "" or " " in str(value) else str(value)
