"""The routing table: the k nearest, live contacts only. The package's own table is measured beside it."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from kademlia.node import Node
from kademlia.routing import RoutingTable

from core.contracts.net import PeerAddress
from core.dht.routing import MAX_CONTACTS, Contact, NearestRoutingTable, PeerHeap

OWN = Contact(PeerAddress(b"o" * 32))


def contact(number: int) -> Contact:
    return Contact(PeerAddress(number.to_bytes(32, "big")))


def ours(full: Callable[[Contact], None] = lambda oldest: None, k: int = 20) -> NearestRoutingTable:
    return NearestRoutingTable(OWN, full, k)


class _Silent:
    async def call_ping(self, node: Node) -> None:
        """The stock table pings through its protocol."""


def recall(table: Any, known: list[Contact], k: int) -> float:
    """The part of the k nearest that `find_neighbors` names, over 100 random targets."""
    random.seed(1)
    hits = 0
    for _ in range(100):
        target = Node(random.randbytes(20))
        best = {c.id for c in sorted(known, key=target.distance_to)[:k]}
        hits += len(best & {c.id for c in table.find_neighbors(target, k)})
    return hits / (100 * k)


async def filled(table: Any, count: int = 56) -> list[Contact]:
    for number in range(count):
        table.add_contact(contact(number))
    return [node for bucket in table.buckets for node in bucket.get_nodes()]


@pytest.mark.parametrize("k", [3, 8, 20])
async def test_find_neighbors_names_the_nearest(k: int) -> None:
    table = ours()
    assert recall(table, await filled(table), k) == 1.0
    stock = RoutingTable(_Silent(), 20, OWN)
    assert recall(stock, await filled(stock), k) < 0.9, "the package was mended: the override may go"


async def test_neighbors_leave_out_the_one_who_asks_and_the_target() -> None:
    table = ours()
    known = await filled(table)
    found = table.find_neighbors(known[3], 56, exclude=known[5])
    assert known[3] not in found and known[5] not in found and len(found) == len(known) - 2


async def test_a_full_bucket_asks_for_its_oldest_contact() -> None:
    asked: list[Contact] = []
    table = ours(asked.append, k=4)
    for number in range(400):
        table.add_contact(contact(number))
    assert asked and all(isinstance(oldest, Contact) for oldest in asked)
    assert all(len(bucket) <= 4 for bucket in table.buckets)
    oldest = asked[-1]
    bucket = table.buckets[table.get_bucket_for(oldest)]
    table.add_contact(oldest)
    assert bucket.head() is not oldest, "one that was seen moves to the end, so that the next is asked"


async def test_the_table_is_bounded_and_never_holds_oneself() -> None:
    table = ours()
    for number in range(6000):
        table.add_contact(contact(number))
    table.add_contact(OWN)
    assert 100 < len(table) <= MAX_CONTACTS and OWN not in list(table)
    assert sum(len(bucket.replacement_nodes) for bucket in table.buckets) <= 100 * len(table.buckets)


def test_a_crawls_heap_is_bounded_and_forgets_no_failure() -> None:
    heap = PeerHeap(Node(b"t" * 20), 6)
    heap.push([contact(number) for number in range(10_000)])
    assert len(heap.heap) <= PeerHeap.MAX
    nearest = next(iter(heap))
    heap.remove([nearest.id])
    heap.push([nearest])
    assert nearest.id not in heap.get_ids()
