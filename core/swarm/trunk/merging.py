"""What was learnt under a parameter server that has given way is mixed in where another one goes on."""

import logging
from collections.abc import Awaitable, Callable

from core.contracts.errors import NetworkError, ProtocolError, RemoteFault
from core.contracts.trunk import Agreed, Offer
from core.swarm.trunk.server_copy import Copy, samples_of

log = logging.getLogger(__name__)

WORTH = 0.5
"""Of a server's samples: what was trained on fewer under another one is not mixed in."""
Ask = Callable[[Offer, bytes], Awaitable[tuple[Agreed, bool]]]
"""A question to the server, and whether its answer holds parameters."""


async def merge(ask: Ask, copy: Copy, most_samples: int) -> None:
    """Have a server mix a copy in, as the result of a subtask that it gives.

    Args:
        ask: that server.
        copy: what was learnt.
        most_samples: that a subtask has.

    Raises:
        NetworkError: it is to be tried again.
    """
    samples = samples_of(copy)
    agreed, has_begun = await ask(Offer(0, 0, 0), b"")
    if agreed.reached or samples < max(1.0, WORTH * agreed.samples):
        log.info("What was learnt here is of %d samples, the server's of %d: it goes on.", samples, agreed.samples)
        return
    if agreed.again_s:
        raise NetworkError("The server has no subtask now in whose place it could take what was learnt here.")
    taken = min(samples, most_samples) if has_begun else 0
    try:
        await ask(Offer(agreed.part, agreed.version, taken), copy.vector)
    except (ProtocolError, RemoteFault) as error:
        if isinstance(error, RemoteFault) and error.fault != ProtocolError.code:
            raise
        log.info("The server does not take what was learnt here: %s", error)  # nor would it the next time
        return
    log.info("What was learnt here, of %d samples, was given to the server.", samples)
