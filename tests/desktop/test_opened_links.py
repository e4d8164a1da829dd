"""macOS gives a clicked link to the app as an event; Qt's is the same on all systems."""

import subprocess
import sys

from tests.unit.test_run_link import LINK
from tests.workers import ROOT

GIVEN = """
import sys
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent
from app.system.application import Application
app = Application(["hearth"])
app.link_asked.connect(print)
for url in sys.argv[1:]:
    app.sendEvent(app, QFileOpenEvent(QUrl(url)))
"""


def test_a_link_comes_as_it_was_written_and_nothing_else_comes() -> None:
    command = [sys.executable, "-c", GIVEN, LINK, "file:///etc/passwd", "https://example.org/"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"{LINK}\n"
