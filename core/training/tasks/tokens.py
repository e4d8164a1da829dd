"""Going on with a text, token by token."""

import torch
from torch import Tensor

from core.contracts.errors import QuestionError
from core.contracts.kinds import Ends
from core.contracts.notices import notice
from core.contracts.pipe import Generate, Written
from core.store.tokens import Tokens
from core.training.data.stream import Stream
from core.training.tasks.task import Exchange, Task, written


class Writing(Exchange):
    """A text that grows by a token a pass, until the model ends it."""

    def __init__(self, prompt: Generate, tokens: Tokens, window: int) -> None:
        """Begin with the prompt, behind the token that ends the text before.

        Args:
            prompt: what to go on with.
            tokens: of the run.
            window: tokens that the network sees at once, the last ones of the text.

        Raises:
            QuestionError: the prompt is longer, and no conversation.
        """
        self._prompt, self._tokens, self._window = prompt, tokens, window
        self._random = torch.Generator().manual_seed(prompt.seed)
        self._text = [tokens.end, *tokens.encode(prompt.prompt)]
        self._left = prompt.length
        if len(self._text) > window and not prompt.goes_on:
            raise QuestionError(notice("question.prompt_too_long", tokens=len(self._text) - 1, most=window - 1))
        self._show()

    def _show(self) -> None:
        self._text = self._text[-self._window :]
        self.inputs = torch.tensor([self._text]) if self._left > 0 else None

    def decode(self, outputs: Tensor) -> Written:
        """As any exchange.

        Raises:
            ComputeError: what the network gave is not finite.
        """
        known = outputs[0, -1, : len(self._tokens)]  # the model may have room for more
        token, told = written(known, self._tokens.pieces, self._prompt, self._random)
        self._text.append(token)
        self._left = 0 if token == self._tokens.end else self._left - 1
        self._show()
        return told


class TokenTexts(Task[Generate]):
    """A question is the beginning of a text; the answers are the tokens that follow, one by one, as their bytes."""

    def __init__(self, tokens: Tokens | None = None) -> None:
        """
        Args:
            tokens: of the run; None: it is not known yet which.
        """
        self._tokens = tokens
        self._sizes = None if tokens is None else torch.tensor(list(map(len, tokens.pieces)))

    def of(self, stream: Stream) -> "TokenTexts":
        return TokenTexts(stream.tokens)

    def encode(self, question: Generate, ends: Ends) -> Writing:
        """As any task.

        Raises:
            QuestionError: the prompt is longer than what the model sees at once.
        """
        assert self._tokens is not None
        return Writing(question, self._tokens, ends.inputs)

    def sizes(self, labels: Tensor) -> Tensor:
        assert self._sizes is not None
        return self._sizes[labels.flatten()]


TASK = TokenTexts()
