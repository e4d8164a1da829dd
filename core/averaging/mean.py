"""The mean of several peers' vectors, of whom some may lie."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.averaging.codecs import Numbers

ABSURD = 30.0
"""A vector so many times as long as the median of all is no gradient of the same network: of one that is honest but
made of few samples the noise makes it a few times as long."""
JUDGED = 3
"""Vectors from which on one can be told from the others."""
CLIPPINGS = 3
"""Iterations of the centred clip: from the median of the numbers each one halves the distance that is left."""
AGAINST = -0.5
"""Cosine to the centre below which a vector counts for nothing: it leads back, as one with its signs flipped does."""
BELIEVED = 4
"""Times the median of samples: what a peer counts for at most, as nobody can check how many it had."""
LONGEST = 1.5
"""A mean is at most so many times as long as the longest vector in it: the centre begins at the median of each number,
which is longer by the root of two at most, and each step ends between it and the vectors. Rounding adds the rest."""
MUCH = 0.25
"""Of whose way from the centre less than this is left was clipped by much: no honest peer with enough samples is."""


class Mean(NamedTuple):
    """What came of it."""

    vector: Numbers
    samples: int
    refused: tuple[int, ...]
    """Places of the vectors that were left out, for their length."""
    counted: int
    """Vectors in it."""
    clipped: tuple[int, ...] = ()
    """Places of the vectors of which centred clipping has left little."""


def mean_of(vectors: Sequence[Numbers], samples: Sequence[int], norms: Sequence[float], clip: float = 0.0) -> Mean:
    """The mean by samples, of all that are not absurdly long.

    Args:
        vectors: pieces of the peers' vectors, finite, of one length.
        samples: that made each, as the peers say; 1 or more.
        norms: of the whole vectors. A piece alone tells little: of rarely seen tokens it is zero with most peers.
        clip: 0: the plain mean; else centred clipping (Karimireddy et al., 2021, eq. 4) at so many times the median
            distance from a centre, which begins at the median of each number: an honest minority cannot be moved far
            by peers that send signs flipped or all the same lie, nor by one that says that it had most of the samples.
    """
    absurd = _absurd(norms)
    kept = [place for place, refused in enumerate(absurd) if not refused]
    if clip and len(kept) >= JUDGED:
        most = int(BELIEVED * np.median([samples[place] for place in kept]))
        samples = [min(count, most) for count in samples]
    total = sum(samples[place] for place in kept)
    rows = [vectors[place] for place in kept]
    weights = [np.float32(samples[place] / total) for place in kept]
    refused = tuple(place for place, is_absurd in enumerate(absurd) if is_absurd)
    if not clip or len(rows) < JUDGED:
        return Mean(_weighted(rows, weights), total, refused, len(rows))
    mean, left = _centred(rows, weights, clip)
    clipped = tuple(place for place, part in zip(kept, left, strict=True) if part < MUCH)
    return Mean(mean, total, refused, len(rows), clipped)


def longest_mean(norms: Sequence[float]) -> float:
    """The length that neither the mean of some vectors nor a piece of it exceeds.

    Args:
        norms: of the vectors.
    """
    return LONGEST * max(norm for norm, refused in zip(norms, _absurd(norms), strict=True) if not refused)


def _absurd(norms: Sequence[float]) -> NDArray[np.bool_]:
    lengths = np.asarray(norms)
    return lengths > ABSURD * np.median(lengths) if len(norms) >= JUDGED else np.zeros(len(norms), bool)


def squared_norm(vector: Numbers) -> float:
    """Infinite or none if any of the numbers is; without the threads of a library of linear algebra."""
    with np.errstate(all="ignore"):
        return float(np.einsum("i,i->", vector, vector))


def norm_of(vector: Numbers) -> float:
    """The length, so exactly that a vector is known by it: those of two that differ are the same by no chance. Infinite
    or none if any of the numbers is."""
    with np.errstate(all="ignore"):
        return math.sqrt(np.einsum("i,i->", vector, vector, dtype=np.float64))


def cosine(vector: Numbers, centre: Numbers) -> float:
    """How much a peer's vector points where the others' do; 0 if one of them has no direction.

    Args:
        vector: of one peer.
        centre: of all, or of the others.
    """
    lengths = math.sqrt(squared_norm(vector) * squared_norm(centre))
    return float(np.einsum("i,i->", vector, centre)) / lengths if lengths else 0.0


def _weighted(rows: Sequence[Numbers], weights: Sequence[np.float32]) -> Numbers:
    mean = rows[0] * weights[0]
    part = np.empty_like(mean)
    for row, weight in zip(rows[1:], weights[1:], strict=True):
        mean += np.multiply(row, weight, out=part)
    return mean


def _centred(
    rows: Sequence[Numbers], weights: Sequence[np.float32], clip: float
) -> tuple[Numbers, Sequence[np.float32]]:
    """The mean, and what was left in the end of each vector's way from it."""
    shorter: Sequence[np.float32] = ()
    centre = np.median(rows, axis=0).astype(np.float32)
    opposed = [cosine(row, centre) < AGAINST for row in rows]
    for _ in range(CLIPPINGS):
        away = [row - centre for row in rows]
        lengths = np.sqrt([squared_norm(vector) for vector in away])
        radius = clip * float(np.median(lengths))
        # Where most agree exactly, as on zero in what few have seen, nothing tells a liar from one who knows more.
        shorter = [np.float32(min(1.0, radius / far)) if far and radius else np.float32(1) for far in lengths]
        shorter = [np.float32(0) if against else part for part, against in zip(shorter, opposed, strict=True)]
        centre = centre + _weighted(away, [w * s for w, s in zip(weights, shorter, strict=True)])
    return centre, shorter
