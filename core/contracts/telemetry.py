"""Contract of telemetry: what peers tell the boards of a run, and what boards and the organiser tell all (MQTT 3.1.1).

| topic below `hearth/1/RUN/` | payload | writes | reads | at most every |
| --- | --- | --- | --- | --- |
| `in/PEER/presence` | `Presence`; also the last will | that peer | boards | connection |
| `in/PEER/progress` | `Progress` | that peer | boards | 60 s |
| `in/PEER/credit-0`, `credit-1` | `SignedBundle` of an even and an odd week | that peer | boards | 300 s |
| `out/notice` | `RunNotice` | organiser; boards pass it on | all | - |
| `out/board/PEER` | `Leaders` | that board | all | 60 s |

All is sent with QoS 1 and retained: of each topic the newest counts and says all that the older ones did. So whoever
connects anew tells again what it told last, and nothing is lost with a broker but what changed meanwhile. RUN is the
run's id, PEER a key of 64 hexadecimal digits. But for credit, which has its own signatures, a payload is a `Signed`,
whose signature is that of the topic's peer, or of the organiser, over `CONTEXT` and the body; the body names run and
signer, so that it is none of another topic. The only personal data are the name and team that somebody chose to be
shown with their credit.

A peer logs in to a broker by its key, as the user, and the signature of `login` as the password.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, NamedTuple

import msgspec

from core.contracts.credit import MAX_BUNDLE, Key, Leaderboard, RunId, Shown
from core.contracts.model import LINE

TOP = ("hearth", "1")
"""Of all topics; the number is this contract's."""
CONTEXT = b"hearth telemetry 1\n"
"""What signed bytes begin with."""
PRESENCE, PROGRESS, CREDIT = "presence", "progress", ("credit-0", "credit-1")
LEAVES = (PRESENCE, PROGRESS, *CREDIT)
"""That a peer writes."""
PROGRESS_S, CREDIT_S, BOARD_S = 60.0, 300.0, 60.0
"""The least time between two of a kind."""
MOST_A_MINUTE = 12
"""Messages that a board takes from one peer of a run; further ones are dropped unread."""
MAX_SMALL, MAX_BOARD, MAX_CREDIT = 4096, 32 * 1024, MAX_BUNDLE + 1024
"""Bytes of a payload."""
MAX_PACKET = MAX_CREDIT + 1024
"""Bytes that a broker takes at once."""
FUTURE_S = 3600.0
"""How far another's clock may be ahead."""

Broker = Annotated[
    str, msgspec.Meta(pattern=r"^mqtts?://([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\]):[0-9]{1,5}\Z", max_length=270)
]
"""Address of a broker, with its port; `mqtts` is TLS."""
Moment = Annotated[float, msgspec.Meta(ge=0.0, le=1e11)]
"""Unix time."""
Figure = Annotated[float, msgspec.Meta(ge=0.0, le=1e30)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
NoticeText = Annotated[str, msgspec.Meta(pattern=LINE, min_length=1, max_length=1000)]


class _Told(msgspec.Struct, frozen=True, array_like=True):
    run: RunId
    by: Key
    """Who signs it."""
    time: Moment


class Presence(_Told, frozen=True, array_like=True, tag="presence"):
    """A peer is there, or is not any more; both by one connection are of one time."""

    online: bool
    name: Shown = ""
    team: Shown = ""


class Progress(_Told, frozen=True, array_like=True, tag="progress"):
    """What a peer does now. Nothing is credited for it: it says so itself."""

    samples: Number
    """That its trainer has trained on, ever."""
    samples_per_s: Figure
    experts: Number
    """That it hosts."""
    loss: Figure | None = None


class RunNotice(_Told, frozen=True, array_like=True, tag="notice"):
    """What the organiser has to say to all who have joined."""

    text: NoticeText


class Leaders(_Told, frozen=True, array_like=True, tag="leaders"):
    """What a board has summed, and who gave most. All of it is in the board's own files (`core.contracts.credit`)."""

    peers: Number
    """That were ever credited."""
    online: Number
    samples_per_s: Figure
    verified: Figure
    """FLOPs of all."""
    pending: Figure
    ranked: Leaderboard
    """Those that wish to be shown by a name."""


Body = Presence | Progress | RunNotice | Leaders


class Signed(msgspec.Struct, frozen=True, array_like=True):
    """A payload."""

    body: Annotated[bytes, msgspec.Meta(max_length=MAX_BOARD)]
    """MessagePack of one of `Body`."""
    signature: Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]


# what a peer asks a backbone peer, by `core.contracts.net.of_run(ENROL, run_id)`

ENROL = "telemetry.enrol"


class Enrol(msgspec.Struct, frozen=True, array_like=True):
    """Have a broker know me that cannot check a signature itself. Answered by `Enrolled`."""

    broker: Annotated[str, msgspec.Meta(max_length=270)]
    password: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{128}\\Z")]


