"""Mosquitto, for real, where something fails: it is told, and goes on once it is mended."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from core.community import mosquitto
from core.contracts.notices import Notice
from core.contracts.telemetry import Rights, login
from core.identity import Identity
from tests.dht_peers import until
from tests.mqtt import Server, password_line
from tests.workers import ROOT, wait_until

RUNS = {"a-run-12345678": Rights(None, frozenset())}
STARTS_IT = """
import asyncio, sys
from pathlib import Path
from core.community.mosquitto import Mosquitto

async def main():
    async with Mosquitto(sys.argv[1], frozenset(), Path(sys.argv[2]), None, {}, lambda *_: True):
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(mosquitto, "AGAIN_S", 0.2)
    monkeypatch.setattr(mosquitto, "LOOK_AGAIN_S", 0.2)
    return Server("mosquitto", RUNS, tmp_path / "broker" / "mosquitto")


def notes(server: Server) -> list[Notice]:
    assert server.broker is not None
    return [*server.broker.notes]


async def lets_in(server: Server, who: Identity | None = None) -> None:
    async with server.client(who or Identity.generate()):
        pass
    await until(lambda: not notes(server), "the end of what was told")


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def serves() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    command = sys.executable, "-c", STARTS_IT, f"127.0.0.1:{port}", str(tmp_path)
    with subprocess.Popen(command, cwd=ROOT) as started:
        wait_until(serves, "Mosquitto")
        started.send_signal(signal.SIGKILL)
        wait_until(lambda: not serves(), "its end")


async def test_a_port_in_use_is_told_until_it_is_free(server: Server) -> None:
    with socket.create_server(("127.0.0.1", server.port)):
        async with server.running():
            await until(lambda: notes(server), "what is wrong")
    [told] = notes(server)
    assert told.code == "telemetry.mosquitto_ends" and told.args["why"] == "Address already in use"
    async with server.running():
        await lets_in(server)


async def test_one_that_is_killed_is_started_again(server: Server) -> None:
    async with server.running():
        await lets_in(server)
        [process] = [one for one in psutil.Process().children() if one.name() == "mosquitto"]
        process.kill()
        await until(lambda: notes(server), "its end")
        await lets_in(server)


async def test_a_full_disk_is_told_until_there_is_room(server: Server) -> None:
    async with server.running():
        await lets_in(server)
        in_the_way = server.folder / "passwords.partial"
        in_the_way.mkdir()
        newcomer = Identity.generate()
        server.enrol(server.address, newcomer.sign(login(server.address)).hex(), newcomer)
        await until(lambda: notes(server), "what is wrong")
        assert [one.code for one in notes(server)] == ["telemetry.mosquitto_files"]
        in_the_way.rmdir()
        await lets_in(server, newcomer)


async def test_a_file_in_its_folders_place_is_told_until_it_is_gone(server: Server) -> None:
    server.folder.parent.write_text("no folder")
    async with server.running():
        await until(lambda: notes(server), "what is wrong")
        assert [one.code for one in notes(server)] == ["telemetry.mosquitto_files"]
        server.folder.parent.unlink()
        await lets_in(server)


async def test_of_damaged_passwords_those_are_kept_that_are_some(server: Server) -> None:
    known = Identity.generate()
    line = password_line(known.peer, known.sign(login(server.address)).hex())
    server.folder.mkdir(parents=True)
    (server.folder / "passwords").write_bytes(b"\xff\xfe\0bad\nuser:password\n" + line.encode() + line[:99].encode())
    async with server.running():
        await lets_in(server)
        assert {known.peer.hex()} < {one.partition(":")[0] for one in (server.folder / "passwords").read_text().split()}
