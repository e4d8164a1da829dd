"""Documents that were tampered with, cut, mixed with others or made up: strategies for tests of what is believed."""

from collections.abc import Sequence

from hypothesis import strategies as st

HOSTILE = (
    b"null",
    b"-1",
    b"1e999",
    b"99999999999999999999999999",
    b"9" * 5000,
    b"[" * 3000,
    b'{"a":' * 1500,
    b"a." * 3000,
    b'"\\ud800"',
    b'""',
    b"\x00",
    b"\xff\xfe",
    b"\xc1",
    b"\x91" * 3000,
    b"\xdd\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"../../",
    b"%2e%2e",
    b"\xe2\x80\xae",
    b"\x1b[2J",
    b"\n\n",
    b"x" * 5000,
)
"""What parsers of JSON, TOML, msgpack, links and terminals have stumbled over."""
KINDS = ("put", "put", "bit", "cut", "leave", "repeat", "swap", "hostile")
PLACES, LENGTHS = 1 << 20, 65
Change = tuple[str, int, bytes, int]
"""Kind, place, what is put there, and over which length."""
_CHANGE = st.tuples(
    st.sampled_from(KINDS), st.integers(0, PLACES - 1), st.binary(max_size=8), st.integers(0, LENGTHS - 1)
)


def tampered(documents: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """One of the documents after a few changes, or bytes that were never one.

    Args:
        documents: that are right; pieces of one are put into another.
    """
    some = st.builds(changed, st.sampled_from(documents), st.lists(_CHANGE, max_size=4), st.sampled_from(documents))
    return st.one_of(some, some, some, st.binary(max_size=300))


def changed(document: bytes, changes: Sequence[Change], other: bytes) -> bytes:
    """A document after some changes.

    Args:
        document: that is right.
        changes: one after the other.
        other: of which pieces are put into it.
    """
    for what, place, put, length in changes:
        at = place % (len(document) + 1)
        start, end = document[:at], document[at + length :]
        if what == "put":
            document = start + put + end
        elif what == "bit" and end:
            document = start + bytes([document[at] ^ 1 << length % 8]) + document[at + 1 :]
        elif what == "cut":
            document = start
        elif what == "leave":
            document = start + end
        elif what == "repeat":
            document = start + 2 * document[at : at + length] + end
        elif what == "swap":
            document = start + other[at : at + length] + end
        elif what == "hostile":
            document = start + HOSTILE[length % len(HOSTILE)] + end
    return document
