"""DHT nodes over the real transport on loopback; faults of the kademlia package are shown beside their mending."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kademlia.crawling import NodeSpiderCrawl, RPCFindResponse, ValueSpiderCrawl
from kademlia.network import Server
from kademlia.node import Node
from kademlia.protocol import KademliaProtocol
from kademlia.storage import ForgetfulStorage
from kademlia.utils import digest as stock_digest

from core.contracts.dht import FindNode, FindValue, Found, Nodes, Ping, Pong, Store, Stored, Values
from core.contracts.errors import RecordError
from core.contracts.net import PeerAddress
from core.dht import node, reading
from core.dht.clock import NetworkClock
from core.dht.crawl import REPLICAS
from core.dht.node import DHTNode
from core.dht.reading import candidates
from core.dht.records import SKEW_S, Record, Verdict, genuine, key_digest, make, node_id
from core.dht.routing import Contact
from core.identity import Identity
from core.net import crowds
from core.net.method import Context
from core.net.rpc import RpcNode
from tests.dht_peers import LOOPBACK, Peer, peer, peers, until


@pytest.fixture
async def pair() -> AsyncIterator[list[Peer]]:
    async with peers(2) as made:
        yield made


async def offer(sender: Peer, receiver: Peer, *raws: bytes) -> list[Verdict]:
    """Store records at a peer by a bare call."""
    reply, _ = await sender.rpc.call(receiver.id, "dht.store", Store(list(raws), False), Stored, deadline_s=10)
    return [Verdict(code) for code in reply.verdicts]


def signed(
    by: Peer, value: bytes | None = b"v", *, key: str = "key", age_s: float = 0.0, life_s: float = 60.0
) -> Record:
    now = time.time()
    return make(by.identity, key, "", value, int((now - age_s) * 1000), now + life_s)


async def test_what_one_stores_another_finds(pair: list[Peer]) -> None:
    a, b = pair
    assert await a.dht.store("key", b"value", 60)
    found = (await b.dht.get("key"))[""]
    assert (found.value, found.peer) == (b"value", a.id)
    assert await b.dht.get("nothing") == {}


async def test_a_record_that_was_read_is_told_again_until_another_one_comes(
    pair: list[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    assert await a.dht.store("key", b"old", 60)
    assert (await b.dht.get("key"))[""].value == b"old"
    served = a.rpc.metrics["dht.find_value"].served
    for _ in range(5):
        assert (await b.dht.get("key"))[""].value == b"old"
    assert a.rpc.metrics["dht.find_value"].served == served, "it was asked for again"
    assert await a.dht.store("key", b"new", 60)
    assert (await b.dht.get("key"))[""].value == b"new"


async def test_a_signature_is_checked_once(pair: list[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Record] = []

    def count(record: Record) -> bool:
        checked.append(record)
        return genuine(record)

    monkeypatch.setattr(reading, "genuine", count)
    a, b = pair
    b.dht.protocol.serving = False
    await b.dht.protocol.call_ping(next(iter(b.dht.protocol.router)))
    assert await a.dht.store("key", b"value", 60)
    for _ in range(3):
        assert (await b.dht.get_many(["key"]))["key"][""].value == b"value"
    assert len(checked) <= 2, "once where it is kept, once where it is read"


async def test_alone_a_peer_keeps_its_records_itself() -> None:
    async with peer() as alone:
        assert not await alone.dht.store("key", b"value", 60), "no other peer has it"
        assert (await alone.dht.get("key"))[""].value == b"value"


async def test_stock_raises_or_fails_where_we_answer() -> None:
    """With every neighbour dead the package's set() raises ValueError, after 5 s of silence each."""

    class Silent:
        async def call_find_node(self, peer: Node, node: Node) -> tuple[bool, None]:
            return (False, None)

    nodes = await NodeSpiderCrawl(Silent(), Node(b"k" * 20), [Node(b"d" * 20)], 20, 3).find()
    with pytest.raises(ValueError, match="empty"):
        max(n.distance_to(Node(b"k" * 20)) for n in nodes)  # the line of Server.set_digest

    async with peer() as alone:
        async with peer(alone) as other:
            await until(lambda: len(other.dht.protocol.router) == 1, "the table")
            await until(lambda: len(alone.dht.protocol.router) == 1, "the table")
        failed = alone.rpc.metrics["dht.find_node"].errors
        assert not await alone.dht.store("key", b"v", 60)
        assert len(alone.dht.protocol.router) == 0, "one failed call is enough to leave the table"
        assert alone.rpc.metrics["dht.find_node"].errors <= failed + 1, "and no other one is waited for"
        assert "dht.store" not in {name for name, meter in alone.rpc.metrics.items() if meter.errors}


