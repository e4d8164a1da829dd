"""VC-ASGD: how a server takes in the parameters that a client has trained (Atre, Jha and Rao, "Distributed Deep
Learning Using Volunteer Computing-Like Paradigm", 2021)."""

import math

import numpy as np

from core.averaging.codecs import Numbers
from core.averaging.mean import squared_norm
from core.contracts.errors import ProtocolError

FAR = 10.0
"""A result so many times as far from the server's parameters as is usual is brought to the usual distance. An honest
one, which comes very late, may be as far."""
LARGEST = 1e4
"""No parameter of a network that learns has come near this, and differences of such still have norms."""


def kept_share(fixed: float | None, epoch: int) -> float:
    """The share a of the server's parameters that an arrival leaves.

    Args:
        fixed: the same in every epoch; None: it grows as e / (e + 1), from a half to nearly all (section IV-C).
        epoch: e, counted from 1, of the subtask that arrives.
    """
    return epoch / (epoch + 1) if fixed is None else fixed


def assimilate(server: Numbers, client: Numbers, kept: float) -> Numbers:
    """The server's parameters after an arrival: W_s <- a W_s + (1 - a) W_c (eq. 1), in whatever order clients come.

    Args:
        server: [all parameters], W_s; unchanged.
        client: [all parameters], W_c.
        kept: a, 0 to 1.
    """
    mixed = server * np.float32(kept)
    mixed += client * np.float32(1.0 - kept)
    return mixed


def check(vector: Numbers) -> None:
    """Refuse what no network has learnt.

    Args:
        vector: [all parameters], finite.

    Raises:
        ProtocolError: one of them is larger than any network's.
    """
    largest = float(np.abs(vector).max(initial=0.0))
    if largest > LARGEST:
        raise ProtocolError(f"Parameters came of which one is {largest:.3g}; no network learns with such.")


def bring_near(server: Numbers, client: Numbers, usual: float) -> tuple[Numbers, float]:
    """A client's parameters, if they are `FAR` times as far from the server's as is usual at the usual distance from
    them, in the same direction.

    Args:
        server: [all parameters]; unchanged.
        client: [all parameters]; unchanged.
        usual: distance of clients' parameters from the server's.

    Returns:
        The parameters, and how far they were from the server's.
    """
    difference = client - server
    distance = math.sqrt(squared_norm(difference))
    if distance <= FAR * usual:
        return client, distance
    difference *= np.float32(usual / distance)
    difference += server
    return difference, distance
