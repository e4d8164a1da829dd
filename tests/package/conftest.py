"""What the tests of packages share with those of windows."""

from tests.desktop.conftest import qtbot as qtbot
