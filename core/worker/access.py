"""Who is let into runs by invitation, as this PC has it: its own tokens, and those that it gives as their organiser."""

from pathlib import Path

from core.contracts.control import GrantParams
from core.contracts.manifest import Manifest
from core.contracts.run_details import RunDetails
from core.identity import Identity
from core.store import granting
from core.store.data_folder import RUNS
from core.swarm.token_gate import keep_token


class Access:
    """An `AccessPlace`."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        """
        Args:
            folder: the data folder.
            identity: this PC's key.
        """
        self._folder, self._identity = folder, identity

    def let_in(self, manifest: Manifest, token: bytes) -> None:
        """See `AccessPlace.let_in`."""
        keep_token(self._folder / RUNS / manifest.run_id, manifest, token, self._identity.peer)

    def grant(self, manifest: Manifest, asked: GrantParams) -> bytes:
        """See `AccessPlace.grant`."""
        with granting.locked(self._folder):
            return granting.grant(granting.book_of(manifest, self._folder), asked.peer, asked.name, asked.days)

    def shown(self, found: RunDetails, token: bytes) -> RunDetails:
        """See `AccessPlace.shown`."""
        return granting.with_access(found, self._folder, self._identity.peer, token)
