"""Every limit of the network with its reason, and the pure rules of rates, back-off and bans. Time is an argument."""

import math
from dataclasses import dataclass, field
from typing import TypeVar

K = TypeVar("K")
"""Key of `Newest`."""
V = TypeVar("V")
"""Its value."""

KIB, MIB = 1024, 1024 * 1024

MAX_HEADER = 256 * KIB
"""A frame's header with its body. The largest honest one lists some thousand records or hosts."""
MAX_BODY = MAX_HEADER - 256
"""A request or reply within the header."""
MAX_PAYLOAD = 64 * MIB
"""A frame's payload. 16 MiB is the largest activation tensor in sight, 64 leaves room for a checkpoint's part."""
SMALL = 32 * KIB
"""Frames up to this size share one stream; above it waiting behind each other would cost milliseconds."""
CHUNK = 128 * KIB
"""Bytes read or written by one call into the transport: larger ones no longer pay, smaller ones bound memory."""
SEALED = 64 * KIB
"""Plain bytes sealed at once for a relay: the receiver holds a whole message before it can check it."""
LANES = 4
"""Large frames in flight in one direction of a connection: two fill the line, four keep slow ones from blocking."""
STREAMS = 16
"""Streams of one peer being read: its lanes, some that it gave up, and that of the small frames."""
TCP_LANES = 256
"""Lanes over TCP in each direction, of all peers: each is an open file, of which a process often has 1,024."""
OUTGOING = 256 * KIB
"""Small frames that wait for a peer that reads slowly; senders wait beyond it."""
RECEIVE_WINDOW = 8 * MIB
"""Bytes a peer may send before we read: 100 MB/s at 80 ms round trip."""
RECEIVING = 256 * MIB
"""Payloads being received or handled, all peers together; further ones wait in the sender. Those of calls have less
where no method takes so large ones: what others may have this PC hold follows from what it is there for. A method that
holds them for long has memory of its own beside it."""
RECEIVING_BY_PEER = 128 * MIB
"""The same for one peer, so that no peer can use all of it."""
RECEIVING_LEAST = 8 * MIB
"""For the calls of one peer, however small the payloads are that methods take; for those of all, twice as much."""
CALLS_BY_PEER = 256
"""Calls of one peer in flight: a Trainer has some dozen, a crawl of the DHT a handful."""
CALLS_PER_S = 3000.0
"""Calls of one peer, sustained: above what one connection carries one after the other. More are read later."""
FRAME_COST = 0.1
"""What a frame that is no call counts for: it starts no work."""
CALL_BURST = 6000.0
"""Calls of one peer at once: announcing some thousand experts."""
BYTES_PER_S = 512.0 * MIB
"""Bytes of one peer, sustained: above any home line, below what would starve the others on a LAN."""
BYTE_BURST = 1024.0 * MIB
"""Bytes of one peer at once."""
THROTTLE_S = 1.0
"""The longest pause in reading from a peer over its rate, so that its pings still get through."""
CONNECTIONS = 320
"""Connections at once: 200 known peers and the newcomers. Each costs some 100 KB; the longest unused go first."""
HANDSHAKES = 64
"""Connections being accepted at once: an answer to a flood of first packets."""
HANDSHAKES_PER_S = 50.0
"""New connections from one network, sustained. A household or a test machine shares one address."""
HANDSHAKE_BURST = 400.0
"""New connections from one network at once."""
CROWD = 64
"""Strangers of one network that are connected at once (see crowds.py): a class of pupils who all begin today."""
CROWD_HANDSHAKES_PER_S = 5.0
"""New connections from a network of which so many are connected: its other peers get in, one after the other."""
CROWD_CALLS_PER_S = 200.0
"""Calls of all strangers of one network, sustained: some hundredths of a core. A newcomer needs about a hundred in its
first minute, and is none any more after its first second or two."""
CROWD_CALL_BURST = 1000.0
"""Calls of all strangers of one network at once: ten begin together."""
ACQUAINTED_S = 600.0
"""A peer that has been connected for so long is an old acquaintance: who makes keys by the dozen rarely waits."""
COMMON_TIME, COMMON_TIME_BURST = 0.1, 1.0
"""Seconds of a core in each, and at once, that all peers of one block of addresses may take here with what is of no
run: the DHT, relaying, introductions. 200 PCs of a lab, each of which asks twice a second, take half of it."""
BLOCK_TIME, BLOCK_TIME_BURST = 0.75, 2.0
"""The same with all that they send: more is read later, and a quarter of the time is left for all others. 30 trainers
behind one address that ask experts 50 times a second each take less."""
FRAME_TIME, TASK_TIME = 5e-5, 4e-4
"""Seconds that it takes to read a small frame, and to run a call as a task of its own and send its answer."""
RECORD_TIME = 2e-4
"""Seconds that a thread takes to check one signature, and to keep what was signed."""
HANDSHAKE_S = 5.0
"""Time for a handshake: five round trips of the worst link."""
TRIES_PER_S, TRY_BURST = 0.3, 10.0
"""Addresses dialled in one network in which this PC is connected to nobody, sustained and at once: who names peers to
others can name a third party's addresses. A dial in vain is 7 KB."""
DIAL_S = 5.0
"""Time for a dial, also to a dead address, which never fails by itself."""
DOUBT_S = 2.0
"""A connection must show a sign of life within this although the peer made another: six bad round trips."""
LIFE_LOOK_S, LIFE_LOOKS = 0.02, 10
"""Between two looks for one, and how many there are at least, so that a PC that stalls does not blame its peers."""
RETIRED_S = 3.0
"""A connection that was replaced is kept for so long after its last call: until the other one is not in doubt."""
RETIRED = 2
"""Connections of one peer that are kept so: who connects again and again has no more of them than who does it twice."""
CLOSE_S = 0.4
"""For telling the peers that this one leaves; a dial to a dead address would hold up the end for three seconds."""
HEAD_START_S = 1.0
"""A plain dial has this long before hole punching begins beside it: three round trips of a bad link."""
IDLE_S = 90.0
"""A connection without a call is closed after this; an announcement comes every 20 s."""
PING_S = 2.5
"""Silence after which a connection in use is asked for a sign of life."""
PING_ROUNDS = 2
"""Seconds from one such ping to the next: the first may be lost."""
DEAD_ROUNDS = 5
"""Seconds without any after which the connection is given up: three pings, and within 10 s of the cut."""
FRAME_S = 10.0
"""Time for a frame once its first byte is here, and ..."""
FRAME_BYTES_PER_S = 64.0 * KIB
"""... the slowest honest rate for its bytes: a quarter of a slow line's upload, which four lanes share."""
READ_BYTES_PER_S = 8.0 * KIB
"""A receiver that keeps one of the few turns to be sent large frames may be `FRAME_S` behind this rate: its user may
let all peers together send it little, but who reads nothing has the others wait in vain."""
FORGOTTEN_S = 300.0
"""A router has usually forgotten by then to whom its PC wrote: RFC 4787 recommends five minutes."""
ADDRESSES = 8
"""Addresses of one peer: two families, LAN, outside, and a spare."""
ADDRESS_BOOK = 4096
"""Peers whose addresses are remembered: some 200 bytes each."""
VIOLATION_POINTS = 6.0
"""Strikes for breaking the rules of the wire: the second time soon after means a ban."""
FAULTY_PEERS = 1024
"""Peers whose strikes or rates are remembered; the longest unseen go first."""


