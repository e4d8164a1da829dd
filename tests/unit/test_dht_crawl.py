"""The look-up for what is stored: how many replicas it asks."""

import asyncio

import pytest
from kademlia.node import Node

from core.contracts.net import PeerAddress
from core.dht.crawl import QUORUM, REPLICAS, Answer, ValueCrawl
from core.dht.routing import Contact

KEY = Node(b"k" * 20)
PEERS = [Contact(PeerAddress(bytes([number]) * 32)) for number in range(REPLICAS)]
ALL = [b"one", b"two", b"three"]


@pytest.mark.parametrize(("nearest_keeps", "asked"), [(ALL, QUORUM), (ALL[:1], REPLICAS)])
async def test_all_replicas_are_asked_where_one_has_missed_something(nearest_keeps: list[bytes], asked: int) -> None:
    nearest = min(PEERS, key=KEY.distance_to)
    questions: list[Contact] = []

    def ask(contact: Contact, key: bytes) -> "asyncio.Future[Answer | None]":
        questions.append(contact)
        future: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        future.set_result(Answer([], nearest_keeps if contact is nearest else ALL))
        return future

    values = await ValueCrawl(KEY, PEERS, ask).find()
    assert len(values) == len(questions) == asked and ALL in values
