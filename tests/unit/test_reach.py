"""How reachability is judged, and the channel on which nobody in between can read, change or pose as another."""

import asyncio
from collections.abc import Callable

import pytest

from core.contracts.errors import HearthError, PeerUnreachable, ProtocolError
from core.contracts.notices import notice
from core.identity import Identity, PeerId
from core.net.limits import SEALED
from core.net.nat import NOT_CERTAIN, as_public, is_address, judge, may_punch, nat_kind
from core.net.relay import CLIENT_BYTES_PER_S, WINDOW, pace
from core.net.relayed import Pipe, RelayEnds
from core.net.rpc import RpcNode
from core.net.secure import SecureStream, secure
from tests.workers import PATIENCE_S

ALICE, BOB, MALLORY = (Identity(bytes([number]) * 32) for number in range(3))
HOME = "192.168.1.2:4000"


@pytest.mark.parametrize(
    ("seen", "local", "nat"),
    [
        ([], [HOME], "unknown"),
        (["203.0.113.5:4000"], ["203.0.113.5:4000"], "none"),
        (["203.0.113.5:61000", "203.0.113.5:61000"], [HOME], "cone"),
        (["203.0.113.5:61000", "203.0.113.5:61001"], [HOME], "symmetric"),
        (["203.0.113.5:4000"], [HOME], "cone"),  # one observer: the router kept the port
        (["203.0.113.5:61000"], [HOME], "symmetric"),
    ],
)
def test_the_nat_is_told_by_what_others_see(seen: list[str], local: list[str], nat: str) -> None:
    assert nat_kind(seen, local, 4000) == nat


def test_reachability_says_the_best_step_that_worked() -> None:
    peer = ALICE.peer
    assert judge("cone", "stranger", None, ())[0] == judge("symmetric", "stranger", None, ())[0] == "reachable"
    assert judge("cone", "nobody", None, ())[0] == "punchable"
    assert judge("unknown", "nobody", peer, ()) == ("punchable", notice("reach.by_punching", peer=peer.hex()))
    assert judge("symmetric", "nobody", None, {peer}) == ("relayed", notice("reach.by_relay", peer=peer.hex()))
    assert judge("symmetric", "nobody", None, ())[0] == "dial-out only"
    assert judge("none", "nobody", None, ())[0] == "dial-out only"  # a firewall, not a NAT
    assert judge("unknown", "nobody", None, ())[0] == "unknown"


def test_that_an_acquaintance_gets_in_is_no_proof_behind_a_router() -> None:
    assert judge("cone", "acquaintance", None, ()) == ("punchable", NOT_CERTAIN)
    assert judge("none", "acquaintance", None, ()) == ("reachable", NOT_CERTAIN)
    assert judge("symmetric", "acquaintance", None, ())[0] == "dial-out only"


def test_a_symmetric_nat_meets_only_the_open() -> None:
    assert may_punch("cone", "cone") and may_punch("unknown", "cone") and may_punch("symmetric", "none")
    assert not may_punch("symmetric", "cone") and not may_punch("unknown", "symmetric")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("203.0.113.5:4000", True),
        ("[2a00::1]:4000", True),
        ("224.0.0.1:4000", False),
        ("0.0.0.0:4000", False),
        ("255.255.255.255:4000", False),
        ("203.0.113.5:0", False),
        ("203.0.113.5:99999", False),
        ("203.0.113.5", False),
        ("example.org:4000", False),
        ("", False),
    ],
)
def test_only_addresses_of_hosts_are_dialled_on_anothers_word(text: str, right: bool) -> None:
    assert is_address(text) is right


