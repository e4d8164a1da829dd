"""Mosquitto as a backbone peer's broker: its process, and the files by which it knows peers and their rights.

Mosquitto cannot check a peer's signature. So whoever it refuses has a backbone peer, which can, write it into the file
of passwords (`enrol`), where it stays.
"""

import asyncio
import base64
import contextlib
import hashlib
import logging
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from core.community.signing import signed_by
from core.contracts.errors import CreditError, DataFolderError, SettingsError
from core.contracts.notices import Notice, notice
from core.contracts.telemetry import MAX_PACKET, Admits, Rights, acl_file, login
from core.regular_files import read_regular

log = logging.getLogger(__name__)

PASSWORDS, RIGHTS, CONFIGURATION = "passwords", "rights", "mosquitto.conf"
"""Its files."""
LINE = re.compile(r"([0-9a-f]{64}):(\$7\$\d{1,6}\$[A-Za-z0-9+/=]{16}\$[A-Za-z0-9+/=]{88})")
ERROR = re.compile(r"^(?:\d+: )?Error:? (.*)$", re.MULTILINE)
LINE_BYTES = 192
"""Of the passwords, at most."""
ON_LEASH = 'exec 3<&0 </dev/null; (read -r line || kill $$) <&3 >/dev/null 2>&1 & exec "$0" -c "$1" 3<&-'
"""Runs Mosquitto, and ends it when the pipe that this reads is closed without a word: who started it was killed."""
AGAIN_S, LONGEST_S = 1.0, 30.0
"""Until it is started again, at first and at most; the first also between two times that it reads its files."""
STEADY_S = 10.0
"""If it has run for so long, it is started again after a short time."""
MOST_SAID = 400
"""Bytes of what it says when it ends."""
LOOK_AGAIN_S = 5.0
"""Between two looks whether all that it knows may still take part."""
LOOK_S = 0.05
"""Between two looks whether it serves."""
LOOPBACK = {"0.0.0.0": "127.0.0.1", "[::]": "::1", "": "127.0.0.1"}
"""Where one that listens everywhere is found."""
STOP_S = 10.0
USERS = 50_000
"""Peers that are known; of more the first ones are forgotten, and enrol again."""
ITERATIONS = 101
"""Of PBKDF2, Mosquitto's own number; what is hashed is no word but 64 bytes of a signature."""


