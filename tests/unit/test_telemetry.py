"""Telemetry's contract: what is not true is dropped with its reason, the newest counts, and who may do what."""

import socket
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import cli
from core.community import payloads, signing
from core.community.broker import EmbeddedBroker
from core.community.credit_book import CreditBook
from core.community.ledger import Ledger
from core.community.telemetry import Telemetry
from core.contracts import manifest as manifests
from core.contracts.credit import BoardTotals, Bundle, Entry, Leaderboard, Line, Named, Ranking, Sheet, day_of, week_of
from core.contracts.errors import CreditError, ManifestError, PortInUse, RunError, SettingsError
from core.contracts.manifest import Manifest
from core.contracts.telemetry import (
    CREDIT,
    FUTURE_S,
    MAX_BOARD,
    PRESENCE,
    PROGRESS,
    Leaders,
    Presence,
    Progress,
    Rights,
    RunNotice,
    Signed,
    acl_file,
    is_broker,
    may_read,
    may_write,
    topic_board,
    topic_in,
    topic_notice,
)
from core.identity import Identity, peer_text
from core.net.rpc import RpcNode
from core.swarm.telling import NOTICE_FILE, Figures, Telling, rights_of
from tests.dht_peers import until
from tests.mqtt import Server

ME, OTHER, ORGANISER, BOARD = (Identity(bytes([number] * 32)) for number in range(1, 5))
RUN = "a-run-12345678"
RIGHTS = {RUN: Rights(ORGANISER.peer.hex(), frozenset({BOARD.peer.hex()}))}


def presence(who: Identity = ME, moment: float | None = None, online: bool = True) -> Presence:
    return Presence(RUN, who.peer, time.time() if moment is None else moment, online)


def here(who: Identity, leaf: str = PRESENCE) -> str:
    return topic_in(RUN, who.peer.hex(), leaf)


def leaders(who: Identity) -> Leaders:
    nobody = Ranking([], 0, 0.0)
    return Leaders(RUN, who.peer, time.time(), 1, 1, 1.0, 1.0, 0.0, Leaderboard(nobody, nobody, nobody))


def test_what_is_signed_for_its_topic_is_believed() -> None:
    said = RunNotice(RUN, ORGANISER.peer, time.time(), "Thank you all.")
    for topic, who, body in (
        (here(ME), ME, presence()),
        (here(ME, PROGRESS), ME, Progress(RUN, ME.peer, time.time(), 5, 1.5, 2, 0.5)),
        (topic_notice(RUN), ORGANISER, said),
        (topic_board(RUN, BOARD.peer.hex()), BOARD, leaders(BOARD)),
    ):
        assert payloads.opened(topic, payloads.sealed(who, body), RIGHTS) == body


@pytest.mark.parametrize(
    ("topic", "payload", "reason"),
    [
        (here(OTHER), lambda: payloads.sealed(ME, presence()), "telemetry.foreign"),
        (here(ME), lambda: payloads.sealed(OTHER, presence()), "telemetry.forged"),
        (here(ME, PROGRESS), lambda: payloads.sealed(ME, presence()), "telemetry.foreign"),
        (here(ME).replace(RUN, "another-run"), lambda: payloads.sealed(ME, presence()), "telemetry.foreign"),
        (here(ME), lambda: payloads.sealed(ME, presence(moment=time.time() + 2 * FUTURE_S)), "telemetry.foreign"),
        (here(ME), lambda: payloads.sealed(ME, presence())[:-1], "credit.unreadable"),
        (here(ME), lambda: payloads.sealed(ME, presence()) + bytes(5000), "telemetry.foreign"),
        (topic_notice(RUN), lambda: payloads.sealed(ME, RunNotice(RUN, ME.peer, 1.0, "I rule")), "telemetry.foreign"),
        (topic_board(RUN, ME.peer.hex()), lambda: payloads.sealed(ME, leaders(ME)), "telemetry.foreign"),
        (
            here(ME, PROGRESS),
            lambda: payloads.sealed(ME, Progress(RUN, ME.peer, 1.0, 1, float("nan"), 1)),
            "credit.unreadable",
        ),
        (
            topic_notice(RUN),
            lambda: payloads.sealed(ORGANISER, RunNotice(RUN, ORGANISER.peer, 1.0, "two\nlines")),
            "credit.unreadable",
        ),
    ],
)
def test_what_is_not_true_is_dropped_with_its_reason(topic: str, payload: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(CreditError) as caught:
        payloads.opened(topic, payload(), RIGHTS)
    assert caught.value.notice.code == reason


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 200), st.binary(max_size=8))
def test_bytes_of_strangers_are_refused_and_nothing_else(noise: bytes, place: int, put: bytes) -> None:
    true = payloads.sealed(ME, presence(moment=1.0))
    changed = true[:place] + put + true[place + len(put) :]
    for content in (noise, changed):
        for leaf in (PRESENCE, CREDIT[0]):
            if content == true and leaf == PRESENCE:
                continue
            with pytest.raises(CreditError):
                payloads.opened(here(ME, leaf), content, RIGHTS)


