"""Part of what hosts answered is asked again, now and then; nobody waits for it."""

import asyncio
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from core.contracts.expert_calls import Direction
from core.experts.calls import Call, ExpertHost, Output
from core.experts.directory import Directory
from core.experts.gathering import Gathering, Rules, alike
from core.experts.trust import Trust, trial
from core.net.background import Background

AT_ONCE = 8
"""Repeated requests under way."""
ROWS = 16


class Audits:
    """Of one layer."""

    def __init__(
        self,
        directory: Directory,
        hosts: Mapping[str, ExpertHost],
        rules: Rules,
        trust: Trust,
        passages: "itertools.count[int]",
    ) -> None:
        """Begin with nothing under way.

        Args:
            directory: who else hosts an expert.
            hosts: how hosts are asked.
            rules: how much is audited, and how long an answer is waited for.
            trust: who judges by the answers.
            passages: numbers for the repeated requests.
        """
        self._directory, self._hosts, self._rules, self._trust = directory, hosts, rules, trust
        self._passages = passages
        self._background = Background()

    def outputs(self, calls: Sequence[Call], gathering: Gathering[Output]) -> None:
        """Have part of a request repeated, for some of the hosts."""
        for host, i, output in self._picked(gathering, "forward"):
            self._background.start(self._repeat(host, calls[i], output), "audit")

    def gradients(self, calls: Sequence[Call], gathering: Gathering[Tensor]) -> None:
        """Have some hosts' gradients tried."""
        for host, i, rows in self._picked(gathering, "backward"):
            self._background.start(self._try(host, calls[i], rows), "audit")

    def _picked(self, gathering: Gathering[Any], direction: Direction) -> Iterator[tuple[str, int, Any]]:
        """Of some hosts one call that they answered: its number and the answer."""
        for host, mine in alike(gathering.hosts).items():
            answered = [i for i in mine if gathering.answers[i] is not None]
            if host is None or not answered or len(self._background) >= AT_ONCE:
                continue
            if self._trust.is_to_be_audited(host, self._rules.audit, direction):
                i = random.choice(answered)
                yield host, i, gathering.answers[i]

    async def _repeat(self, host: str, call: Call, output: Output) -> None:
        """Ask for some rows again: the same host in another grouping, or another that has the expert."""
        others = [name for name in (await self._directory.hosts([call.uid])).get(call.uid, ()) if name != host]
        place = random.choice([host, others[0]]) if others else host
        picked = torch.randperm(len(call.inputs))[:ROWS]
        again = await self._ask(place, Call(call.uid, call.inputs[picked]))
        if again is not None:
            self._trust.compare(host, Output(output.rows[picked], output.version), again, place == host)

    async def _try(self, host: str, call: Call, rows: Tensor) -> None:
        """Ask a host what a small step along the gradients that it gave would do."""
        assert call.gradients is not None
        picked = torch.randperm(len(rows))[:ROWS]
        tried = trial(call.inputs[picked], call.gradients[picked], rows[picked])
        if tried is None:
            return
        answer = await self._ask(host, Call(call.uid, tried.inputs))
        if answer is not None:
            self._trust.try_gradient(host, tried, answer.rows, answer.version != call.version)

    async def _ask(self, host: str, call: Call) -> Output | None:
        """The answer, if it comes and may be right."""
        deadline = asyncio.get_running_loop().time() + self._rules.patience_s
        try:
            async with asyncio.timeout_at(deadline):
                [answer] = await self._hosts[host].forward([call], next(self._passages), deadline)
        except TimeoutError:
            return None
        if answer is None or self._trust.outputs(host, call.inputs, answer.rows) is None:
            return None
        return answer
