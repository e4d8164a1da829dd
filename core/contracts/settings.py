"""Settings: declared once, typed, validated at the border. The settings form is built from this dataclass."""

# ruff: noqa: RUF009 - `setting` makes a field, as dataclasses.field does

import dataclasses
import os
import sys
from typing import Annotated, Any, Literal

import msgspec

from core.contracts import schedule
from core.contracts.credit import Shown
from core.contracts.errors import SettingsError
from core.contracts.notices import notice

Profile = Literal["quiet", "balanced", "full", "own"]
Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]
Share = Annotated[int, msgspec.Meta(ge=5, le=100)]
"""Percent of what cannot be nothing: to use none of it is to pause."""
Celsius = Annotated[int, msgspec.Meta(ge=0, le=110)]
Watts = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Megabytes = Annotated[int, msgspec.Meta(ge=0, le=1_048_576)]
NO_LIMIT = 10_000_000
Rate = Annotated[int, msgspec.Meta(ge=0, le=NO_LIMIT)]
Minutes = Annotated[int, msgspec.Meta(ge=0, le=1440)]
Text = Annotated[str, msgspec.Meta(max_length=schedule.MAX_TEXT)]
Names = Annotated[tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=128)], ...], msgspec.Meta(max_length=64)]


def setting(default: Any, group: str, label: str, help: str, unit: str = "", **form: Any) -> Any:
    """A field of `Settings` with what the form shows beside it.

    `form`: labels of `choices`, `step`, `zero` (the word for 0), `most` (that for the greatest
    value), `placeholder`, `hidden` (another page shows it),
    `restart` (the worker reads it at its start only), `window` (the app's window reads it at its start only).
    """
    return dataclasses.field(
        default=default, metadata={"group": group, "label": label, "help": help, "unit": unit, **form}
    )


