"""What was dragged onto the window, if it is a run: its link, or the file of its manifest."""

from PySide6.QtCore import QMimeData

from core.contracts.manifest import is_path
from core.contracts.run_link import MAX_LINK, is_link


def run_in(dragged: QMimeData) -> str | None:
    """How the worker's `run_details` takes the run; None: it is something else, or there are several."""
    text = dragged.text().strip()
    if is_link(text) and len(text) <= MAX_LINK:
        return text
    files = [url.toLocalFile() for url in dragged.urls() if url.isLocalFile()]
    return files[0] if len(files) == 1 and is_path(files[0]) else None