class Mosquitto:
    """Use as `async with Mosquitto(...)`."""

    def __init__(
        self,
        listen: str,
        names: frozenset[str],
        folder: Path,
        tls: tuple[str, str] | None,
        runs: Mapping[str, Rights],
        admits: Admits,
    ) -> None:
        """
        Args:
            listen: address and port.
            names: its addresses as in manifests.
            folder: for its files.
            tls: files of certificate and key, for `mqtts`.
            runs: what it is there for; `update` is to be called after a change.
            admits: who may take part in these now.

        Raises:
            SettingsError: it is not installed.
        """
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
        program = shutil.which("mosquitto", path=path)
        if program is None or sys.platform == "win32":
            raise SettingsError(notice("telemetry.no_mosquitto"))
        self._program, self._listen, self._names, self._runs = program, listen, names, runs
        self._folder, self._tls, self._admits = folder, tls, admits
        self._users: dict[str, str] = {}
        """Hashed passwords of those who have proved their keys."""
        self._known: dict[str, frozenset[str]] = {}
        """Those of them that Mosquitto knows, with the runs that each may take part in."""
        self._runs_then = frozenset[str]()
        """All that there were then."""
        self._written = "", ""
        self.notes: list[Notice] = []
        """Why nobody gets in, or no newcomer does."""
        self._reload = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Mosquitto":
        """Start it; it is started again whenever it ends."""
        with contextlib.suppress(OSError):  # without the file peers enrol again
            content = read_regular(self._folder / PASSWORDS, USERS * LINE_BYTES)
            lines = content.decode("ascii", "replace").splitlines()
            self._users = {line[1]: line[2] for line in map(LINE.fullmatch, lines[-USERS:]) if line}
            if len(self._users) < len(lines):
                log.warning("%d of Mosquitto's passwords are damaged.", len(lines) - len(self._users))
        self._task = asyncio.create_task(self._stay(), name="mosquitto")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def connected(self) -> None:
        """How many peers are connected, it does not tell."""

    def enrol(self, peer: bytes, password: str) -> None:
        """Have Mosquitto know a peer.

        Args:
            peer: its key.
            password: its signature for this broker, as hexadecimal digits.

        Raises:
            CreditError: it is none.
        """
        try:
            signature = bytes.fromhex(password)
        except ValueError:
            signature = b""
        if not any(signed_by(peer, login(name), signature) for name in self._names):
            raise CreditError(notice("telemetry.foreign"))
        if peer.hex() not in self._users:
            while len(self._users) >= USERS:
                del self._users[next(iter(self._users))]
            self._users[peer.hex()] = hashed(password)
            self._reload.set()

    def update(self) -> None:
        """The runs have changed."""
        self._reload.set()

    # its process

    async def _stay(self) -> None:
        """Start it again and again, after longer rests where it does not stay."""
        wait = AGAIN_S
        while True:
            began = time.monotonic()
            try:
                why = await self._run()
            except DataFolderError as error:
                why = error.notice
            except OSError as error:
                why = notice("telemetry.mosquitto_ends", address=self._listen, why=str(error))
            self._tell(why)
            if time.monotonic() - began > STEADY_S:
                wait = AGAIN_S
            await asyncio.sleep(wait)
            wait = min(LONGEST_S, 2 * wait)

    def _tell(self, trouble: Notice) -> None:
        if [trouble] != self.notes:
            log.warning("%s", trouble)
        self.notes = [trouble]

    async def _run(self) -> Notice:
        """Mosquitto, from its start to its end; returns why it has ended.

        Raises:
            DataFolderError: its files cannot be written.
            OSError: it cannot be started.
        """
        self._reload.clear()
        self._put(CONFIGURATION, self._configuration())
        self._write(anew=True)
        command = "sh", "-c", ON_LEASH, self._program, str(self._folder / CONFIGURATION)
        null, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
        end, leash = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=end, stdout=null, stderr=pipe)
            rereading = asyncio.create_task(self._reread(process))
            try:
                assert process.stderr is not None
                line = await _last_error(process.stderr)
                status = await process.wait()
            finally:
                rereading.cancel()
                if process.returncode is None:
                    process.terminate()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(process.wait(), STOP_S)
                if process.returncode is not None:
                    os.write(leash, b"\n")
        finally:
            os.close(end)
            os.close(leash)
        return notice("telemetry.mosquitto_ends", address=self._listen, why=line or f"status {status}")

    async def _reread(self, process: asyncio.subprocess.Process) -> None:
        """Have it read its files when they have changed; the signal for that would end it before it serves."""
        while not await self._serves():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(LOOK_S)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._reload.wait()
            self._reload.clear()
            try:
                if self._write() and sys.platform != "win32":
                    process.send_signal(signal.SIGHUP)  # which also ends the sessions of those that it knows no more
            except DataFolderError as error:
                self._tell(error.notice)
            else:
                self.notes = []
            await asyncio.sleep(AGAIN_S)

    async def _serves(self) -> bool:
        """Whether it answers what is no greeting, by hanging up."""
        host, _, port = self._listen.rpartition(":")
        try:
            reader, writer = await asyncio.open_connection(LOOPBACK.get(host, host.strip("[]")), int(port))
            try:
                writer.write(b"\xc0\0" * 8)  # a beat before the greeting; to TLS, a record of no known kind
                with contextlib.suppress(ConnectionError):
                    await reader.read()
            finally:
                writer.close()
        except OSError:
            return False
        return True

    def _admitted(self) -> dict[str, frozenset[str]]:
        """Whom Mosquitto is to know now. Who may take part in other runs than before is left out once: so its session
        ends, and it comes back with its new rights."""
        runs = frozenset(self._runs)
        found = {}
        for user in self._users:
            if mine := frozenset(run for run in runs if self._admits(bytes.fromhex(user), run)):
                found[user] = mine
        for user in found.keys() & self._known.keys():
            if found[user] & self._runs_then != self._known[user] & runs:
                del found[user]
                self._reload.set()
        return found

    def _write(self, anew: bool = False) -> bool:
        """Write the files if they have changed; whether they were written.

        Args:
            anew: whether they are written in any case.

        Raises:
            DataFolderError: they cannot be.
        """
        known = self._admitted()
        some = {run: [user for user, mine in known.items() if run in mine] for run in self._runs}
        members = {run: users for run, users in some.items() if len(users) < len(known)}
        files = "".join(f"{user}:{self._users[user]}\n" for user in known), acl_file(self._runs, members)
        if files == self._written and not anew:
            return False
        for name, content in zip((PASSWORDS, RIGHTS), files, strict=True):
            self._put(name, content)
        self._written, self._known, self._runs_then = files, known, frozenset(self._runs)
        return True

    def _put(self, name: str, content: str) -> None:
        partial = self._folder / f"{name}.partial"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            partial.touch(0o600)
            partial.write_text(content)
            partial.replace(self._folder / name)
        except OSError as error:
            why = str(error.strerror)
            raise DataFolderError(notice("telemetry.mosquitto_files", folder=str(self._folder), why=why)) from error

    def _configuration(self) -> str:
        host, _, port = self._listen.rpartition(":")
        lines = [
            f"listener {port} {host.strip('[]')}",
            "allow_anonymous false",
            f"password_file {self._folder / PASSWORDS}",
            f"acl_file {self._folder / RIGHTS}",
            "persistence true",
            f"persistence_location {self._folder}/",
            "autosave_interval 60",
            f"max_packet_size {MAX_PACKET}",
            "max_queued_messages 20000",
            "log_dest stderr",
            "log_type error",
        ]
        if self._tls:
            lines += [f"certfile {self._tls[0]}", f"keyfile {self._tls[1]}"]
        if sys.platform != "win32" and os.geteuid() == 0:
            lines.append("user root")  # else it becomes one that cannot read this folder
        return "\n".join(lines) + "\n"


async def _last_error(errors: asyncio.StreamReader) -> str:
    """The last error that Mosquitto told of, once it has ended."""
    found = b""
    while content := await errors.read(1 << 12):
        found = (found + content)[-MOST_SAID:]
    told = ERROR.findall(found.decode("utf8", "replace"))
    return "".join(filter(str.isprintable, told[-1])) if told else ""


def hashed(password: str) -> str:
    """In the form of `mosquitto_passwd`."""
    salt = os.urandom(12)
    hashed = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"$7${ITERATIONS}${base64.b64encode(salt).decode()}${base64.b64encode(hashed).decode()}"
