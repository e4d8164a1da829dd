"""Whether bytes over the network cost money, from NetworkManager."""

from core.contracts.notices import notice
from core.policy.signals.linux.bus import Object, OnBus
from core.policy.signals.reading import SourceError

MANAGER = Object.main("NetworkManager", "org.freedesktop.NetworkManager")
_METERED = {1: True, 2: False, 3: True, 4: False}
"""NMMetered: yes, no, and both as guessed; 0 is unknown."""


class NetworkManager(OnBus):
    """Metered, of the connection that leads to the Internet."""

    name = "NetworkManager"
    watched = MANAGER

    def read(self) -> bool:
        said = self._bus.get(MANAGER, "Metered", "u")
        if said not in _METERED:
            raise SourceError(notice("metered.network_manager_unknown"))
        return _METERED[said]