async def test_a_newer_record_wins_wherever_an_older_one_is_left(pair: list[Peer]) -> None:
    a, b = pair
    async with peer(a, b) as c:
        old, new = signed(a, b"old", age_s=5), signed(a, b"new")
        assert await offer(a, b, old.raw) == await offer(a, c, new.raw) == [Verdict.STORED]
        for reader in (a, b, c):
            assert (await reader.dht.get("key"))[""].value == b"new"
        assert await offer(b, c, old.raw) == [Verdict.OLDER], "a replay does not bring it back"


def test_the_stock_store_takes_any_writers_word() -> None:
    protocol = KademliaProtocol(Node(b"o" * 20), ForgetfulStorage(), 20)
    protocol.welcome_if_new = lambda node: None  # it would ping them
    protocol.rpc_store(("1.2.3.4", 5), b"x" * 20, b"key", b"owner's")
    protocol.rpc_store(("6.7.8.9", 5), b"y" * 20, b"key", b"anybody's")
    assert protocol.storage.get(b"key") == b"anybody's"


async def test_the_stock_package_reads_what_is_stale() -> None:
    """It believes its own copy without asking, then the majority, and cannot bear a list as a value."""
    server = Server()
    server.storage[stock_digest("key")] = b"stale"
    assert await server.get("key") == b"stale"
    crawl = ValueSpiderCrawl(None, Node(b"k" * 20), [], 20, 3)
    assert await crawl._handle_found_values([b"new", b"stale", b"stale"]) == b"stale"
    with pytest.raises(TypeError, match="unhashable"):
        await crawl._handle_found_values([["a list"]])


async def test_only_ones_own_records_are_published_again(pair: list[Peer], monkeypatch: pytest.MonkeyPatch) -> None:
    """The package stores again whatever it holds, with a new age: a dead host's record never goes away."""
    monkeypatch.setattr(node, "REPUBLISH_S", -1.0)
    a, b = pair
    await a.dht.store("of a", b"v", 60)
    await b.dht.store("of b", b"v", 60)
    assert {record.key for record in b.dht.storage} == {"of a", "of b"}
    sent: list[str] = []
    spread = b.dht._spread

    async def noting(records: list[Record]) -> int:
        sent.extend(record.key for record in records)
        return await spread(records)

    monkeypatch.setattr(b.dht, "_spread", noting)
    await b.dht.upkeep()
    assert sent == ["of b"]


@given(st.lists(st.lists(st.binary(max_size=200), max_size=5), max_size=3))
def test_no_found_records_crash_the_reader(answers: list[list[bytes]]) -> None:
    assert candidates("key", answers, 0.0) == {}


LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=9) | st.binary()
MESSAGES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner), max_leaves=9
)


