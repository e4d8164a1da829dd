"""The app: `python -m app [--data-dir DIR] [--in-tray]`. Builds the window around a worker that it finds or starts."""

import time

STARTED = time.monotonic()

import argparse  # noqa: E402
import contextlib  # noqa: E402
import os  # noqa: E402
import stat  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from PySide6.QtCore import QCoreApplication  # noqa: E402
from PySide6.QtGui import QGuiApplication  # noqa: E402
from PySide6.QtWidgets import QApplication, QMessageBox  # noqa: E402

from app.formats import tip  # noqa: E402
from app.language import speak, told  # noqa: E402
from app.system.application import Application  # noqa: E402
from app.system.desktops import quieten  # noqa: E402
from app.system.garbage import GarbageCollector  # noqa: E402
from app.system.single_instance import PAGES, Instance  # noqa: E402
from app.worker.supervisor import DETACHED, hearth, supervise  # noqa: E402
from core.contracts.errors import AlreadyRunning, HearthError  # noqa: E402
from core.contracts.notices import Notice, notice  # noqa: E402
from core.contracts.run_link import is_link  # noqa: E402
from core.store.data_folder import data_folder, first_path  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    """Run the app; returns its exit code."""
    parser = argparse.ArgumentParser(prog="hearth", description="The Hearth app.")
    parser.add_argument("--data-dir", type=Path, default=None, help="folder of all of Hearth's data")
    parser.add_argument("--in-tray", action="store_true", help="do not open the window")
    parser.add_argument("--page", default="", choices=PAGES, help="show this page of the window")
    parser.add_argument("link", nargs="?", default="", help="show the run of this link, and ask whether to join it")
    options = parser.parse_args(arguments)
    if options.link and not is_link(options.link):
        parser.error(f"{options.link!r} is no link to a run")
    try:
        folder = data_folder(options.data_dir)
        instance = Instance(folder)
        if not instance.acquire() and (code := _raise_first(instance, options.page, options.link)) is not None:
            return code
    except HearthError as error:
        _show_fault(error.notice)
        return error.exit_code
    quieten()
    QCoreApplication.setApplicationName("Hearth")
    QGuiApplication.setApplicationDisplayName("Hearth")
    QGuiApplication.setDesktopFileName("hearth")
    QGuiApplication.setQuitOnLastWindowClosed(False)
    app = Application(["hearth"])
    GarbageCollector(app)
    supervisor = supervise(folder)
    # Not before: its modules take 0.2 s, in which the worker starts; and an app that is open is raised without them.
    from app.desktop import Desktop

    desktop = Desktop(supervisor, instance, STARTED, options.in_tray)
    app.link_asked.connect(desktop.add_run)
    desktop.settings_page.start_folder(first_path(options.data_dir))
    if options.page:
        desktop.actions.open_page.emit(options.page)
    if options.link:
        desktop.add_run(options.link)
    try:
        return app.exec()
    finally:
        try:
            desktop.close()
        finally:
            instance.release()
            if desktop.restarts:
                subprocess.Popen(hearth(first_path(options.data_dir)), start_new_session=True, creationflags=DETACHED)


def _raise_first(instance: Instance, page: str, link: str) -> int | None:
    """The exit code of this app; None: the other one has just ended, and this one is the first."""
    answer = instance.raise_first(page, link)
    if answer == "gone":
        return None
    if answer == "raised":
        print("Hearth is open already; its window has been brought to the front.")  # noqa: T201
        return 0
    _show_fault(notice("app.does_not_answer"))
    return AlreadyRunning.exit_code


def _show_fault(fault: Notice) -> None:
    """To whoever started the app: on the terminal, or in a dialog where nobody reads what it prints."""
    if _somebody_reads_stderr():
        print(f"hearth: {fault}", file=sys.stderr)  # noqa: T201
    else:
        app = QApplication(["hearth"])
        speak("system")
        QMessageBox.critical(None, "Hearth", tip(told(fault)))
        app.quit()


def _somebody_reads_stderr() -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        mode = os.fstat(sys.stderr.fileno()).st_mode
        return sys.stderr.isatty() or stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
    return False


if __name__ == "__main__":
    sys.exit(main())
