"""The headless worker's status on a terminal."""

import asyncio

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from core.contracts.attention import labelled
from core.contracts.kinds import TASKS
from core.contracts.notices import english
from core.contracts.status import STATE_WORD, Status
from core.contracts.words import counted
from core.worker.peer import Peer

REFRESH_S = 0.5
ATTENTION = {"Attention": "red", "Changed": "blue", "Notice": "blue"}
STYLES = {"contributing": "bold green", "attention": "bold red", "paused": "bold blue"}


async def show(worker: Peer) -> None:
    """Draw the worker's state, figures and last log lines in place until cancelled."""

    def picture() -> Group:
        status = worker.status()
        state = Text.assemble(
            (STATE_WORD[status.state], STYLES.get(status.state, "bold")),
            f"  {english(status.reason)} {english(status.until)}",
        )
        rows = [state, Text(figures(status))]
        rows += [Text(f"{word}: {said}", style=ATTENTION[word]) for word, said in labelled(status.attention)]
        rows += [Text(f"{line.part}: {line.text}", style="dim") for line in worker.recent_log(3)]
        return Group(*rows)

    with Live(picture(), console=Console(), auto_refresh=False, transient=False) as live:
        while True:
            await asyncio.sleep(REFRESH_S)
            live.update(picture(), refresh=True)


def figures(status: Status) -> str:
    """The figures on one line."""
    accuracy = "-" if status.accuracy is None else f"{status.accuracy:.1%}"
    loss = "-" if status.loss is None else f"{status.loss:.3f}"
    experts = counted(len(status.experts), "expert") if status.layers else "whole model"
    return (
        f"{status.run}  step {status.step:,}  {status.samples_per_s:,.0f} {TASKS[status.task].unit}/s  loss {loss}  "
        f"accuracy {accuracy}  {experts}  {status.device}"
    )
