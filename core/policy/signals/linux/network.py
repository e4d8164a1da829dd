"""Whether bytes over the network cost money, from NetworkManager."""

from collections.abc import Callable

from core.contracts.notices import notice
from core.policy.signals.linux.bus import Object, opened
from core.policy.signals.reading import SourceError

MANAGER = Object(
    "NetworkManager",
    "org.freedesktop.NetworkManager",
    "/org/freedesktop/NetworkManager",
    "org.freedesktop.NetworkManager",
)
_METERED = {1: True, 2: False, 3: True, 4: False}
"""NMMetered: yes, no, and both as guessed; 0 is unknown."""


class NetworkManager:
    """Metered, of the connection that leads to the Internet."""

    name = "NetworkManager"

    def __init__(self, wake: Callable[[], None]) -> None:
        with opened("system") as self._bus:
            self._bus.listen_to_properties(MANAGER, wake)

    def read(self) -> bool:
        said = self._bus.get(MANAGER, "Metered", "u")
        if said not in _METERED:
            raise SourceError(notice("metered.network_manager_unknown"))
        return _METERED[said]

    def close(self) -> None:
        self._bus.close()
