"""Contract of credit: what a trainer signs for those that computed for it, and what is told of that.

Work is counted in rows of one expert: a row in a forward pass is 1, in a backward pass, which computes the forward pass
again, 3. How many floating-point operations one is, follows from the run's manifest.

A `Sheet` holds seven cumulative records, one for each day (UTC) of a week, of what one host did for one trainer in one
run, under one signature of the trainer. Counts only ever grow, so the newest sheet says all that the older ones did,
and to repeat one gains nothing. A `Bundle` is what a host shows to others: its sheets of a run and week under one
signature of its own. Signed are the bytes of `core.community.signing`, which begin with what they are.
"""

from typing import Annotated, Literal

import msgspec

from core.contracts.model import LINE

FORWARD, BACKWARD = 1, 3
"""Work of a row."""
TOTALS_FILE, PAGE_FILE = "totals.json", "index.html"
"""Of a board."""
DAY_S = 86_400
WEEK = 7
MOST = 2**53
ENTRIES = 256
"""Sheets, and likewise trainers whose samples were seen, in a bundle: 60 KB."""
MAX_BUNDLE = 128 * 1024
MAX_CERTIFICATE = 16 * 1024 * 1024
"""Bytes of a certificate's file: what a thousand trainers sign in a year."""
MOST_BUNDLES = 4096
"""In one."""
NAMES = 40
"""Characters of a name or a team."""

Key = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Signature = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]
RunId = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Days = Annotated[tuple[Amount, ...], msgspec.Meta(min_length=WEEK, max_length=WEEK)]
WeekNumber = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
"""Of the week that begins on a Monday (UTC); the one of 1 January 1970 is 0."""
DayNumber = Annotated[int, msgspec.Meta(ge=0, le=7_000_000)]
"""Days since 1 January 1970 (UTC)."""
Shown = Annotated[str, msgspec.Meta(pattern=LINE, max_length=NAMES)]
Path = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
PeerName = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}\\Z")]