def test_rights_are_what_the_table_of_the_contract_says() -> None:
    me, board_, organiser = ME.peer.hex(), BOARD.peer.hex(), ORGANISER.peer.hex()
    for leaf in (PRESENCE, PROGRESS, *CREDIT):
        assert may_write(me, here(ME, leaf), RIGHTS) and not may_write(me, here(OTHER, leaf), RIGHTS)
    for topic in (here(ME, "else"), here(ME) + "/more", "hearth/1", f"hearth/2/{RUN}/in/{me}/presence", "", "#", "+"):
        assert not may_write(me, topic, RIGHTS) and not may_write(board_, topic, RIGHTS)
    assert [may_write(who, topic_notice(RUN), RIGHTS) for who in (me, organiser, board_)] == [False, True, True]
    assert may_write(board_, topic_board(RUN, board_), RIGHTS) and not may_write(me, topic_board(RUN, me), RIGHTS)
    for topics in (f"hearth/1/{RUN}/out/#", topic_notice(RUN), f"hearth/1/{RUN}/out/board/+"):
        assert may_read(me, topics, RIGHTS)
    for topics in ("#", "hearth/#", "hearth/1/#", "hearth/1/+/out/#", f"hearth/1/{RUN}/#", f"hearth/1/{RUN}/+/#"):
        assert not may_read(me, topics, RIGHTS) and not may_read(board_, topics, RIGHTS)
    assert may_read(board_, f"hearth/1/{RUN}/in/#", RIGHTS) and not may_read(me, f"hearth/1/{RUN}/in/{me}/#", RIGHTS)
    assert f"user {board_}\n" in acl_file(RIGHTS, {})
    assert f"pattern write hearth/1/{RUN}/in/%u/presence" in acl_file(RIGHTS, {})
    of_some = acl_file(RIGHTS, {RUN: [me]})
    assert "pattern" not in of_some and board_ not in of_some and f"user {me}\ntopic write {here(ME)}" in of_some


def test_a_manifest_names_brokers_and_stays_the_same_run() -> None:
    digits = manifests.load("digits")
    named = msgspec.structs.replace(digits, brokers=("mqtts://broker.example.org:8883", "mqtt://[2001:db8::1]:1883"))
    assert manifests.decode(msgspec.json.encode(named), "x") == named and named.run_id == digits.run_id
    assert is_broker("mqtt://127.0.0.1:1883")
    for wrong in ("mqtt://host", "http://host:1", "mqtt://user@host:1", "mqtt://host:1/x", "mqtt://host:1\n"):
        assert not is_broker(wrong)
        with pytest.raises(ManifestError, match="addresses of brokers"):
            manifests.decode(msgspec.json.encode(msgspec.structs.replace(digits, brokers=(wrong,))), "x")


def the_run(*brokers: str) -> Manifest:
    bootstrap = (f"{BOARD.peer.hex()}@127.0.0.1:4401",)
    return msgspec.structs.replace(
        manifests.load("digits"), bootstrap=bootstrap, brokers=brokers, organiser=ORGANISER.peer.hex()
    )


def telling(folder: Path, who: Identity, is_board: bool, broker: str = "mqtt://127.0.0.1:9") -> Telling:
    """A run's, not entered: what it hears is given to it."""
    book = CreditBook(Ledger(folder), who)
    node, figures = RpcNode(who, listen=("127.0.0.1:0",)), Figures(0, 0.0, 0, None)
    return Telling(the_run(broker), folder, node, who, book, Telemetry(who), lambda: figures, is_board, None)


async def test_the_newest_counts_whatever_comes_last(tmp_path: Path) -> None:
    here = telling(tmp_path, BOARD, True)
    run = here.run_id
    assert here.rights == rights_of(the_run()) and here.is_board

    def told(moment: float, online: bool) -> None:
        here._hear(Presence(run, ME.peer, moment, online), b"")

    told(5.0, True)
    here._hear(Progress(run, ME.peer, 6.0, 100, 2.0, 1), b"")
    here._hear(Progress(run, ME.peer, 4.0, 50, 9.0, 1), b"")
    here._hear(Progress(run, OTHER.peer, 6.0, 100, 2.0, 1), b"")
    assert here.online() == (1, 2.0), "one that is there, by its newest progress"
    told(5.0, False)
    assert here.online() == (0, 0.0)
    told(5.0, True)
    told(4.0, True)
    assert here.online() == (0, 0.0), "replayed"
    told(7.0, True)
    told(5.0, False)
    assert here.online() == (1, 2.0), "the last will of the connection before"


