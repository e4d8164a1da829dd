"""Whatever another peer, the LAN, a file or a user writes: parsers refuse it in the agreed way, and stay small."""

import asyncio
import contextlib
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zeroconf.asyncio import AsyncServiceInfo

from core.contracts import dht
from core.contracts.errors import HearthError, IdentityError, PeerUnreachable, SettingsError
from core.contracts.expert_calls import ExpertReply, ExpertRequest, payload_size
from core.contracts.net import Observed, PeerAddress
from core.contracts.network_status import DhtGetParams, DhtRecord, DhtStatus, NetworkStatus
from core.dht.node import DHTNode
from core.dht.store import load_state
from core.experts.dht_directory import _HostRecord
from core.identity import Identity
from core.key_file import FILE
from core.net import dial_back, punching, relay
from core.net.addresses import address_text, check_socket, parse_address
from core.net.endpoint import ReceiveStream
from core.net.lan import ADDRESSES, RUNS_LENGTH, SERVICE, read_hint
from core.net.limits import SEALED
from core.net.nat import is_address
from core.net.relayed import RelayedConnection
from core.net.rpc import RpcNode
from core.net.secure import SecureStream, secure
from tests.unit.test_reach import ALICE, BOB, Wire, wires

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=70) | st.binary()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner), max_leaves=12
)
PEERS = st.binary(min_size=32, max_size=32)
SPOKEN = st.lists(st.text(max_size=64), max_size=8).map(tuple)
CALLS = [
    *(dht.Ping, dht.Pong, dht.FindNode, dht.Nodes, dht.FindValue, dht.Values, dht.Store, dht.Stored),
    *(Observed, dial_back.DialBack, dial_back.DialFor, dial_back.DialledBack),
    *(punching.Punch, punching.Meet, punching.Met, punching.Meeting),
    *(relay.Open, relay.Offer, relay.Piece, relay.Closed, PeerAddress, _HostRecord, ExpertRequest, ExpertReply),
]
CONTROL: list[Any] = [DhtGetParams, NetworkStatus, list[DhtRecord], DhtStatus]


@given(st.sampled_from(CALLS), st.data())
def test_values_of_any_types_are_refused_or_within_the_contract(
    kind: type[msgspec.Struct], data: st.DataObject
) -> None:
    fields = [data.draw(VALUES) for _ in kind.__struct_fields__]
    for value in (fields, dict(zip(kind.__struct_fields__, fields, strict=True))):
        raw = msgspec.msgpack.encode(value)
        try:
            message = msgspec.msgpack.decode(raw, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        assert len(msgspec.msgpack.encode(message)) <= len(raw) + 600, "what is missing costs little"


@given(st.sampled_from(CALLS), st.binary(max_size=300))
def test_no_bytes_crash_a_decoder(kind: type[msgspec.Struct], raw: bytes) -> None:
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
        msgspec.msgpack.decode(raw, type=kind)


@given(st.sampled_from(CONTROL), VALUES, st.binary(max_size=200))
def test_control_messages_of_the_network_are_refused_or_decoded(kind: Any, value: Any, raw: bytes) -> None:
    with contextlib.suppress(TypeError, ValueError):  # not all values can be written as JSON
        raw = json.dumps(value).encode()
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
        msgspec.json.decode(raw, type=kind)


@given(
    st.lists(st.integers(1, 1 << 20), max_size=256).map(tuple),
    st.lists(st.integers(1, 1 << 20), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["fp32", "fp16", "int8"]),
)
def test_an_expert_request_of_any_size_is_only_counted(rows: Any, shape: Any, codec: Any) -> None:
    assert payload_size(ExpertRequest(("digits.0.0.0",), rows, shape, codec), True) >= 2 * sum(rows)


@given(st.lists(st.builds(PeerAddress, PEERS, SPOKEN), max_size=9), st.lists(st.lists(st.integers(0, 255)), max_size=4))
def test_a_node_list_names_at_most_what_it_holds(contacts: list[PeerAddress], nearest: list[list[int]]) -> None:
    node = DHTNode(RpcNode(ALICE), ALICE)
    for count in (1, len(nearest)):
        found = node.protocol._contacts(dht.Nodes(contacts, nearest), count)
        assert len(found) == count
        assert {contact.peer for row in found for contact in row} <= {address.peer for address in contacts}


@given(st.text(max_size=400))
def test_an_address_is_no_address_or_read_as_written(text: str) -> None:
    try:
        address = parse_address(text)
    except IdentityError:
        return
    assert parse_address(address_text(address)) == address


@given(st.text(max_size=80).map(lambda text: f"{BOB.peer.hex()}@{text}"))
def test_what_follows_a_peers_name_is_bounded(text: str) -> None:
    address = parse_address(text)
    assert address.peer == BOB.peer and len(address.addresses) <= 8
    assert all(isinstance(is_address(part), bool) for part in address.addresses)


@given(
    st.dictionaries(st.sampled_from(["peer", "runs", "x"]), st.none() | st.binary(max_size=80), max_size=3),
    st.lists(st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16), max_size=9),
    st.none() | st.integers(0, 65535),
)
def test_a_lan_record_is_left_out_or_bounded(properties: dict[str, bytes], addresses: list[bytes], port: Any) -> None:
    for named in (properties, {**properties, "peer": BOB.peer.hex().encode()}):
        info = AsyncServiceInfo(SERVICE, f"x.{SERVICE}", addresses=addresses, port=port, properties=named)
        hint = read_hint(info)
        if hint is not None:
            assert 0 < len(hint.addresses) <= ADDRESSES and len(",".join(hint.runs)) <= RUNS_LENGTH


