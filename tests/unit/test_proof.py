"""What `hearth prove` says depends on nothing but what is computed: a busy or slow PC says the same."""

import asyncio
import time

import pytest

from core.compute.proof import prove
from core.contracts.manifest import load
from tests.unit.one_thread import one_thread  # noqa: F401 - fixture


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("run", "steps"), [("digits", 4), ("text", 2)])
def test_a_slow_computer_proves_the_same(run: str, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    proof, clock = asyncio.run(prove(load(run), steps)), time.monotonic
    assert [point.step for point in proof.curve][-1] == steps
    monkeypatch.setattr(time, "monotonic", lambda: clock() * 1e6)  # all that it does takes days now
    assert asyncio.run(prove(load(run), steps)) == proof
