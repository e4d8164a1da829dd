"""The run `stories` on this PC alone, from nothing: what its model tells after ten minutes, and how much of it makes
sense (`tests.stories.follows`)."""

import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

from core.contracts.control import Continued, GenerateParams
from core.contracts.errors import QuestionError
from core.control.client import ControlClient
from core.store.stories import stories
from tests.bench.machine import progress
from tests.stories import follows
from tests.workers import HERE, PATIENCE_S, hearth, worker

MINUTES, QUICK = 10, 2
ASKED, EACH = 40, 2
"""Stories that are asked for at the end, and after each minute."""
UNSEEN = 1
"""The seed of what is asked: other stories than those of the run."""
LENGTH = 250
"""Tokens of a story, at most."""


def measure(quick: bool) -> dict[str, Any]:
    """Train, and ask for stories.

    Returns:
        By minute the tokens that were trained on, the training loss in nats a token, the share of unseen tokens that
        are foretold, and the shares of stories with all that was asked for in them (`named`) and of those of which
        every sentence follows (`sense`); and some stories.
    """
    with tempfile.TemporaryDirectory() as name, worker(Path(name), "--run", "stories", "--listen", HERE) as running:
        asked = (story.decode().partition("\n")[0] + "\n" for story in stories(10_000, UNSEEN))
        assert hearth(Path(name), "start").returncode == 0
        running.until(lambda status: status.step > 0, "the first step")
        began, minutes = time.monotonic(), list[dict[str, Any]]()
        last = QUICK if quick else MINUTES
        for minute in range(1, last + 1):
            time.sleep(max(0.0, began + 60 * minute - time.monotonic()))
            told = [_told(Path(name), prompt) for prompt in itertools.islice(asked, ASKED if minute == last else EACH)]
            status = running.status()
            trained = {"tokens": status.samples, "loss": status.loss, "accuracy": status.accuracy}
            minutes.append({"minute": minute, **trained, **_judged(told)})
            progress(str(minutes[-1]))
        return {"minutes": minutes, "stories": told[:5]}


def _told(folder: Path, prompt: str) -> str:
    with ControlClient(folder) as client:
        pieces: list[str] = []
        params = GenerateParams(prompt, LENGTH, 0.5, seed=len(prompt))
        try:
            client.call("generate", params, Continued, PATIENCE_S, lambda piece: pieces.append(piece["text"]))
        except QuestionError:
            return prompt
    return prompt + "".join(pieces)


def _judged(told: list[str]) -> dict[str, float]:
    return {
        "named": sum(map(_names, told)) / len(told),
        "sense": sum(map(follows, told)) / len(told),
    }


def _names(story: str) -> bool:
    """Whether it is told with the words of its first line."""
    asked, _, told = story.partition("\n")
    people, thing = asked.removeprefix("Tell me a story about ").rstrip(".").split(" and the ")[0].split(", ")
    place = asked.rstrip(".").split(" and the ")[1]
    return all(f" {word}" in told for word in (people.split(" ")[1], thing.split(" ", 1)[1], place))
