"""Both brokers, for real: nobody reads, writes or is what it must not, and their end costs a gap and no more."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from core.community import broker, mosquitto, payloads
from core.community.broker import MESSAGES, OF_A_HOST
from core.community.lines import Heard, Joined
from core.community.mosquitto import Mosquitto
from core.community.telemetry import Telemetry
from core.contracts.errors import CreditError
from core.contracts.telemetry import (
    CREDIT,
    MAX_PACKET,
    PRESENCE,
    PROGRESS,
    Presence,
    Progress,
    Rights,
    RunNotice,
    topic_in,
    topic_notice,
)
from core.identity import Identity
from tests.dht_peers import until
from tests.mqtt import KINDS, Server, certificate
from tests.workers import PATIENCE_S

RUN = "a-run-12345678"


class World:
    """A broker, its board, the organiser and two volunteers."""

    def __init__(self, kind: str, folder: Path, tls: tuple[str, str] | None = None) -> None:
        self.board, self.organiser, self.one, self.other = (Identity.generate() for _ in range(4))
        rights = Rights(self.organiser.peer.hex(), frozenset({self.board.peer.hex()}))
        self.runs = {RUN: rights}
        self.server = Server(kind, self.runs, folder / "mosquitto", tls)

    def topic(self, who: Identity, leaf: str = PROGRESS) -> str:
        return topic_in(RUN, who.peer.hex(), leaf)

    def progress(self, who: Identity, samples: int) -> bytes:
        return payloads.sealed(who, Progress(RUN, who.peer, time.time(), samples, 1.0, 2))

    @contextlib.asynccontextmanager
    async def telemetry(self, who: Identity, heard: list[Heard]) -> AsyncIterator[Telemetry]:
        """What Hearth itself does."""
        made = Telemetry(who, lambda: ("name", "team"))

        def enrol(address: str, password: str) -> None:
            self.server.enrol(address, password, who)

        def hear(one: Heard, payload: bytes) -> None:
            heard.append(one)

        reads = who is self.board
        made.follow(Joined(RUN, self.runs[RUN], [self.server.address], reads, hear, enrol))
        try:
            yield made
        finally:
            await made.close()


async def received(client: aiomqtt.Client, end: str) -> list[str]:
    """The topics of what a client is given, up to the one that everybody may read."""
    found = []
    async with asyncio.timeout(PATIENCE_S):
        async for message in client.messages:
            found.append(message.topic.value)
            if found[-1] == end:
                return found
    raise AssertionError


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_gets_or_gives_what_is_not_its_own(kind: str, tmp_path: Path) -> None:
    world = World(kind, tmp_path)
    end, mine, of_other = topic_notice(RUN), world.topic(world.one), world.topic(world.other)
    stolen = payloads.sealed(world.organiser, RunNotice(RUN, world.organiser.peer, time.time(), "hello"))
    async with world.server.running(), contextlib.AsyncExitStack() as stack:

        async def client(who: Identity, **options: Any) -> aiomqtt.Client:
            return await stack.enter_async_context(world.server.client(who, **options))

        board, other, organiser = [await client(who) for who in (world.board, world.other, world.organiser)]
        await board.subscribe("hearth/1/#" if kind == "mosquitto" else f"hearth/1/{RUN}/in/#", qos=1)
        if kind == "mosquitto":
            await board.subscribe(end, qos=1)
        else:
            await board.subscribe(f"hearth/1/{RUN}/out/#", qos=1)
        await other.publish(of_other, b"private", qos=1, retain=True)
        assert await received(board, of_other) == [of_other]

        # a thief that subscribes before and after, to all and to one
        thief = await client(world.one)
        for wanted in ("#", "+/#", "hearth/#", "hearth/1/+/in/#", f"hearth/1/{RUN}/#", of_other, "$SYS/#"):
            with contextlib.suppress(aiomqtt.MqttError):
                await thief.subscribe(wanted, qos=1)
        await thief.subscribe(f"hearth/1/{RUN}/out/#", qos=1)

        # and that publishes as others, or where nobody should
        forbidden = of_other, world.topic(world.board), end, f"hearth/1/{RUN}/in/other", "else", "hearth/1/b/in/x"
        for topic in forbidden:
            await thief.publish(topic, b"false", qos=1, retain=True)
        await thief.publish(world.topic(world.one, "secret"), b"false", qos=1, retain=True)
        await thief.publish(mine, b"true", qos=1, retain=True)
        assert await received(board, mine) == [mine]
        await other.publish(of_other, b"private again", qos=1, retain=True)
        await organiser.publish(end, stolen, qos=1, retain=True)
        assert await received(board, end) == [of_other, end]
        assert set(await received(thief, end)) == {end}

        # what is retained is given to nobody else either, whoever has subscribed to it
        late = await client(world.one, identifier="late")
        for wanted in ("#", of_other):
            with contextlib.suppress(aiomqtt.MqttError):
                await late.subscribe(wanted, qos=1)
        await late.subscribe(end, qos=1)
        assert set(await received(late, end)) == {end}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_last_will_goes_nowhere_else(kind: str, tmp_path: Path) -> None:
    world = World(kind, tmp_path)
    foreign = world.topic(world.other, PRESENCE)
    async with world.server.running(), world.server.client(world.board) as board:
        await board.subscribe(f"hearth/1/{RUN}/in/#", qos=1)
        async with world.server.client(world.one):
            pass  # it is known from here on
        for topic in (foreign, world.topic(world.one, PRESENCE)):
            await world.server.vanish(world.one, topic)
        own = world.topic(world.one, PRESENCE)
        assert await received(board, own) == [own]


@pytest.mark.parametrize("kind", KINDS)
async def test_who_comes_back_is_there(kind: str, tmp_path: Path) -> None:
    world = World(kind, tmp_path)
    mine = world.topic(world.one, PRESENCE)
    options: dict[str, Any] = {"identifier": "the same", "will": aiomqtt.Will(mine, b"gone", qos=1, retain=True)}
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(world.server.running())
        await stack.enter_async_context(server.client(world.one, **options))
        client = await stack.enter_async_context(server.client(world.one, **options))
        await client.publish(mine, b"there", qos=1, retain=True)
        board = await stack.enter_async_context(server.client(world.board))
        await board.subscribe(f"hearth/1/{RUN}/in/#", qos=1)
        message = await anext(aiter(board.messages))
        assert message.payload == b"there" and message.retain


@pytest.mark.parametrize("kind", KINDS)
async def test_who_does_not_prove_its_key_does_not_come_in(kind: str, tmp_path: Path) -> None:
    world = World(kind, tmp_path)
    elsewhere = Server(kind, world.runs, tmp_path / "elsewhere")
    password = world.one.sign(b"hearth mqtt login 1\n" + elsewhere.address.encode()).hex()
    async with world.server.running() as server:
        async with server.client(world.one):
            pass
        for options in ({"password": ""}, {"password": password}, {"username": world.other.peer.hex()}):
            with pytest.raises(AssertionError):
                async with server.client(world.one, tries=1, **options):
                    pass
        if isinstance(server.broker, Mosquitto):
            with pytest.raises(CreditError):
                server.broker.enrol(world.other.peer, password)


async def ended(client: aiomqtt.Client) -> None:
    """Returns when a client's session has ended."""
    with pytest.raises(aiomqtt.MqttError):
        async with asyncio.timeout(PATIENCE_S):
            async for _ in client.messages:
                pass


