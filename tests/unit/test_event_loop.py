"""The loop of the worker and of compute."""

import asyncio
import sys

import pytest

from core import event_loop


async def _kind() -> str:
    return type(asyncio.get_running_loop()).__module__


def test_it_is_the_quick_one_where_there_is_one() -> None:
    assert event_loop.run(_kind()).split(".")[0] == ("asyncio" if sys.platform == "win32" else "uvloop")


def test_it_ends_what_was_left_running_and_tells_what_went_wrong() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("work")

    async def main() -> None:
        running = asyncio.create_task(work())
        await asyncio.sleep(0)
        assert not running.done()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        event_loop.run(main())
    assert ended == ["work"]
