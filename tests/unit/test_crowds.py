"""Strangers of one network share what one peer gets; who has shown that it may take part does not share it."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from core.contracts.access import Shown
from core.contracts.errors import HearthError
from core.identity import Identity, PeerId
from core.net import limits
from core.net.crowds import network_of
from core.net.endpoint import LOOPBACK
from core.net.limits import TokenBucket
from core.net.rpc import RpcNode
from tests.dht_peers import until

RUN = "digits-0"


class Number(msgspec.Struct):
    value: int


class OpenTo:
    """A gate that lets in those whom it is told of."""

    private = False

    def __init__(self) -> None:
        self.known: set[PeerId] = set()

    def admits(self, peer: PeerId) -> bool:
        return peer in self.known

    def showing(self) -> Shown:
        return Shown()

    def meet(self, peer: PeerId, shown: Shown) -> None:
        pass


@pytest.fixture
async def gate() -> OpenTo:
    return OpenTo()


@pytest.fixture
async def host(gate: OpenTo) -> AsyncIterator[RpcNode]:
    async with RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as node:
        node.admission.guard(RUN, gate)
        node.register("add_one", Number, lambda request, payload, context: Number(request.value + 1))
        yield node


async def ask(node: RpcNode, host: RpcNode) -> None:
    node.learn(host.address())
    await node.call(host.peer, "add_one", Number(1), Number, deadline_s=60)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::1]:9", "2001:db8:1:2::/64"),
        ("[::ffff:203.0.113.9]:4711", "203.0.113.9"),
        ("[fe80::1%eth0]:4711", "fe80::/64"),
        ("", ""),
    ],
)
def test_one_owner_has_one_network(address: str, network: str) -> None:
    assert network_of(address) == network


async def test_strangers_of_a_network_wait_for_each_other_and_known_peers_for_none(
    host: RpcNode, gate: OpenTo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CROWD_CALLS_PER_S", 0.01)
    monkeypatch.setattr(limits, "CROWD_CALL_BURST", 12.0)
    async with (
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as first,
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as second,
        RpcNode(Identity.generate(), listen=LOOPBACK[:1]) as friend,
    ):
        gate.known.add(friend.peer)
        for _ in range(6):
            await ask(first, host)
            await ask(second, host)
        [crowd, also] = [link.crowd for link in host.pool.links.values()]
        assert isinstance(crowd, TokenBucket) and crowd is also and crowd.tokens < 1, "one quota for all from here"
        for _ in range(30):
            await ask(friend, host)
        assert crowd.tokens < 1
        left = crowd.tokens
        await ask(first, host)  # within a second: a pause is no longer
        assert crowd.tokens <= left - 0.9
        gate.known.add(first.peer)
        left = crowd.tokens
        await ask(first, host)
        assert crowd.tokens >= left, "no stranger any more"


async def test_only_so_many_strangers_of_a_network_are_connected(
    host: RpcNode, gate: OpenTo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CROWD", 3)
    friend = RpcNode(Identity.generate(), listen=LOOPBACK[:1])
    gate.known.add(friend.peer)
    async with friend:
        await ask(friend, host)
        strangers = [RpcNode(Identity.generate(), listen=LOOPBACK[:1]) for _ in range(8)]
        for stranger in strangers:
            await stranger.__aenter__()
        try:
            for stranger in strangers:
                try:
                    await ask(stranger, host)
                except HearthError:
                    assert len(host.pool.links) == 4, "turned away though there was room"
            assert len(host.pool.links) == 4 and friend.peer in host.pool.links
            await ask(friend, host)
        finally:
            for stranger in strangers:
                await stranger.__aexit__(None, None, None)
        await until(lambda: [*host.pool.links] == [friend.peer], "the strangers' leave")
