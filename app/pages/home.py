"""Home: the state, why, what ends it; the model's progress, this PC and its experts."""

from app.actions import Actions
from app.window.page import Page


class HomePage(Page):
    def __init__(self, actions: Actions) -> None:
        super().__init__("home", "Home", "home")