@pytest.mark.parametrize(
    ("address", "asker", "right"),
    [
        ("1.1.1.1:4000", "9.9.9.9:4000", True),
        ("192.168.1.2:4000", "9.9.9.9:4000", False),
        ("100.64.1.2:4000", "9.9.9.9:4000", False),
        ("127.0.0.1:4000", "192.168.1.3:4000", False),
        ("192.168.1.2:4000", "192.168.1.3:4000", True),
        ("127.0.0.2:4000", "127.0.0.1:4000", True),
        ("[2a00::1]:4000", "[2a01::1]:4000", True),
        ("[fd00::1]:4000", "[2a01::1]:4000", False),
        ("[2a00::1]:4000", "9.9.9.9:4000", True),
        ("192.168.1.2:4000", "[2a00::1]:4000", False),
    ],
)
def test_nobody_has_a_peer_dial_into_its_own_network(address: str, asker: str, right: bool) -> None:
    assert as_public(address, asker) is right


def test_a_relay_gives_each_client_its_rate_and_no_more() -> None:
    bucket, now, sent = pace(CLIENT_BYTES_PER_S), 100.0, 0
    for _ in range(200):
        now += bucket.spend(65536, now)
        sent += 65536
    assert sent / (now - 100.0) == pytest.approx(CLIENT_BYTES_PER_S, rel=0.15)  # a second's worth went at once


class Wire:
    """Two ends of a byte pipe; `spoil` sees each written piece and says what arrives of it."""

    def __init__(self, spoil: Callable[[bytes], list[bytes]] = lambda piece: [piece]) -> None:
        self.reader, self.spoil = asyncio.StreamReader(), spoil
        self.other: Wire
        self.pieces: list[bytes] = []

    async def read_exact(self, size: int) -> bytes:
        try:
            return await self.reader.readexactly(size)
        except asyncio.IncompleteReadError:
            raise PeerUnreachable("The wire ended.") from None

    async def ready(self) -> None:
        pass

    def write(self, data: bytes) -> None:
        self.pieces.append(data)
        for piece in self.spoil(data):
            self.other.reader.feed_data(piece)

    async def close(self) -> None:
        for end in (self, self.other):
            end.reader.feed_eof()


def wires(spoil: Callable[[bytes], list[bytes]] = lambda piece: [piece]) -> tuple[Wire, Wire]:
    """The first one's writes go through `spoil`."""
    one, other = Wire(spoil), Wire()
    one.other, other.other = other, one
    return one, other


async def shake(one: Wire, other: Wire, called: Identity = BOB, meant: PeerId = BOB.peer) -> list[SecureStream]:
    """Alice calls `meant`; `called` answers. Raises what the first failing side raised."""
    ends = await asyncio.gather(
        secure(one, ALICE, meant, caller=True),
        secure(other, called, ALICE.peer, caller=False),
        return_exceptions=True,
    )
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if isinstance(end, SecureStream)]


async def test_an_answered_piece_has_none_missing_before_it() -> None:
    """Large pieces are overtaken by small ones; were those answered, more would be sent than the window holds."""
    pipe = Pipe(RelayEnds(RpcNode(BOB), BOB), ALICE.peer, bytes(32))
    early = [asyncio.create_task(pipe.take(number, bytes([number]))) for number in range(1, WINDOW)]
    await asyncio.wait(early, timeout=0.05)
    assert not any(taken.done() for taken in early)
    async with asyncio.timeout(PATIENCE_S):
        await pipe.take(0, b"\0")
        await asyncio.gather(*early)
        assert await pipe.read_exact(WINDOW) == bytes(range(WINDOW))
    with pytest.raises(ProtocolError, match="out of turn"):
        await pipe.take(2 * WINDOW, b"too far ahead")


async def test_both_ends_read_what_the_other_wrote_and_the_wire_shows_none_of_it() -> None:
    one, other = wires()
    alice, bob = await shake(one, other)
    secret = b"the weights of an expert " * 10_000
    await alice.write(secret)
    await bob.write(b"thanks")
    assert await bob.read_exact(len(secret)) == secret and await alice.read_exact(6) == b"thanks"
    assert not any(b"expert" in piece for piece in one.pieces)
    assert max(map(len, one.pieces)) <= SEALED + 20


