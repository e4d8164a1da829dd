"""Who answered: this PC and other peers, each with its letter, colour and name."""

from app.language import tr
from core.contracts.control import Answer
from core.contracts.peer_names import called, two_words

LOCAL = "local"
"""This PC, in `Answer.host`."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TONES = ("peer_a", "peer_b", "peer_c")
REST = "peer_rest"


def here() -> str:
    """The letter of this PC: that of "you"."""
    return tr("Y")


class Hosts:
    """Letters go to peers in the order in which they first answer, and stay with them."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def letter(self, host: str) -> str:
        place = self._place(host)
        letters = LETTERS.replace(here(), "")
        return here() if place is None else letters[place] if place < len(letters) else "+"

    def tone(self, host: str) -> str:
        """The colour role of what it did."""
        place = self._place(host)
        return "ember_fill" if place is None else TONES[place] if place < len(TONES) else REST

    def _place(self, host: str) -> int | None:
        return None if host == LOCAL else self._places.setdefault(host, len(self._places))


def name_of(host: str) -> str:
    """ "This PC", or what another peer is called."""
    return tr("This PC") if host == LOCAL else called(host)


def short_name_of(host: str) -> str:
    """The same without the digits of its key, where there is no room for them."""
    return tr("This PC") if host == LOCAL else two_words(host)


def missing(answers: list[Answer]) -> str:
    """A sentence about experts that were asked in vain; "" if there are none."""
    silent = sum(not answer.answered for answer in answers)
    if not silent:
        return ""
    return tr(
        "{silent} of %Ln expert(s) did not answer; the others took over their weight.", len(answers), silent=silent
    )


def absent(answers: list[Answer], hosted: int, cells: int) -> str:
    """A sentence about experts that this PC does not have, if nobody else answered.

    Args:
        hosted: experts on this PC.
        cells: experts of the whole run.
    """
    if hosted >= cells or any(answer.answered and answer.host != LOCAL for answer in answers):
        return ""
    return tr("{missing} of %Ln expert(s) are not on this PC; none of them took part.", cells, missing=cells - hosted)
