"""Qt's application, which also takes the links that macOS gives it."""

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from core.contracts.run_link import is_link


class Application(QApplication):
    """The app's; not yet run on macOS."""

    link_asked = Signal(str)
    """A link to a run was clicked. Other systems start a second app with it (`app.system.single_instance`)."""

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and is_link(link := event.url().toString()):
            self.link_asked.emit(link)
            return True
        return super().event(event)
