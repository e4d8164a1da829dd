"""A D-Bus service in a process of its own, which answers what a test tells it to.

Each line of its input is a JSON object, each is answered by a line. `{"own": NAME}`: take a name on the bus;
`{"answer": [PATH, INTERFACE, METHOD], "signature": S, "body": [...]}`, the same with `"hang": true`;
`{"emit": [PATH, INTERFACE, SIGNAL], "signature": S, "body": [...], "times": N}`;
`{"calls": [PATH, INTERFACE, METHOD]}`: how often it was called; `{"said": ...}`: with which arguments last.
In a body `{"struct": [...]}` is one; bytes are told as numbers. Properties are answers of
org.freedesktop.DBus.Properties' `Get`, by its two arguments too.
"""

import json
import os
import sys
import threading
from typing import Any

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageType,
    message_bus,
    new_error,
    new_method_return,
    new_signal,
)
from jeepney.io.blocking import open_dbus_connection

Key = tuple[str, ...]


def value(found: Any) -> Any:
    """JSON has no tuples, which structs are."""
    if isinstance(found, list):
        return [value(item) for item in found]
    return tuple(map(value, found["struct"])) if isinstance(found, dict) else found


def key_of(message: Message) -> Key:
    fields = message.header.fields
    key = (fields[HeaderFields.path], fields[HeaderFields.interface], fields[HeaderFields.member])
    return (*key, *message.body) if fields[HeaderFields.member] == "Get" else key


def serve() -> None:
    connection = open_dbus_connection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
    answers: dict[Key, dict[str, Any]] = {}
    calls: dict[Key, int] = {}
    said: dict[Key, Any] = {}
    sending = threading.Lock()

    def send(message: Message) -> None:
        with sending:
            connection.send(message)

    def reply() -> None:
        while True:
            message = connection.receive()
            if message.header.message_type is not MessageType.method_call:
                continue
            key = key_of(message)
            calls[key] = calls.get(key, 0) + 1
            said[key] = message.body
            answer = answers.get(key)
            if answer is None:
                send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod"))
            elif "hang" not in answer:
                send(new_method_return(message, answer["signature"] or None, tuple(value(answer["body"]))))

    commands = iter(sys.stdin.readline, "")
    for line in commands:
        command = json.loads(line)
        if "own" in command:
            connection.send_and_get_reply(message_bus.RequestName(command["own"]), timeout=5)
            threading.Thread(target=reply, daemon=True).start()
        elif "emit" in command:
            path, interface, signal = command["emit"]
            emitter = DBusAddress(path, interface=interface)
            for _ in range(command["times"]):
                send(new_signal(emitter, signal, command["signature"], tuple(value(command["body"]))))
        elif "answer" in command:
            answers[tuple(command["answer"])] = command
        asked = tuple(command.get("said", ()))
        print(
            json.dumps(said[asked] if asked else calls.get(tuple(command.get("calls", ())), 0), default=list),
            flush=True,
        )


if __name__ == "__main__":
    serve()