async def test_a_board_tells_its_own_sums_and_they_fit(tmp_path: Path) -> None:
    here, today = telling(tmp_path, BOARD, True), day_of(time.time())
    run = here.run_id
    peers = [f"{number:064x}" for number in range(60)]
    lines = [Line(run, today, peer, 10.0 + number, {"audited": 1.0}) for number, peer in enumerate(peers)]
    names = {peer: Named("\N{SNOWMAN}" * 40, "\N{SNOWMAN}" * 40) for peer in peers}
    totals = BoardTotals("hearth board 1", BOARD.peer.hex(), time.time(), {run: "A run"}, [], lines, names, 0, [])
    told: list[bytes] = []
    here._telemetry.tell = lambda run, topic, payload: told.append(payload)  # type: ignore[method-assign]
    here.publish(totals, today)
    assert len(told[0]) < MAX_BOARD
    leaders = payloads.opened(topic_board(run, BOARD.peer.hex()), told[0], {run: here.rights})
    assert isinstance(leaders, Leaders) and leaders.peers == 60 and leaders.pending == 60.0
    assert [one.verified for one in leaders.ranked.today.best][:3] == [69.0, 68.0, 67.0]


async def test_a_notice_stays_is_shown_and_comes_from_the_organiser_alone(tmp_path: Path) -> None:
    here = telling(tmp_path, ORGANISER, False)
    here.say("First.")
    assert here.notice is not None and (tmp_path / NOTICE_FILE).exists()
    older = msgspec.structs.replace(here.notice, time=here.notice.time - 1.0, text="Older.")
    here._hear(older, payloads.sealed(ORGANISER, older))
    assert here.notice.text == "First." and "run.organiser_says" in [one.code for one in here.notes]
    for name in ("other", "third"):
        (tmp_path / name).mkdir()
    with pytest.raises(RunError, match="Only the organiser"):
        telling(tmp_path / "other", ME, False).say("I rule.")
    content = msgspec.msgpack.decode((tmp_path / NOTICE_FILE).read_bytes(), type=Signed)
    (tmp_path / "third" / NOTICE_FILE).write_bytes(
        payloads.encode(msgspec.structs.replace(content, signature=bytes(64)))
    )
    third = telling(tmp_path / "third", ME, False)
    async with third:
        assert third.notice is None, "somebody has changed the file"


async def test_credit_comes_by_telemetry_as_well_as_far_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = telling(tmp_path, BOARD, True)
    week = week_of(day_of(time.time()))
    sheet = Sheet(here.run_id, OTHER.peer, ME.peer, week, (5,) * 7, (0,) * 7)
    entry = Entry(OTHER.peer, sheet.work, sheet.audited, signing.sign(OTHER, sheet).signature)
    bundle = Bundle(here.run_id, ME.peer, week, "", "", (entry,), ())
    shown = signing.sign_bundle(ME, bundle, False, None)
    topic = topic_in(here.run_id, peer_text(ME.peer), CREDIT[week % 2])
    heard = payloads.opened(topic, payloads.encode(shown), {here.run_id: here.rights})
    here._hear(heard, b"")
    assert await here._book.known_weeks(here.run_id) == {ME.peer: {week}}
    other = msgspec.structs.replace(bundle, host=OTHER.peer)
    monkeypatch.setattr("core.swarm.telling.CREDIT_BYTES", len(shown.bundle) + 10)
    here._hear((other, signing.sign_bundle(OTHER, other, False, None)), b"")
    assert await here._book.known_weeks(here.run_id) == {ME.peer: {week}}, "there is no room for this one"
    with pytest.raises(CreditError):
        payloads.opened(topic[:-1] + str((week + 1) % 2), payloads.encode(shown), {here.run_id: here.rights})
    forged = msgspec.structs.replace(shown, bundle=msgspec.msgpack.encode(msgspec.structs.replace(bundle, team="x")))
    with pytest.raises(CreditError):
        payloads.opened(topic, payloads.encode(forged), {here.run_id: here.rights})


async def test_who_may_not_use_the_network_lets_brokers_go_until_it_may(tmp_path: Path) -> None:
    run = the_run()
    server = Server("embedded", {run.run_id: rights_of(run)}, tmp_path)

    async with server.running():
        here = telling(tmp_path, ME, False, broker=server.address)
        telemetry = here._telemetry
        async with here:
            await until(lambda: telemetry.status()[0].connected, "a connection")
            assert here.notes == []  # the status is asked for each second
            here.allow(False)
            await until(lambda: not telemetry.status() and not server.connected, "its end")
            here.allow(True)
            await until(lambda: telemetry.status() and telemetry.status()[0].connected, "a new one")
        await telemetry.close()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--broker", "http://host:1"], "is not the address of a broker"),
        (["--broker", "mqtt://host"], "is not the address of a broker"),
        (["--mosquitto"], "name its address by --broker"),
        (["--broker", "mqtts://host:1"], "needs --certificate and --key"),
        (["--broker", "mqtt://host:1", "--certificate", "c", "--key", "k"], "one with mqtt takes neither"),
        (["--broker", "mqtts://host:1", "--certificate", "missing", "--key", "missing"], "cannot be used"),
        (["--metrics", "localhost:1"], "is not an address and port"),
    ],
)
def test_what_a_backbone_peer_is_asked_wrongly_is_told(
    options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["backbone", "--data-dir", str(tmp_path), *options]) == SettingsError.exit_code
    assert reason in capsys.readouterr().err


async def test_an_address_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(PortInUse, match=f"Another program uses {listen}. End it"):
            await EmbeddedBroker(listen, frozenset(), None, RIGHTS, lambda *_: True).__aenter__()
