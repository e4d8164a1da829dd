"""What this PC can do for its run, as compute measured it and as the traffic with peers showed."""

from core.contracts.settings import cores
from core.contracts.status import BenchmarkStatus, SpeedStatus
from core.hardware import processor
from core.worker.places import NetworkPlace
from core.worker.run import Run


def benchmark_of(run: Run, network: NetworkPlace) -> BenchmarkStatus:
    """What is known, for one run.

    Args:
        run: of this PC.
        network: its place among its peers.
    """
    measured, (up, down) = run.compute.figures.measured, network.fastest()
    return BenchmarkStatus(
        run=run.manifest.run,
        device=processor(),
        cores=cores(),
        time=measured.time if measured else None,
        speeds=[
            SpeedStatus(one.threads, one.samples_per_s, one.label) for one in (measured.speeds if measured else ())
        ],
        expert_bytes=run.hosted.expert_bytes or None,
        capacity=run.swarm.capacity if measured else None,
        upload_bytes_s=up or None,
        download_bytes_s=down or None,
    )