class Newest(dict[K, V]):
    """So many things at most: what is set is the newest, and the oldest goes for it."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]


@dataclass
class TokenBucket:
    """A rate limit: `rate` tokens a second, at most `burst` saved up, and no more than `debt` owed."""

    rate: float
    burst: float
    debt: float | None = None
    """None: as much as `burst`."""
    tokens: float = math.inf
    at: float = 0.0

    def spend(self, amount: float, now: float) -> float:
        """Take `amount` tokens, even if that makes a debt. Returns the seconds until the debt is paid, or 0."""
        self.tokens = min(self.burst, self.tokens + max(0.0, now - self.at) * self.rate)
        self.at = now
        self.tokens = max(self.tokens - amount, -(self.burst if self.debt is None else self.debt))
        return max(0.0, -self.tokens / self.rate)

    def allows(self, amount: float, now: float) -> bool:
        """Take `amount` tokens if they are there; if not, take none."""
        self.tokens = min(self.burst, self.tokens + max(0.0, now - self.at) * self.rate)
        self.at = now
        if self.tokens < amount:
            return False
        self.tokens -= amount
        return True


class BlockTime:
    """What all peers of a block of addresses may take of this process's time."""

    def __init__(self) -> None:
        self._common = TokenBucket(COMMON_TIME, COMMON_TIME_BURST)
        self._all = TokenBucket(BLOCK_TIME, BLOCK_TIME_BURST)

    def spend(self, seconds: float, is_common: bool, now: float) -> float:
        """Take some of it.

        Args:
            seconds: of a core.
            is_common: whether for what is of no run.
            now: `time.monotonic()`.

        Returns:
            The seconds after which more may be read of them.
        """
        if is_common:
            self._common.spend(seconds, now)
        return self._all.spend(seconds, now)

    def common_wait(self, now: float) -> float:
        """Seconds until something that is of no run may be done for them, or 0."""
        return self._common.spend(0.0, now)


