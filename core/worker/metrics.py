"""Figures of a backbone peer for Prometheus, at an address of their own."""

import asyncio
import contextlib
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from core.contracts.errors import SettingsError
from core.contracts.notices import notice
from core.worker.metrics_server import MetricsServer
from core.worker.network import Network

COLLECT_S = 10.0


class Metrics(Collector):
    """Use as `with Metrics(...)`, in the network's loop."""

    def __init__(self, network: Network, address: str) -> None:
        """
        Args:
            network: whose figures they are.
            address: address and port to listen on.
        """
        self._network, self._address = network, address
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Metrics":
        """Serve.

        Raises:
            SettingsError: the address cannot be used.
        """
        self._loop = asyncio.get_running_loop()
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(self)
        host, _, port = self._address.rpartition(":")
        try:
            server = MetricsServer(host.strip("[]"), int(port), make_wsgi_app(registry))
        except (OSError, ValueError, OverflowError) as error:
            raise SettingsError(notice("telemetry.no_metrics", address=self._address, why=str(error))) from error
        self._stack.enter_context(server)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def collect(self) -> Iterator[Metric]:
        """All figures, as of now. Called in the server's thread, and made in the loop to which they belong."""

        async def figures() -> list[Metric]:
            return [*self._figures()]

        yield from asyncio.run_coroutine_threadsafe(figures(), self._loop).result(COLLECT_S)

    def _figures(self) -> Iterator[Metric]:
        network, community = self._network, self._network.community
        yield GaugeMetricFamily("hearth_connections", "Connected peers.", len(network.node.pool.links))
        dht = network.dht.stats(None)
        yield GaugeMetricFamily("hearth_dht_contacts", "Peers that the hash table knows.", dht.contacts)
        yield GaugeMetricFamily("hearth_dht_records", "Records that are kept for others.", dht.records)
        moved = CounterMetricFamily("hearth_bytes", "Bytes moved, over all peers.", labels=["way"])
        for way, amount in zip(("received", "sent"), network.moved(), strict=True):
            moved.add_metric([way], amount)
        yield moved
        if community.broker is not None and (connected := community.broker.connected) is not None:
            yield GaugeMetricFamily("hearth_broker_connections", "Peers at the embedded broker.", connected)
        online = GaugeMetricFamily("hearth_run_peers", "Peers that say that they are there.", labels=["run"])
        speed = GaugeMetricFamily("hearth_run_samples_per_second", "That these say they train.", labels=["run"])
        for run_id, telling in [*community.runs.items()]:
            count, samples = telling.online()
            online.add_metric([run_id], count)
            speed.add_metric([run_id], samples)
        yield from (online, speed)
        yield from self._credit()

    def _credit(self) -> Iterator[Metric]:
        totals = self._network.community.summed
        if totals is None:
            return
        sums = GaugeMetricFamily("hearth_run_flops", "Floating-point operations, ever.", labels=["run", "state"])
        for run_id in totals.runs:
            lines = [line for line in totals.lines if line.run == run_id]
            sums.add_metric([run_id, "verified"], sum(line.verified for line in lines))
            sums.add_metric([run_id, "pending"], sum(sum(line.pending.values()) for line in lines))
        yield sums
        yield GaugeMetricFamily("hearth_board_sheets", "Signed sheets that the board has verified.", totals.sheets)
