"""What programs ask in OpenAI's form, and the answers in it: https://platform.openai.com/docs/api-reference."""

import secrets
import time
from http import HTTPStatus
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec

from core.contracts import control as wire
from core.contracts.control import GenerateParams, RunName
from core.contracts.errors import UNREADABLE, ComputeError, HearthError, NotRunning, QuestionError, RunError

T = TypeVar("T")
UNSUPPORTED = ("echo", "functions", "logit_bias", "logprobs", "suffix", "tools", "top_logprobs")
"""What would change the answer, and is not done; one answer is given, too."""
SINGLE = ("best_of", "n")
COMPLETION, REPLY = 16, 512
"""Tokens or bytes, unless a program says how many: OpenAI's of completions, and one for replies, which end by
themselves."""


class Refused(Exception):
    """A request that cannot be answered."""

    def __init__(self, status: HTTPStatus, said: str, code: str, param: str | None = None) -> None:
        """Refuse it.

        Args:
            status: of the answer.
            said: a sentence for people.
            code: for programs.
            param: the field that is wrong.
        """
        super().__init__(said)
        self.status = status
        kind = "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
        self.body = {"error": {"message": said, "type": kind, "param": param, "code": code}}


class _Options(msgspec.Struct, frozen=True):
    include_usage: bool = False


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What both forms have; None: as if it were not there."""

    model: RunName | None = None
    max_tokens: wire.Length | None = None
    temperature: wire.Temperature | None = None
    top_p: wire.TopP | None = None
    stop: wire.Stop | Annotated[list[wire.Stop], msgspec.Meta(max_length=wire.MOST_STOPS - 1)] | None = None
    seed: int | None = None
    stream: bool | None = None
    stream_options: _Options | None = None

    def text(self) -> dict[str, Any]:
        """What is to be continued, as fields of `GenerateParams`."""
        raise NotImplementedError

    def length(self) -> int:
        """The greatest one."""
        raise NotImplementedError

    def params(self) -> GenerateParams:
        """The same for the worker.

        Raises:
            Refused: it is too long.
        """
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        seed = None if self.seed is None else self.seed % 2**31
        given = {"temperature": self.temperature, "top_p": self.top_p, "seed": seed, "run": self.model, "stop": stops}
        fields = {name: value for name, value in given.items() if value is not None}
        return _converted({"length": self.length(), **self.text(), **fields}, GenerateParams)


class _Completion(_Asked, frozen=True, kw_only=True):
    prompt: str | Annotated[list[str], msgspec.Meta(min_length=1, max_length=1)] = ""

    def text(self) -> dict[str, Any]:
        return {"prompt": self.prompt if isinstance(self.prompt, str) else self.prompt[0]}

    def length(self) -> int:
        return self.max_tokens or COMPLETION


class _Part(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class _Message(msgspec.Struct, frozen=True):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[_Part]

    def said(self) -> dict[str, str]:
        content = self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)
        return {"role": "system" if self.role == "developer" else self.role, "content": content}


class _Chat(_Asked, frozen=True, kw_only=True):
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1)]
    max_completion_tokens: wire.Length | None = None

    def text(self) -> dict[str, Any]:
        return {"prompt": "", "messages": [message.said() for message in self.messages]}

    def length(self) -> int:
        return self.max_completion_tokens or self.max_tokens or REPLY


class Form(NamedTuple):
    """Completions or chat."""

    asked: type[_Completion | _Chat]
    name: str
    whole: str
    piece: str
    """Kinds of an answer, and of a piece of one."""


FORMS = {
    "/v1/completions": Form(_Completion, "cmpl", "text_completion", "text_completion"),
    "/v1/chat/completions": Form(_Chat, "chatcmpl", "chat.completion", "chat.completion.chunk"),
}
"""By their paths."""


class Exchange:
    """A request and its answer."""

    def __init__(self, form: Form, body: bytes) -> None:
        """Read the request.

        Args:
            form: in which it is.
            body: JSON.

        Raises:
            Refused: it is not what it should be, or wants what is not done here.
        """
        fields = _decoded(body)
        wanted = [name for name in UNSUPPORTED if fields.get(name)]
        wanted += [name for name in SINGLE if fields.get(name) not in (None, 1)]
        if wanted:
            said = f"Hearth does not support {wanted[0]}: leave it out."
            raise Refused(HTTPStatus.BAD_REQUEST, said, "unsupported_parameter", wanted[0])
        self._form, asked = form, _converted(fields, form.asked)
        self.params, self.streams = asked.params(), bool(asked.stream)
        self.tells_usage = bool(asked.stream_options and asked.stream_options.include_usage)
        self._head = {"id": f"{form.name}-{secrets.token_hex(12)}", "created": int(time.time()), "model": asked.model}

    def piece(self, text: str, end: str | None = None) -> dict[str, Any]:
        """A part of the answer, as it comes.

        Args:
            text: of it.
            end: why it is the last one.
        """
        chat = {"delta": {"role": "assistant", "content": text}}
        return self._answer(self._form.piece, chat, text, end)

    def whole(self, text: str, done: wire.Continued) -> dict[str, Any]:
        """The answer in one.

        Args:
            text: all of it.
            done: what the worker said at its end.
        """
        chat = {"message": {"role": "assistant", "content": text, "refusal": None}}
        return self._answer(self._form.whole, chat, text, end_of(done)) | usage(done)

    def usage(self, done: wire.Continued) -> dict[str, Any]:
        """A last piece without text, for who wants it."""
        return {**self._head, "object": self._form.piece, "choices": []} | usage(done)

    def _answer(self, kind: str, chat: dict[str, Any], text: str, end: str | None) -> dict[str, Any]:
        said = chat if self._form.asked is _Chat else {"text": text}
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": end}
        return {**self._head, "object": kind, "choices": [choice]}


def end_of(done: wire.Continued) -> str:
    """Why a text ended."""
    return "stop" if done.ended else "length"


def usage(done: wire.Continued) -> dict[str, Any]:
    """How much was read and written."""
    counts = {"prompt_tokens": done.read, "completion_tokens": done.written, "total_tokens": done.read + done.written}
    return {"usage": counts}


def refusal(error: HearthError, said: str) -> Refused:
    """What a program is told of what the worker told.

    Args:
        error: as it was raised.
        said: the same in words.
    """
    if isinstance(error, RunError):
        return Refused(HTTPStatus.NOT_FOUND, said, "model_not_found", "model")
    if isinstance(error, QuestionError):
        return Refused(HTTPStatus.BAD_REQUEST, said, "invalid_prompt")
    busy = isinstance(error, ComputeError | NotRunning)
    return Refused(HTTPStatus.SERVICE_UNAVAILABLE if busy else HTTPStatus.INTERNAL_SERVER_ERROR, said, error.code)


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except UNREADABLE as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"The body is no JSON object: {error}.", "invalid_json") from error


def _converted(fields: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(fields, kind)
    except UNREADABLE as error:
        where = str(error).partition(" - at `$.")[2]
        raise Refused(HTTPStatus.BAD_REQUEST, f"{error}.", "invalid_value", where.rstrip("`") or None) from error
