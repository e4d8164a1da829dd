"""What this PC knows of the fragments of a trunk, and what it believes that they may be."""

import asyncio
import time

from core.averaging import fragment as fragments
from core.averaging.fragment import Fragment, OtherVersion
from core.contracts.kinds import MODELS
from core.contracts.manifest import Manifest
from core.contracts.trunk import Diloco
from core.net.limits import MAX_PAYLOAD

MOST = (MAX_PAYLOAD - (1 << 20)) // 8
"""Numbers of a fragment: with its last rounds it is one message."""


class Known:
    """Of one run."""

    def __init__(self, manifest: Manifest, rules: Diloco) -> None:
        """Nothing yet.

        Args:
            manifest: the run's.
            rules: its strategy.
        """
        parameters = MODELS[manifest.model.kind].parameters(manifest.model, manifest.ends)
        self.sizes = fragments.sizes_of(parameters, rules.fragments)
        """Numbers of each fragment, and how many of them are fine."""
        self.fragments: dict[int, Fragment] = {}
        """Those that are synced here are their syncers' own."""
        self.heard: dict[int, float] = {}
        """When each was agreed on, unix time."""

    def check_size(self, part: int, count: int, fine: int) -> None:
        """Whether the trunk has a fragment of that size, which follows from the manifest.

        Args:
            part: which it is.
            count: its numbers.
            fine: and those of them that travel as fp16.

        Raises:
            OtherVersion: it has not.
        """
        if part >= len(self.sizes) or (count, fine) != self.sizes[part]:
            raise OtherVersion(f"The trunk has no fragment {part} of {count} numbers.")

    async def load(self, part: int, data: bytes) -> Fragment:
        """What somebody says that a fragment is, without the momentum: nobody can try that, and it comes with rounds.

        Args:
            part: which it is.
            data: of `core.averaging.fragment.dump`.

        Raises:
            ProtocolError: it is none, or another one (`OtherVersion`).
        """
        fragment = await asyncio.to_thread(fragments.load, data, MOST)
        self.check_size(part, len(fragment.numbers), fragment.fine)
        fragment.momentum = None
        return fragment

    def can_be(self, part: int, newer: Fragment) -> bool:
        """Whether the trunk can have come so far since this PC heard of it last, if it did since it was started.

        Args:
            part: which fragment it is.
            newer: as somebody says that it is.
        """
        known, heard = self.fragments.get(part), self.heard.get(part)
        return known is None or heard is None or known.can_become(newer, time.time() - heard)
