"""A fixture that tests of computing import: it works with one thread, whatever ran before."""

from collections.abc import Iterator

import pytest
import torch

from core.runtime.threads import team


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before, members = torch.get_num_threads(), team.threads
    team.resize(1)
    yield
    team.resize(members)
    torch.set_num_threads(before)
