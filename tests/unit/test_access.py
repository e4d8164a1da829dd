"""Tokens and lists of the revoked: what an organiser signs, what is refused and why, and `hearth access`."""

import contextlib
import io
import json
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.access import LIST, TOKEN, check_holder, opened, signed, void_before, with_revoked
from core.cli import main
from core.contracts import manifest
from core.contracts.access import MAX_LIST, MAX_TOKEN, MOST_REVOKED, Revoked, RevokedList, Token
from core.contracts.errors import AccessError, DataFolderError, HearthError, ManifestError, RunError, SettingsError
from core.contracts.run_link import MAX_LINK, MOST_PEERS, link_to, parse_link
from core.identity import Identity, PeerId, peer_text
from core.store import granting
from core.store.access_files import GRANTS_FILE, REVOKED_FILE
from tests.unit.test_manifest_files import TINY
from tests.unit.test_signed_manifest import ORGANISER, STRANGER, decoded
from tests.unit.test_signed_manifest import signed as signed_manifest

RUN = decoded(signed_manifest(access="tokens"))
KEY = peer_text(ORGANISER.peer)
ANN, BOB = Identity(bytes([1] * 32)), Identity(bytes([2] * 32))
NOW, DAY = 1_800_000_000_000, 86_400_000
TOKEN_OF_ANN = Token(1, RUN.run_id, ANN.peer, "Ann", NOW, NOW + DAY)
DOCUMENT = signed(TOKEN_OF_ANN, ORGANISER)
PEER = f"{KEY}@203.0.113.7:4401"


def read(document: bytes) -> Token:
    return opened(document, Token, RUN.run_id, KEY)


def test_a_token_says_who_may_take_part_in_which_run_until_when() -> None:
    assert read(DOCUMENT) == TOKEN_OF_ANN
    check_holder(read(DOCUMENT), ANN.peer, NOW + DAY - 1)
    check_holder(read(DOCUMENT), ANN.peer, NOW - 30_000)  # a clock that is a little behind


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (DOCUMENT.replace(b"Ann", b"Bob"), "access.forged"),
        (signed(TOKEN_OF_ANN, STRANGER), "access.forged"),
        (DOCUMENT[:-1], "access.unreadable"),
        (DOCUMENT[:40], "access.unreadable"),
        (b"", "access.unreadable"),
        (b"\x97" * 100, "access.unreadable"),
        (signed(msgspec.structs.replace(TOKEN_OF_ANN, run_id="digits-00000000"), ORGANISER), "access.other_run"),
        (signed(RevokedList(1, RUN.run_id, 1), ORGANISER), "access.unreadable"),
        (msgspec.msgpack.encode(TOKEN_OF_ANN) + ORGANISER.sign(msgspec.msgpack.encode(TOKEN_OF_ANN)), "access.forged"),
    ],
    ids=["tampered", "foreign", "a byte short", "half", "empty", "rubbish", "another run's", "a list", "no prefix"],
)
def test_what_is_no_token_of_the_organiser_is_refused_with_its_reason(document: bytes, why: str) -> None:
    with pytest.raises(AccessError) as refused:
        read(document)
    assert refused.value.notice.code == why


@pytest.mark.parametrize(
    ("peer", "now", "why"),
    [
        (BOB.peer, NOW, "access.other_peer"),
        (ANN.peer, NOW + DAY, "access.expired"),
        (ANN.peer, NOW - 2 * 60_000, "access.ahead"),
    ],
    ids=["shown by another key", "expired", "not yet"],
)
def test_a_token_is_of_use_to_its_peer_alone_in_its_time(peer: PeerId, now: int, why: str) -> None:
    with pytest.raises(AccessError) as refused:
        check_holder(read(DOCUMENT), peer, now)
    assert refused.value.notice.code == why


def test_a_list_says_up_to_when_a_peer_s_tokens_are_void() -> None:
    first = with_revoked(RevokedList(1, RUN.run_id, 0), ANN.peer, NOW)
    second = with_revoked(with_revoked(first, BOB.peer, NOW + 1), ANN.peer, NOW + 5)
    assert (first.number, second.number) == (1, 3)
    document = signed(second, ORGANISER)
    assert void_before(opened(document, RevokedList, RUN.run_id, KEY)) == {ANN.peer: NOW + 5, BOB.peer: NOW + 1}
    with pytest.raises(AccessError):
        opened(document.replace(b"\x03", b"\x04", 1), RevokedList, RUN.run_id, KEY)
    assert TOKEN != LIST, "a token's signature is none of a list"