START, IDLE, GAMES, DEVICES, NETWORK, SCHEDULE, ENERGY, NOTICES, ADVANCED = (
    "Run and start", "Idle and power", "Programs and games", "Devices", "Network", "Schedule", "Energy",
    "Notifications", "Advanced",
)  # fmt: skip
LATE = {"restart": "Applies after a restart.", "window": "Applies after a restart of the window."}
"""What the form says of settings that are marked so."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the user chose. Bounds are part of the types; every change makes a new object."""

    run: Annotated[str, msgspec.Meta(pattern=r"^([a-z][a-z0-9_-]{0,31}|.{1,4090}\.(json|toml))\Z")] = setting(
        "digits", START, "Run",
        "The network that this PC helps to train: one that comes with Hearth, or one of an organiser's manifest "
        "(a .toml or .json file).",
        restart=True,
    )  # fmt: skip
    profile: Profile = setting(
        "balanced", "Profile", "How much this PC shares",
        "Quiet is barely noticeable; Full uses everything you allow. A profile sets CPU time, threads, memory, "
        "temperatures, the GPU while you are here and how busy other programs may be. Changing one makes it Custom.",
        choices={"quiet": "Quiet", "balanced": "Balanced", "full": "Full", "own": "Custom"},
    )  # fmt: skip
    idle_only: bool = setting(
        False, IDLE, "Compute only while I am away",
        "Training stops when you use the mouse or keyboard and starts again once you have been away for a while.",
    )  # fmt: skip
    idle_threshold_s: Annotated[int, msgspec.Meta(ge=5, le=86_400)] = setting(
        300, IDLE, "Away after", "Idle time before starting.", "s", step=30
    )
    idle_unknown: Literal["wait", "run"] = setting(
        "wait", IDLE, "If idle time cannot be measured",
        "Some desktops do not report how long you have been away. “Compute anyway” treats that as being away.",
        choices={"wait": "Do not compute", "run": "Compute anyway"},
    )  # fmt: skip
    gpu_in_use: bool = setting(
        False, IDLE, "Use the GPU while I am here",
        "If this is off, the GPU computes only while you are away, and the screen stays smooth.",
    )  # fmt: skip
    on_battery: bool = setting(False, IDLE, "Compute on battery", "Otherwise it stops until you plug this PC in.")
    battery_percent: Percent = setting(
        60, IDLE, "On battery, keep this charge", "If it computes on battery, it stops below this charge.", "%", step=5
    )
    keep_awake: bool = setting(
        False, IDLE, "Keep this PC awake", "Otherwise it goes to sleep as it always does, also while it computes."
    )
    busy_cpu_percent: Percent = setting(
        25, GAMES, "Stop when other programs are busy",
        "It stops when other programs use more of the CPU than this for some seconds, and resumes when they "
        "have been quiet for 20 s. The GPU gives way to them too.",
        "%", step=5, zero="Never",
    )  # fmt: skip
    game_stops: Literal["all", "gpu", "nothing"] = setting(
        "all", GAMES, "A game or full screen stops", "What gives way while something fills your screen.",
        choices={"all": "All", "gpu": "The GPU", "nothing": "Nothing"},
    )  # fmt: skip
    game_is: Literal["fullscreen", "game"] = setting(
        "fullscreen", GAMES, "What counts",
        "Films and presentations fill the screen as well; games are recognised by GameMode or Direct3D.",
        choices={"fullscreen": "Anything full screen", "game": "Known games"},
    )  # fmt: skip
    exclusive_programs: Names = setting(
        (), GAMES, "Programs that stop all", "While one of them runs, this PC does not compute.",
        placeholder="Such as blender, premiere",
    )  # fmt: skip
    exclusive_gpu_programs: Names = setting(
        (), GAMES, "Programs that stop the GPU", "While one of them runs, the GPU is theirs.",
        placeholder="Such as obs, resolve",
    )  # fmt: skip
    cpu_share_in_use: Share = setting(
        50, DEVICES, "CPU time while I am here", "Part of the time that training computes; it rests in between.",
        "%", step=5,
    )  # fmt: skip
    cpu_share_idle: Share = setting(
        100, DEVICES, "CPU time while I am away", "The same, while nobody uses this PC.", "%", step=5
    )
    threads: Annotated[int, msgspec.Meta(ge=0, le=1024)] = setting(
        0, DEVICES, "CPU threads",
        "How many threads training may use; automatic is half of the cores. "
        "Small experts use only one, which is faster.",
        step=1, zero="Automatic",
    )  # fmt: skip
    gpus_off: Names = setting((), DEVICES, "GPUs not to use", "IDs of GPUs.", hidden=True)
    gpu_memory_percent: Share = setting(
        80, DEVICES, "GPU memory", "How much of a GPU's memory may be used.", "%", step=5
    )
    memory_in_use_percent: Share = setting(
        25, DEVICES, "Memory while I am here", "Of this PC's memory, for all of Hearth.", "%", step=5
    )
    memory_idle_percent: Share = setting(
        50, DEVICES, "Memory while I am away", "The same, while nobody uses this PC.", "%", step=5
    )
    memory_free_mb: Megabytes = setting(
        512, DEVICES, "Always keep free memory", "It stops when less is left for other programs.", "MB", step=256
    )
    memory_grace_s: Annotated[int, msgspec.Meta(ge=0, le=3600)] = setting(
        10, DEVICES, "Free the memory after",
        "How long the stopped compute process keeps its memory, so that it can continue at once.",
        "s", step=5,
    )  # fmt: skip
    experts_memory_mb: Megabytes = setting(
        0, DEVICES, "Memory for experts",
        "How much memory the experts hosted for others may take; automatic is a quarter of what is free at the start.",
        "MB", step=256, zero="Automatic", restart=True,
    )  # fmt: skip
    checkpoints_disk_mb: Annotated[int, msgspec.Meta(ge=64, le=16_777_216)] = setting(
        2048, DEVICES, "Disk space for Hearth",
        "Checkpoints, copies for others, history and log together; a GPU pack is not counted. Fewer experts are "
        "trained here where more would not fit.",
        "MB", step=256,
    )  # fmt: skip
    disk_free_mb: Megabytes = setting(
        1024, DEVICES, "Always keep free disk space", "It stops when less is left where its data are.", "MB", step=256
    )
    peers: bool = setting(
        True, NETWORK, "Work with other peers",
        "This PC joins the other volunteers of its run by itself. If this is off, it trains alone and calls nobody.",
        restart=True,
    )  # fmt: skip
    lan: bool = setting(
        True, NETWORK, "Find peers on this network",
        "PCs in the same local network that train the same run find each other without any address.",
        restart=True,
    )  # fmt: skip
    relay: bool = setting(
        True, NETWORK, "Pass on what others cannot send directly",
        "As a backbone peer this PC relays between peers whose routers keep them apart. It cannot read what it passes "
        "on, and passes on 4 MB/s at most.",
        restart=True,
    )  # fmt: skip
    on_metered: bool = setting(
        False, NETWORK, "Use metered networks", "Otherwise no peer is called on networks where data may cost money."
    )
    upload_kb_s: Rate = setting(
        0, NETWORK, "Upload at most",
        "To all peers together. Automatic is a quarter of your line's upload, as measured with peers. It does not "
        "count your local network.",
        "kB/s", step=100, zero="Automatic", most="No limit",
    )  # fmt: skip
    download_kb_s: Rate = setting(
        0, NETWORK, "Download at most", "From all peers together. Automatic is twice the automatic limit for uploads.",
        "kB/s", step=100, zero="Automatic", most="No limit",
    )  # fmt: skip
    quota_mb: Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)] = setting(
        0, NETWORK, "Monthly traffic", "Both ways, in a calendar month; then the network waits for the next one.", "MB",
        step=1000, zero="No limit",
    )  # fmt: skip
    shown_name: Shown = setting(
        "", NETWORK, "Name on boards",
        "Shown with this PC's credit. Without a name the credit is counted, but not shown.",
        placeholder="None",
    )  # fmt: skip
    team: Shown = setting(
        "", NETWORK, "Team", "Shown beside the name. Members of one team get no credit for helping each other.",
        placeholder="None",
    )  # fmt: skip
    compute_hours: Text = setting(
        "", SCHEDULE, "Compute at",
        "Paint the hours with the mouse, or with arrow keys and Space. The text is exact to the minute, such as "
        "mo-fr 18:30-08:00.",
        placeholder="Always",
    )  # fmt: skip
    network_hours: Text = setting(
        "", SCHEDULE, "Use the network at", "The hours in which this PC may send to peers and receive from them.",
        placeholder="Always",
    )  # fmt: skip
    cpu_celsius: Celsius = setting(
        85, ENERGY, "CPU no hotter than", "Training rests more as this temperature comes near.", "°C",
        step=5, zero="No target",
    )  # fmt: skip
    gpu_celsius: Celsius = setting(
        80, ENERGY, "GPU no hotter than", "The same, for GPUs.", "°C", step=5, zero="No target"
    )
    cpu_watts_limit: Watts = setting(
        0, ENERGY, "CPU power", "Training rests as long as it takes to stay below.", "W", step=5, zero="No limit"
    )
    gpu_watts_limit: Watts = setting(0, ENERGY, "GPU power", "The same, for GPUs.", "W", step=5, zero="No limit")
    energy_budget_kwh: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = setting(
        0, ENERGY, "Monthly energy", "What training may use in a calendar month.", "kWh", step=5, zero="No limit"
    )
    price_kwh: Annotated[float, msgspec.Meta(ge=0, le=1000)] = setting(
        0.0, ENERGY, "Price of electricity", "For a kWh, in your currency; the costs are shown with it.",
        step=0.01, zero="Not set",
    )  # fmt: skip
    co2_g_kwh: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = setting(
        0, ENERGY, "CO₂ of electricity", "Grams per kWh; your electricity provider publishes it.", "g",
        step=10, zero="Not set",
    )  # fmt: skip
    cpu_watts_estimate: Watts = setting(
        0, ENERGY, "CPU at full load",
        "Used where nothing measures the power; automatic goes by the number of cores.",
        "W", step=5, zero="Automatic",
    )  # fmt: skip
    theme: Literal["system", "light", "dark"] = setting(
        "system", "Appearance", "Theme", "System follows your desktop's light or dark setting.",
        choices={"system": "System", "light": "Light", "dark": "Dark"},
    )  # fmt: skip
    language: Literal["system", "en", "de"] = setting(
        "system", "Appearance", "Language",
        "System follows your desktop's language.",
        choices={"system": "System", "en": "English", "de": "Deutsch"}, window=True,
    )  # fmt: skip
    screensaver_min: Minutes = setting(
        0, "Appearance", "Show the screensaver after",
        "After this much idle time, all screens show the experts at work until you use the PC again. "
        "Not on battery, and not over a full screen.",
        "min", zero="Never",
    )  # fmt: skip
    screensaver_black_min: Minutes = setting(
        10, "Appearance", "The screensaver goes black after",
        "Counted from when it began. Your system turns the screens off as it always does.",
        "min", zero="Never",
    )  # fmt: skip
    reduced_motion: bool = setting(
        False, "Appearance", "Less motion",
        "Screensaver and window show what happens without lights that move. Your system's own setting holds as well.",
    )  # fmt: skip
    check_updates: bool = setting(
        True, START, "Look for updates",
        "Once a day, if Hearth was not installed by your system's package manager, which sees to that. "
        "Nothing is installed without your click.",
    )  # fmt: skip
    notify_attention: bool = setting(
        True, NOTICES, "When something needs attention", "Notify once if it persists and Hearth isn't in view."
    )
    notify_milestone: bool = setting(
        True, NOTICES, "Milestones", "The first hour, ten hours, a million samples, and the like."
    )
    notify_update: bool = setting(
        True, NOTICES, "Updates",
        "When there is a newer version, and when one was installed and Hearth must be started again to use it.",
    )  # fmt: skip
    control_port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = setting(
        0, ADVANCED, "Control port",
        "Loopback port that this window and the command line use to reach the worker; 0 picks a free one.",
        restart=True, zero="Any free one",
    )  # fmt: skip

    def changed(self, changes: dict[str, Any]) -> "Settings":
        """The settings with `changes` applied; a profile brings its values, and a value of one's own is no profile's.

        Raises:
            SettingsError: an unknown name or a value out of range; nothing is changed.
        """
        unknown = set(changes) - {field.name for field in dataclasses.fields(self)}
        if unknown:
            raise SettingsError(notice("settings.no_name", names=", ".join(sorted(unknown))))
        values = dataclasses.asdict(self)
        chosen = changes.get("profile")
        brought = profile_values(chosen) if isinstance(chosen, str) and chosen in PROFILES else {}
        new = convert({**values, **brought, **changes})
        return new if chosen == "own" else dataclasses.replace(new, profile=_profile_of(new))


