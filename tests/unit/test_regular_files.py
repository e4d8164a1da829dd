"""Files that are read as a whole."""

import tracemalloc
from pathlib import Path

import pytest

from core.regular_files import read_regular


@pytest.mark.parametrize("size", [0, 1, 1000, 64 << 10, (64 << 10) + 1, 300_000])
def test_a_file_is_read_as_a_whole_if_it_may_have_so_many_bytes(size: int, tmp_path: Path) -> None:
    content = (b"0123456789" * 30_000)[:size]
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read_regular(path) == read_regular(path, size) == content
    if size:
        with pytest.raises(OSError, match=f"more than {size - 1} bytes"):
            read_regular(path, size - 1)


@pytest.mark.parametrize("size", [2, 8 << 20])
def test_a_file_takes_no_more_memory_than_it_has(size: int, tmp_path: Path) -> None:
    """16 MiB were taken and given back for each small one; the holes that they left let processes grow."""
    path = tmp_path / "file"
    path.write_bytes(bytes(size))
    tracemalloc.start()
    try:
        read_regular(path)
        assert tracemalloc.get_traced_memory()[1] < size + (1 << 20)
    finally:
        tracemalloc.stop()


def test_what_says_that_it_is_empty_is_read_as_well() -> None:
    status = Path("/proc/self/status")
    if status.exists():
        assert b"VmRSS" in read_regular(status)