def test_the_largest_ones_keep_to_their_limits() -> None:
    name, run_id = "\U0001f600" * 64, f"{'r' * 32}-00000000"
    assert len(signed(Token(1, run_id, ANN.peer, name, 2**53 - 1, 2**53 - 1), ORGANISER)) <= MAX_TOKEN
    many = tuple(Revoked(number.to_bytes(32), 2**53 - 1) for number in range(MOST_REVOKED))
    assert len(signed(RevokedList(1, run_id, 2**53 - 1, many), ORGANISER)) <= MAX_LIST
    one_more = signed(RevokedList(1, run_id, 1, (*many, many[0])), ORGANISER)
    with pytest.raises(AccessError):
        opened(one_more, RevokedList, run_id, KEY)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200) | st.tuples(st.integers(0, len(DOCUMENT) - 1), st.integers(1, 255)))
def test_no_other_bytes_are_a_token(changed: bytes | tuple[int, int]) -> None:
    if isinstance(changed, tuple):
        at, by = changed
        changed = DOCUMENT[:at] + bytes([DOCUMENT[at] ^ by]) + DOCUMENT[at + 1 :]
    with pytest.raises(HearthError):
        read(changed)


def test_a_link_carries_a_token_and_still_fits_into_a_code() -> None:
    link = link_to(RUN, [PEER], DOCUMENT)
    assert parse_link(link).token == DOCUMENT and str(parse_link(link)) == link
    addresses = ",".join(f"[2001:db8:1111:2222:3333:4444:5555:{n:04x}]:44010" for n in range(8))
    crowd = link_to(RUN, [f"{n:064x}@{addresses}" for n in range(20)], bytes(MAX_TOKEN))
    assert len(crowd) <= MAX_LINK and 1 <= len(parse_link(crowd).peers) <= MOST_PEERS
    for wrong in (f"{link}/token:AAAA!", f"{link[:-1]}*", f"{link}AAAAA", link.replace("token:", "token:AAAAA")):
        with pytest.raises(RunError):
            assert parse_link(wrong).token == DOCUMENT
    for cut in (link[:-7], link[:-40]):
        with pytest.raises(HearthError):
            read(parse_link(cut).token)


def test_access_changes_no_run_id_and_needs_a_signature(tmp_path: Path) -> None:
    assert RUN.run_id == decoded(signed_manifest()).run_id
    path = tmp_path / "mine.toml"
    path.write_text(f'access = "tokens"\n{TINY}')
    assert manifest.check(path)[1] == [], "it is to be signed yet"
    with pytest.raises(ManifestError, match="only a signed run can give tokens"):
        manifest.load(str(path))


def hearth(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one command line in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            code = main([*arguments, "--data-dir", str(folder)])
        except SystemExit as end:  # wrong use
            code = int(end.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), said.getvalue())


def organise(folder: Path, access: str = "tokens", name: str = "tiny") -> Path:
    """The signed manifest of a run whose organiser has a data folder; one peer is named to join through."""
    path = folder / f"{name}.toml"
    path.write_text(f'access = "{access}"\nbootstrap = ["{PEER}"]\n{TINY}')
    done = hearth(folder / "organiser", "run", "sign", str(path))
    assert done.returncode == 0, done.stderr
    return folder / f"{name}.signed.json"


def rows(folder: Path, run: str) -> list[tuple[str, str]]:
    return [(row["name"], row["state"]) for row in json.loads(hearth(folder, "access", "list", run, "--json").stdout)]