@pytest.mark.parametrize("kind", KINDS)
async def test_who_may_take_part_no_more_is_put_out_and_comes_back_with_a_new_token(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "LOOK_S", 0.2)
    monkeypatch.setattr(mosquitto, "LOOK_AGAIN_S", 0.2)
    world = World(kind, tmp_path)
    mine, of_other, stranger = world.topic(world.one), world.topic(world.other), Identity.generate()
    world.server.out.add((stranger.peer, RUN))
    async with (
        world.server.running() as server,
        server.client(world.board) as board,
        server.client(world.other) as other,
    ):
        await board.subscribe(f"hearth/1/{RUN}/in/#", qos=1)
        async with server.client(world.one) as one:
            await one.publish(mine, b"true", qos=1)
            assert await received(board, mine) == [mine]
            world.server.out.add((world.one.peer, RUN))
            await ended(one)
        for outsider in (world.one, stranger):
            with pytest.raises(AssertionError):
                async with server.client(outsider, tries=4):
                    pass
        await other.publish(of_other, b"still here", qos=1)
        assert await received(board, of_other) == [of_other]
        world.server.out.remove((world.one.peer, RUN))
        async with server.client(world.one) as one:
            await one.publish(mine, b"again", qos=1)
            assert await received(board, mine) == [mine]


