"""Wheels of a pack that are not what a wheel should be, and servers that do not give them."""

import hashlib
import io
import socket
import zipfile
from pathlib import Path

import msgspec
import pytest

from core.contracts.errors import UpdateError
from core.update.feed import PackOffer
from core.update.packs import PYTHON, Pack, Wheel, pack_id
from core.update.unpacking import assemble
from tests.release_feed import Server, answering


def wheel(*names: str, data: bytes = b"x = 1") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, data)
    return made.getvalue()


def offer(folder: Path, data: bytes, *sources: str, unpacked: int = 1000) -> PackOffer:
    """A pack of one wheel, which lies in a folder."""
    sha256 = hashlib.sha256(data).hexdigest()
    folder.mkdir()
    (folder / sha256).write_bytes(data)
    pack = Pack(1, "2.90.0", PYTHON, (Wheel("torch-2.90.0-py3-none-any.whl", len(data), sha256, unpacked),))
    document = msgspec.json.encode(pack)
    return PackOffer(pack_id(document), pack, document, sources)


BAD = {
    "above": (wheel("torch/__init__.py", "../../above.py"), "a file called"),
    "absolute": (wheel("/tmp/above.py"), "a file called"),
    "above in data": (wheel("torch-2.data/purelib/../../../above.py"), "a file called"),
    "of Windows": (wheel("torch/C:\\above.py"), "a file called"),
    "larger": (wheel("torch/__init__.py", data=bytes(100_000)), "larger than it says"),
    "no zip": (b"no zip", "not a zip file"),
    "unknown": (wheel("torch/__init__.py").replace(b"\x08\0", b"\x63\0"), "compression method"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_good_wheel_is_refused_and_puts_nothing_anywhere(tmp_path: Path, bad: str) -> None:
    data, why = BAD[bad]
    served, runtimes = tmp_path / "served", tmp_path / "data" / "runtimes"
    runtimes.mkdir(parents=True)
    server = Server(served)
    try:
        with pytest.raises(UpdateError, match=why):
            assemble(runtimes, offer(served, data, server.url))
    finally:
        server.close()
    assert not [*tmp_path.rglob("*.py")]


def test_a_server_that_would_have_us_wait_is_not_waited_for(tmp_path: Path) -> None:
    def later(asked: socket.socket) -> None:
        asked.sendall(b"HTTP/1.1 503 Later\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n")

    runtimes = tmp_path / "runtimes"
    runtimes.mkdir()
    with answering(later) as busy:
        server = Server(tmp_path / "served")
        try:
            pack = assemble(runtimes, offer(server.folder, wheel("torch/__init__.py"), busy, server.url))
        finally:
            server.close()
    assert (pack / "torch" / "__init__.py").read_bytes() == b"x = 1"