@pytest.mark.parametrize("damage", ["flip", "repeat", "drop", "swap"])
async def test_what_a_relay_does_to_messages_is_noticed(damage: str) -> None:
    held: list[bytes] = []
    begun = False

    def spoil(piece: bytes) -> list[bytes]:
        if not begun:
            return [piece]
        held.append(piece)
        first = len(held) == 1
        if damage == "flip":
            return [piece[:-1] + bytes([piece[-1] ^ 1])]
        if damage == "repeat":
            return [piece, piece]
        if damage == "drop":
            return [] if first else [piece]
        return [] if first else [piece, held[0]]

    alice, bob = await shake(*wires(spoil))
    begun = True
    await alice.write(b"one")
    await alice.write(b"two")
    with pytest.raises(ProtocolError):
        await bob.read_exact(6)


async def test_a_message_thrown_back_at_its_sender_is_noticed() -> None:
    one, other = wires()
    alice, _ = await shake(one, other)
    await alice.write(b"one")
    one.reader.feed_data(one.pieces[-1])
    with pytest.raises(ProtocolError):
        await alice.read_exact(3)


class Impostor(Identity):
    """Says to be `claimed`; signs with Mallory's key, or repeats a signature that it once heard from `claimed`."""

    def __init__(self, claimed: PeerId, heard: bytes | None = None) -> None:
        super().__init__(MALLORY.seed)
        self.peer, self.heard = claimed, heard

    def sign(self, message: bytes) -> bytes:
        return self.heard or super().sign(message)


class Overheard(Identity):
    """Bob, whose last signature became known."""

    def sign(self, message: bytes) -> bytes:
        self.last = super().sign(message)
        return self.last


async def test_a_relay_cannot_pose_as_the_peer() -> None:
    with pytest.raises(ProtocolError, match="who it is"):
        await shake(*wires(), called=Impostor(BOB.peer))


async def test_an_old_signature_proves_nothing() -> None:
    bob = Overheard(BOB.seed)
    await shake(*wires(), called=bob)
    with pytest.raises(ProtocolError, match="who it is"):
        await shake(*wires(), called=Impostor(BOB.peer, bob.last))


async def test_a_relay_that_swaps_the_fresh_keys_is_noticed() -> None:
    """Mallory shakes hands with each side, with fresh keys of his own: he cannot sign for either."""
    to_alice, to_bob = wires(), wires()
    alice = secure(to_alice[0], ALICE, BOB.peer, caller=True)
    bob = secure(to_bob[1], BOB, ALICE.peer, caller=False)
    as_bob = secure(to_alice[1], Impostor(BOB.peer), ALICE.peer, caller=False)
    as_alice = secure(to_bob[0], Impostor(ALICE.peer), BOB.peer, caller=True)
    ends = await asyncio.gather(alice, bob, as_bob, as_alice, return_exceptions=True)
    assert isinstance(ends[0], ProtocolError) and isinstance(ends[1], ProtocolError)


async def test_old_messages_do_not_fit_a_new_conversation() -> None:
    one, other = wires()
    alice, _ = await shake(one, other)
    await alice.write(b"pay")
    old = one.pieces[-1]
    again = wires()
    _, bob = await shake(*again)
    again[1].reader.feed_data(old)
    with pytest.raises(ProtocolError):
        await bob.read_exact(3)


@pytest.mark.parametrize("length", [0, 16, SEALED + 17, 2**32 - 1])
async def test_a_length_out_of_bounds_is_refused_before_anything_is_read(length: int) -> None:
    one, other = wires()
    _, bob = await shake(one, other)
    other.reader.feed_data(length.to_bytes(4))
    with pytest.raises(ProtocolError):
        await bob.read_exact(1)


async def test_an_unusable_key_is_refused() -> None:
    one, other = wires(lambda piece: [bytes(32)])
    with pytest.raises(HearthError):
        await shake(one, other)
