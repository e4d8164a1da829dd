"""The feed is believed only if it is signed, whole, of now and newer; files come from anywhere, by their hash."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.contracts.errors import UpdateError
from core.update.feed import Offer, look
from core.update.fetching import assemble, to_fetch
from core.update.installation import Installation
from core.update.releases import File, is_inside, leads_inside
from tests.release_feed import TORCH, Feed, answering, release_feed, start
from tests.workers import ROOT


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    with release_feed(tmp_path) as one:
        yield one


@pytest.fixture
def installed(feed: Feed) -> Installation:
    root = feed.install(feed.publish("0.1.0"))
    return Installation(root, (root / "current").read_text())


def offered(installation: Installation) -> Offer:
    offer = look(installation)
    assert offer is not None
    return offer


def test_only_what_changed_is_fetched(feed: Feed, installed: Installation) -> None:
    assert look(installed) is None
    bundle = feed.publish("0.2.0", "--notes", "Faster.")
    offer = offered(installed)
    assert (offer.release.version, offer.release.notes, offer.release.number) == ("0.2.0", "Faster.", 2)
    assert {*offer.release.parts} == {"app", "torch", "qt", "libraries"}
    expected = to_fetch(installed, offer)
    assert assemble(installed, offer) == expected == feed.server.files < 1000  # the program alone
    new = installed.folder(offer.id)
    for path in bundle.rglob("*"):
        there = new / path.relative_to(bundle)
        assert there.is_symlink() == path.is_symlink() and (path.is_dir() or there.read_bytes() == path.read_bytes())
    assert (new / "hearth").stat().st_mode & 0o111 and not (installed.root / "downloads").exists()
    torch = "_internal/torch/lib/libtorch.so"
    assert (new / torch).samefile(installed.folder(installed.current) / torch)


def test_a_file_that_was_cut_off_is_gone_on_with(feed: Feed, installed: Installation) -> None:
    feed.publish("0.2.0", torch=2)
    offer = offered(installed)
    feed.server.change = lambda path, data: data[: len(data) // 2] if path.startswith("/files/") else data
    with pytest.raises(UpdateError, match="No server gave"):
        assemble(installed, offer)
    feed.server.change = lambda path, data: data
    told: list[tuple[int, int]] = []
    assemble(installed, offer, lambda done, total: told.append((done, total)))
    assert any(ranged for _, ranged, _ in feed.server.asked) and told[-1][0] == told[-1][1]
    assert (installed.folder(offer.id) / "_internal/torch/lib/libtorch.so").stat().st_size == TORCH


def test_a_damaged_file_is_fetched_from_the_next_server(feed: Feed, installed: Installation, tmp_path: Path) -> None:
    feed.publish("0.2.0", "--mirror", f"{feed.server.url}/mirror/files", torch=2)
    shutil.copytree(feed.feed / "files", feed.feed / "mirror" / "files")
    feed.server.change = lambda path, data: b"\0" * len(data) if path.startswith("/files/") else data
    offer = offered(installed)
    assemble(installed, offer)
    assert installed.folder(offer.id).is_dir()
    assert any(path.startswith("/mirror/") for path, _, _ in feed.server.asked)


def test_what_one_server_began_wrongly_does_not_spoil_the_next(feed: Feed, installed: Installation) -> None:
    feed.publish("0.2.0", "--mirror", f"{feed.server.url}/mirror/files", torch=2)
    shutil.copytree(feed.feed / "files", feed.feed / "mirror" / "files")
    feed.server.change = lambda path, data: b"\0" * (len(data) // 2) if path.startswith("/files/") else data
    offer = offered(installed)
    assemble(installed, offer)
    assert installed.folder(offer.id).is_dir()


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("begin", "byte"),
    [
        (OK + b"Content-Length: 9000\r\n\r\n", b" "),
        (OK + b"X-Never: ", b"x"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    ],
    ids=["body", "head", "length of a chunk"],
)
def test_a_server_that_gives_a_byte_at_a_time_is_given_up(
    feed: Feed, installed: Installation, monkeypatch: pytest.MonkeyPatch, begin: bytes, byte: bytes
) -> None:
    def drips(asked: socket.socket) -> None:
        asked.sendall(begin)
        while True:
            asked.sendall(byte)
            time.sleep(0.02)

    feed.publish("0.2.0")
    monkeypatch.setattr("core.update.servers.QUIET_S", 2.0)
    with answering(drips) as slow:
        (installed.root / "feed" / "feed.json").write_text(json.dumps({"urls": [slow, feed.server.url]}))
        assert offered(installed).release.version == "0.2.0"


@pytest.mark.parametrize("wrong", [b"", b"\0", b"xy"])
def test_files_that_no_server_has_whole_are_refused(feed: Feed, installed: Installation, wrong: bytes) -> None:
    feed.publish("0.2.0", torch=2)
    offer = offered(installed)
    feed.server.change = lambda path, data: (wrong * len(data))[: len(data) + 1]
    with pytest.raises(UpdateError):
        assemble(installed, offer)
    assert not installed.folder(offer.id).exists() and installed.current == installed.id


def flipped(data: bytes) -> bytes:
    """With another figure in what is signed."""
    at = data.index(b'"version"') + len(b'"version": ')
    return data[:at] + (b"9" if data[at : at + 1] != b"9" else b"8") + data[at + 1 :]


ATTACKS = {
    "tampered timestamp": lambda path, data: flipped(data) if "timestamp" in path else data,
    "tampered snapshot": lambda path, data: flipped(data) if "snapshot" in path else data,
    "tampered targets": lambda path, data: flipped(data) if ".targets.json" in path else data,
    "tampered release": lambda path, data: data.replace(b"0.2.0", b"0.3.0") if "release.json" in path else data,
    "truncated timestamp": lambda path, data: data[:-20] if "timestamp" in path else data,
    "truncated targets": lambda path, data: data[: len(data) // 2] if ".targets.json" in path else data,
    "empty": lambda path, data: b"",
    "endless": lambda path, data: data + b" " * 6_000_000,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_feed_that_was_tampered_with_is_refused(feed: Feed, installed: Installation, attack: str) -> None:
    feed.publish("0.2.0")
    feed.server.change = ATTACKS[attack]
    with pytest.raises(UpdateError) as refused:
        look(installed)
    assert refused.value.notice.code in ("update.unsigned", "update.damaged", "update.unreachable")
    feed.server.change = lambda path, data: data
    assert offered(installed).release.version == "0.2.0"


def test_a_feed_signed_by_others_is_refused(feed: Feed, installed: Installation, tmp_path: Path) -> None:
    with release_feed(tmp_path / "other") as other:
        other.publish("9.9.9")
        shutil.rmtree(feed.feed)
        shutil.copytree(other.feed, feed.feed)
    with pytest.raises(UpdateError) as refused:
        look(installed)
    assert refused.value.notice.code == "update.unsigned"


def test_a_feed_of_before_is_refused(feed: Feed, installed: Installation, tmp_path: Path) -> None:
    shutil.copytree(feed.feed, tmp_path / "before")
    feed.publish("0.2.0")
    assert offered(installed)
    shutil.rmtree(feed.feed)
    shutil.copytree(tmp_path / "before", feed.feed)
    with pytest.raises(UpdateError) as refused:
        look(installed)
    assert refused.value.notice.code == "update.replayed"


def test_a_feed_that_nobody_renews_expires(feed: Feed, installed: Installation) -> None:
    """The clock of this process is set three weeks ahead; TUF asks it once, when it begins."""
    ask = (
        "import sys, datetime; from pathlib import Path;"
        "from tuf.ngclient._internal import trusted_metadata_set as trusted;"
        "later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=21);"
        "trusted.datetime = type('Clock', (), {'datetime': type('Now', (), {'now': lambda zone: later}), "
        "'timezone': datetime.timezone});"
        "from core.update.feed import look; from core.update.installation import Installation;"
        "look(Installation(Path(sys.argv[1]), sys.argv[2]))"
    )
    command = [sys.executable, "-c", ask, str(installed.root), installed.id]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "The release feed has expired" in done.stderr
    assert look(installed) is None


def test_an_older_release_is_refused_in_a_sentence(feed: Feed, installed: Installation) -> None:
    feed.publish("0.0.9", "--number", "1")
    with pytest.raises(UpdateError, match=r"offers 0\.0\.9, which is not newer than 0\.1\.0.*never goes back"):
        look(installed)


def test_the_root_of_trust_may_change(feed: Feed, installed: Installation) -> None:
    """By a new root that the one before signs; here with the same keys."""
    feed.release("renew", feed.feed, feed.keys)
    feed.publish("0.2.0")
    assert offered(installed).release.version == "0.2.0"


def test_without_a_feed_or_a_network_it_says_so(feed: Feed, installed: Installation) -> None:
    feed.server.close()
    with pytest.raises(UpdateError, match="cannot be reached"):
        look(installed)
    (installed.root / "feed" / "feed.json").unlink()
    with pytest.raises(UpdateError, match="no release feed"):
        look(installed)


def test_another_address_is_asked_where_one_does_not_answer(feed: Feed, installed: Installation) -> None:
    address = installed.root / "feed" / "feed.json"
    address.write_text(json.dumps({"urls": ["http://127.0.0.1:9", feed.server.url]}))
    feed.publish("0.2.0")
    assert offered(installed)


def test_another_address_is_asked_where_one_gives_something_else(feed: Feed, installed: Installation) -> None:
    """As who must first sign in at a hotel's network, and a mirror that nobody looks after."""

    def page(asked: socket.socket) -> None:
        asked.sendall(OK + b"Content-Length: 4\r\n\r\n<ht>")

    with answering(page) as wrong:
        address = installed.root / "feed" / "feed.json"
        address.write_text(json.dumps({"urls": [wrong, feed.server.url]}))
        feed.publish("0.2.0")
        assert offered(installed)
        address.write_text(json.dumps({"urls": ["http://127.0.0.1:9", wrong, "http://127.0.0.1:9"]}))
        with pytest.raises(UpdateError, match="damaged"):  # which says more than that others do not answer
            look(installed)


