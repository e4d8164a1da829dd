"""What the user can ask for from more than one place: the window, a page, the tray, a keyboard shortcut.

One object for the process; everybody emits on it and `app.desktop` connects it to the worker.
"""

from PySide6.QtCore import QObject, Signal


class Actions(QObject):
    pause = Signal(object)
    """Stop computing: seconds as float, or None until resumed."""
    pause_gpu = Signal()
    """Leave the graphics processors only, until resumed."""
    resume = Signal()
    """End every pause."""
    start_now = Signal()
    """Compute for a while although the user is not away."""
    quit = Signal()
    """End worker and window; while it is leaving already: at once."""
    open_page = Signal(str)
    """Show the page with this `name`."""
    why = Signal()
    """Show "Why am I (not) running?"."""
    show_run = Signal(str)
    """Show the run with this id in the window."""
    add_run = Signal(str)
    """Show what a run is, named as the worker's `run_details` takes it, and ask whether to join it; "": ask which."""
    invite = Signal(str)
    """Show the link by which others join the run with this id."""
    show_setting = Signal(str)
    """Show the setting of this name, as a rule of "Why am I (not) running?" goes by it."""
    lift = Signal(str)
    """Lift the rule of this name for an hour."""
    end_lift = Signal(str)
    """Let the rule of this name hold again; "choice": end what `start_now` began."""
    change_settings = Signal(dict)
    """Names and new values of `core.contracts.settings.Settings`."""
    retry = Signal()
    """Look for the worker, or start it, again: after it could not run, or instead of waiting."""