@given(MESSAGES, st.sampled_from([Ping, Pong, FindNode, Nodes, FindValue, Values, Store, Stored]))
def test_no_message_crashes_a_decoder(message: Any, kind: type[msgspec.Struct]) -> None:
    for raw in (msgspec.msgpack.encode(message), msgspec.msgpack.encode([message, message])):
        try:
            msgspec.msgpack.decode(raw, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass


async def test_forged_replayed_expired_and_wrong_records_are_refused(pair: list[Peer]) -> None:
    a, b = pair
    good, other = signed(a), signed(a, key="other")
    now = time.time()
    hostile = {
        good.raw[:-1] + bytes([good.raw[-1] ^ 1]): Verdict.FORGED,
        other.raw[:-64] + good.signature: Verdict.FORGED,
        signed(a, life_s=-1).raw: Verdict.EXPIRED,
        signed(a, age_s=-2 * SKEW_S).raw: Verdict.AHEAD,
        make(a.identity, "key", "", b"", int(now * 1000), now + 1e9).raw: Verdict.AHEAD,
        make(a.identity, "key", "", b"", int(now * 1000), now + 9, realm="other").raw: Verdict.MALFORMED,
        b"\x98garbage" * 20: Verdict.MALFORMED,
        b"": Verdict.MALFORMED,
    }
    assert await offer(a, b, *hostile) == list(hostile.values())
    assert len(b.dht.storage) == 0
    assert await offer(a, b, good.raw, *hostile) == [Verdict.STORED, *hostile.values()], "the good one is kept"
    assert (await b.dht.get("key"))[""] == good


async def test_a_liar_among_the_replicas_is_not_believed() -> None:
    """A replica that answers with forged, foreign or malformed records cannot hide or replace the true one."""
    async with peers(3) as (a, b, c):
        true = signed(a, b"true", age_s=1)
        forged = signed(b, b"forged")
        foreign = signed(b, b"foreign", key="another key")
        await offer(a, b, true.raw)
        lies = [forged.raw[:-1] + b"!", foreign.raw, b"nonsense", true.raw[:-64] + forged.signature]

        def lie(request: FindValue, payload: Any, context: Context) -> Values:
            return Values([Found(lies, {}, None) for _ in request.keys], Nodes([], [[] for _ in request.keys]))

        c.rpc.register("dht.find_value", FindValue, lie)
        for reader in (a, b):
            assert (await reader.dht.get("key"))[""].value == b"true"


async def test_subkeys_of_many_writers_are_all_there(pair: list[Peer]) -> None:
    a, b = pair
    await asyncio.gather(*(a.dht.store("p.", b"", 60, subkey=f"a{i}") for i in range(20)),
                         *(b.dht.store("p.", b"", 60, subkey=f"b{i}") for i in range(20)))  # fmt: skip
    wanted = {f"{who}{i}" for who in "ab" for i in range(20)}
    for reader in pair:
        assert set(await reader.dht.get("p.")) == set((await reader.dht.find_suffixes(["p."]))["p."]) == wanted


async def test_large_keys_come_in_pages(pair: list[Peer]) -> None:
    a, b = pair
    values = {f"s{i:04}": bytes(400) for i in range(600)}  # 330 KB, more than a frame's header may hold
    assert await a.dht.store_many({"p.": values}, 60) == 1
    b.dht.storage = b.dht.protocol.storage = type(b.dht.storage)()  # nothing of its own
    a.dht.storage.expire(0.0)
    assert len((await b.dht.find_suffixes(["p."]))["p."]) == 600 and len(await b.dht.get("p.")) == 600


async def test_long_suffixes_do_not_make_an_answer_too_large(pair: list[Peer]) -> None:
    a, b = pair
    long = {chr(0x10000 + number) * 128: b"" for number in range(700)}  # 360 KB
    assert await a.dht.store_many({"p.": long | {"z": b""}}, 60) == 1
    b.dht.storage = b.dht.protocol.storage = type(b.dht.storage)()
    a.dht.storage.expire(0.0)
    assert "z" in (await b.dht.find_suffixes(["p."]))["p."] and len((await b.dht.find_suffixes(["p."]))["p."]) == 701


async def test_tombstones_remove_at_once_and_only_ones_own(pair: list[Peer]) -> None:
    a, b = pair
    await a.dht.store_many({"p.": {"1": b"", "2": b""}}, 60)
    await b.dht.store("p.", b"", 60, subkey="2")
    await a.dht.remove({"p.": ["1", "2"]})
    for reader in pair:
        assert set((await reader.dht.find_suffixes(["p."]))["p."]) == {"2"}
        assert (await reader.dht.get("p."))["2"].peer == b.id


async def test_who_leaves_a_run_removes_all_that_it_told_of_it(pair: list[Peer]) -> None:
    a, b = pair
    await a.dht.store_many({"left.hosts": {"a": b"1"}, "left.ckpt.trunk": {"a": b"2"}, "kept.hosts": {"a": b"3"}}, 60)
    await b.dht.store("left.hosts", b"4", 60, subkey="b")
    await a.dht.leave("left.")
    found = await b.dht.get_many(["left.hosts", "left.ckpt.trunk", "kept.hosts"])
    assert [{*records} for records in found.values()] == [{"b"}, set(), {"a"}]


async def test_records_expire_on_the_network(pair: list[Peer]) -> None:
    a, b = pair
    await a.dht.store("key", b"v", 0.5)
    await until(lambda: _empty(b.dht.get("key")), "expiry")
    await b.dht.upkeep()
    assert len(b.dht.storage) == 0


async def _empty(reading: Any) -> bool:
    return not await reading


async def stock_hand_over(count: int) -> tuple[int, int]:
    """(handed over, of these rightly) by the package's protocol to a newcomer, for keys that are digests already."""
    handed: list[bytes] = []

    class Recording(KademliaProtocol):  # type: ignore[misc]
        async def call_store(self, node: Node, key: bytes, value: Any) -> None:
            """Nothing is sent."""
            handed.append(key)

    protocol = Recording(Node(stock_digest("own")), ForgetfulStorage(), 3)
    for number in range(20):
        protocol.router.add_contact(Node(stock_digest(f"n{number}"), "1.1.1.1", number + 1))
    newcomer = Node(stock_digest("own")[:1] + stock_digest("newcomer")[1:], "2.2.2.2", 1)
    rightly = set()
    for number in range(count):
        key = stock_digest(f"k{number}")
        protocol.storage[key] = b"v"
        near = sorted([*protocol.router.find_neighbors(Node(key), 30), protocol.source_node], key=Node(key).distance_to)
        if near[0] is protocol.source_node and newcomer.distance_to(Node(key)) < near[3].distance_to(Node(key)):
            rightly.add(key)

    protocol.welcome_if_new(newcomer)
    await asyncio.sleep(0)  # its stores are tasks
    return len(rightly), len(rightly & set(handed))


async def test_a_newcomer_gets_the_right_records() -> None:
    should, got = await stock_hand_over(1500)
    assert got < should / 2 and should > 10, "the package was mended: the override may go"

    async with peers(9) as made:
        entries = {f"key{number}": {"": b"v"} for number in range(120)}
        assert await made[0].dht.store_many(entries, 60) >= REPLICAS - 1
        async with peer(made[0]) as newcomer:
            everybody = [*made, newcomer]

            def places(key: str) -> list[Peer]:
                target = Node(key_digest(key))
                return sorted(everybody, key=lambda p: target.distance_to(Node(node_id(p.id))))[:REPLICAS]

            right = {key for key in entries if newcomer in places(key)}
            wrong = entries.keys() - right
            assert right and wrong
            await until(lambda: right <= {r.key for r in newcomer.dht.storage}, "the hand-over")
            assert not wrong & {record.key for record in newcomer.dht.storage}


async def test_a_peer_that_only_dials_out_enters_no_table(pair: list[Peer]) -> None:
    a, b = pair
    async with peer(a, b, serving=False) as client:
        assert await client.dht.store("key", b"v", 60)
        assert (await client.dht.get("key"))[""].value == b"v"
        await a.dht.upkeep()
        for other in pair:
            assert client.id not in [address.peer for address in other.dht.contacts()]
        assert len(client.dht.storage) == 0, "and is no replica"


async def test_one_that_calls_enters_only_after_it_answered_a_ping(pair: list[Peer]) -> None:
    """A stranger that sends requests and does not answer is neither named to others nor handed records."""
    a, _ = pair
    await a.dht.store("key", b"v", 60)
    identity = Identity.generate()
    asked = asyncio.Event()

    async def silent(request: Ping, payload: Any, context: Context) -> Pong:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with RpcNode(identity, listen=LOOPBACK) as stranger:
        stranger.register("dht.ping", Ping, silent)
        stranger.learn(a.rpc.address())
        await stranger.call(a.id, "dht.find_node", FindNode([b"t" * 20], True), Nodes, deadline_s=10)
        await asyncio.wait_for(asked.wait(), 10)
        assert identity.peer not in [address.peer for address in a.dht.contacts()]
        assert list(a.dht.protocol._meeting) == [identity.peer]


async def test_a_list_of_ten_thousand_nodes_is_refused(pair: list[Peer]) -> None:
    a, b = pair
    many = [PeerAddress(number.to_bytes(32, "big"), ("127.0.0.1:9",)) for number in range(10_000)]
    asked: list[FindNode] = []

    def flood(request: FindNode, payload: Any, context: Context) -> Nodes:
        asked.append(request)
        return Nodes(many[:4000], [list(range(256)) for _ in request.targets])

    b.rpc.register("dht.find_node", FindNode, flood)
    await a.dht.store("key", b"v", 60)
    assert len(asked) <= 2, "a search and one more, whatever it answers"
    assert len(a.dht.contacts()) <= 1 and len(a.rpc.pool.links) <= 2


@pytest.mark.parametrize(
    "ghost",
    [
        PeerAddress(b"\xff" * 32, ("127.0.0.1:9",)),  # on no curve
        PeerAddress(Identity(b"g" * 32).peer, ("nonsense", "1.2.3.4:999999", "", "[::1", "\x00:1", "localhost:9")),
        PeerAddress(Identity(b"g" * 32).peer, (), (b"\xff" * 32,)),
    ],
)
async def test_a_peer_that_cannot_exist_is_outlived(pair: list[Peer], ghost: PeerAddress) -> None:
    a, b = pair
    b.rpc.register("dht.find_node", FindNode, lambda request, payload, context: Nodes([ghost], [[0]]))
    assert await a.dht.store("key", b"v", 60)
    await until(lambda: ghost.peer in a.dht.protocol._failed, "the failure noted")
    assert (await a.dht.get("key"))[""].value == b"v"


@pytest.mark.parametrize("nearest", [[[9]], [[0] * 32] * 2, [], [[0, 0, 0]]])
async def test_a_malformed_node_list_is_outlived(pair: list[Peer], nearest: list[list[int]]) -> None:
    with pytest.raises(TypeError):
        RPCFindResponse((True, [7])).get_node_list()  # the package raises, and its crawl with it

    a, b = pair
    ghost = PeerAddress(b"g" * 32, ("127.0.0.1:9",))
    asked: list[FindNode] = []

    def answer(request: FindNode, payload: Any, context: Context) -> Nodes:
        asked.append(request)
        return Nodes([ghost], nearest)

    b.rpc.register("dht.find_node", FindNode, answer)
    await a.dht.store("key", b"v", 60)
    assert len(asked) <= 2, "a search and one more, whatever it answers"
    assert a.rpc.metrics["dht.find_node"].errors <= 1, "whom it names is tried once"


def test_the_stock_package_makes_a_call_of_any_name_and_ours_does_not() -> None:
    stock = KademliaProtocol(Node(b"o" * 20), ForgetfulStorage(), 20)
    assert callable(stock.no_such_thing)
    identity = Identity.generate()
    ours = DHTNode(RpcNode(identity), identity)
    with pytest.raises(AttributeError):
        _ = ours.protocol.no_such_thing
    assert callable(Server.save_state_regularly) and ours.save_state_regularly is None, "nothing is pickled"


async def test_a_stranger_draws_no_answer_larger_than_its_question(pair: list[Peer]) -> None:
    """The package sends 744 bytes to any forged address for 77; here nothing is said before a handshake."""
    import socket

    import umsgpack  # type: ignore[import-untyped]

    async def drawn(port: int) -> int:
        question = b"\x00" + b"i" * 20 + umsgpack.packb(["find_node", [b"n" * 20, b"k" * 20]])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind(("127.0.0.1", 0))
            sender.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_sendto(sender, question, ("127.0.0.1", port))
            try:
                return len(await asyncio.wait_for(loop.sock_recv(sender, 65536), 1)) / len(question)  # type: ignore[return-value]
            except TimeoutError:
                return 0

    stock = Server()
    await stock.listen(0, "127.0.0.1")
    for number in range(20):
        stock.protocol.router.add_contact(Node(stock_digest(f"n{number}"), "127.0.0.1", 9))
    try:
        assert await drawn(stock.transport.get_extra_info("sockname")[1]) > 5
    finally:
        stock.stop()
    assert await drawn(int(pair[0].rpc.address().addresses[0].rpartition(":")[2])) <= 1


async def test_a_question_that_names_a_large_key_again_and_again_takes_no_longer(
    pair: list[Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, asker = pair
    identities, now = [Identity.generate() for _ in range(2)], time.time()
    for number in range(200):
        subkey = hashlib.sha256(str(number).encode()).hexdigest()[:40]
        asked.dht.storage.put(make(identities[number % 2], "key", subkey, b"", 1, now + 60), now)
    pages, page = list[str](), asked.dht.storage.page

    def noted(key: bytes, after: str, *rest: Any) -> Any:
        pages.append(after)
        return page(key, after, *rest)

    monkeypatch.setattr(asked.dht.storage, "page", noted)
    for after in ("", "g"):  # all of it, and what is behind it: nothing
        context, question = Context(asker.id, None, 0.0), FindValue([key_digest("key")] * 256, False, after, False)
        answer = asked.dht.protocol._on_find_value(question, b"", context)
        assert [len(found.records) for found in answer.found[1:]] == [0] * 255
    assert pages == ["", "g"]  # a page takes time by how much is under the key
    await asked.dht.store("small", b"value", 60)
    found = await asyncio.gather(*(asker.dht.get("small") for _ in range(8)))
    assert [one[""].value for one in found] == [b"value"] * 8


async def test_a_flood_of_publishers_does_not_grow_the_memory(pair: list[Peer]) -> None:
    a, b = pair
    b.dht.storage._limits = type(b.dht.storage._limits)(records=50)
    raws = [make(Identity.generate(), f"k{i}", "", b"v", 1, time.time() + 60).raw for i in range(200)]
    verdicts = await offer(a, b, *raws)
    assert verdicts.count(Verdict.STORED) == 50 and set(verdicts[50:]) == {Verdict.FULL}


def test_clocks_agree_and_a_liar_moves_one_by_little() -> None:
    clock = NetworkClock(lambda: 1000.0)
    assert clock.now() == 1000.0
    for number in range(5):
        clock.hear(bytes([number]), 1030.0, 1000.0, 1000.0)
    clock.hear(b"liar", 9e18, 1000.0, 1000.0)
    clock.hear(b"nan", float("nan"), 1000.0, 1000.0)
    assert clock.now() == 1030.0
    for number in range(10_000):
        clock.hear(number.to_bytes(4, "big"), 9e18, 1000.0, 1000.0)
    assert clock.offset == SKEW_S and len(clock._offsets) <= NetworkClock.VOTES


async def test_keys_of_one_block_of_addresses_have_one_vote_on_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with peers(6) as made:
        assert len(made[0].dht.clock._offsets) == 5  # neighbours
    monkeypatch.setattr(crowds, "branch_of", lambda network, peer: ("one block", "one house", peer))
    async with peers(6) as made:
        assert len(made[0].dht.clock._offsets) == 1


DAY_S = 86_400.0


class Clocks:
    """The time of day, which somebody may set, and the steady clock."""

    def __init__(self) -> None:
        self.day, self.steady = 1e9, 50.0
        self.clock = NetworkClock(lambda: self.day, lambda: self.steady)

    def go_on(self, seconds: float) -> None:
        self.day += seconds
        self.steady += seconds

    def hear(self, truth: float) -> None:
        for name in (b"a", b"b", b"c"):
            now = self.clock.wall()
            self.clock.hear(name, truth, now, now)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("jump", [DAY_S, -DAY_S])
def test_a_clock_that_is_set_while_hearth_runs_is_not_followed(heard: bool, jump: float) -> None:
    clocks = Clocks()
    if heard:
        clocks.hear(1e9)
    clocks.go_on(100.0)
    clocks.day += jump
    assert clocks.clock.now() == 1e9 + 100
    clocks.go_on(100.0)
    assert clocks.clock.now() == 1e9 + 200
    clocks.hear(1e9 + 200)
    assert [(note.code, note.args["seconds"]) for note in clocks.clock.notes] == [("network.clock_wrong", DAY_S)]
    clocks.day -= jump  # set right again; then the PC sleeps
    clocks.go_on(3600.0)
    assert clocks.clock.now() == 1e9 + 3800 and not clocks.clock.notes


@pytest.mark.parametrize("wrong", [DAY_S, -DAY_S])
def test_a_clock_that_was_wrong_at_the_start_is_told_and_followed_when_it_is_set_right(wrong: float) -> None:
    clocks = Clocks()
    clocks.hear(1e9 - wrong)
    assert [(note.code, note.args["seconds"]) for note in clocks.clock.notes] == [("network.clock_wrong", DAY_S)]
    clocks.day -= wrong
    assert clocks.clock.now() == 1e9 - wrong
    clocks.hear(1e9 - wrong)
    assert not clocks.clock.notes


async def test_a_peer_whose_clock_is_a_minute_slow_takes_part() -> None:
    async with peers(2) as made, peer(*made, wall=lambda: time.time() - 59) as slow:
        await until(lambda: slow.dht.clock.offset > 50, "its clock's correction")
        assert await slow.dht.store("key", b"v", 30)
        assert (await made[0].dht.get("key"))[""].value == b"v"
        await made[1].dht.store("other", b"v", 30)
        assert (await slow.dht.get("other"))[""].value == b"v"


async def test_impossible_values_are_refused_before_anything_is_sent(pair: list[Peer]) -> None:
    for call in (
        pair[0].dht.store("k" * 999, b"", 60),
        pair[0].dht.store("k", bytes(9999), 60),
        pair[0].dht.store("k", b"", 1e9),
        pair[0].dht.store("k", b"", -1),
        pair[0].dht.store("k", b"", 60, subkey=pair[1].id.hex()),
    ):
        with pytest.raises(RecordError):
            await call


async def test_state_lets_a_peer_come_back_without_bootstrap_peers(pair: list[Peer], tmp_path: Any) -> None:
    a, _ = pair
    async with peer(*pair) as third:
        await a.dht.store("key", b"v", 60)
        third.dht.save_state(tmp_path / "dht.json")
        identity = third.identity
    async with peer(identity=identity) as again:
        known = again.dht.load_state(tmp_path / "dht.json")
        assert set(known) == {p.id for p in pair}
        assert await again.dht.bootstrap(known) == 2
        assert (await again.dht.get("key"))[""].value == b"v"


async def test_contacts_name_their_addresses(pair: list[Peer]) -> None:
    await until(lambda: len(pair[0].dht.contacts()) == 1, "the table")
    assert pair[0].dht.contacts() == [pair[1].rpc.address()]
    assert isinstance(next(iter(pair[0].dht.protocol.router)), Contact)
