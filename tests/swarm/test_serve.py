"""`hearth serve`, asked by OpenAI's own client: the run `text` answers other programs of this PC, and nobody else."""

import json
import os
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import openai
import psutil
import pytest

from core.commands.serve import BODY_BYTES, TOKEN_FILE
from core.contracts.errors import NotRunning, PortInUse
from core.net.few_at_once import AT_ONCE
from tests.workers import PATIENCE_S, ROOT, RunningWorker, hearth, start_paused, wait_until, worker

PROMPT = "The for statement"


class Served(NamedTuple):
    worker: RunningWorker
    process: psutil.Process
    port: int
    token: str

    def client(self, token: str = "", **options: Any) -> openai.OpenAI:
        address = f"http://127.0.0.1:{self.port}/v1"
        return openai.OpenAI(
            base_url=address, api_key=token or self.token, max_retries=0, timeout=PATIENCE_S, **options
        )

    def raw(self, request: bytes) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to a request of any form."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as connection:
            connection.sendall(request)
            head, _, body = b"".join(iter(lambda: connection.recv(1 << 16), b"")).partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    start_paused(folder)
    with worker(folder, "--run", "text") as running:
        command = [sys.executable, "-m", "core", "serve", "--port", "0", "--data-dir", str(folder)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            address, key, _ = (process.stdout.readline() for _ in range(3))
            port = int(address.rpartition(":")[2].removesuffix("/v1\n"))
            yield Served(running, psutil.Process(process.pid), port, key.split()[-1])
            process.terminate()


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with served.client() as client:
        yield client


def test_a_program_finds_the_runs_and_a_text_goes_on(client: openai.OpenAI, served: Served) -> None:
    [model] = client.models.list()
    assert model.id == served.worker.status().run_id
    asked: dict[str, Any] = {"model": model.id, "prompt": PROMPT, "max_tokens": 30, "seed": 5, "temperature": 0.7}
    whole = client.completions.create(**asked)
    [choice] = whole.choices
    assert choice.finish_reason == "length" and whole.usage
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (len(PROMPT), 30)
    same = hearth(served.worker.folder, "generate", PROMPT, "--length", "30", "--seed", "5", "--json").stdout
    assert choice.text == "".join(json.loads(line).get("text", "") for line in same.splitlines())

    pieces = list(client.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    assert "".join(piece.choices[0].text for piece in pieces[:-1]) == choice.text
    assert len(pieces) == 32 and pieces[-2].choices[0].finish_reason == "length"
    assert pieces[-1].usage == whole.usage and len({piece.id for piece in pieces}) == 1


def test_a_text_ends_before_its_stop(client: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"model": "text", "prompt": PROMPT, "max_tokens": 40, "seed": 5, "temperature": 0}
    text = client.completions.create(**asked).choices[0].text
    stop = text[10:13]
    short = client.completions.create(**asked, stop=["not there", stop])
    assert short.choices[0].text == text[: text.index(stop)] and short.choices[0].finish_reason == "stop"
    pieces = [*client.completions.create(**asked, stop=stop, stream=True)]
    assert "".join(piece.choices[0].text for piece in pieces) == short.choices[0].text
    assert pieces[-1].choices[0].finish_reason == "stop"


def test_a_conversation_is_continued(client: openai.OpenAI, served: Served) -> None:
    said: Any = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hello?"}]},
    ]
    asked: dict[str, Any] = {"model": "text", "messages": said, "max_completion_tokens": 12, "seed": 3}
    whole = client.chat.completions.create(**asked)
    assert whole.choices[0].message.role == "assistant" and whole.usage
    assert whole.usage.prompt_tokens == len("Be kind.\n\nUser: Hello?\nAssistant:")
    pieces = [*client.chat.completions.create(**asked, stream=True)]
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == whole.choices[0].message.content


def test_what_cannot_be_answered_is_told_in_openais_form(client: openai.OpenAI) -> None:
    create = client.completions.create
    with pytest.raises(openai.NotFoundError, match="not joined") as missing:
        create(model="other", prompt="x")
    assert missing.value.code == "model_not_found" and missing.value.param == "model"
    wrong: dict[str, Any]
    for wrong in ({"max_tokens": 0}, {"temperature": 11}, {"top_p": 0}, {"stop": ""}, {"prompt": [1, 2]}, {"n": 2}):
        with pytest.raises(openai.BadRequestError) as refused:
            create(**{"model": "text", "prompt": "x"} | wrong)
        assert str(refused.value.param).startswith(next(iter(wrong))) and refused.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError, match="does not support tools"):
        client.chat.completions.create(
            model="text",
            messages=[{"role": "user", "content": "x"}],
            tools=[{"type": "function", "function": {"name": "f"}}],
        )
    with pytest.raises(openai.APIStatusError) as large:
        create(model="text", prompt="x" * (2 * BODY_BYTES))
    assert large.value.status_code == 413
    with pytest.raises(openai.NotFoundError, match="nothing at"):
        client.embeddings.create(model="text", input="x")


