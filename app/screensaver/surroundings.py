"""What a screensaver has to mind, as this process sees it itself: it may be alone, without a worker."""

from PySide6.QtCore import QObject, Signal

from app.background import in_background
from app.system.reduced_motion import system_reduces_motion
from core.policy.signals.reading import UNKNOWN
from core.policy.signals.watch import watched


class Surroundings(QObject):
    """Watches the power source and the lock, and asks for the wish for less motion, in threads of their own.

    What cannot be measured hinders nothing.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._power = watched("power", self.changed.emit)
        self._lock = watched("locked", self.changed.emit)
        self.reduces_motion = False
        in_background("reduced motion", system_reduces_motion, self._take_motion)

    @property
    def known(self) -> bool:
        """Whether the power source has been asked."""
        return self._power.read().source != UNKNOWN.source

    @property
    def on_battery(self) -> bool:
        power = self._power.read().value
        return power is not None and not power.mains

    @property
    def locked(self) -> bool:
        return bool(self._lock.read().value)

    def close(self) -> None:
        self._power.close()
        self._lock.close()

    def _take_motion(self, reduced: bool) -> None:
        if reduced:
            self.reduces_motion = True
            self.changed.emit()