PROFILES: dict[str, dict[str, Any]] = {
    "quiet": {
        "cpu_share_in_use": 25, "cpu_share_idle": 60, "memory_in_use_percent": 15, "memory_idle_percent": 30,
        "cpu_celsius": 70, "gpu_celsius": 70, "busy_cpu_percent": 15, "gpu_in_use": False,
    },
    "balanced": {
        "cpu_share_in_use": 50, "cpu_share_idle": 100, "memory_in_use_percent": 25, "memory_idle_percent": 50,
        "cpu_celsius": 85, "gpu_celsius": 80, "busy_cpu_percent": 25, "gpu_in_use": False,
    },
    "full": {
        "cpu_share_in_use": 100, "cpu_share_idle": 100, "memory_in_use_percent": 50, "memory_idle_percent": 80,
        "cpu_celsius": 95, "gpu_celsius": 85, "busy_cpu_percent": 0, "gpu_in_use": True,
    },
}  # fmt: skip
"""What each profile sets, beside `threads`, which depends on the PC."""


def profile_values(profile: str) -> dict[str, Any]:
    """The settings of a profile on this PC: a quarter of its cores, half of them (automatic), or all."""
    threads = {"quiet": max(1, cores() // 4), "balanced": 0, "full": cores()}
    return {**PROFILES[profile], "threads": threads[profile]}


def _profile_of(settings: Settings) -> Profile:
    """The profile whose values these are; the chosen one first, as on a small PC two may be alike."""
    values = dataclasses.asdict(settings)
    names: tuple[Profile, ...] = ("quiet", "balanced", "full")
    for name in sorted(names, key=lambda name: name != settings.profile):
        if profile_values(name).items() <= values.items():
            return name
    return "own"


def late(field: "dataclasses.Field[Any]") -> str:
    """What the form says of a setting that is only read at a start; "" of the others."""
    return next((words for marked, words in LATE.items() if field.metadata.get(marked)), "")


def convert(values: dict[str, Any]) -> Settings:
    """Settings from untrusted values.

    Raises:
        SettingsError: a value is of the wrong type, out of range, or a schedule that cannot be read.
    """
    try:
        settings = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(notice("settings.impossible", why=str(error))) from error
    schedule.parse(settings.compute_hours)
    schedule.parse(settings.network_hours)
    return settings


def cores() -> int:
    """How many cores this PC lets us use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
