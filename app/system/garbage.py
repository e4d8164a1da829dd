"""Python's cyclic garbage, collected in the thread of the window alone."""

import gc

from PySide6.QtCore import QAbstractEventDispatcher, QObject


class GarbageCollector(QObject):
    """Collects when the event loop is about to wait. Left to itself Python collects in whichever thread makes the next
    object, and a widget that is deleted outside Qt's own thread can crash the app."""

    def __init__(self, parent: QObject) -> None:
        """Needs the application to exist; whoever deletes it has `gc.enable` to call."""
        super().__init__(parent)
        gc.disable()
        QAbstractEventDispatcher.instance().aboutToBlock.connect(self._collect)

    def _collect(self) -> None:
        counts = zip(gc.get_count(), gc.get_threshold(), strict=True)
        if due := [generation for generation, (count, limit) in enumerate(counts) if count > limit]:
            gc.collect(due[-1])
