"""A real accessibility bus (at-spi2-core), and on it what a screen reader sees of a program: roles, names and states.

Python's bindings (pyatspi) belong to the system's Python; what is asked here are five methods, which jeepney calls.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jeepney import DBusAddress, HeaderFields, Message, MessageType, Properties, new_method_call
from jeepney.io.blocking import open_dbus_connection

from tests.desktop.private_bus import bus
from tests.virtual_screen import started
from tests.workers import wait_until

LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
ATSPI = "org.a11y.atspi"
ROOT = "/org/a11y/atspi/accessible/root"
CALL_S = 30.0
FOCUSABLE, FOCUSED, SENSITIVE, SHOWING = 11, 12, 24, 25
"""Bits of a state (`AtspiStateType`)."""
MOST = 5000
"""Nodes of a tree that are read."""


class Node(NamedTuple):
    """Something that a screen reader can tell."""

    service: str
    path: str
    role: str
    """Such as "push button"."""
    name: str
    states: int
    """A bit for each."""

    def has(self, state: int) -> bool:
        return bool(self.states >> state & 1)


@contextlib.contextmanager
def accessibility(folder: Path) -> Iterator[dict[str, str]]:
    """A session bus with an accessibility bus, where a screen reader is on; yields what programs need in their
    environment.

    Args:
        folder: for the bus's socket.
    """
    launcher = next((path for path in LAUNCHERS if Path(path).exists()), None) or shutil.which("at-spi-bus-launcher")
    assert launcher, "the package at-spi2-core is missing: installers/linux/setup.sh system test"
    with bus(folder):
        environment = {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder / 'bus'}", "XDG_RUNTIME_DIR": str(folder)}
        command = [launcher, "--launch-immediately", "--a11y=1"]
        with started(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL):
            yield environment


class Reader:
    """Reads the tree of one program, as a screen reader does.

    Args:
        environment: as of `accessibility`.
        program: its name on the bus.
    """

    def __init__(self, environment: dict[str, str], program: str) -> None:
        where = new_method_call(DBusAddress("/org/a11y/bus", "org.a11y.Bus", "org.a11y.Bus"), "GetAddress")
        with contextlib.closing(open_dbus_connection(environment["DBUS_SESSION_BUS_ADDRESS"])) as session:

            def address() -> str | None:
                answer = session.send_and_get_reply(where, timeout=CALL_S)
                return str(answer.body[0]) if answer.header.message_type is MessageType.method_return else None

            found = str(wait_until(address, "the accessibility bus"))
        self._bus = open_dbus_connection(found)
        self._service = str(wait_until(lambda: self._find(program), f"{program} on the accessibility bus"))

    def close(self) -> None:
        self._bus.close()

    def tree(self) -> list[Node]:
        """All that is shown, level by level; what is hidden is left out with its children."""
        found: list[Node] = []
        level = [(self._service, ROOT)]
        while level and len(found) < MOST:
            nodes = [node for node in self._nodes(level) if node is not None]
            shown = [node for node in nodes if node.has(SHOWING) or node.path == ROOT]
            found += shown
            asked = [_call(node.service, node.path, "Accessible", "GetChildren") for node in shown]
            level = [child for answer in self._answers(asked) if answer for child in answer[0]]
        return found

    def press(self, node: Node) -> None:
        """Do the first thing that can be done with it."""
        self._answers([_call(node.service, node.path, "Action", "DoAction", "i", (0,))])

    def write(self, node: Node, text: str) -> None:
        """Put a text into a field, in the place of what is there."""
        self._answers([_call(node.service, node.path, "EditableText", "SetTextContents", "s", (text,))])

    def text_of(self, node: Node) -> str:
        """What is in a field."""
        (answer,) = self._answers([_call(node.service, node.path, "Text", "GetText", "ii", (0, -1))])
        return str(answer[0]) if answer else ""

    def _find(self, program: str) -> str | None:
        (programs,) = self._answers([_call(f"{ATSPI}.Registry", ROOT, "Accessible", "GetChildren")])
        nodes = self._nodes(programs[0] if programs else [])
        return next((node.service for node in nodes if node is not None and node.name == program), None)

    def _nodes(self, level: Sequence[tuple[str, str]]) -> list[Node | None]:
        """What is at these places; None: it has gone meanwhile."""
        asked = [
            message
            for service, path in level
            for message in (
                _call(service, path, "Accessible", "GetRoleName"),
                Properties(DBusAddress(path, service, f"{ATSPI}.Accessible")).get("Name"),
                _call(service, path, "Accessible", "GetState"),
            )
        ]
        answers = iter(self._answers(asked))
        found: list[Node | None] = []
        for (service, path), role, name, states in zip(level, answers, answers, answers, strict=True):
            there = role and name and states
            found.append(Node(service, path, role[0], str(name[0][1]), _bits(states[0])) if there else None)
        return found

    def _answers(self, asked: Sequence[Message]) -> list[Any]:
        """What methods return, None for an error. All are asked before the first answer is awaited: one by one, a page
        would take seconds."""
        numbers = []
        for message in asked:
            numbers.append(next(self._bus.outgoing_serial))
            self._bus.send(message, serial=numbers[-1])
        missing, answers = {*numbers}, dict[int, Any]()
        while missing:
            answer = self._bus.receive(timeout=CALL_S)
            number = answer.header.fields.get(HeaderFields.reply_serial)
            if number in missing:
                missing.discard(number)
                answers[number] = answer.body if answer.header.message_type is MessageType.method_return else None
        return [answers[number] for number in numbers]


def _call(service: str, path: str, interface: str, method: str, *rest: Any) -> Message:
    return new_method_call(DBusAddress(path, service, f"{ATSPI}.{interface}"), method, *rest)


def _bits(words: Sequence[int]) -> int:
    return words[0] | words[1] << 32
