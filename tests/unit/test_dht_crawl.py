"""The look-ups: how many replicas they ask, and that who lies leads them nowhere."""

import asyncio

import pytest
from kademlia.node import Node

from core.contracts.net import PeerAddress
from core.dht.crawl import QUORUM, REPLICAS, Answer, PeerCrawl, ValueCrawl
from core.dht.routing import Contact, NearestRoutingTable, spread

KEY = Node(b"k" * 20)
PEERS = [Contact(PeerAddress(bytes([number]) * 32)) for number in range(REPLICAS)]
ALL = [b"one", b"two", b"three"]


def answered(answer: Answer | None) -> "asyncio.Future[Answer | None]":
    future: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def contacts(count: int, address: str, first: int = 0) -> list[Contact]:
    """Peers at one place, nearest to the key first."""
    numbers = range(first, first + count)
    made = [Contact(PeerAddress(number.to_bytes(32), (address.format(number % 250),))) for number in numbers]
    return sorted(made, key=KEY.distance_to)


@pytest.mark.parametrize(("nearest_keeps", "asked"), [(ALL, QUORUM), (ALL[:1], REPLICAS)])
async def test_all_replicas_are_asked_where_one_has_missed_something(nearest_keeps: list[bytes], asked: int) -> None:
    nearest = min(PEERS, key=KEY.distance_to)
    questions: list[Contact] = []

    def ask(contact: Contact, key: bytes) -> "asyncio.Future[Answer | None]":
        questions.append(contact)
        return answered(Answer([], nearest_keeps if contact is nearest else ALL))

    values = await ValueCrawl(KEY, PEERS, ask).find()
    assert len(values) == len(questions) == asked and ALL in values


async def test_a_liar_that_names_a_crowd_does_not_keep_a_search_from_those_that_are_there() -> None:
    """It is the nearest of those known at first, and each of its crowd names the rest of it."""
    everybody = contacts(400, "203.0.113.{}:4000")
    holders, crowd, [liar, *known] = everybody[:6], everybody[6:200], everybody[200:208]
    liars = {liar, *crowd}

    def ask(contact: Contact, key: bytes) -> "asyncio.Future[Answer | None]":
        if contact in liars:
            return answered(Answer(crowd[:20], [b"a lie"]))
        return answered(Answer([] if contact in holders else holders, ALL if contact in holders else None))

    assert {*holders[:3]} <= {*await PeerCrawl(KEY, [liar, *known], ask).find()}
    assert ALL in await ValueCrawl(KEY, [liar, *known], ask).find()


async def test_a_crowd_around_a_key_is_not_all_of_its_neighbourhood() -> None:
    """Sixty keys were made until they lay nearer to it than all others; those are in one block of addresses."""
    everybody = contacts(90, "203.0.{0}.7:4000")
    crowd = contacts(6000, "198.51.100.{}:4000", 1000)[:60]
    assert KEY.distance_to(crowd[REPLICAS]) < KEY.distance_to(everybody[0])
    chosen = spread(sorted([*crowd, *everybody], key=KEY.distance_to), REPLICAS)
    assert sum(contact in crowd for contact in chosen) <= REPLICAS // 3
    assert chosen == sorted(chosen, key=KEY.distance_to)

    table = NearestRoutingTable(Contact(PeerAddress(bytes(32))), lambda contact: None)
    for contact in [*crowd, *everybody]:
        table.add_contact(contact)
    assert sum(contact in crowd for contact in table.find_neighbors(KEY, REPLICAS)) <= REPLICAS // 3


def test_where_all_are_in_one_place_the_nearest_are_taken() -> None:
    here = contacts(50, "127.0.0.1:{}")
    assert spread(here, REPLICAS) == here[:REPLICAS]
