"""The app, in which somebody moves or deletes the data as soon as the worker answers.

python -m tests.desktop.app_with_data move|delete FOLDER -- ARGUMENTS OF THE APP
"""

import sys
from pathlib import Path

from PySide6.QtCore import QTimer

from app import __main__, desktop


def main() -> int:
    """Run it."""
    what, folder = sys.argv[1], Path(sys.argv[2])

    class Desktop(desktop.Desktop):
        def _build_window(self) -> None:
            super()._build_window()
            self.client.connected.connect(lambda snapshot: QTimer.singleShot(500, self.act))

        def act(self) -> None:
            data = self.settings_page.data
            if what == "move":
                data.move_to(folder)
            else:
                data.delete_button.click()
                data.sure.click()

    desktop.Desktop = Desktop  # type: ignore[misc]
    return __main__.main(sys.argv[4:])


if __name__ == "__main__":
    sys.exit(main())