STATES = st.fixed_dictionaries({"version": st.just(1) | VALUES, "contacts": VALUES, "records": VALUES}) | VALUES
NEARLY = st.fixed_dictionaries(
    {
        "version": st.just(1),
        "contacts": st.lists(st.tuples(st.text(max_size=70), st.lists(st.text(max_size=20), max_size=9)), max_size=4),
        "records": st.lists(st.text(max_size=40) | st.binary(max_size=99).map(lambda raw: raw.hex()), max_size=4),
    }
)


@settings(deadline=None)
@given(st.binary(max_size=200) | (STATES | NEARLY).map(lambda value: json.dumps(value, default=str).encode()))
def test_a_state_file_is_taken_or_set_aside(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dht.json"
        path.write_bytes(content)
        contacts, records = load_state(path, 0.0)
        assert records == [] and len(contacts) <= 4096
        assert [kept.read_bytes() for kept in Path(folder).iterdir()] == [content]
        node = DHTNode(Bookkeeper(), ALICE)
        path.write_bytes(content)
        assert all(len(peer) == 32 for peer in node.load_state(path))


class Bookkeeper(RpcNode):
    """A node that is not running, and learns addresses all the same."""

    def __init__(self) -> None:
        super().__init__(ALICE)

    def learn(self, address: PeerAddress) -> None:
        assert len(address.addresses) <= 8


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_a_key_file_holds_a_key_or_is_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_bytes(content)
        try:
            identity = Identity.load(Path(folder))
        except IdentityError:
            return
        assert bytes.fromhex(content.decode()) == identity.seed


@given(st.lists(st.sampled_from(["bada", "zozu", "xxxx", "", "BaDa"]) | st.text(max_size=5), min_size=20, max_size=26))
def test_recovery_words_are_a_key_or_refused(words: list[str]) -> None:
    with pytest.raises(IdentityError):
        Identity.from_words(" ".join(words))


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_pass_a_sealed_channel(data: bytes, begun: bool) -> None:
    async def feed() -> None:
        one, other = wires()
        if begun:
            ends = asyncio.gather(
                secure(one, ALICE, BOB.peer, caller=True), secure(other, BOB, ALICE.peer, caller=False)
            )
            _, bob = await ends
            other.reader.feed_data(data)
            other.reader.feed_eof()
            await bob.read_exact(1)
        else:
            other.reader.feed_data(data)
            other.reader.feed_eof()
            await secure(other, BOB, ALICE.peer, caller=False)

    with pytest.raises(HearthError):
        asyncio.run(feed())


class Plain(SecureStream):
    """What a peer, authenticated and hostile, may write on a relayed connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def read_exact(self, size: int) -> bytes:
        return await self._wire.read_exact(size)

    async def close(self) -> None:
        """Nothing is behind it."""


class Ends:
    relay = BOB.peer

    def start(self, work: Any, name: str) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(work)


FRAMES = st.tuples(
    st.integers(0, 9) | st.integers(0, 2**32 - 1),
    st.integers(0, 40) | st.integers(SEALED - 9, SEALED) | st.sampled_from([2**32 - 1, 2**31]),
    st.binary(max_size=40),
).map(lambda parts: parts[0].to_bytes(4) + parts[1].to_bytes(4) + parts[2])


@settings(deadline=None)
@given(st.lists(FRAMES, max_size=12).map(b"".join))
def test_no_relayed_frames_break_a_connection_in_another_way(data: bytes) -> None:
    async def feed() -> int:
        wire, _ = wires()
        wire.reader.feed_data(data)
        wire.reader.feed_eof()
        connection = RelayedConnection(Ends(), Ends(), Plain(wire), BOB.peer, False)  # type: ignore[arg-type]
        streams: list[ReceiveStream] = []
        with pytest.raises(PeerUnreachable):
            while True:
                streams.append(await connection.accept())
        assert connection.closed
        taken = 0
        for stream in streams:
            with contextlib.suppress(PeerUnreachable):
                while part := await stream.read(1000):
                    taken += len(part)
        return taken

    assert asyncio.run(feed()) <= len(data)


@given(st.floats() | st.integers(), st.integers(), st.builds(PeerAddress, PEERS, SPOKEN))
def test_a_host_record_has_numbers_of_this_world(load: float, version: int, address: PeerAddress) -> None:
    try:
        raw = msgspec.msgpack.encode([load, version, address])
        record = msgspec.msgpack.decode(raw, type=_HostRecord)
    except (msgspec.MsgspecError, OverflowError):
        return
    assert 0.0 <= record.load <= 1e6 and math.isfinite(record.load) and 0 <= record.version < 2**53


@pytest.mark.parametrize("text", ["0.0.0.0:4401", "127.0.0.1:0", "[::]:0", "[2001:db8::1]:65535"])
def test_a_socket_is_an_ip_and_a_port(text: str) -> None:
    assert check_socket(text) == text


@pytest.mark.parametrize(
    "text", ["", "foo", "localhost:1", "127.0.0.1", "1.2.3.4:65536", "::1:1", "[1.2.3.4]:1", "1.2.3.4:²"]
)
def test_what_is_no_socket_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is not a network address"):
        check_socket(text)
