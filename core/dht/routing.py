"""The routing table: the kademlia package's buckets, with peers as contacts and an exact k-nearest search."""

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from kademlia.node import Node, NodeHeap
from kademlia.routing import KBucket, RoutingTable

from core.contracts.net import PeerAddress
from core.dht.records import node_id
from core.identity import PeerId
from core.net.crowds import branch_of, network_of

K = 20
"""Contacts of a bucket, and peers named in an answer."""
MAX_CONTACTS = 1024
"""Contacts in all: enough for a network of a million, 500 bytes each."""


CROWD = 3
"""Of those nearest to a key one of so many may be of one block of addresses, where there are others."""


class Contact(Node):  # type: ignore[misc]
    """A peer in the key space."""

    def __init__(self, address: PeerAddress) -> None:
        super().__init__(node_id(address.peer))
        self.address = address
        self.peer = PeerId(address.peer)

    @cached_property
    def block(self) -> str:
        """Where it says that it is."""
        known = self.address
        return branch_of(network_of(known.addresses[0]) if known.addresses else b"".join(known.relays).hex())[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contact) and bool(self.id == other.id)

    def __hash__(self) -> int:
        return hash(self.id)

    def __str__(self) -> str:
        return self.peer.hex()[:8]


def spread(contacts: Sequence[Contact], count: int) -> list[Contact]:
    """The first ones, of each block of addresses no more than a third as long as there are others.

    Who makes keys until some lie around another key so takes a part of its neighbourhood, and not all of it.

    Args:
        contacts: nearest first.
        count: so many at most.
    """
    most, seen = max(1, count // CROWD), Counter[str]()
    first, rest = list[int](), list[int]()
    for place, contact in enumerate(contacts):
        if len(first) == count:
            break
        seen[contact.block] += 1
        (first if seen[contact.block] <= most else rest).append(place)
    return [contacts[place] for place in sorted([*first, *rest[: count - len(first)]])]


class NearestRoutingTable(RoutingTable):  # type: ignore[misc]
    """Buckets of live, reachable peers."""

    def __init__(self, node: Node, on_full: Callable[[Contact], None], ksize: int = K) -> None:
        """`on_full` gets the longest unseen contact of a full bucket: to be pinged, and removed if it is silent."""
        super().__init__(None, ksize, node)
        self._on_full = on_full

    def __iter__(self) -> Iterator[Contact]:
        for bucket in self.buckets:
            yield from bucket.nodes.values()

    def __len__(self) -> int:
        return sum(map(len, self.buckets))

    def __contains__(self, node: Node) -> bool:
        return not self.is_new_node(node)

    def add_contact(self, node: Contact) -> None:
        """Add a contact that answered, or note that it was seen."""
        if node.id == self.node.id or (len(self) >= MAX_CONTACTS and node not in self):
            return
        while True:  # each turn halves the bucket's range, so there are at most 160
            index = self.get_bucket_for(node)
            bucket: KBucket = self.buckets[index]
            if bucket.add_node(node):
                return
            if not (bucket.has_in_range(self.node) or bucket.depth() % 5 != 0):
                self._on_full(bucket.head())
                return
            self.split_bucket(index)

    def find_neighbors(self, node: Node, k: int | None = None, exclude: Node | None = None) -> list[Contact]:
        """The k contacts nearest to `node`, nearest first.

        The stock table stops at the first k contacts that it passes, so that most of its answers are not the nearest.
        """
        self.buckets[self.get_bucket_for(node)].touch_last_updated()
        target = node.long_id
        skipped = {node.id} if exclude is None else {node.id, exclude.id}
        candidates = (contact for contact in self if contact.id not in skipped)
        count, far = k or self.ksize, None
        near = heapq.nsmallest(count, candidates, key=lambda contact: contact.long_id ^ target)
        if len(near) == count and max(Counter(contact.block for contact in near).values()) > max(1, count // CROWD):
            candidates = (contact for contact in self if contact.id not in skipped)
            far = sorted(candidates, key=lambda contact: contact.long_id ^ target)
        return spread(far or near, count)

    def lonely(self, age_s: float) -> list[KBucket]:
        """Buckets in which nothing was looked up for so long."""
        since = time.monotonic() - age_s
        return [bucket for bucket in self.buckets if bucket.last_updated < since]


class PeerHeap(NodeHeap):  # type: ignore[misc]
    """The package's heap of contacts by distance, each of them once, and a bound."""

    MAX = 128
    """Contacts of one crawl: a peer that invents some costs no more than these calls."""

    def __init__(self, node: Node, maxsize: int) -> None:
        super().__init__(node, maxsize)
        self._ids: set[bytes] = set()

    def __iter__(self) -> Iterator[Contact]:
        return iter(spread([node for _, node in sorted(self.heap)], self.maxsize))

    def push(self, nodes: list[Contact]) -> None:
        for node in nodes:
            if node.id not in self._ids and len(self._ids) < self.MAX:
                self._ids.add(node.id)
                heapq.heappush(self.heap, (self.node.distance_to(node), node))
