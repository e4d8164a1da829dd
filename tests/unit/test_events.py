"""What happened among peers: who helped, who took over whose experts, the first use by another PC."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from core.contracts.notices import Notice, english, notice
from core.contracts.status import EVENTS, EventStatus
from core.experts.grid import Uid
from core.store.small_files import Files
from core.swarm.takeovers import Takeovers
from core.worker.events import FILE, TOGETHER_S, Events, Kept
from core.worker.places import News

ME, JAKO, MULU = "ab" * 32, "cd" * 32, "ef" * 32
FIRST, SECOND = Uid("digits", 0, (1, 3)), Uid("digits", 1, (0, 2))


def test_an_expert_whose_host_has_gone_and_that_has_another_was_taken_over() -> None:
    seen = Takeovers(ME)
    assert seen.look({FIRST: [ME], SECOND: [JAKO]}) == [], "nobody is known to have had them before"
    assert seen.look({FIRST: [], SECOND: [JAKO, MULU]}) == [], "a second host takes nothing over"
    assert seen.look({FIRST: [MULU], SECOND: [MULU]}) == [
        notice("event.taken", n=1, peer=MULU),
        notice("event.passed", n=1, peer=MULU, other=JAKO),
    ]
    assert seen.look({FIRST: [MULU], SECOND: [MULU]}) == []
    assert seen.look({FIRST: [ME], SECOND: [ME]}) == [notice("event.adopted", n=2, peer=MULU)]


def test_who_takes_back_its_own_experts_has_taken_over_nothing() -> None:
    seen = Takeovers(ME)
    for hosts in ([ME], [], [ME]):
        assert seen.look({FIRST: hosts}) == []


class Told:
    """Events with a clock that the test moves."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_800_000_000.0
        self.files = Files(folder)
        self.events = Events(self.files, lambda: self.now)

    def said(self) -> list[str]:
        return [english(event.said) for event in self.events.newest]


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Told]:
    told = Told(tmp_path)
    yield told
    told.files.flush()


def test_a_peer_helps_for_the_first_time_once_and_is_remembered(told: Told) -> None:
    told.events.take(News({JAKO}, ""))
    told.events.take(News({JAKO, MULU}, ""))
    told.files.flush()
    again = Told(told.files.folder)
    again.events.take(News({JAKO, MULU}, ""))
    assert again.said() == [
        "Jako Zofi (cdcdcdcd) helped this PC to train for the first time.",
        "Mulu Zuja (efefefef) helped this PC to train for the first time.",
    ]


def test_only_the_first_pc_that_uses_an_expert_of_this_one_is_told(told: Told) -> None:
    for asker in ("", JAKO, MULU):
        told.events.take(News((), asker))
    assert told.said() == ["Jako Zofi (cdcdcdcd) used an expert of this PC, the first other PC to do so."]


def test_takeovers_that_follow_each_other_are_one_event(told: Told) -> None:
    for count, wait in ((1, 5.0), (3, TOGETHER_S + 1), (2, 0.0)):
        told.events.take(News(said=[notice("event.taken", n=count, peer=MULU)]))
        told.now += wait
    assert told.said() == [
        "Mulu Zuja (efefefef) took over 4 experts from this PC.",
        "Mulu Zuja (efefefef) took over 2 experts from this PC.",
    ]


def test_the_newest_are_kept_and_nothing_is_written_for_nothing(told: Told) -> None:
    told.events.take(News())
    told.files.flush()
    assert not (told.files.folder / FILE).exists()
    for number in range(EVENTS + 3):
        told.events.take(News({f"{number:064x}"}))
    assert len(told.said()) == EVENTS and told.events.newest[-1].said.args["peer"] == f"{EVENTS + 2:064x}"


def test_a_file_with_more_than_is_told_is_set_aside(tmp_path: Path) -> None:
    """The window takes no status with more; a name that is a number is shown as such."""
    odd = EventStatus(1.0, Notice("event.helped", {"peer": 5}))
    for events, told_of in ((EVENTS, EVENTS), (EVENTS + 1, 0)):
        (tmp_path / FILE).write_bytes(msgspec.json.encode(Kept([odd] * events)))
        told = Told(tmp_path)
        assert told.said() == ["5 helped this PC to train for the first time."] * told_of
        assert (FILE in told.files.notes) == (told_of == 0)
