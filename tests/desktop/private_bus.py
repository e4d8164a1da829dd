"""A message bus of the test's own, with services on it that answer what the test tells them to."""

import contextlib
import json
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.policy.signals.linux.bus import Object
from tests.virtual_screen import started

CONFIG = """<busconfig><type>session</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/>
<allow own="*"/></policy></busconfig>"""
DEADLINE_S = 240.0
PROPERTIES = "org.freedesktop.DBus.Properties"


@contextlib.contextmanager
def bus(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A dbus-daemon that listens at `folder`/bus."""
    config = folder / "bus.conf"
    config.write_text(CONFIG.format(path=folder / "bus"))
    command = ["dbus-daemon", f"--config-file={config}", "--nofork", "--nopidfile", "--print-address"]
    with started(command, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        with daemon.stdout as told:
            assert select.select([told], [], [], DEADLINE_S)[0], "dbus-daemon did not start"
            assert told.readline()
        yield daemon


class Service:
    """A service in a process of its own."""

    def __init__(self, address: str, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.desktop.bus_service"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"DBUS_SESSION_BUS_ADDRESS": address},
            cwd=Path(__file__).parents[2],
            text=True,
        )
        self._tell(own=name)

    def answer(self, target: Object, method: str, signature: str, *body: Any) -> None:
        self._tell(answer=[target.path, target.interface, method], signature=signature, body=body)

    def property(self, target: Object, name: str, signature: str, value: Any) -> None:
        self._tell(answer=self._get(target, name), signature="v", body=[[signature, value]])

    def hang(self, target: Object, method: str) -> None:
        """Never answer it again."""
        self._tell(answer=[target.path, target.interface, method], hang=True)

    def hang_property(self, target: Object, name: str) -> None:
        self._tell(answer=self._get(target, name), hang=True)

    def emit(self, target: Object, signal: str, signature: str, *body: Any, times: int = 1) -> None:
        self._tell(emit=[target.path, target.interface, signal], signature=signature, body=body, times=times)

    def changed(self, target: Object, times: int = 1) -> None:
        """Tell that some property changed."""
        event = target.at(target.path, PROPERTIES)
        self.emit(event, "PropertiesChanged", "sa{sv}as", target.interface, [], [], times=times)

    def calls(self, target: Object, method: str) -> int:
        return int(self._tell(calls=[target.path, target.interface, method]))

    def said(self, target: Object, method: str) -> Any:
        """The arguments of the last call; structs and tuples are lists."""
        return self._tell(said=[target.path, target.interface, method])

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    @staticmethod
    def _get(target: Object, name: str) -> list[str]:
        return [target.path, PROPERTIES, "Get", target.interface, name]

    def _tell(self, **command: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps(command) + "\n")
        stdin.flush()
        assert select.select([stdout], [], [], DEADLINE_S)[0], "the service does not answer"
        return json.loads(stdout.readline())
