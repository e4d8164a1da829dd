"""VC-ASGD: how long an update takes in each store, how long work takes when clients go away, and how the share that an
arrival leaves decides how MNIST is learnt (Atre, Jha and Rao, 2021, section IV).

The shipped parameter server, work generator and stores; clients are simulated in time, and train in earnest for MNIST.
"""

import heapq
import multiprocessing
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from core.averaging.codecs import Numbers
from core.contracts import manifest
from core.contracts.trunk import Offer, VcAsgd
from core.runtime.adam import Adam
from core.swarm.trunk.parameter_server import ParameterServer
from core.swarm.trunk.parameter_store import SqliteStore, open_store
from core.swarm.trunk.work_generator import Subtask
from tests import store_servers
from tests.bench import convergence, plot
from tests.bench.machine import progress

SERVER = ("00" * 32,)
"""Nobody is asked over the network here."""
SUBTASK_S, TIMEOUT_S = 144.0, 300.0
"""t_e and t_o of the paper."""
PARAMETERS = 4_972_746
"""Of the paper's ResNet."""
ARMS: dict[str, float | None] = {"0.7": 0.7, "0.95": 0.95, "0.999": 0.999, "e/(e+1)": None}
HIDDEN, BATCH, RATE = 1024, 10, 1e-3
"""Of the network and of its clients' Adam; the rate is the paper's. The size was chosen by images of the training
split: with 64 a client unlearns too little of what others' parts taught it, and a = 0.7 stays ahead."""
Train = Callable[[Subtask, Numbers], Numbers]


class Setup(NamedTuple):
    """PnCnTn and what happens to the clients."""

    clients: int
    at_once: int
    lost: float
    """Share of the subtasks whose client goes away; a new one comes when the subtask is given to somebody else."""


class Event(NamedTuple):
    """A client is done with a subtask, or looks for one."""

    when: float
    order: int
    client: str
    subtask: Subtask | None
    trained: Numbers | None


