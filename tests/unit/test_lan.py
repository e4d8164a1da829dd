"""What a LAN announces is a hint and no more. (Peers find each other by it in tests/swarm/test_nat.py.)"""

from zeroconf.asyncio import AsyncServiceInfo

from core.contracts.net import PeerAddress
from core.identity import Identity, peer_text
from core.net.lan import SERVICE, merged, read_hint


def announced(**properties: str) -> AsyncServiceInfo:
    addresses = ["192.168.1.7", "fe80::1", "2001:db8::7", "224.0.0.1", "127.0.0.1"]
    return AsyncServiceInfo(SERVICE, f"x.{SERVICE}", parsed_addresses=addresses, port=4000, properties=properties)


def test_an_announcement_is_read_with_suspicion() -> None:
    peer = Identity.generate().peer
    hint = read_hint(announced(peer=peer_text(peer), runs="digits"))
    assert hint is not None and hint.peer == peer and hint.runs == {"digits"}
    assert "192.168.1.7:4000" in hint.addresses and "[2001:db8::7]:4000" in hint.addresses
    assert not any("224." in address or "127." in address for address in hint.addresses)
    assert read_hint(announced(peer="nobody", runs="digits")) is None
    assert read_hint(announced(runs="digits")) is None
    assert read_hint(announced(peer=peer_text(peer), runs="r" * 241)) is None


def test_hints_never_replace_what_is_known() -> None:
    peer, relay = Identity.generate().peer, Identity.generate().peer
    known = PeerAddress(peer, tuple(f"203.0.113.{n}:4000" for n in range(8)), (relay,))
    assert merged(known, peer, ["192.168.1.7:4000"]) == known  # eight are enough
    assert merged(None, peer, ["192.168.1.7:4000"]).addresses == ("192.168.1.7:4000",)
