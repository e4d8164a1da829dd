"""The worker's end of the control socket: loopback only, a token, limits before belief."""

import asyncio
import contextlib
import hmac
import inspect
import logging
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from core.contracts import control as wire
from core.contracts.control import ADDRESS_FILE, MAX_LINE, PROTOCOL, Hello, proof
from core.contracts.credit import BoardParams, CertificateParams
from core.contracts.errors import DataFolderError, HearthError, NetworkError, PortInUse, ProtocolError, QuestionError
from core.contracts.export import CollectParams
from core.contracts.ledger import ListParams, SeriesParams
from core.contracts.network_status import DhtGetParams, Finding, MeetParams, NetworkParams
from core.contracts.notices import notice
from core.contracts.telemetry import NoticeParams
from core.contracts.trunk_status import TrunkParams
from core.control.doctor import examine
from core.regular_files import read_regular
from core.store.sizes import RUNTIMES
from core.update.installation import DOWNLOADS
from core.version import VERSION
from core.worker import prompts
from core.worker.collecting import collected_of
from core.worker.peer import Peer
from core.worker.run_report import report_of

log = logging.getLogger(__name__)

T = TypeVar("T", bound=msgspec.Struct)

HELLO_S = 20.0
"""A connection that has not shown the token by then is closed; the app dials first and builds its window then."""
WATCH_S = 5.0
"""Between two looks at the address file: without it nobody could reach this worker any more."""
STRANGERS = 16
"""Connections that have not shown the token yet; when one more comes, the oldest of them is closed."""
CLIENTS = 32
REQUESTS = 16
"""Unanswered requests of one client; more are not read until one is answered."""
TELL_S = 0.5
"""Between two times that a client is told how much of a file has come."""
BACKLOG_BYTES = 4 << 20
"""A client that lets so much pile up does not read any more and is cut off."""


class _NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class ControlServer:
    """Serves a worker's clients while entered (`async with`)."""

    def __init__(self, worker: Peer, folder: Path, port: int) -> None:
        self._worker, self._folder, self._port = worker, folder, port
        self._token = secrets.token_hex(32)
        self._sessions: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.Task[None], None] = {}
        """Those of the sessions that have not shown the token, oldest first."""
        self._refused = 0

    async def __aenter__(self) -> "ControlServer":
        """Listen and write the address file.

        Raises:
            PortInUse: the port of the settings is taken.
            DataFolderError: the address file cannot be written.
        """
        try:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, limit=MAX_LINE)
        except OSError as error:
            raise PortInUse(
                notice(
                    "control.port_in_use",
                    port=self._port,
                    why=os.strerror(error.errno or 0),
                    file=str(self._folder / "settings.json"),
                )
            ) from error
        try:
            self._write_address()
            self._place = self._place_now()
        except OSError as error:
            self._server.close()
            raise DataFolderError(
                notice("control.not_written", file=str(self._folder / ADDRESS_FILE), why=str(error.strerror))
            ) from error
        self._watch = asyncio.create_task(self._watch_address(), name="address")
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._watch.cancel()
        self._server.close()
        for session in self._sessions:
            session.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)
        with contextlib.suppress(OSError):  # a stale address does no harm: nobody answers there
            (self._folder / ADDRESS_FILE).unlink()

    def _address(self) -> bytes:
        port = self._server.sockets[0].getsockname()[1]
        return msgspec.json.encode(wire.Address(PROTOCOL, port, self._token, os.getpid(), str(self._folder)))

    def _write_address(self) -> None:
        _write_private(self._folder / ADDRESS_FILE, self._address())

    def _place_now(self) -> tuple[int, int]:
        """Which folder has the name of the data folder."""
        found = self._folder.stat()
        return found.st_dev, found.st_ino

    def _address_is_there(self) -> bool:
        try:
            return read_regular(self._folder / ADDRESS_FILE) == self._address()
        except FileNotFoundError:
            return False

    async def _watch_address(self) -> None:
        """Write the file again if somebody removed or changed it; end if the whole data folder is gone, also if another
        one has its name: compute makes folders as it saves, but no key, settings or ledger."""
        told = False
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                if self._place_now() != self._place:
                    raise FileNotFoundError
                if not self._address_is_there():
                    self._write_address()
            except FileNotFoundError:
                log.error("The data folder is gone: the worker ends.")
                self._worker.quit(DataFolderError(notice("folder.gone", folder=str(self._folder))))
                return
            except OSError as error:
                if not told:
                    log.error("%s is gone or changed and cannot be written again: %s.", ADDRESS_FILE, error.strerror)
                told = True

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = asyncio.current_task()
        assert session is not None
        if len(self._strangers) >= STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()
        self._sessions.add(session)
        self._strangers[session] = None
        try:
            client = _Session(self._worker, self._token, reader, writer)
            hello = await client.greet()
            self._strangers.pop(session, None)
            if hello is not None and len(self._sessions) - len(self._strangers) <= CLIENTS:
                await client.serve(hello)
        except (OSError, asyncio.CancelledError):
            pass  # the client or the worker goes; Python 3.11 would log the cancellation as an error
        except (ProtocolError, ValueError) as error:
            self._refused += 1
            if self._refused & (self._refused - 1) == 0:  # ever fewer, so that strangers cannot fill the log
                log.warning("A client of the control socket was refused (%d so far): %s", self._refused, error)
        finally:
            self._sessions.discard(session)
            self._strangers.pop(session, None)
            with contextlib.suppress(OSError):
                writer.close()