class Clients:
    """Clients in simulated time."""

    def __init__(
        self,
        server: ParameterServer,
        rules: VcAsgd,
        setup: Setup,
        train: Train,
        seed: int,
        assimilated: Callable[[Numbers], object] = lambda current: None,
    ) -> None:
        """
        Args:
            server: Who gives them work, as quick as it wants.
            rules: The run's.
            setup: How many they are, and how often they go away.
            train: What a client makes of the servers' parameters in a subtask.
            seed: Of their going away, and of how fast each subtask is done.
            assimilated: Told of the servers' parameters after each assimilation.
        """
        self._assimilated = assimilated
        self._server, self._rules, self._setup, self._train = server, rules, setup, train
        self._draw, self._order = random.Random(seed), 0
        self._events: list[Event] = []
        self._holding: dict[str, list[int]] = {}
        self.done: list[Subtask] = []
        """Whose results were assimilated, in this order."""

    def run(self, begun: Numbers, subtasks: int, spread: float = 0.0) -> float:
        """Seconds until so many subtasks are done.

        Args:
            begun: the parameters to begin with.
            subtasks: how many.
            spread: by which share a subtask takes more or less time than others.
        """
        for number in range(self._setup.clients * self._setup.at_once):
            self._later(0.0, str(number % self._setup.clients))
        self._server.serve("0", Offer(0, 0, 0), begun, 0.0)
        now = 0.0
        while len(self.done) < subtasks:
            now, _, client, subtask, trained = heapq.heappop(self._events)
            holding, offer = self._holding.setdefault(client, []), Offer(0, 0, 0)
            if subtask is not None:
                version = (subtask.epoch - 1) * self._rules.parts + subtask.part
                holding.remove(version)
                offer = Offer(subtask.part, version, 1)
            offer = msgspec.structs.replace(offer, holding=tuple(holding))
            agreed, current = self._server.serve(client, offer, trained, now)
            if agreed.counted and subtask is not None:
                self.done.append(subtask)
                if current is not None:
                    self._assimilated(current)
            taken = Subtask(agreed.version // self._rules.parts + 1, agreed.part)
            if agreed.again_s or current is None:
                self._later(now + agreed.again_s, client)
            elif self._draw.random() < self._setup.lost:
                self._later(now + self._rules.timeout_s, f"{client.split()[0]} {self._order}")
            else:
                holding.append(agreed.version)
                takes_s = SUBTASK_S * (1 + spread * (2 * self._draw.random() - 1))
                self._later(now + takes_s, client, taken, self._train(taken, current))
        return now

    def _later(self, when: float, client: str, subtask: Subtask | None = None, trained: Numbers | None = None) -> None:
        self._order += 1
        heapq.heappush(self._events, Event(when, self._order, client, subtask, trained))


def measure(quick: bool, data: Path, out: Path) -> dict[str, Any]:
    """All three.

    Args:
        quick: fewer updates and epochs.
        data: MNIST's folder.
        out: where the plot is written.
    """
    torch.set_num_threads(1)
    return {"updates": updates(quick), "lost_clients": lost_clients(), "mnist": mnist(quick, data, out)}


# --- stores


def updates(quick: bool) -> dict[str, Any]:
    """Milliseconds of an update by a server alone, and by servers at the same time, with the updates lost by them."""
    numbers, count, servers = (PARAMETERS // 10, 5, 3) if quick else (PARAMETERS, 20, 3)
    figures: dict[str, Any] = {"parameters": numbers, "servers_at_once": servers}
    for kind in ("sqlite", "redis", "postgresql"):
        with _address(kind) as (known, address), tempfile.TemporaryDirectory() as folder:
            if not known:
                figures[kind] = "not installed"
                continue
            for strong in (False, True):
                alone, _ = _update(address, Path(folder), 1, count, numbers, strong)
                together, lost = _update(address, Path(folder), servers, count, numbers, strong)
                figures.setdefault(kind, {})["strong" if strong else "eventual"] = {
                    "update_ms": round(1000 * alone, 1),
                    "updates_per_s_together": round(servers / together, 1),
                    "lost_of": [lost, servers * count],
                }
        progress(f"{kind}: {figures[kind]}")
    return figures


@contextmanager
def _address(kind: str) -> Iterator[tuple[bool, str | None]]:
    """Whether there is such a store here, and its address."""
    if kind == "sqlite":
        yield True, None
    elif store_servers.missing():
        yield False, None
    else:
        with store_servers.redis() if kind == "redis" else store_servers.postgresql() as address:
            yield True, address


def _update(
    address: str | None, folder: Path, servers: int, count: int, numbers: int, strong: bool
) -> tuple[float, int]:
    """Seconds that a server takes for an update, as the median, and the updates lost."""
    rules = VcAsgd(SERVER, parts=50, kept=0.95, strong=strong)
    run_id, vector = f"bench-{servers}-{strong}", np.ones(numbers, np.float32)
    seconds: list[float] = []

    def serve(client: str) -> None:
        store = open_store(address, run_id, folder / run_id)
        server = ParameterServer(rules, numbers, store)
        agreed, _ = server.serve(client, Offer(0, 0, 0), vector, 0.0)
        draw = np.random.default_rng(int(client))
        ready.wait()
        for number in range(count):
            result = vector + draw.random(numbers, np.float32)
            began = time.perf_counter()
            agreed, _ = server.serve(client, Offer(agreed.part, agreed.version, 1), result, float(number))
            seconds.append(time.perf_counter() - began)
        store.close()

    ready = threading.Barrier(servers)
    threads = [threading.Thread(target=serve, args=(str(number),)) for number in range(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = open_store(address, run_id, folder / run_id)
    lost = ParameterServer(rules, numbers, store).lost()
    store.close()
    return statistics.median(seconds), lost


# --- clients that go away


def lost_clients() -> list[dict[str, Any]]:
    """The time that 2,000 subtasks take in P5C5T2, and that which the paper expects (section IV-E)."""
    rows = []
    for lost in (0.0, 0.05, 0.2):
        ratios = [seconds_taken(Setup(5, 2, lost), 2000, seed) for seed in range(3)]
        mean = statistics.mean(taken / expected for taken, expected in ratios)
        rows.append({"lost": lost, "hours": round(ratios[0][0] / 3600, 2), "of_expected": round(mean, 3)})
    return rows


def expected_s(subtasks: int, at_once: int, subtask_s: float, timeout_s: float, lost: float) -> float:
    """Seconds that a job takes if clients go away: n t_e + n p t_o with n = n_s / (n_c n_tc) (section IV-E).

    Args:
        subtasks: n_s, of all epochs.
        at_once: n_c n_tc, that all clients together work on.
        subtask_s: t_e, that one takes.
        timeout_s: t_o, after which it is given to another client.
        lost: p, the share of subtasks whose client goes away.
    """
    rounds = subtasks / at_once
    return rounds * subtask_s + rounds * lost * timeout_s


def seconds_taken(setup: Setup, subtasks: int, seed: int) -> tuple[float, float]:
    """Seconds that subtasks took, each done once, and those that the paper expects."""
    rules = VcAsgd(SERVER, parts=50, timeout_s=TIMEOUT_S, strong=True, at_once=setup.at_once)
    store, begun = SqliteStore(Path(":memory:")), np.ones(4, np.float32)
    server, draw = ParameterServer(rules, len(begun), store), np.random.default_rng(seed)
    clients = Clients(server, rules, setup, lambda subtask, current: draw.random(len(begun), np.float32), seed)
    taken = clients.run(begun, subtasks)
    complete = {Subtask(epoch, part) for epoch in range(1, subtasks // 50 - 4) for part in range(50)}
    if len(clients.done) != len({*clients.done}) or not complete <= {*clients.done} or server.lost():
        raise RuntimeError("A subtask was not done, or was done twice.")
    store.close()
    return taken, expected_s(subtasks, setup.clients * setup.at_once, SUBTASK_S, TIMEOUT_S, setup.lost)


# --- MNIST


class Accuracies(NamedTuple):
    """Of one arm, by epoch: after each assimilation, on images never trained on."""

    means: Sequence[float]
    deviations: Sequence[float]


def mnist(quick: bool, data: Path, out: Path) -> dict[str, Any]:
    """Accuracy by epoch in P3C3T4 for each share a (the paper's Figure 4)."""
    epochs, seeds = (8, 1) if quick else (40, 3)
    jobs = [(kept, epochs, seed, data) for kept in ARMS.values() for seed in range(seeds)]
    with ProcessPoolExecutor(None, multiprocessing.get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        outcomes = [*pool.map(_learn, *zip(*jobs, strict=True))]
    table = {arm: outcomes[seeds * at : seeds * (at + 1)] for at, arm in enumerate(ARMS)}
    figures: dict[str, Any] = {"epochs": epochs, "seeds": seeds}
    lines = []
    for arm, runs in table.items():
        means = [statistics.mean(each) for each in zip(*(run.means for run in runs), strict=True)]
        spreads = [statistics.mean(each) for each in zip(*(run.deviations for run in runs), strict=True)]
        figures[arm] = {
            "accuracy_percent_by_epoch": {e: round(means[e - 1], 2) for e in (1, 2, 4, 8, 16, 40) if e <= epochs},
            "best_percent": round(max(means), 2),
            "deviation_at_the_end": round(statistics.mean(spreads[-5:]), 3),
        }
        lines.append(plot.Line(f"a = {arm}", range(1, epochs + 1), means, spreads))
        progress(f"VC-ASGD, a = {arm}: {figures[arm]}")
    plot.draw([plot.Panel("VC-ASGD, P3C3T4", "epochs", "accuracy (%)", lines)], out / "vc_asgd.png")
    return figures


def _learn(kept: float | None, epochs: int, seed: int, data: Path) -> Accuracies:
    """Train a network by clients that each see one part of the images at a time."""
    table = convergence.mnist(data)
    images, labels = table.train.inputs, table.train.labels
    parts = torch.tensor_split(torch.arange(len(labels)), 50)
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(784, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))
    weights = nn.utils.parameters_to_vector(network.parameters()).detach()
    training = msgspec.structs.replace(
        manifest.load("digits").training, warmup_samples=0, decay_samples=10**12, planned_samples=None, clip=1e9
    )

    def use(vector: Numbers) -> None:
        nn.utils.vector_to_parameters(torch.from_numpy(vector.copy()), network.parameters())

    def train(subtask: Subtask, current: Numbers) -> Numbers:
        use(current)
        adam = Adam(network, RATE, training)  # a new one: clients keep nothing between subtasks
        rows = parts[subtask.part]
        order = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed + 1000 * subtask.epoch))]
        for batch in torch.split(order, BATCH):
            loss = nn.functional.cross_entropy(network(images[batch]), labels[batch])
            by = torch.autograd.grad(loss, adam.parameters)
            adam.step(torch.cat([gradient.flatten() for gradient in by]), len(batch))
        trained: Numbers = nn.utils.parameters_to_vector(network.parameters()).detach().numpy().copy()
        return trained

    held_out: tuple[Tensor, Tensor] = table.held_out.inputs, table.held_out.labels

    @torch.no_grad()
    def judge(vector: Numbers) -> None:
        use(vector)
        judged.append(100 * float((network(held_out[0]).argmax(1) == held_out[1]).float().mean()))

    judged: list[float] = []
    rules = VcAsgd(SERVER, parts=50, kept=kept, timeout_s=TIMEOUT_S, at_once=4)
    store = SqliteStore(Path(":memory:"))
    server = ParameterServer(rules, len(weights), store)
    Clients(server, rules, Setup(3, 4, 0.0), train, seed, judge).run(weights.numpy(), 50 * epochs, spread=0.5)
    store.close()
    by_epoch = [judged[first : first + 50] for first in range(0, 50 * epochs, 50)]
    return Accuracies([statistics.mean(e) for e in by_epoch], [statistics.pstdev(e) for e in by_epoch])
