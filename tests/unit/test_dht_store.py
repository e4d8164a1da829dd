"""The store: newest wins, caps hold, what has expired goes, and a damaged state file costs nothing but its content."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kademlia.storage import ForgetfulStorage

from core.dht.records import Record, Verdict, key_digest, make
from core.dht.room import Payer, Rank
from core.dht.store import Limits, RecordStore, load_state, save_state
from core.identity import Identity
from core.net.crowds import branch_of

NOW = 1_800_000_000.0
MS = int(NOW * 1000)
PEERS = [Identity(bytes([i]) * 32) for i in range(1, 6)]


def record(
    key: str = "key", subkey: str = "", value: bytes | None = b"v", who: int = 0, age: int = 0, life: float = 60
) -> Record:
    """`age` in ms of the sequence number."""
    return make(PEERS[who], key, subkey, value, MS - age, NOW + life)


SIZE = len(record("k0", age=9).raw)


def values(store: RecordStore, key: str = "key", now: float = NOW) -> list[bytes]:
    return [found.value for found in store.of(key_digest(key), now)]


def test_the_newest_of_a_publisher_wins_in_any_order() -> None:
    old, new = record(value=b"old", age=5), record(value=b"new")
    for first, second, verdict in [(old, new, Verdict.STORED), (new, old, Verdict.OLDER)]:
        store = RecordStore()
        store.put(first, NOW)
        assert store.put(second, NOW) is verdict
        assert values(store) == [b"new"]
    assert store.put(new, NOW) is Verdict.SAME


def test_the_stock_store_lets_the_last_writer_win() -> None:
    stock = ForgetfulStorage()
    stock[b"key"] = b"new"
    stock[b"key"] = b"old"
    assert stock.get(b"key") == b"old", "if this fails the package was mended: see whether our store is still needed"


def test_publishers_do_not_touch_each_others_records() -> None:
    store = RecordStore()
    store.put(record(value=b"mine", who=0, age=9), NOW)
    store.put(record(value=b"other", who=1), NOW)
    assert sorted(values(store)) == [b"mine", b"other"]


def test_a_tombstone_hides_and_outlives_what_it_buries() -> None:
    store = RecordStore()
    old = record(age=5)
    store.put(old, NOW)
    store.put(record(value=None), NOW)
    assert store.suffixes(key_digest("key"), "", 10, 1000, NOW) == ({}, None, 1000)
    assert store.put(old, NOW) is Verdict.OLDER


def test_records_expire_and_leave_nothing() -> None:
    store = RecordStore()
    store.put(record(life=10), NOW)
    store.put(record("other", life=20), NOW)
    assert values(store, now=NOW + 10) == []
    assert store.expire(NOW + 10) == 1
    assert len(store) == 1 and values(store, "other", NOW + 10) == [b"v"]
    assert store.expire(NOW + 20) == 1
    assert (len(store), store.total.bytes, store.digests(), list(store)) == (0, 0, [], [])
    assert store.put(record(life=10), NOW + 11) is Verdict.EXPIRED


def test_the_stock_store_keeps_what_should_be_gone() -> None:
    stock = ForgetfulStorage()
    stock[b"key"] = b"a host that died an hour ago"
    assert stock.ttl == 604800 and stock.get(b"key") is not None


@pytest.mark.parametrize(
    ("limits", "verdict", "extra"),
    [
        (Limits(records=3), Verdict.FULL, record("k9", who=1)),
        (Limits(bytes=3 * SIZE), Verdict.FULL, record("k9", who=1)),
        (Limits(publisher_records=3), Verdict.PUBLISHER_FULL, record("k9")),
        (Limits(publisher_bytes=3 * SIZE), Verdict.PUBLISHER_FULL, record("k9")),
    ],
)
def test_caps(limits: Limits, verdict: Verdict, extra: Record) -> None:
    store = RecordStore(limits)
    for place in range(3):
        assert store.put(record(f"k{place}", age=9), NOW) is Verdict.STORED
    assert store.put(extra, NOW) is verdict
    assert store.put(record("k0"), NOW) is Verdict.STORED, "what is there may be renewed"
    assert store.put(make(PEERS[1], "k9", "", b"v", MS, NOW + 100), NOW + 61) is Verdict.STORED, (
        "expired ones make room"
    )


def test_caps_of_a_key() -> None:
    store = RecordStore(Limits(key_subkeys=2, subkey_publishers=2))
    assert [store.put(record(subkey=s), NOW) for s in "ab"] == [Verdict.STORED] * 2
    assert store.put(record(subkey="c"), NOW) is Verdict.KEY_FULL
    assert [store.put(record(subkey="a", who=w), NOW) for w in (1, 2)] == [Verdict.STORED, Verdict.KEY_FULL]


def test_replacing_for_ever_does_not_grow() -> None:
    store = RecordStore()
    for age in range(2000, 0, -1):
        store.put(record(age=age, life=3000), NOW)
    assert len(store) == 1 and len(store._expiries) < 100


@given(st.integers(200, 3000), st.integers(1, 40))
def test_pages_hold_everything_once(budget: int, count: int) -> None:
    store = RecordStore()
    for place in range(count):
        store.put(record(subkey=str(place)), NOW)
    seen: list[bytes] = []
    after: str | None = ""
    while after is not None:
        page, after = store.page(key_digest("key"), after, budget, NOW)
        seen += page
    assert sorted(seen) == sorted(found.raw for found in store)
    names: list[str] = []
    after = ""
    while after is not None:
        found, after, _ = store.suffixes(key_digest("key"), after, 7, budget // 10, NOW)
        names += found
    assert sorted(names) == sorted(map(str, range(count)))


def test_state_survives_a_restart(tmp_path: Path) -> None:
    contacts = [(PEERS[0].peer.hex(), ["127.0.0.1:1"])]
    save_state(tmp_path / "dht.json", contacts, [record(), record("gone", life=5)])
    found, records = load_state(tmp_path / "dht.json", NOW + 6)
    assert found == contacts and [r.key for r in records] == ["key"]
    assert [path.name for path in tmp_path.iterdir()] == ["dht.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 9, "contacts": [], "records": []}', b"\xff" * 99,
                                     b'{"version": 1, "contacts": [], "records": ["%"]}', b"[" * 100_000])  # fmt: skip
def test_a_damaged_state_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "dht.json"
    path.write_bytes(content)
    assert load_state(path, NOW) == ([], [])
    assert not path.exists() and [kept.read_bytes() for kept in tmp_path.iterdir()] == [content]


def test_a_forged_record_in_the_state_is_left_out(tmp_path: Path) -> None:
    forged = record()
    forged = Record(
        **{name: getattr(forged, name) for name in forged.__struct_fields__[:-1]}, raw=forged.raw[:-1] + b"!"
    )
    save_state(tmp_path / "dht.json", [], [forged])
    assert load_state(tmp_path / "dht.json", NOW) == ([], [])


def payer(rank: Rank, address: str, key: str = "key") -> Payer:
    return Payer(rank, branch_of(address, key))


MEMBER = payer(Rank.MEMBER, "203.0.113.9")
CROWD = [Identity(bytes([number]) * 32) for number in range(10, 18)]


def offer(
    store: RecordStore, name: str, who: Identity, by: Payer, value: bytes | None = b"v", subkey: str = ""
) -> Verdict:
    return store.put(make(who, name, subkey, value, MS, NOW + 60), NOW, by)


def test_a_crowd_that_filled_the_store_makes_room_for_others_and_they_make_none_for_it() -> None:
    store, by = RecordStore(Limits(records=80)), [payer(Rank.MEMBER, "198.51.100.7", str(n)) for n in range(8)]
    for place in range(80):
        assert offer(store, f"k{place}", CROWD[place % 8], by[place % 8]) is Verdict.STORED
    for place in range(30):
        assert offer(store, f"honest{place}", PEERS[0], MEMBER) is Verdict.STORED
    assert offer(store, "one more", CROWD[0], by[0]) is Verdict.FULL
    assert sum(found.key.startswith("honest") for found in store) == 30 and len(store) == 80
    neighbour = payer(Rank.MEMBER, "198.51.100.7", "neighbour")
    assert offer(store, "next door", PEERS[1], neighbour) is Verdict.STORED, "the same address, another key"


def test_strangers_and_tombstones_have_a_part_of_the_store_and_give_way_to_members() -> None:
    store, stranger = RecordStore(Limits(records=8, strangers=4)), payer(Rank.STRANGER, "198.51.100.7")
    assert [offer(store, f"k{n}", CROWD[0], stranger) for n in range(5)] == [Verdict.STORED] * 4 + [Verdict.FULL]
    assert offer(store, "from elsewhere", CROWD[1], payer(Rank.STRANGER, "192.0.2.1")) is Verdict.STORED
    assert [offer(store, f"m{n}", PEERS[0], MEMBER) for n in range(8)] == [Verdict.STORED] * 8
    assert {found.key[0] for found in store} == {"m"}
    assert offer(store, "dead", PEERS[0], MEMBER, None) is Verdict.FULL, "no tombstone takes room from the living"


def test_tombstones_of_a_crowd_keep_no_host_out_of_a_key() -> None:
    store = RecordStore(Limits(key_subkeys=4))
    for one in CROWD:
        assert offer(store, "prefix", one, payer(Rank.MEMBER, "198.51.100.7"), None, "3") is Verdict.STORED
    assert offer(store, "prefix", PEERS[0], MEMBER, b"", "3") is Verdict.STORED
    assert list(store.suffixes(key_digest("prefix"), "", 9, 999, NOW)[0]) == ["3"]
    for subkey in "4567":
        offer(store, "prefix", CROWD[0], payer(Rank.MEMBER, "198.51.100.7"), None, subkey)
    assert offer(store, "prefix", PEERS[0], MEMBER, b"", "8") is Verdict.STORED
    assert {*store.suffixes(key_digest("prefix"), "", 9, 999, NOW)[0]} == {"3", "8"}


def test_what_strangers_put_under_one_key_leaves_readers_the_rest() -> None:
    store, stranger = RecordStore(Limits(key_strangers=3)), payer(Rank.STRANGER, "198.51.100.7")
    told = [offer(store, "run.hosts", one, stranger, b"v", one.peer.hex()) for one in CROWD]
    assert told == [Verdict.STORED] * 3 + [Verdict.KEY_FULL] * 5
    assert offer(store, "run.hosts", PEERS[0], MEMBER, b"v", PEERS[0].peer.hex()) is Verdict.STORED
    store.expire(NOW + 61)
    assert (len(store), store._payers, store._key_rooms) == (0, {}, {})
