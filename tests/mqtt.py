"""Brokers for tests and benchmarks, and a bare client that asks them for what it should not get."""

import asyncio
import contextlib
import datetime
import ipaddress
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiomqtt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from core.community.broker import EmbeddedBroker
from core.community.mosquitto import Mosquitto, hashed
from core.contracts.telemetry import Rights, login
from core.identity import Identity
from tests.store_servers import free_port

KINDS = ["embedded", "mosquitto"]


def certificate(folder: Path) -> tuple[str, str]:
    """Files of a certificate of 127.0.0.1 that nobody but itself signs, and of its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    day = datetime.timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    made = made.add_extension(here, False).add_extension(x509.BasicConstraints(True, None), True)
    folder.mkdir(exist_ok=True)
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(certificate), str(secret)


def password_line(peer: bytes, password: str) -> str:
    """A line of Mosquitto's file of passwords."""
    return f"{peer.hex()}:{hashed(password)}\n"


class Server:
    """A broker on loopback that may be stopped and started again at the same port."""

    def __init__(self, kind: str, runs: Mapping[str, Rights], folder: Path, tls: tuple[str, str] | None = None) -> None:
        """
        Args:
            kind: one of `KINDS`.
            runs: what it is there for.
            folder: for Mosquitto's files.
            tls: files of certificate and key.
        """
        self._kind, self._runs, self.folder, self.port = kind, runs, folder, free_port()
        self._tls = tls
        self.out = set[tuple[bytes, str]]()
        """Peers and runs that these may not take part in (any more)."""
        self.address = f"{'mqtts' if tls else 'mqtt'}://127.0.0.1:{self.port}"
        self.broker: EmbeddedBroker | Mosquitto | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        listen, names = f"127.0.0.1:{self.port}", frozenset({self.address})

        def admits(peer: bytes, run: str) -> bool:
            return (peer, run) not in self.out

        if self._kind == "embedded":
            self.broker = EmbeddedBroker(listen, names, self._tls, self._runs, admits)
        else:
            self.broker = Mosquitto(listen, names, self.folder, self._tls, self._runs, admits)
        async with self.broker:
            yield self

    @property
    def connected(self) -> int | None:
        """How many peers are."""
        return self.broker.connected if self.broker else None

    def enrol(self, address: str, password: str, peer: Identity) -> None:
        """What a backbone peer does for one that was refused."""
        if isinstance(self.broker, Mosquitto):
            self.broker.enrol(peer.peer, password)

    async def vanish(self, user: Identity, will: str) -> None:
        """Connect, and go without a word.

        Args:
            user: who does.
            will: topic of the last will.
        """
        texts = ["vanishing", will, "gone", user.peer.hex(), user.sign(login(self.address)).hex()]
        body = b"\0\4MQTT\4\xee\0\x14" + b"".join(len(text).to_bytes(2) + text.encode() for text in texts)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(bytes([0x10, len(body) & 0x7F | 0x80, len(body) >> 7]) + body)
        await reader.read(4)
        writer.close()

    @contextlib.asynccontextmanager
    async def client(self, user: Identity, tries: int = 40, **options: Any) -> AsyncIterator[aiomqtt.Client]:
        """A client with the right password, that may want whatever it likes; tried until the broker knows it.

        Args:
            user: whose password it is.
            tries: four a second.
            options: of the client, instead of the right ones.
        """
        password = user.sign(login(self.address)).hex()
        self.enrol(self.address, password, user)
        options = {"username": user.peer.hex(), "password": password, "timeout": 5.0, **options}
        for _ in range(tries):
            client = aiomqtt.Client("127.0.0.1", self.port, protocol=aiomqtt.ProtocolVersion.V311, **options)
            with contextlib.suppress(aiomqtt.MqttError):
                await client.__aenter__()
                break
            client._client._sock_close()
            await asyncio.sleep(0.25)
        else:
            raise AssertionError("the broker takes no client")
        try:
            yield client
        finally:
            with contextlib.suppress(aiomqtt.MqttError):
                await client.__aexit__(None, None, None)
            client._client._sock_close()  # it is left open where the broker has ended the connection
