"""Telling an organiser's pictures apart. So far nobody can be asked to: what people draw or have is not like them."""

from typing import NoReturn

from core.contracts.errors import QuestionError
from core.contracts.kinds import Ends
from core.contracts.pipe import Predict
from core.training.tasks.task import Task


class OwnPictures(Task[Predict]):
    """It is trained and judged, and answers nothing."""

    def encode(self, question: Predict, ends: Ends) -> NoReturn:
        """As any task.

        Raises:
            QuestionError: always.
        """
        raise QuestionError("The worker asks it nothing.")


TASK = OwnPictures()