@pytest.mark.parametrize(("asked", "method"), [("GET /v1/completions", "POST"), ("POST /v1/models", "GET")])
def test_who_asks_with_the_wrong_method_is_told_the_right_one(asked: str, method: str, served: Served) -> None:
    head = f"{asked} HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: Bearer {served.token}\r\n\r\n"
    status, body = served.raw(head.encode())
    assert status == 405 and body["error"]["message"] == f"{asked.split()[1]} must be asked with {method}."


def test_a_port_that_is_taken_is_told_in_words(served: Served) -> None:
    said = hearth(served.worker.folder, "serve", "--port", str(served.port))
    assert said.returncode == PortInUse.exit_code
    assert f"Port {served.port} cannot be used: Address already in use. Choose another" in said.stderr


def test_nobody_without_the_token_is_answered(served: Served) -> None:
    path = served.worker.folder / TOKEN_FILE
    assert path.read_text().strip() == served.token and len(served.token) == 64
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o600
    for token in ("wrong", served.token[:-1], served.token.upper() + "0"):
        with served.client(token) as stranger, pytest.raises(openai.AuthenticationError, match="API key") as refused:
            stranger.completions.create(model="text", prompt="x")
        assert refused.value.code == "invalid_api_key"
    address = f"http://127.0.0.1:{served.port}/v1/models"
    with pytest.raises(urllib.error.HTTPError, match="401") as bare:
        urllib.request.urlopen(address, timeout=PATIENCE_S)
    bare.value.close()


def test_a_page_of_the_web_does_not_get_in_by_a_name_that_leads_here(served: Served) -> None:
    right = f"GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {served.token}\r\nHost: %s\r\n\r\n"
    for host in ("evil.example:80", f"evil.example:{served.port}", "", "127.0.0.1.evil.example:80"):
        status, body = served.raw((right % host).encode())
        assert status == 403 and body["error"]["code"] == "wrong_host"
    for host in (f"localhost:{served.port}", f"127.0.0.1:{served.port}"):
        assert served.raw((right % host).encode())[0] == 200
    assert served.raw(b"OPTIONS /v1/models HTTP/1.1\r\nHost: localhost:1\r\n\r\n")[0] == 501
    assert served.raw(b"what is this HTTP/1.1\r\n\r\n")[0] == 400


def test_it_listens_on_loopback_only(served: Served) -> None:
    listening = [one.laddr for one in served.process.net_connections() if one.status == psutil.CONN_LISTEN]
    assert listening == [("127.0.0.1", served.port)]


def test_a_text_ends_when_its_program_goes(client: openai.OpenAI, served: Served) -> None:
    for streams in (True, False):
        body = json.dumps({"prompt": PROMPT, "max_tokens": 10_000, "stream": streams}).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost:1\r\nAuthorization: Bearer {served.token}\r\n"
        with socket.create_connection(("127.0.0.1", served.port), PATIENCE_S) as program:
            program.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            served.worker.until(lambda status: status.calls_per_s > 0, "the experts are asked")
        served.worker.until(lambda status: status.calls_per_s == 0, "compute left the text")


def test_so_many_texts_are_written_at_once_and_no_more(client: openai.OpenAI) -> None:
    streams = [
        client.completions.create(model="text", prompt=PROMPT, max_tokens=10_000, stream=True) for _ in range(AT_ONCE)
    ]
    for stream in streams:
        next(iter(stream))
    with pytest.raises(openai.RateLimitError, match="ask again"):
        client.completions.create(model="text", prompt=PROMPT)
    for stream in streams:
        stream.close()
    wait_until(lambda: _is_answered(client), "room for another text")


def _is_answered(client: openai.OpenAI) -> bool:
    try:
        return bool(client.completions.create(model="text", prompt=PROMPT, max_tokens=1).choices)
    except openai.RateLimitError:
        return False


def test_a_text_that_breaks_off_says_why(client: openai.OpenAI, served: Served) -> None:
    pieces = iter(client.completions.create(model="text", prompt=PROMPT, max_tokens=10_000, stream=True))
    next(pieces)
    compute = served.worker.compute()
    assert compute is not None
    compute.kill()
    with pytest.raises(openai.APIError) as broken:
        list(pieces)
    assert broken.value.code == "compute" and broken.value.type == "server_error"


def test_without_a_worker_it_says_so(tmp_path: Path) -> None:
    done = hearth(tmp_path, "serve", "--port", "0")
    assert done.returncode == NotRunning.exit_code and "Traceback" not in done.stderr
