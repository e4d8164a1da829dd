"""A hundred thousand messages that are tampered with, cut off, repeated elsewhere or made up: none is believed."""

import random
import time

from core.community import payloads, signing
from core.community.lines import Heard
from core.contracts.credit import Bundle, Entry, Leaderboard, Ranking, Sheet, day_of, week_of
from core.contracts.errors import CreditError
from core.contracts.telemetry import (
    CREDIT,
    PRESENCE,
    PROGRESS,
    Leaders,
    Presence,
    Progress,
    Rights,
    RunNotice,
    topic_board,
    topic_in,
    topic_notice,
)
from core.identity import Identity

TIMES, SEED = 100_000, 16
ME, OTHER, ORGANISER, BOARD = (Identity(bytes([number] * 32)) for number in range(1, 5))
RUN = "a-run-12345678"
RIGHTS = {run: Rights(ORGANISER.peer.hex(), frozenset({BOARD.peer.hex()})) for run in (RUN, "another-12345678")}


def true_ones() -> dict[str, bytes]:
    """One of each kind, by its topic."""
    now, week = time.time(), week_of(day_of(time.time()))
    sheet = Sheet(RUN, OTHER.peer, ME.peer, week, (5,) * 7, (1,) * 7)
    entry = Entry(OTHER.peer, sheet.work, sheet.audited, signing.sign(OTHER, sheet).signature)
    shown = signing.sign_bundle(ME, Bundle(RUN, ME.peer, week, "me", "us", (entry,), ()), False, None)
    me, nobody = ME.peer.hex(), Ranking([], 0, 0.0)
    leaders = Leaders(RUN, BOARD.peer, now, 1, 1, 1.0, 1.0, 0.0, Leaderboard(nobody, nobody, nobody))
    return {
        topic_in(RUN, me, PRESENCE): payloads.sealed(ME, Presence(RUN, ME.peer, now, True, "me", "us")),
        topic_in(RUN, me, PROGRESS): payloads.sealed(ME, Progress(RUN, ME.peer, now, 5, 1.5, 2, 0.5)),
        topic_in(RUN, me, CREDIT[week % 2]): payloads.encode(shown),
        topic_notice(RUN): payloads.sealed(ORGANISER, RunNotice(RUN, ORGANISER.peer, now, "Thank you all.")),
        topic_board(RUN, BOARD.peer.hex()): payloads.sealed(BOARD, leaders),
    }


def changed(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A bit, some bytes, the end, a part of another message, or all of it is not what it was."""
    place, length = chance.randrange(len(content)), chance.randrange(1, 40)
    match chance.randrange(5):
        case 0:
            return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
        case 1:
            return content[:place] + chance.randbytes(length) + content[place + length :]
        case 2:
            return content[:place]
        case 3:
            other = chance.choice(others)
            return content[:place] + other[place : place + length] + content[place + length :]
    return chance.randbytes(length * 10)


def signed(found: Heard) -> Heard | Bundle:
    """What of it somebody has signed: of credit, not whether there is more to be asked for."""
    return found[0] if isinstance(found, tuple) else found


def test_what_is_not_true_is_never_believed() -> None:
    chance, true = random.Random(SEED), true_ones()
    believed: dict[str, Heard] = {topic: payloads.opened(topic, content, RIGHTS) for topic, content in true.items()}
    topics = [*true, *(topic.replace(RUN, "another-12345678") for topic in true)]
    topics += [topic.replace(ME.peer.hex(), OTHER.peer.hex()) for topic in true]
    refused = 0
    for _ in range(TIMES):
        topic, content = chance.choice(topics), chance.choice([*true.values()])
        if chance.random() < 0.9:
            content = changed(content, [*true.values()], chance)
        try:
            found = payloads.opened(topic, content, RIGHTS)
        except CreditError:
            refused += 1
        else:
            assert signed(found) == signed(believed[topic]), "what nobody signed for this topic"
    assert refused > TIMES * 0.9
