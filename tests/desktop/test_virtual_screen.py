"""The screen that tests have programs on."""

import contextlib

from Xlib import X, display

from tests.virtual_screen import press_shift, x_server


def test_a_key_does_not_come_with_another_map_of_the_keyboard() -> None:
    """For such a map the window manager lets go of its keys for a moment, and one that comes just then is lost."""
    with x_server() as name, contextlib.closing(display.Display(name)) as screen:
        screen.screen().root.change_attributes(event_mask=X.KeyPressMask | X.KeyReleaseMask)
        press_shift(screen)
        told = [screen.next_event().type for _ in range(screen.pending_events())]
        assert told == [X.KeyPress, X.KeyRelease]