def test_an_address_has_so_much_time_in_all(
    feed: Feed, installed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed.publish("0.2.0")
    monkeypatch.setattr("core.update.feed.LOOK_S", -1.0)
    with pytest.raises(UpdateError, match="not all came"):
        look(installed)


@pytest.mark.parametrize("path", ["../a", "/a", "a/../b", "a//b", "./a", "a\\b", "C:a", "", "a/" * 30 + "b", "a\0b"])
def test_no_file_is_put_outside(path: str) -> None:
    assert not is_inside(path)


def test_links_stay_inside() -> None:
    assert leads_inside(File("a/b", link="../c")) and leads_inside(File("a/b", link="c/d"))
    for link in ("../../c", "/etc/passwd", "x/../../../c", "C:\\x"):
        assert not leads_inside(File("a/b", link=link))


def test_the_launcher_falls_back_on_the_former_version(feed: Feed, installed: Installation) -> None:
    assert start(installed.root, "which").stdout == "0.1.0\n"
    feed.publish("0.2.0")
    offer = offered(installed)
    assemble(installed, offer)
    installed.switch(offer.id)
    assert start(installed.root, "which").stdout == "0.2.0\n"
    shutil.rmtree(installed.folder(offer.id))
    assert start(installed.root, "which").stdout == "0.1.0\n"
    shutil.rmtree(installed.folder(installed.id))
    gone = start(installed.root, "which")
    assert gone.returncode == 127 and "no version is installed" in gone.stderr


@pytest.mark.parametrize("junk", [b"", b"..", b"../../x", b"\0" * 16, b"x" * 99_999, b"0123456789abcdef\n\n9"])
def test_junk_in_place_of_the_current_version_starts_what_is_there(
    feed: Feed, installed: Installation, junk: bytes
) -> None:
    for name in ("current", "former"):
        (installed.root / name).write_bytes(junk)
    (installed.root / "versions" / "half.partial").mkdir()
    assert start(installed.root, "which").stdout == "0.1.0\n"
    assert look(installed) is None, "it is the newest"
    feed.publish("0.2.0")
    offer = offered(installed)
    assemble(installed, offer)
    installed.switch(offer.id)
    assert (installed.root / "former").read_text() == installed.id
    assert start(installed.root, "which").stdout == "0.2.0\n"


def test_a_pipe_in_place_of_the_current_version_holds_nothing_up(installed: Installation) -> None:
    (installed.root / "current").unlink()
    os.mkfifo(installed.root / "current")
    assert start(installed.root, "which").stdout == "0.1.0\n" and installed.current == installed.id


def test_a_trial_that_cannot_be_noted_starts_the_former_version(feed: Feed, installed: Installation) -> None:
    """As on a disk that is full, or read-only by now."""
    feed.publish("0.2.0")
    offer = offered(installed)
    assemble(installed, offer)
    installed.switch(offer.id)
    (installed.root / "trial").touch()
    (installed.root / "tried").symlink_to("nowhere/tried")
    for _ in range(2):
        tried = start(installed.root, "which")
        assert (tried.returncode, tried.stdout, tried.stderr) == (0, "0.1.0\n", "")
    (installed.root / "tried").unlink()
    assert start(installed.root, "which").stdout == "0.2.0\n"