def day_of(moment: float) -> int:
    """The day (UTC) of a unix time."""
    return int(moment // DAY_S)


def week_of(day: int) -> int:
    """The week of a day; weeks begin on Monday."""
    return (day + 3) // WEEK


def days_of(week: int) -> range:
    """The seven days of a week."""
    return range(week * WEEK - 3, week * WEEK + 4)


# what peers say to each other, by `core.contracts.net.of_run(name, run_id)`

SIGN, SHOW = "credit.sign", "credit.show"


class Sheet(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a trainer accepted from a host in a week, day by day."""

    run: RunId
    trainer: Key
    host: Key
    week: WeekNumber
    work: Days
    """Answered in time and believed."""
    audited: Days
    """How much of that came before an audit that the host passed (`core.experts.audits`)."""

    @property
    def total(self) -> int:
        """Work of the week."""
        return sum(self.work)


class SignedSheet(msgspec.Struct, frozen=True, array_like=True):
    """`credit.sign`, to the host: this is what I owe you. Answered by `Countersigned`."""

    sheet: Sheet
    signature: Signature
    """The trainer's."""


class Countersigned(msgspec.Struct, frozen=True, array_like=True):
    """The host's answer."""

    signature: Signature | None
    """Its own, over sheet and signature; None: it does not take the sheet."""
    counted: Amount
    """What the host itself counted for this trainer since the week before: it takes no more than that."""
    held: SignedSheet | None = None
    """A newer one that it has: the trainer has forgotten it, and goes on from there."""


class Show(msgspec.Struct, frozen=True, array_like=True):
    """`credit.show`, to a host: show me your sheets of a week. Answered by a `SignedBundle`."""

    week: WeekNumber
    start: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    """How many of them the asker has already."""


class Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A sheet in a bundle, without what they have in common."""

    trainer: Key
    work: Days
    audited: Days
    signature: Signature
    """The trainer's, of the whole sheet."""


class Seen(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How many samples of a trainer this peer has seen go into what trainers agreed on, or has itself put there."""

    trainer: Key
    samples: Days


class Bundle(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a peer shows of a week."""

    run: RunId
    host: Key
    week: WeekNumber
    name: Shown
    """As the host wishes to be called on boards; empty: by its key."""
    team: Shown
    entries: Annotated[tuple[Entry, ...], msgspec.Meta(max_length=ENTRIES)]
    seen: Annotated[tuple[Seen, ...], msgspec.Meta(max_length=ENTRIES)]

    def sheet(self, entry: Entry) -> Sheet:
        """The sheet that a trainer signed."""
        return Sheet(self.run, entry.trainer, self.host, self.week, entry.work, entry.audited)


class SignedBundle(msgspec.Struct, frozen=True, array_like=True):
    """The answer to `Show`, as others keep it and pass it on."""

    bundle: Annotated[bytes, msgspec.Meta(max_length=MAX_BUNDLE)]
    signature: Signature
    """The host's, of the bundle."""
    more: bool = False
    """There are more of this week."""
    earlier: WeekNumber | None = None
    """The last week before this one of which there is anything."""


# what the ledger tells of this PC: control socket and `hearth credit --json`


class With(msgspec.Struct, frozen=True):
    """What was done between this PC and one other peer, in work."""

    peer: PeerName
    counted: int = 0
    """That this PC counted."""
    signed: int = 0
    """That the trainer signed for."""
    verified: int = 0
    """How much of that it has audited."""

    @property
    def pending(self) -> int:
        """Done, and not verified as yet."""
        return max(self.counted, self.signed) - self.verified


class Exchanged(msgspec.Struct, frozen=True):
    """Of one run and day."""

    run: str
    day: DayNumber
    given: bool
    """True: this PC computed for others; False: others for this PC."""
    flops: int
    """Floating-point operations of one unit of work; 0: this PC does not know the run any more."""
    verified: float
    """FLOPs."""
    pending: float
    peers: list[With]
    """Those with whom most was exchanged; nobody of days that are long past."""
    others: int
    """Peers beside these."""


class Credit(msgspec.Struct, frozen=True):
    """`credit` -> what this PC gave and got, newest day first."""

    today: DayNumber
    exchanged: list[Exchanged]
    verified: float
    """FLOPs that this PC gave ever, ..."""
    pending: float
    since: DayNumber | None
    """... since this day; None: nothing yet."""

    def given(self, days: int) -> tuple[float, float]:
        """FLOPs of the last days that are verified, and that are pending; today is the first of them."""
        of = [one for one in self.exchanged if one.given and one.day > self.today - days]
        return sum(one.verified for one in of), sum(one.pending for one in of)


# boards


class BoardParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`board` -> Published: ask the peers of all runs for their bundles, verify and sum them, and write that."""

    folder: Path
    """Absolute: where `TOTALS_FILE` and `PAGE_FILE` are written."""
    trust: Annotated[tuple[PeerName, ...], msgspec.Meta(max_length=64)] = ()
    """Peers whose audits and signatures this board believes, beside its own and those that a run's manifest names."""


class Line(msgspec.Struct, frozen=True):
    """A peer's credit in one run on one day, FLOPs."""

    run: str
    day: DayNumber
    peer: PeerName
    verified: float
    pending: dict[str, float]
    """What does not count as yet, by the reason (`core.community.rules`)."""


class Named(msgspec.Struct, frozen=True):
    """How a peer wishes to be called."""

    name: Shown
    team: Shown


class BoardTotals(msgspec.Struct, frozen=True):
    """What a board has summed."""

    kind: Literal["hearth board 1"]
    board: PeerName
    """Who signs it."""
    time: float
    runs: dict[str, str]
    """Titles by run id."""
    trusted: list[PeerName]
    lines: list[Line]
    peers: dict[str, Named]
    """By key; those that have a name or a team."""
    sheets: int
    """That were verified."""
    refused: list[str]
    """What was shown and is not true, in words, the last ones."""


class SignedTotals(msgspec.Struct, frozen=True):
    """As a board publishes it. Signed is the JSON of `totals` without white space, in the order of the fields."""

    totals: BoardTotals
    signature: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{128}\\Z")]


class Published(msgspec.Struct, frozen=True):
    """What a board has written."""

    peers: int
    verified: float
    """FLOPs, of all runs and days."""
    pending: float
    sheets: int
    refused: list[str]
    reasons: dict[str, float] = {}
    """FLOPs that are pending, by why (`Line.pending`)."""


class Ranked(msgspec.Struct, frozen=True):
    """A peer in a leaderboard."""

    place: int
    name: Shown
    """Empty only of this PC."""
    team: Shown
    verified: float
    """FLOPs."""
    mine: bool = False


class Ranking(msgspec.Struct, frozen=True):
    """Of a time."""

    best: list[Ranked]
    """Those that wish to be shown by a name, the best first, and this PC wherever it stands."""
    others: int
    """Peers with verified work beside these."""
    others_verified: float


class Leaderboard(msgspec.Struct, frozen=True):
    """`leaderboard` -> what peers were credited with in all runs here, as far as this PC has verified it."""

    today: Ranking
    """The day (UTC)."""
    week: Ranking
    """Seven days."""
    ever: Ranking


class CertificateParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`certificate` -> {}: write what trainers have signed for this PC."""

    path: Path
    """Absolute."""


class Certificate(msgspec.Struct, frozen=True):
    """A peer's bundles: everybody can verify them without asking anybody."""

    kind: Literal["hearth certificate 1"]
    peer: PeerName
    flops: dict[str, int]
    """Operations of one unit of work by run, as the peer says; not signed by anybody."""
    bundles: Annotated[list[SignedBundle], msgspec.Meta(max_length=MOST_BUNDLES)]