class Enrolled(msgspec.Struct, frozen=True, array_like=True):
    """It does, or will in a second."""


# control socket


class NoticeParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`run_notice` -> {}: tell all who have joined a run something; for its organiser."""

    run: str
    text: NoticeText


class BrokerStatus(msgspec.Struct, frozen=True):
    """A run's connection to a broker."""

    run: str
    broker: str
    connected: bool
    trouble: str = ""
    """Why not, in the system's words."""


class Told(msgspec.Struct, frozen=True):
    """`telemetry` -> what this PC has heard."""

    brokers: list[BrokerStatus]
    notices: list[RunNotice]
    boards: list[Leaders]
    """The newest of each board that the runs name."""


def is_broker(address: str) -> bool:
    """Whether this is the address of a broker, as manifests have them."""
    try:
        msgspec.convert(address, Broker)
    except msgspec.ValidationError:
        return False
    return True


# topics


def topic_in(run: str, peer: str, leaf: str) -> str:
    """Where a peer tells something."""
    return "/".join((*TOP, run, "in", peer, leaf))


def topic_notice(run: str) -> str:
    """Where the organiser does."""
    return "/".join((*TOP, run, "out", "notice"))


def topic_board(run: str, board: str) -> str:
    """Where a board does."""
    return "/".join((*TOP, run, "out", "board", board))


def limit_of(topic: str) -> int:
    """The greatest payload of a topic, in bytes."""
    if topic.endswith(CREDIT):
        return MAX_CREDIT
    return MAX_BOARD if "/out/board/" in topic else MAX_SMALL


def login(broker: str) -> bytes:
    """What a peer signs to log in; the signature, in hexadecimal digits, is its password there.

    Args:
        broker: its address as in the manifest. A password for one broker is none for another.
    """
    return b"hearth mqtt login 1\n" + broker.encode()


# who may do what


class Rights(NamedTuple):
    """Of a run."""

    organiser: str | None
    boards: frozenset[str]
    """Peers that read what others tell."""


Admits = Callable[[bytes, str], bool]
"""Whether a peer may take part in a run, by its id. Open runs let everybody."""


def may_write(user: str, topic: str, runs: Mapping[str, Rights]) -> bool:
    """Whether a peer may publish something.

    Args:
        user: the peer's key.
        topic: where.
        runs: what a broker is there for, by the runs' ids.
    """
    match topic.split("/"):
        case [*top, run, "in", peer, leaf] if tuple(top) == TOP:
            return run in runs and peer == user and leaf in LEAVES
        case [*top, run, "out", "notice"] if tuple(top) == TOP:
            return run in runs and (user == runs[run].organiser or user in runs[run].boards)
        case [*top, run, "out", "board", board] if tuple(top) == TOP:
            return run in runs and board == user and user in runs[run].boards
    return False


def may_read(user: str, topics: str, runs: Mapping[str, Rights]) -> bool:
    """Whether a peer may receive what is published in all of these topics.

    Args:
        user: the peer's key.
        topics: a topic, or several by the wildcards of MQTT.
        runs: as in `may_write`.
    """
    match topics.split("/"):
        case [first, second, run, way, *_] if (first, second) == TOP and run in runs:
            return way == "out" or (way == "in" and user in runs[run].boards)
    return False


def acl_file(runs: Mapping[str, Rights], members: Mapping[str, Collection[str]]) -> str:
    """The same for Mosquitto, in the form of its `acl_file`.

    Args:
        runs: as in `may_write`.
        members: who may take part in those of the runs in which not all that the broker knows may, by the runs' ids.
    """
    users: dict[str, list[str]] = {}
    patterns = []
    for run, rights in sorted(runs.items()):
        if (only := members.get(run)) is None:
            patterns += [f"pattern {line}" for line in _of_all(run, "%u")]
        for user in only or ():
            users[user] = users.get(user, []) + [f"topic {line}" for line in _of_all(run, user)]
        for user, lines in _of_users(run, rights):
            if only is None or user in only:
                users.setdefault(user, []).extend(lines)
    of_users = [line for user, lines in sorted(users.items()) for line in (f"user {user}", *lines)]
    return "\n".join([*of_users, *patterns]) + "\n"


def _of_all(run: str, user: str) -> list[str]:
    return [*(f"write {topic_in(run, user, leaf)}" for leaf in LEAVES), f"read {'/'.join((*TOP, run, 'out', '#'))}"]


def _of_users(run: str, rights: Rights) -> Iterator[tuple[str, list[str]]]:
    for user in sorted({*rights.boards, *([rights.organiser] if rights.organiser else [])}):
        lines = [f"topic write {topic_notice(run)}"]
        if user in rights.boards:
            lines += [f"topic read {'/'.join((*TOP, run, 'in', '#'))}", f"topic write {topic_board(run, user)}"]
        yield user, lines
