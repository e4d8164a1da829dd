"""What a LAN announces is a hint and no more. (Peers find each other by it in tests/scenarios/test_nat.py.)"""

from typing import cast

from zeroconf.asyncio import AsyncServiceInfo

from core.contracts.net import PeerAddress
from core.contracts.run_link import MOST_PEERS, parse_link
from core.identity import Identity, peer_text
from core.net.lan import OFFERING, OFFERS, SERVICE, Lan, merged, read_hint
from core.net.rpc import RpcNode


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


def test_of_what_a_lan_offers_only_whole_links_are_taken_and_only_so_many() -> None:
    peer, organiser = peer_text(Identity.generate().peer), "ab" * 32
    good = {f"run{number}": f"pictures-0000000{number}/{organiser}" for number in range(OFFERS + 1)}
    hint = read_hint(announced(peer=peer, runs="x", **good))
    assert hint is not None and len(hint.offers) == OFFERS
    link = parse_link(str(hint.offers[0]))
    assert (link.run_id, link.organiser) == ("pictures-00000000", organiser)
    assert link.peers == (f"{peer}@{','.join(hint.addresses)}",)
    bad = ("", "pictures-00000000", f"pictures-00000000/{organiser}0", f"../../x-00000000/{organiser}", "x" * 200)
    hint = read_hint(announced(peer=peer, runs="x", **{f"run{number}": one for number, one in enumerate(bad)}))
    assert hint is not None and hint.offers == ()


def test_peers_that_offer_the_same_run_are_one_offer_and_a_flood_of_them_ends() -> None:
    lan = Lan(cast(RpcNode, None), {"here-00000000": None})
    for number in range(OFFERING + 5):
        peer = peer_text(Identity.generate().peer)
        hint = read_hint(
            announced(peer=peer, runs="", run0="here-00000000/" + "ab" * 32, run1="there-00000001/" + "cd" * 32)
        )
        assert hint is not None
        lan._note_offers(str(number), hint)
    [found] = lan.found()
    assert (found.run_id, found.organiser, found.peers) == ("there-00000001", "cd" * 32, OFFERING)
    assert len(parse_link(found.link).peers) == MOST_PEERS


def test_hints_never_replace_what_is_known() -> None:
    peer, relay = Identity.generate().peer, Identity.generate().peer
    known = PeerAddress(peer, tuple(f"203.0.113.{n}:4000" for n in range(8)), (relay,))
    assert merged(known, peer, ["192.168.1.7:4000"]) == known  # eight are enough
    assert merged(None, peer, ["192.168.1.7:4000"]).addresses == ("192.168.1.7:4000",)