def test_an_organiser_grants_renews_and_revokes(tmp_path: Path) -> None:
    run, here = str(organise(tmp_path)), tmp_path / "organiser"
    ann, bob = f"{peer_text(ANN.peer)}@192.0.2.1:44", peer_text(BOB.peer)
    assert "No tokens have been given" in hearth(here, "access", "list", run).stdout
    link = parse_link(hearth(here, "access", "grant", run, ann, "--name", "Ann", "--days", "2").stdout.strip())
    token = opened(link.token, Token, link.run_id, link.organiser)
    assert (token.peer, token.name, token.expires - token.issued) == (ANN.peer, "Ann", 2 * DAY)
    assert link.peers == (PEER,), "whom the manifest names"
    assert hearth(here, "access", "grant", run, bob, "--name", "Bob").returncode == 0
    assert rows(here, run) == [("Ann", "valid"), ("Bob", "valid")]
    done = hearth(here, "access", "revoke", run, "Ann")
    assert "The tokens of Ann" in done.stdout and "No worker of this data folder" in done.stdout, done.stderr
    assert rows(here, run) == [("Ann", "revoked"), ("Bob", "valid")]
    renewed = parse_link(hearth(here, "access", "grant", run, ann).stdout.strip())
    after = opened(renewed.token, Token, link.run_id, link.organiser)
    kept = opened((here / "runs" / link.run_id / REVOKED_FILE).read_bytes(), RevokedList, link.run_id, link.organiser)
    assert (after.name, kept.number) == ("Ann", 1) and token.issued <= kept.revoked[0].at < after.issued
    assert rows(here, run) == [("Bob", "valid"), ("Ann", "valid")]


def test_tokens_can_be_given_before_the_run_needs_them(tmp_path: Path) -> None:
    run, here = str(organise(tmp_path, "open")), tmp_path / "organiser"
    done = hearth(here, "access", "grant", run, peer_text(BOB.peer), "--name", "Bob")
    assert done.returncode == 0 and 'publish a revision of it with access = "tokens"' in done.stderr
    link = parse_link(done.stdout.strip())
    assert opened(link.token, Token, link.run_id, link.organiser).peer == BOB.peer
    assert rows(here, run) == [("Bob", "valid")]


def test_of_commands_at_once_none_loses_what_another_one_wrote(tmp_path: Path) -> None:
    run, here = str(organise(tmp_path)), tmp_path / "organiser"
    people = [peer_text(Identity.generate().peer) for _ in range(3)]
    for number, peer in enumerate(people):
        assert hearth(here, "access", "grant", run, peer, "--name", f"person {number}").returncode == 0
    command = [sys.executable, "-m", "core", "access", "revoke", run]
    started = [subprocess.Popen([*command, peer, "--data-dir", str(here)]) for peer in people]
    assert [one.wait(240) for one in started] == [0, 0, 0]
    assert {state for _, state in rows(here, run)} == {"revoked"}


def test_a_clock_that_was_set_back_revokes_and_grants_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, here, bob = str(organise(tmp_path)), tmp_path / "organiser", peer_text(BOB.peer)
    now = int(time.time() * 1000)
    monkeypatch.setattr(granting, "unix_ms", lambda: now)
    assert hearth(here, "access", "grant", run, bob, "--name", "Bob").returncode == 0
    monkeypatch.setattr(granting, "unix_ms", lambda: now - 3_600_000)
    assert hearth(here, "access", "revoke", run, "Bob").returncode == 0
    assert rows(here, run) == [("Bob", "revoked")]
    assert hearth(here, "access", "grant", run, bob).returncode == 0
    assert rows(here, run) == [("Bob", "valid")]


def test_what_an_organiser_cannot_do_is_said(tmp_path: Path) -> None:
    run, here = str(organise(tmp_path)), tmp_path / "organiser"
    bob = peer_text(BOB.peer)
    for arguments, code, said in (
        (("grant", run), SettingsError.exit_code, "Who?"),
        (("grant", run, bob), SettingsError.exit_code, "Who is that?"),
        (("grant", run, bob[:9], "--name", "Bob"), 11, "does not name a peer"),
        (("grant", run, bob, "--name", "two\nlines"), SettingsError.exit_code, "in one line"),
        (("grant", run, bob, "--name", "Bob", "--days", "400"), 2, "from 1 to 366"),
        (("revoke", run, "Nobody"), AccessError.exit_code, "You have given no token to Nobody"),
        (("list", "elsewhere"), AccessError.exit_code, "There is no signed run elsewhere"),
    ):
        done = hearth(here, "access", *arguments)
        assert done.returncode == code and said in done.stderr, (arguments, done.stderr)
    hearth(tmp_path / "other", "identity", "export")
    done = hearth(tmp_path / "other", "access", "list", run)
    assert done.returncode == AccessError.exit_code and "did not sign the run" in done.stderr
    grants = here / "runs" / manifest.load(run).run_id / GRANTS_FILE
    grants.parent.mkdir(parents=True, exist_ok=True)
    grants.write_text('{"version": 1, "grants": [{"peer')
    done = hearth(here, "access", "grant", run, bob, "--name", "Bob")
    assert done.returncode == DataFolderError.exit_code and "Move it away" in done.stderr
