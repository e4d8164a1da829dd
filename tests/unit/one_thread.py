"""A fixture that tests of computing import: it works with one thread, whatever ran before."""

from collections.abc import Iterator

import pytest
import torch

from core.runtime.threads import crew


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before, members = torch.get_num_threads(), crew.threads
    crew.resize(1)
    yield
    crew.resize(members)
    torch.set_num_threads(before)
