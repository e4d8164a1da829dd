"""Where room is short, a crowd gets no more of it than one: who uses most gives way first."""

import pytest

from core.net.crowds import branch_of, network_of
from core.net.memory import Memory
from core.net.shares import Branch, Shares

HONEST = branch_of("203.0.113.9", "honest")


def crowd(number: int, block: int = 1) -> Branch:
    """One of many keys of an address."""
    return branch_of(f"198.51.{block}.7", str(number))


@pytest.mark.parametrize(
    ("address", "branch"),
    [
        ("203.0.113.9:4711", ("203.0.113.0/24", "203.0.113.9")),
        ("[2001:db8:1:2:3::6]:4711", ("2001:db8:1::/48", "2001:db8:1:2::/64")),
        ("192.168.1.7:4711", ("192.168.1.7", "192.168.1.7")),  # neighbours at home are not of one owner
        ("127.0.0.1:4711", ("127.0.0.1", "127.0.0.1")),
        ("", ("", "")),
    ],
)
def test_addresses_that_one_owner_gets_together_are_a_block(address: str, branch: Branch) -> None:
    assert branch_of(network_of(address)) == branch


def test_a_crowd_gives_way_to_one_whatever_its_number() -> None:
    shares = Shares()
    for number in range(50):
        shares.change(crowd(number), 2)
    shares.change(HONEST, 10)
    assert shares.greatest([HONEST, *map(crowd, range(50))])[:1] == crowd(0)[:1]
    assert shares.gives_way(crowd(0), HONEST) and not shares.gives_way(HONEST, crowd(0))


def test_in_one_house_a_key_gives_way_to_another_one() -> None:
    shares = Shares()
    shares.change(crowd(0), 8)
    shares.change(crowd(1), 1)
    assert shares.gives_way(crowd(0), crowd(1)) and not shares.gives_way(crowd(1), crowd(0))
    assert not shares.gives_way(crowd(0), crowd(0)), "nobody gains by his own loss"


async def test_no_block_of_addresses_has_all_memory() -> None:
    memory = Memory(100, by_peer=50)
    mine = [await memory.reserve(crowd(number), 25) for number in range(3)]
    assert (await memory.reserve(HONEST, 25)).size == 25, "a quarter is left for others"
    assert memory.used == 100
    mine[0].release()
    assert memory.used == 75


async def test_who_sends_too_slowly_makes_room_for_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.net.memory.PATIENCE_S", 0.01)
    memory, dropped = Memory(100, by_peer=60), list[str]()

    def drop_slow() -> None:
        dropped.append("slow")
        slow.release()

    slow = await memory.reserve(crowd(1, 1), 60, drop_slow)
    quick = await memory.reserve(crowd(2, 2), 40, lambda: dropped.append("quick"))
    quick.arrived = 40
    slow._began -= 10.0  # nothing has come of it for ten seconds
    await memory.reserve(HONEST, 50)
    assert dropped == ["slow"]
