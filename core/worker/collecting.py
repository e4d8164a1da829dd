"""What an exported model consists of: the newest state of each part, and who contributed to it."""

import logging

import msgspec

from core.community.contributors import contributors
from core.contracts.errors import HearthError
from core.contracts.export import Collected, Contributors
from core.worker.places import NetworkPlace
from core.worker.run import Run

log = logging.getLogger(__name__)


async def collected_of(run: Run, network: NetworkPlace) -> Collected:
    """Have all of it here, as far as others give it.

    Args:
        run: of this PC.
        network: its place among its peers.
    """
    return msgspec.structs.replace(await run.collect(), contributors=await _contributors(run, network))


async def _contributors(run: Run, network: NetworkPlace) -> Contributors:
    try:
        return contributors((await network.credit.totals([run.manifest], ())).totals)
    except HearthError as error:  # such as where this PC works alone: the model is there all the same
        log.info("Nothing is known of contributors to %s: %s", run.id, error)
        return Contributors()
