"""Uids and grids: there is one way to write a uid, and nothing beyond the limits is taken."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.contracts.errors import ProtocolError
from core.experts.grid import MAX_LAYERS, MAX_SIDE, MAX_UID, Grid, Uid

uids = st.builds(
    Uid,
    st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True),
    st.integers(0, MAX_LAYERS - 1),
    st.lists(st.integers(0, MAX_SIDE - 1), min_size=1, max_size=4).map(tuple),
)


@given(uids)
def test_a_uid_comes_back_from_its_text(uid: Uid) -> None:
    assert Uid.parse(str(uid)) == uid
    assert len(str(uid)) <= MAX_UID


@given(st.text(alphabet="ab0123456789.-_\n\u0663 ", max_size=80))
def test_no_text_is_read_as_a_uid_that_is_written_otherwise(text: str) -> None:
    try:
        uid = Uid.parse(text)
    except ProtocolError:
        return
    assert str(uid) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "digits",
        "digits.0",
        "digits.0.",
        "digits..1",
        "Digits.0.1",
        "digits.00.1",
        "digits.0.01",
        "digits.0.-1",
        "digits.0.1 ",
        "digits.0.1\n",
        "digits.256.1",
        "digits.0.4096",
        "digits.0.1.2.3.4.5",
        "x" * 33 + ".0.1",
        "digits.0." + "1" * 5000,
    ],
)
def test_what_is_no_uid_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ProtocolError, match=r"uid") as error:
        Uid.parse(text)
    assert len(str(error.value)) < 200


def test_the_light_worker_can_import_grid_and_directory() -> None:
    program = "import sys, core.experts.grid, core.experts.directory; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "False"


def test_uids_sort_by_run_layer_and_coordinates() -> None:
    texts = ["digits.0.2.1", "digits.0.10.0", "digits.1.0.0", "digits.0.2.0", "a.5.1.1"]
    assert [str(uid) for uid in sorted(map(Uid.parse, texts))] == [
        "a.5.1.1",
        "digits.0.2.0",
        "digits.0.2.1",
        "digits.0.10.0",
        "digits.1.0.0",
    ]


def test_a_grid_lists_its_cells_and_knows_what_is_outside() -> None:
    grid = Grid("digits", 2, (3, 2))
    assert len(list(grid.uids())) == 2 * grid.cells == 12
    assert all(uid in grid for uid in grid.uids())
    for text in ("digits.2.0.0", "digits.0.3.0", "digits.0.0.2", "digits.0.0", "text.0.0.0"):
        assert Uid.parse(text) not in grid
