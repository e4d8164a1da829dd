"""Contract of the ledger: what this PC contributed, as clients of the control socket ask for it and get it."""

from typing import Annotated, Literal

import msgspec

from core.contracts.notices import Notice, notice, plain

POINTS = 3000
"""The most that a series may have: two days of minutes, eight years of days."""
LISTED = 1000
"""The most sessions or yields that are answered at once."""

Metric = Literal[
    "samples",
    "tokens",
    "calls",
    "peer_calls",
    "rows",
    "passes",
    "seconds",
    "bytes_in",
    "bytes_out",
    "kwh",
    "kwh_measured",
    "yields",
    "accepted",
    "reduced",
]
Resolution = Literal["minute", "hour", "day"]
Moment = Annotated[float, msgspec.Meta(ge=172_800, le=32_000_000_000)]
"""Unix time, as far as every system's calendar goes: 1970 to 2984."""


class Amounts(msgspec.Struct, frozen=True):
    """What was contributed. The fields are the `Metric`s, and columns of the ledger."""

    samples: int = 0
    """Trained on by this PC's Trainer, in runs whose samples are pictures."""
    tokens: int = 0
    """The same of runs of text: there a sample is a token, or a byte where the model reads bytes."""
    calls: int = 0
    """Expert calls served, ..."""
    peer_calls: int = 0
    """... and those of them that other peers sent."""
    rows: int = 0
    """Samples in these calls: forward and backward count once each."""
    passes: int = 0
    """Passes that served them."""
    seconds: float = 0.0
    """For which kernels of training and serving ran."""
    bytes_in: int = 0
    """Received from peers, with the transport's headers."""
    bytes_out: int = 0
    kwh: float = 0.0
    """Electricity, ..."""
    kwh_measured: float = 0.0
    """... and how much of it was measured; the rest is an estimate."""
    yields: int = 0
    """Times that the machine was given back."""
    accepted: int = 0
    """Samples of this PC's Trainer that are in what trainers agreed on as their trunk."""
    reduced: int = 0
    """Bytes of gradients, differences or parameters that other trainers sent and this PC combined."""


class Period(msgspec.Struct, frozen=True):
    """Of one stretch of time: in all, by run, and by device.

    A device is "cpu" or a graphics processor as `DeviceStatus.id` names it. What belongs to no device is found under
    "" (yields), or "network." and a kind of traffic, such as "network.expert".
    """

    amounts: Amounts
    runs: dict[str, Amounts]
    devices: dict[str, Amounts]


TRAFFIC = frozenset(
    [
        "expert",
        "file",
        "data",
        "pack",
        "blob",
        "trunk",
        "credit",
        "telemetry",
        "dht",
        "host",
        "line",
        "relay",
        "reach",
        "access",
        "run",
        "net",
        "other",
    ]
)
"""Kinds of traffic; version 0.1.0 calls those of files, data among them, "blob"."""


def traffic_kind(kind: str) -> Notice:
    """A kind of traffic in words; one that is not known, as of a newer Hearth, as it is."""
    return notice(f"traffic.{kind}") if kind in TRAFFIC else plain(kind)


class Totals(msgspec.Struct, frozen=True):
    """`totals` -> what was contributed; what `hearth stats --json` prints."""

    time: float
    """Unix time of this answer."""
    since: float | None
    """Unix time of the first work that is known, later only of its day (UTC): the middle of that; None: nothing yet."""
    today: Period
    """Since midnight, local time."""
    week: Period
    """Today and the six days before."""
    all: Period


class SeriesParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`series` -> Series: how much of one metric between two moments."""

    metric: Metric
    start: Moment
    end: Moment
    resolution: Resolution = "day"
    by: Literal["run", "device", "both"] | None = None


class Series(msgspec.Struct, frozen=True):
    """Amounts in stretches of local time that follow each other without a gap."""

    resolution: Resolution
    """Coarser than asked for if the ledger does not remember so well what lies so far back."""
    times: list[int]
    """Unix times: the begin of each stretch, and last the end of the last one."""
    values: dict[str, list[float]]
    """One amount a stretch, by run or device ("": of all); by both, the run stands first and a space between them. Who
    did nothing in that time is not there."""


class ListParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`sessions` -> list[Session], `yields` -> list[Yield]: the last ones, oldest first."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=LISTED)] = 200


class Session(msgspec.Struct, frozen=True):
    """A time in which this PC computed without being stopped."""

    start: float
    """Unix time."""
    end: float
    run: str
    why: str
    """What ended it: the rule that stopped computing ("user", "battery", ...: `RuleStatus.rule`), "paused", "quit",
    "failed" (compute ended by itself) or "lost" (Hearth was ended without a word); "": it goes on."""


class Yield(msgspec.Struct, frozen=True):
    """How long giving the machine back took, milliseconds from its cause."""

    time: float
    """Unix time of the cause."""
    stop_ms: float
    """To the end of the last kernel, which is what is promised."""
    noticed_ms: float
    """To the decision."""
    told_ms: float
    """To the moment at which compute was told."""
