"""What the page says of that which a model reads and writes one by one: bytes, or tokens of several letters."""

from typing import NamedTuple

from app.language import mark


class UnitWords(NamedTuple):
    """Sentences for `tr`."""

    units: str
    length: str
    progress: str
    place: str
    one_by_one: str
    what_is_shown: str
    newest: str
    next: str
    text: str
    temperature: str
    top_p: str


WORDS = {
    "bytes": UnitWords(
        mark("bytes"),
        mark("Length in bytes"),
        mark("{count} of {wanted} bytes"),
        mark("Byte {place}"),
        mark("Who answered, byte by byte"),
        mark("A column for every byte, a cell for every expert that was asked; strong colours mean much weight."),
        mark("The newest byte is at the right; cells of a stronger colour had more weight."),
        mark("Next byte, as the model weighed it"),
        mark("What the model adds. The arrow keys choose a byte, to see who answered and how sure the model was."),
        mark("0 always takes the likeliest byte; the higher, the more surprising the text"),
        mark("It is drawn from the likeliest bytes that together have this share; 100% draws from all."),
    ),
    "tokens": UnitWords(
        mark("tokens"),
        mark("Length in tokens"),
        mark("{count} of {wanted} tokens"),
        mark("Token {place}"),
        mark("Who answered, token by token"),
        mark("A column for every token, a cell for every expert that was asked; strong colours mean much weight."),
        mark("The newest token is at the right; cells of a stronger colour had more weight."),
        mark("Next token, as the model weighed it"),
        mark("What the model adds. The arrow keys choose a token, to see who answered and how sure the model was."),
        mark("0 always takes the likeliest token; the higher, the more surprising the text"),
        mark("It is drawn from the likeliest tokens that together have this share; 100% draws from all."),
    ),
}
"""By the unit of the run's task (`core.contracts.kinds.TASKS`)."""