class _Session:
    def __init__(self, worker: Peer, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._worker, self._token, self._reader, self._writer = worker, token, reader, writer
        self._slots = asyncio.Semaphore(REQUESTS)
        self._streams: dict[int, asyncio.Task[None]] = {}
        """Requests that send until they are done, by id; nobody else would end them."""

    async def serve(self, hello: Hello) -> None:
        """Answer requests until the client goes."""
        if hello.client != "cli":
            self._worker.windows.came(hello.pid, hello.client)
        try:
            async with asyncio.TaskGroup() as requests:
                await self._read(requests)
                for stream in self._streams.values():
                    stream.cancel()
        finally:
            self._worker.listeners.remove(self._push)
            if hello.client != "cli":
                self._worker.windows.went(hello.pid)

    async def _read(self, requests: asyncio.TaskGroup) -> None:
        """Begin what is asked for until the client goes, in whatever way: commands that it gave are carried out."""
        try:
            while line := await self._reader.readline():
                request = _decode(line, wire.Request)
                await self._slots.acquire()
                task = requests.create_task(self._answer(request, time.monotonic()), name=request.method)
                if request.method in ("generate", "fetch_wheel"):
                    self._streams[request.id] = task
        except OSError:
            pass  # which is its right
        except (ProtocolError, ValueError) as error:  # ValueError: a line over the limit
            log.warning("A client of the control socket was cut off: %s", error)
            self._writer.close()

    async def greet(self) -> Hello | None:
        """The client's Hello, or None if it says nothing.

        Raises:
            ProtocolError, ValueError: what it said is no Hello, or holds a wrong token or version, or is too long.
        """
        try:
            async with asyncio.timeout(HELLO_S):
                hello = _decode(await self._reader.readline(), Hello)
        except TimeoutError:
            return None
        error = None
        if not hmac.compare_digest(hello.token.encode(), self._token.encode()):
            error = wire.ErrorInfo("protocol", notice("control.wrong_token"))
        elif hello.protocol != PROTOCOL:
            error = wire.ErrorInfo("protocol", notice("control.other_version", worker=PROTOCOL, client=hello.protocol))
        shown = proof(self._token, hello.challenge) if error is None else ""
        self._send(wire.Welcome(PROTOCOL, VERSION, os.getpid(), error, shown))
        if error is None:
            return hello
        await self._writer.drain()
        raise ProtocolError(error.said)

    async def _answer(self, request: wire.Request, arrived: float) -> None:
        try:
            self._send(wire.Reply(request.id, await self._call(request, arrived)))
        except HearthError as error:
            self._send(wire.Reply(request.id, error=wire.ErrorInfo(error.code, error.notice)))
        finally:
            self._slots.release()

    async def _call(self, request: wire.Request, arrived: float) -> Any:
        worker = self._worker
        methods: dict[str, tuple[type[msgspec.Struct], Callable[[Any], Any]]] = {
            "status": (wire.StatusParams, lambda params: worker.status(params.run)),
            "subscribe": (wire.StatusParams, lambda params: worker.listen(self._push, params.run)),
            "pace": (wire.PaceParams, lambda params: worker.pace(self._push, params.every_s)),
            "pause": (wire.PauseParams, lambda params: worker.policy.pause(params.seconds, arrived)),
            "pause_gpu": (_NoParams, lambda _: worker.policy.pause_gpu(arrived)),
            "resume": (_NoParams, lambda _: worker.policy.resume()),
            "start_now": (wire.StartNowParams, lambda params: worker.policy.start_now(params.seconds)),
            "lift": (wire.LiftParams, lambda params: worker.policy.lift(params.rule, params.seconds)),
            "end_lift": (wire.EndLiftParams, lambda params: worker.policy.end_lift(params.rule)),
            "quit": (_NoParams, lambda _: worker.quit()),
            "predict": (
                wire.PredictParams,
                lambda params: prompts.predict(worker.runs.asked(params.run, "picture"), params),
            ),
            "generate": (wire.GenerateParams, lambda params: self._generate(request.id, params)),
            "stop": (wire.StopParams, lambda params: self._stop(params.request)),
            "set_settings": (wire.SetSettingsParams, lambda params: worker.set_settings(params.changes)),
            "join_run": (wire.JoinRunParams, lambda params: worker.join_run(params.run, params.weight)),
            "run_details": (wire.RunParams, lambda params: worker.runs.details(params.run)),
            "run_report": (wire.RunReportParams, lambda params: report_of(worker.runs.named(params.run))),
            "run_link": (wire.RunParams, lambda params: wire.RunLinked(worker.runs.link(params.run))),
            "grant": (wire.GrantParams, worker.runs.grant),
            "fetch_wheel": (wire.FetchWheelParams, lambda params: self._fetch_wheel(request.id, params)),
            "found_runs": (_NoParams, lambda _: worker.network.found_runs()),
            "leave_run": (wire.LeaveRunParams, lambda params: worker.leave_run(params.run)),
            "weight": (wire.WeightParams, lambda params: worker.set_weight(params.run, params.weight)),
            "network": (NetworkParams, lambda params: worker.network.status(params.first, params.peers)),
            "doctor": (_NoParams, lambda _: self._doctor()),
            "grid": (wire.GridParams, lambda params: worker.runs.named(params.run).grid(params.layer)),
            "collect": (CollectParams, lambda params: collected_of(worker.runs.named(params.run), worker.network)),
            "trunk": (TrunkParams, lambda params: worker.runs.named(params.run).trunk()),
            "meet": (MeetParams, lambda params: worker.network.meet(params.address)),
            "dht_get": (DhtGetParams, lambda params: worker.network.dht_get(params.key)),
            "dht_stats": (_NoParams, lambda _: worker.network.dht_stats()),
            "renew_compute": (_NoParams, lambda _: self._renew_compute()),
            "benchmark": (wire.BenchmarkParams, lambda params: worker.benchmark(params.again, params.run)),
            "totals": (_NoParams, lambda _: worker.ledger.totals()),
            "series": (SeriesParams, worker.ledger.series),
            "sessions": (ListParams, worker.ledger.sessions),
            "yields": (ListParams, worker.ledger.yields),
            "credit": (_NoParams, lambda _: worker.credit()),
            "leaderboard": (_NoParams, lambda _: worker.leaderboard()),
            "board": (BoardParams, lambda params: worker.board(params)),
            "certificate": (CertificateParams, lambda params: worker.certificate(Path(params.path))),
            "run_notice": (NoticeParams, lambda params: self._say(params)),
            "telemetry": (_NoParams, lambda _: worker.network.community.told()),
            "log": (wire.LogParams, lambda params: worker.recent_log(params.lines)),
        }
        if request.method not in methods:
            raise ProtocolError(notice("control.no_method", method=request.method))
        params, method = methods[request.method]
        result = method(_decode(request.params, params))
        if inspect.isawaitable(result):
            result = await result
        return {} if result is None else result

    async def _generate(self, number: int, params: wire.GenerateParams) -> wire.Continued:
        """Stream a text; it ends when the client goes.

        Raises:
            QuestionError: the client stopped it.
            HearthError: as `prompts.generate`.
        """
        task = asyncio.current_task()
        try:
            run = self._worker.runs.asked(params.run, "text")
            return await prompts.generate(run, params, lambda *piece: self._push("piece", wire.Piece(number, *piece)))
        except asyncio.CancelledError:
            if self._streams.get(number) is task:
                raise
            raise QuestionError(notice("question.stopped")) from None
        finally:
            self._streams.pop(number, None)

    async def _fetch_wheel(self, number: int, params: wire.FetchWheelParams) -> None:
        """Tell how much has come; it ends when the client goes.

        Raises:
            NetworkError: no peer gave it.
        """
        told_at = 0.0

        def tell(have: int) -> None:
            nonlocal told_at
            if (now := time.monotonic()) - told_at >= TELL_S:
                told_at = now
                self._push("fetched", have)

        partial = self._worker.folder / RUNTIMES / DOWNLOADS / params.sha256
        try:
            await self._worker.network.fetch_wheel(params.sha256, params.size, partial, tell)
        except OSError as error:
            why = str(error.strerror or error)
            raise NetworkError(notice("pack.not_written", folder=str(partial.parent), why=why)) from error
        finally:
            self._streams.pop(number, None)

    async def _doctor(self) -> list[Finding]:
        network = self._worker.network
        return await asyncio.to_thread(
            examine, network.status(), network.dht_stats(), network.community.told().brokers, self._worker.folder
        )

    async def _renew_compute(self) -> None:
        """Have the compute processes of all runs save and end; those that are needed begin anew."""
        await asyncio.gather(*(run.compute.renew() for run in self._worker.runs))

    def _say(self, params: NoticeParams) -> None:
        self._worker.network.community.say(self._worker.runs.named(params.run).id, params.text)

    def _stop(self, number: int) -> None:
        if stream := self._streams.pop(number, None):
            stream.cancel()

    def _push(self, event: Any, data: Any) -> None:
        self._send(wire.Event(event, data))

    def _send(self, message: msgspec.Struct) -> None:
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > BACKLOG_BYTES:
            transport.abort()
            return
        self._writer.write(msgspec.json.encode(message) + b"\n")


def _decode(line: bytes | msgspec.Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"Not a valid {kind.__name__}: {error}.") from error


def _write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, never shorter or readable in between."""
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    partial.replace(path)