@dataclass
class _Record:
    score: float = 0.0
    at: float = 0.0
    bans: float = 0.0
    until: float = 0.0


@dataclass
class Bans:
    """Strikes by peer. Both the score and the memory of earlier bans decay, so that nobody is shut out for good."""

    limit: float = 10.0
    half_life_s: float = 60.0
    first_s: float = 30.0
    longest_s: float = 3600.0
    forget_s: float = 3600.0
    """Half-life of the count of earlier bans, which doubles the time of the next."""
    _records: Newest[bytes, _Record] = field(default_factory=lambda: Newest(FAULTY_PEERS))

    def strike(self, key: bytes, points: float, now: float) -> bool:
        """Note a fault. Returns whether the peer is banned now."""
        record = self._records[key] = self._records.get(key) or _Record(at=now)
        self._decay(record, now)
        record.score += points
        if record.score >= self.limit and now >= record.until:
            record.until = now + min(self.longest_s, self.first_s * 2.0**record.bans)
            record.bans += 1
            record.score = 0.0
        return now < record.until

    def _decay(self, record: _Record, now: float) -> None:
        elapsed = max(0.0, now - record.at)
        record.score *= 0.5 ** (elapsed / self.half_life_s)
        record.bans *= 0.5 ** (elapsed / self.forget_s)
        record.at = now

    def banned(self, key: bytes, now: float) -> float:
        """Seconds for which the peer is still banned, or 0."""
        record = self._records.get(key)
        return max(0.0, record.until - now) if record else 0.0

    def distrusts(self, key: bytes, now: float) -> bool:
        """Whether the peer was banned not long ago: within `forget_s`, if it was once."""
        record = self._records.get(key)
        if record is None:
            return False
        self._decay(record, now)
        return record.bans >= 0.5

    def score(self, key: bytes, now: float) -> float:
        """The peer's strikes, decayed."""
        record = self._records.get(key)
        if record is None:
            return 0.0
        self._decay(record, now)
        return record.score


@dataclass
class Backoff:
    """Waits between tries that double from `first_s` to `longest_s`."""

    first_s: float = 0.5
    longest_s: float = 5.0
    tries: int = 0
    until: float = 0.0

    def failed(self, now: float) -> None:
        """A try failed at `now`."""
        self.until = now + min(self.longest_s, self.first_s * 2.0 ** min(self.tries, 30))
        self.tries += 1

    def succeeded(self) -> None:
        """A try worked: the next failure waits `first_s` again."""
        self.tries, self.until = 0, 0.0

    def wait_s(self, now: float) -> float:
        """Seconds until the next try, or 0."""
        return max(0.0, self.until - now)


class Rates:
    """A token bucket for each asker, and one for all."""

    def __init__(self, rate: float, burst: float, all_rate: float = 1e9) -> None:
        self._rate, self._burst = rate, burst
        self._all = TokenBucket(all_rate, all_rate * 10)
        self._buckets = Newest[bytes, TokenBucket](FAULTY_PEERS)

    def allows(self, peer: bytes, now: float) -> bool:
        """Whether the peer may ask once more."""
        bucket = self._buckets[peer] = self._buckets.get(peer) or TokenBucket(self._rate, self._burst)
        return bucket.allows(1.0, now) and self._all.allows(1.0, now)
