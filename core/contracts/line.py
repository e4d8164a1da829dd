"""How fast this PC's line is, and which limits of bandwidth are in force."""

from typing import Annotated

import msgspec

from core.contracts.notices import Notice

Rate = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""Bytes a second."""


class Line(msgspec.Struct, frozen=True):
    """In the data folder: what was measured of this PC's line."""

    upload_bytes_s: Rate = 0.0
    """To a peer beyond the local network; 0: not yet."""
    time: Annotated[float, msgspec.Meta(ge=0, le=1e11)] = 0.0
    """Unix time at which that was."""


class LimitStatus(msgspec.Struct, frozen=True):
    """The limit of one direction."""

    bytes_s: Rate
    """0: none."""
    far: bool
    """It is one for peers beyond the local network only."""
    why: Notice
    """What it is, and where it comes from, a sentence."""


class LineStatus(msgspec.Struct, frozen=True):
    """Both directions, as they are in force."""

    upload: LimitStatus
    download: LimitStatus
