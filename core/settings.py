"""Settings: declared once, typed, validated at the border. The settings form is built from this dataclass."""

import contextlib
import dataclasses
import logging
import os
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import platformdirs

from core.errors import DataFolderError, SettingsError

log = logging.getLogger(__name__)

VERSION = 1
FILE = "settings.json"


def setting(default: Any, group: str, label: str, help: str, unit: str = "", **form: Any) -> Any:
    """A field of `Settings` with what the form shows beside it; `form` holds choices' labels or steps."""
    return dataclasses.field(
        default=default, metadata={"group": group, "label": label, "help": help, "unit": unit, **form}
    )


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the user chose. Bounds are part of the types; every change makes a new object."""

    run: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}$")] = setting(
        "digits", "Run", "Run", "The network this PC helps to train.", hidden=True
    )
    idle_only: bool = setting(
        False,
        "Idle and power",
        "Compute only while I am away",
        "Training stops when you use the mouse or keyboard and starts again after the time below.",
    )
    idle_threshold_s: Annotated[int, msgspec.Meta(ge=5, le=86_400)] = setting(
        300,
        "Idle and power",
        "Away after",
        "How long nobody must have touched this PC.",
        "s",
        step=30,
    )
    idle_unknown: Literal["wait", "run"] = setting(
        "wait",
        "Idle and power",
        "If idle time cannot be measured",
        "Some desktops do not tell how long you have been away.",
        choices={"wait": "Do not compute", "run": "Compute anyway"},
    )
    lan: bool = setting(
        True,
        "Network",
        "Find peers on this network",
        "PCs in the same local network that train the same run find each other without any address. "
        "Takes effect at the next start.",
        restart=True,
    )
    relay: bool = setting(
        True,
        "Network",
        "Pass on what others cannot send directly",
        "As a backbone peer this PC relays between peers whose routers keep them apart; it cannot read what it passes "
        "on, and gives 4 MB/s at most. Takes effect at the next start.",
        restart=True,
    )
    threads: Annotated[int, msgspec.Meta(ge=0, le=1024)] = setting(
        0,
        "Devices",
        "Processor threads",
        "How many threads training may use; automatic is half of the cores. "
        "Small experts use only one, which is faster.",
        step=1,
    )
    memory_grace_s: Annotated[int, msgspec.Meta(ge=0, le=3600)] = setting(
        10,
        "Devices",
        "Free the memory after",
        "How long the stopped compute process keeps its memory, so that it can go on at once.",
        "s",
        step=5,
    )
    experts_memory_mb: Annotated[int, msgspec.Meta(ge=0, le=1_048_576)] = setting(
        0,
        "Devices",
        "Memory for experts",
        "How much memory the experts hosted for others may take; automatic is a quarter of what is free at the start. "
        "Takes effect at the next start.",
        "MB",
        step=256,
        restart=True,
    )
    checkpoints_disk_mb: Annotated[int, msgspec.Meta(ge=64, le=16_777_216)] = setting(
        2048,
        "Devices",
        "Disk space for the swarm",
        "How much space the newest states of experts may take here, of this PC and copies for others. "
        "Takes effect at the next start.",
        "MB",
        step=256,
        restart=True,
    )
    theme: Literal["system", "light", "dark"] = setting(
        "system",
        "Appearance",
        "Theme",
        "System follows your desktop's light or dark setting.",
        choices={"system": "System", "light": "Light", "dark": "Dark"},
    )
    control_port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = setting(
        0,
        "Advanced",
        "Control port",
        "Loopback port that this window and the command line use to reach the worker; 0 picks a free one. "
        "Takes effect at the next start.",
        restart=True,
    )

    def changed(self, changes: dict[str, Any]) -> "Settings":
        """The settings with `changes` applied.

        Raises:
            SettingsError: an unknown name or a value out of range; nothing is changed.
        """
        unknown = set(changes) - {field.name for field in dataclasses.fields(self)}
        if unknown:
            raise SettingsError(f"There is no setting named {', '.join(sorted(unknown))}.")
        return _convert({**dataclasses.asdict(self), **changes})


def _convert(values: dict[str, Any]) -> Settings:
    try:
        return msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"A setting cannot have this value: {error}.") from error


def data_path(chosen: Path | None) -> Path:
    """The folder of all of Hearth's data: the chosen one, else the platform's standard one."""
    return (chosen or platformdirs.user_data_path("Hearth", appauthor=False)).absolute()


def data_folder(chosen: Path | None) -> Path:
    """`data_path`, made if missing and checked.

    Raises:
        DataFolderError: it cannot be made or written.
    """
    folder = data_path(chosen)
    try:
        os.fspath(folder).encode()
    except UnicodeEncodeError:
        raise DataFolderError(
            f"The name of the data folder {os.fsencode(folder)!r} is not UTF-8. Choose another with --data-dir."
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise DataFolderError(
            f"The data folder {folder} cannot be written: {error.strerror}. "
            "Make it writable, or choose another with --data-dir."
        ) from error


def load(folder: Path) -> tuple[Settings, str | None]:
    """The settings of a data folder, and a sentence for the user if the file could not be used.

    An unreadable file is set aside under a new name, never deleted, and the defaults are used.
    """
    path = folder / FILE
    try:
        raw = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        raw.pop("version", None)
        known = {field.name for field in dataclasses.fields(Settings)}
        for name in sorted(set(raw) - known):
            log.warning("%s: ignoring the unknown setting %r", path.name, name)
        return _convert({name: value for name, value in raw.items() if name in known}), None
    except FileNotFoundError:
        return Settings(), None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, SettingsError, OSError) as error:
        aside = path.with_name(f"settings.bad-{time.strftime('%Y%m%d-%H%M%S')}.json")
        try:
            path.replace(aside)
            kept = f"It was kept as {aside.name}."
        except OSError:
            kept = "It was left as it is."
        return Settings(), f"The settings file could not be read ({error}). {kept} The defaults are in use."


def save(folder: Path, settings: Settings) -> None:
    """Write the settings atomically.

    Raises:
        DataFolderError: the folder cannot be written; the old file stays.
    """
    document = {"version": VERSION, **dataclasses.asdict(settings)}
    write_atomically(folder / FILE, msgspec.json.format(msgspec.json.encode(document)))


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data`, or leave it as it was.

    Raises:
        DataFolderError: the disk is full or the folder cannot be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # in a folder that is read-only by now even this is refused
            partial.unlink()
        raise DataFolderError(f"{path} could not be written: {error.strerror}. The old file stays.") from error
