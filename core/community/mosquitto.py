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
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from core.community.signing import signed_by
from core.contracts.errors import CreditError, DataFolderError, SettingsError
from core.contracts.notices import notice
from core.contracts.telemetry import MAX_PACKET, Admits, Rights, acl_file, login

log = logging.getLogger(__name__)

AGAIN_S = 1.0
"""Until it is started again, and between two times that it reads its files."""
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
        self._written = ""
        self._reload = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Mosquitto":
        """Start it; it is started again whenever it ends.

        Raises:
            DataFolderError: its files cannot be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            lines = (self._folder / "passwords").read_text().splitlines()
            self._users = dict(line.split(":", 1) for line in lines[-USERS:] if ":" in line)
        (self._folder / "mosquitto.conf").write_text(self._configuration())
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
            self._users[peer.hex()] = _hashed(password)
            self._reload.set()

    def update(self) -> None:
        """The runs have changed."""
        self._reload.set()

    async def _stay(self) -> None:
        null = asyncio.subprocess.DEVNULL
        arguments = self._program, "-c", str(self._folder / "mosquitto.conf")
        while True:
            self._reload.clear()
            self._write()
            process = await asyncio.create_subprocess_exec(*arguments, stdin=null, stdout=null, stderr=null)
            rereading = asyncio.create_task(self._reread(process))
            try:
                status = await process.wait()
            finally:
                rereading.cancel()
                if process.returncode is None:
                    process.terminate()
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(process.wait(), STOP_S)
            log.warning("Mosquitto has ended with status %d; it is started again.", status)
            await asyncio.sleep(AGAIN_S)

    async def _reread(self, process: asyncio.subprocess.Process) -> None:
        """Have it read its files when they have changed; the signal for that would end it before it serves."""
        while not await self._serves():  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(LOOK_S)
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._reload.wait()
            self._reload.clear()
            if self._write() and sys.platform != "win32":
                process.send_signal(signal.SIGHUP)  # which also ends the sessions of those that it knows no more
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

    def _write(self) -> bool:
        """Write the files; whether they have changed."""
        known = self._admitted()
        some = {run: [user for user, mine in known.items() if run in mine] for run in self._runs}
        members = {run: users for run, users in some.items() if len(users) < len(known)}
        users = "".join(f"{user}:{self._users[user]}\n" for user in known)
        rights = acl_file(self._runs, members)
        if users + rights == self._written:
            return False
        try:
            for name, content in (("passwords", users), ("rights", rights)):
                partial = self._folder / f"{name}.partial"
                partial.touch(0o600)
                partial.write_text(content)
                partial.replace(self._folder / name)
        except OSError as error:
            raise DataFolderError(
                notice("folder.not_made", folder=str(self._folder), why=str(error.strerror))
            ) from error
        self._written, self._known, self._runs_then = users + rights, known, frozenset(self._runs)
        return True

    def _configuration(self) -> str:
        host, _, port = self._listen.rpartition(":")
        lines = [
            f"listener {port} {host.strip('[]')}",
            "allow_anonymous false",
            f"password_file {self._folder / 'passwords'}",
            f"acl_file {self._folder / 'rights'}",
            "persistence true",
            f"persistence_location {self._folder}/",
            "autosave_interval 60",
            f"max_packet_size {MAX_PACKET}",
            "max_queued_messages 20000",
            "log_dest none",
        ]
        if self._tls:
            lines += [f"certfile {self._tls[0]}", f"keyfile {self._tls[1]}"]
        if sys.platform != "win32" and os.geteuid() == 0:
            lines.append("user root")  # else it becomes one that cannot read this folder
        return "\n".join(lines) + "\n"


def password_line(peer: bytes, password: str) -> str:
    """A line of the file of passwords."""
    return f"{peer.hex()}:{_hashed(password)}\n"


def _hashed(password: str) -> str:
    """In the form of `mosquitto_passwd`."""
    salt = os.urandom(12)
    hashed = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"$7${ITERATIONS}${base64.b64encode(salt).decode()}${base64.b64encode(hashed).decode()}"
