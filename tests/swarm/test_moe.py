"""A PC trains through the experts of other peers, with real workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers import hearth, worker

HERE = "127.0.0.1:0"


@pytest.fixture
def backbone(tmp_path: Path) -> Iterator[list[str]]:
    """How to join the network of a backbone peer."""
    with worker(tmp_path / "backbone", "--role", "backbone", "--listen", HERE) as running:
        yield ["--listen", HERE, "--bootstrap", hearth(running.folder, "address").stdout.strip()]


def test_a_peer_without_experts_waits_for_a_host_and_trains_through_it(tmp_path: Path, backbone: list[str]) -> None:
    with worker(tmp_path / "trainer", "--role", "train", *backbone) as trainer:
        waiting = trainer.until(lambda s: "No expert" in s.reason, "patience")
        assert waiting.state == "preparing" and waiting.experts == []
        with worker(tmp_path / "host", "--role", "host", *backbone) as host:
            learnt = trainer.until(lambda s: (s.accuracy or 0.0) > 0.9, "training through the host")
            assert learnt.state == "contributing" and "other peers" in learnt.reason
            assert host.until(lambda s: sum(e.updates for e in s.experts) > 100, "experts that learn").step == 0