@pytest.mark.parametrize("kind", KINDS)
async def test_who_is_let_into_one_run_hears_and_tells_nothing_of_another(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telemetry itself, as it has to come back when it is let in there, too."""
    monkeypatch.setattr(broker, "LOOK_S", 0.2)
    monkeypatch.setattr(mosquitto, "LOOK_AGAIN_S", 0.2)
    world, heard = World(kind, tmp_path), list[Heard]()
    closed, open_, said = "b-run-12345678", world.runs[RUN], topic_notice("b-run-12345678")
    world.runs[closed] = open_
    world.server.out.add((world.one.peer, closed))
    hello = RunNotice(closed, world.organiser.peer, time.time(), "for members")
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(world.server.running())
        board = await stack.enter_async_context(server.client(world.board))
        await board.subscribe([(f"hearth/1/{run}/in/#", 1) for run in (RUN, closed)])
        organiser = await stack.enter_async_context(server.client(world.organiser))
        await organiser.publish(said, payloads.sealed(world.organiser, hello), qos=1, retain=True)
        async with server.client(world.one) as one:
            await one.subscribe([(f"hearth/1/{run}/out/#", 1) for run in (RUN, closed)])
            await one.publish(topic_in(closed, world.one.peer.hex(), PROGRESS), b"false", qos=1)
            await one.publish(world.topic(world.one), b"true", qos=1)
            assert await received(board, world.topic(world.one)) == [world.topic(world.one)]
            await organiser.publish(said, payloads.sealed(world.organiser, hello), qos=1, retain=True)
            await organiser.publish(topic_notice(RUN), b"for all", qos=1)
            assert await received(one, topic_notice(RUN)) == [topic_notice(RUN)]

        def hear(told: Heard, payload: bytes) -> None:
            heard.append(told)

        volunteer, refused = Telemetry(world.one), list[str]()
        stack.push_async_callback(volunteer.close)
        volunteer.follow(Joined(closed, open_, [server.address], False, hear, lambda where, _: refused.append(where)))
        if kind == "embedded":
            await until(lambda: refused, "its refusal, by which it asks to be let in")
        else:
            await until(lambda: volunteer.status()[0].connected, "a connection, by which it hears nothing")
        assert heard == []
        world.server.out.clear()
        await until(lambda: hello in heard, "what was told before it was let in")
        assert await received(board, topic_in(closed, world.one.peer.hex(), PRESENCE))


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_too_large_is_not_taken_and_harms_nobody(kind: str, tmp_path: Path) -> None:
    world = World(kind, tmp_path)
    mine, of_other = world.topic(world.one), world.topic(world.other)
    async with world.server.running() as server, server.client(world.board) as board:
        await board.subscribe(f"hearth/1/{RUN}/in/#", qos=1)
        async with server.client(world.one) as client:
            with pytest.raises(aiomqtt.MqttError):
                await client.publish(mine, bytes(MAX_PACKET + 1), qos=1, timeout=1)
                await client.publish(mine, b"after", qos=1, timeout=1)
        async with server.client(world.other) as client:
            await client.publish(of_other, b"small", qos=1)
        assert await received(board, of_other) == [of_other]


async def test_the_embedded_broker_takes_no_flood(tmp_path: Path) -> None:
    world = World("embedded", tmp_path)
    async with world.server.running() as server, server.client(world.board) as board:
        await board.subscribe(f"hearth/1/{RUN}/in/#", qos=1)
        async with server.client(world.one) as one, server.client(world.other) as other:
            for _ in range(3 * MESSAGES):
                await one.publish(world.topic(world.one), b"again", qos=1)
            await other.publish(world.topic(world.other), b"once", qos=1)
            found = await received(board, world.topic(world.other))
        assert MESSAGES < len(found) <= 2 * MESSAGES + 1, "a new minute may have begun meanwhile"
        connections = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(OF_A_HOST)]
        over, writer = connections[-1]
        assert await over.read() == b"", "one too many from one address is closed"
        for _, each in (*connections, (over, writer)):
            each.close()


async def test_strangers_push_nothing_out_that_the_organiser_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "RETAINED", 150_000)
    world, said = World("embedded", tmp_path), topic_notice(RUN)
    async with world.server.running() as server, server.client(world.organiser) as organiser:
        await organiser.publish(said, b"hello", qos=1, retain=True)
        for stranger in (world.one, world.other):
            async with server.client(stranger) as client:
                for leaf in (PROGRESS, *CREDIT):
                    await client.publish(world.topic(stranger, leaf), bytes(100_000), qos=1, retain=True)
        async with server.client(Identity.generate()) as newcomer:
            await newcomer.subscribe(f"hearth/1/{RUN}/out/#", qos=1)
            assert await received(newcomer, said) == [said]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_broker_that_ends_and_comes_back_costs_a_gap(kind: str, tmp_path: Path) -> None:
    world = World(kind, tmp_path)
    heard: list[Heard] = []

    def there(who: Identity, online: bool) -> Callable[[], bool]:
        def found() -> bool:
            told = [one for one in heard if isinstance(one, Presence) and one.by == who.peer]
            return bool(told) and told[-1].online == online

        return found

    def samples() -> list[int]:
        return [one.samples for one in heard if isinstance(one, Progress)]

    async with world.telemetry(world.board, heard), world.telemetry(world.one, []) as volunteer:
        async with world.server.running():
            volunteer.tell(RUN, world.topic(world.one), world.progress(world.one, 1))
            await until(lambda: 1 in samples(), "the first progress")
            assert there(world.one, True)()
        await until(lambda: not volunteer.status()[0].connected, "the end")
        assert volunteer.status()[0].trouble
        for number in (2, 3):
            volunteer.tell(RUN, world.topic(world.one), world.progress(world.one, number))
        heard.clear()
        async with world.server.running():
            began = time.monotonic()
            await until(lambda: 3 in samples() and there(world.one, True)(), "what was told meanwhile")
            assert time.monotonic() - began < PATIENCE_S
            assert 2 not in samples(), "the newer one says all that it did"
            await volunteer.leave(RUN)
            await until(there(world.one, False), "its leaving")
        assert volunteer.moved()[RUN].sent > 2 * len(world.progress(world.one, 3)), "what was told twice is counted"


async def test_of_two_brokers_one_is_enough(tmp_path: Path) -> None:
    one, two = World("embedded", tmp_path), World("mosquitto", tmp_path)
    two.board, two.one, two.runs = one.board, one.one, one.runs
    two.server = Server("mosquitto", one.runs, tmp_path / "mosquitto")
    brokers, heard = [one.server.address, two.server.address], list[Heard]()

    def joined(who: Identity, reads: bool) -> Joined:
        def hear(told: Heard, payload: bytes) -> None:
            heard.append(told)

        def enrol(address: str, password: str) -> None:
            two.server.enrol(address, password, who)

        return Joined(RUN, one.runs[RUN], brokers, reads, hear, enrol)

    board, volunteer = Telemetry(one.board), Telemetry(one.one)
    board.follow(joined(one.board, True))
    volunteer.follow(joined(one.one, False))
    try:
        async with two.server.running():
            async with one.server.running():
                await until(lambda: all(each.connected for each in board.status() + volunteer.status()), "all lines")
            await until(lambda: not volunteer.status()[0].connected, "the end of one")
            heard.clear()
            volunteer.tell(RUN, one.topic(one.one), one.progress(one.one, 5))
            await until(lambda: [told for told in heard if isinstance(told, Progress)], "the progress by the other one")
    finally:
        await board.close()
        await volunteer.close()


# paho leaves a socket whose certificate it refuses to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", KINDS)
async def test_by_tls_a_broker_is_believed_whose_certificate_is(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = certificate(tmp_path / "right")
    world = World(kind, tmp_path, tls)
    heard: list[Heard] = []
    async with world.server.running():
        monkeypatch.setenv("SSL_CERT_FILE", certificate(tmp_path / "wrong")[0])
        async with world.telemetry(world.one, []) as volunteer:
            await until(lambda: "CERTIFICATE" in volunteer.status()[0].trouble, "what is wrong with the certificate")
            assert not volunteer.status()[0].connected
        monkeypatch.setenv("SSL_CERT_FILE", tls[0])
        async with world.telemetry(world.board, heard), world.telemetry(world.one, []) as volunteer:
            volunteer.tell(RUN, world.topic(world.one), world.progress(world.one, 7))
            await until(lambda: any(isinstance(one, Progress) for one in heard), "the progress")
