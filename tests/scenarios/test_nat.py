"""Peers behind routers, each a real process in a network namespace: punching, relaying, client mode, cut links."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.contracts.network_status import FoundRun
from core.contracts.peer_names import called
from core.identity import Identity
from core.net.nat import NOT_CERTAIN
from tests.swarm.namespaces import ROOT, Host, Internet
from tests.swarm.nat_workers import WorkerPeer
from tests.workers import PATIENCE_S, wait_until

pytestmark = pytest.mark.usefixtures("namespaces")
TENSOR = 1_000_000
NOTICED_S = MENDED_S = 10.0


class Peer:
    """A peer's process on a host."""

    def __init__(self, host: Host, *, bootstrap: "Sequence[Peer | WorkerPeer]" = (), **options: Any) -> None:
        self.host = host
        self.seen: dict[str, Any] = {}
        seed = hashlib.sha256(host.namespace.encode()).digest()
        self.name = Identity(seed).peer.hex()
        options["bootstrap"] = [f"{peer.name}@{peer.host.address}:4000" for peer in bootstrap]
        command = [sys.executable, "-m", "tests.swarm.reaching", seed.hex(), json.dumps(options)]
        self.process = host.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        assert self._answer()["peer"] == self.name

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the peer on {self.host.name} ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def do(self, order: str, **arguments: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": order, **arguments}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def echo(self, peer: "Peer | WorkerPeer", size: int = TENSOR, seconds: float = 25) -> dict[str, Any]:
        """Send a payload there and back."""
        return self.do("echo", peer=peer.name, size=size, seconds=seconds)

    def call_expert(self, host: WorkerPeer, **order: Any) -> dict[str, Any]:
        """Ask an expert of a worker, which may be starting yet, until it answers."""

        def answer() -> dict[str, Any] | None:
            found = self.do("expert", peer=host.name, seconds=20, **order)
            return found if found.get("answered") == [True] else None

        found: dict[str, Any] = wait_until(answer, "an expert's answer")
        return found

    def until(self, what: str, seconds: float = PATIENCE_S, **wanted: Any) -> dict[str, Any]:
        """The first state with these values."""

        def check() -> dict[str, Any] | None:
            self.seen = self.do("state")
            return self.seen if all(self.seen[name] == value for name, value in wanted.items()) else None

        try:
            state: dict[str, Any] = wait_until(check, what, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; last seen {self.seen}") from error
        return state

    def meet(self, other: "Peer") -> None:
        """Learn what the other would announce."""
        state = other.do("state")
        self.do("learn", peer=other.name, addresses=state["addresses"], relays=state["relays"])

    def connected(self, other: "Peer") -> bool:
        return other.name in self.do("state")["paths"]


@pytest.fixture
def internet() -> Iterator[Internet]:
    with Internet() as made:
        yield made


def test_two_port_restricted_nats_are_punched(internet: Internet) -> None:
    public = Peer(internet.host("public"), backbone=True)
    left = Peer(internet.host("left", internet.router("a", nat="cone")), bootstrap=[public])
    right = Peer(internet.host("right", internet.router("b", nat="cone")), bootstrap=[public])
    for peer in (left, right):
        state = peer.until("its outside address", kind="punchable", nat="cone")
        assert state["outside"] == [f"{peer.host.router.address}:4000"]  # type: ignore[union-attr]
    left.meet(right)
    assert left.echo(right)["path"] == "direct"
    assert right.echo(left)["path"] == "direct"
    left.until("what worked", step={"code": "reach.by_punching", "args": {"peer": right.name}})
    assert public.do("state")["relayed_bytes"] == 0


@pytest.fixture
def backbones(internet: Internet) -> list[Peer]:
    """Two, on hosts of their own, that know each other."""
    first = Peer(internet.host("first"), backbone=True)
    second = Peer(internet.host("second"), backbone=True, bootstrap=[first])
    first.until("the other one", helpers=[second.name])
    second.until("the other one", helpers=[first.name])
    return [first, second]


def test_who_is_let_in_only_from_known_hosts_is_not_called_reachable(internet: Internet, backbones: list[Peer]) -> None:
    router = internet.router("a", nat="restricted")
    inside = Peer(internet.host("inside", router), bootstrap=backbones[:1])
    state = inside.until("its verdict", kind="punchable", nat="cone", relays=[backbones[0].name])
    assert state["step"]["code"] == "reach.by_router"  # no word of being reachable


def test_a_forwarded_port_is_called_reachable(internet: Internet, backbones: list[Peer]) -> None:
    router = internet.router("a", nat="full")
    inside = Peer(internet.host("inside", router), bootstrap=backbones[:1])
    state = inside.until("its verdict", kind="reachable", nat="cone", relays=[])
    assert state["step"]["code"] == "reach.by_stranger"
    stranger = Peer(internet.host("stranger"))
    stranger.meet(inside)
    assert stranger.echo(inside)["path"] == "direct"


@pytest.mark.parametrize("nat", ["full", "restricted"])
def test_without_a_stranger_it_is_not_certain(internet: Internet, backbones: list[Peer], nat: Any) -> None:
    inside = Peer(internet.host("inside", internet.router("a", nat=nat)), bootstrap=backbones)
    state = inside.until("its verdict", kind="punchable", helpers=sorted(peer.name for peer in backbones))
    assert state["step"]["code"] == NOT_CERTAIN.code and state["relays"]


def test_a_symmetric_nat_is_reached_through_a_willing_relay(internet: Internet) -> None:
    public = Peer(internet.host("public"), backbone=True, relays=True)
    left = Peer(internet.host("left", internet.router("a", nat="cone")), bootstrap=[public])
    right = Peer(internet.host("right", internet.router("b", nat="symmetric")), bootstrap=[public])
    right.until("the relay", kind="relayed", nat="symmetric", relays=[public.name])
    left.meet(right)
    for peer, other in ((left, right), (right, left)):
        done = peer.echo(other)
        assert done.get("path") == f"relayed via {called(public.name)}", done
    assert public.do("state")["relayed_bytes"] > 4 * TENSOR


def test_workers_behind_routers_find_each_other_and_share_experts(internet: Internet, tmp_path: Path) -> None:
    routers = {name: internet.router(name, nat="symmetric" if name == "c" else "cone") for name in "abc"}
    public = WorkerPeer(internet.host("public"), tmp_path / "public", "--role", "backbone")
    left = WorkerPeer(internet.host("left", routers["a"]), tmp_path / "left", via=public)
    host = WorkerPeer(internet.host("host", routers["b"]), tmp_path / "host", via=public, computes=True)
    odd = WorkerPeer(internet.host("odd", routers["c"]), tmp_path / "odd", via=public)

    for peer in (left, host):
        assert peer.until_reached("punchable", "cone").outside == [f"{peer.host.router.address}:4000"]  # type: ignore[union-attr]
    odd.until_reached("relayed", "symmetric")
    relayed = f"relayed via {called(public.name)}"
    for peer, other, path in (
        (left, host, "direct"),
        (host, left, "direct"),
        (left, odd, relayed),
        (odd, host, relayed),
    ):
        peer.until_path(other, path)

    for number, (name, path) in enumerate({"a": "direct", "c": relayed}.items()):
        guest = Peer(internet.host(f"guest{number}", routers[name]), bootstrap=[public], listen=["0.0.0.0:4001"])
        guest.until("its NAT", nat=routers[name].kind)
        guest.do("learn", peer=host.name, addresses=[], relays=[public.name])
        rows, width = 2000, 64
        found = guest.call_expert(host, uid="digits.0.1.3", rows=rows, width=width)
        assert found == {"answered": [True], "bytes": 4 * rows * width, "path": path}


def test_without_a_willing_relay_a_worker_only_dials_out(internet: Internet, tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "settings.json").write_text(json.dumps({"relay": False}))
    public = WorkerPeer(internet.host("public"), tmp_path / "public", "--role", "backbone")
    left = WorkerPeer(internet.host("left", internet.router("a", nat="cone")), tmp_path / "left", via=public)
    right = WorkerPeer(internet.host("right", internet.router("b", nat="symmetric")), tmp_path / "right", via=public)
    state = right.until_reached("dial-out only", "symmetric")
    assert state.address == right.name and state.step.code == "reach.by_nobody"
    for peer, other in ((right, public), (public, right), (left, public)):
        peer.until_path(other, "direct")
    left.until_reached("punchable", "cone")
    assert right.path(left) is None

    guest = Peer(internet.host("guest", left.host.router), bootstrap=[public], listen=["0.0.0.0:4001"])
    assert guest.echo(right, size=10)["error"] == "unreachable"


def test_ipv6_is_measured_and_used_alike(internet: Internet) -> None:
    listen = ["0.0.0.0:4000", "[::]:4000"]
    hosts = [internet.host(name) for name in ("public", "other")]
    hosts[1].ip("-4", "address", "flush", "dev", "eth0")
    public, other = (Peer(host, backbone=True, listen=listen) for host in hosts)
    other.do("learn", peer=public.name, addresses=[f"[{public.host.address6}]:4000"])
    assert other.echo(public)["path"] == "direct"
    state = other.until("to be reachable", kind="reachable", nat="none")
    assert state["outside"] == [f"[{other.host.address6}]:4000"]


def test_a_cut_link_is_noticed_and_mended(internet: Internet, tmp_path: Path) -> None:
    public = WorkerPeer(internet.host("public"), tmp_path / "public", "--role", "backbone")
    laptop = WorkerPeer(internet.host("laptop", internet.router("a", nat="cone")), tmp_path / "laptop", via=public)
    laptop.until_reached("punchable", "cone")

    def timed(peer: WorkerPeer, path: str | None, seconds: float) -> str:
        began = time.monotonic()
        peer.until_path(laptop if peer is public else public, path, seconds)
        return f"{time.monotonic() - began:.1f} s"

    laptop.host.cut()
    print("the cut noticed after", timed(laptop, None, NOTICED_S))
    laptop.host.mend()
    print("the link mended after", timed(laptop, "direct", MENDED_S))

    laptop.host.join(internet.router("cafe", nat="cone"))  # another network: new addresses inside and outside
    began = time.monotonic()
    outside = [f"{laptop.host.router.address}:4000"]  # type: ignore[union-attr]
    wait_until(lambda: laptop.network().outside == outside, "the new outside address", 120)  # type: ignore[union-attr]
    print(f"at home in another network after {time.monotonic() - began:.1f} s")
    laptop.until_path(public, "direct", 1)


def test_peers_on_one_lan_find_each_other(internet: Internet) -> None:
    router = internet.router("a", nat="cone")
    first, second = (Peer(internet.host(name, router), run="digits") for name in ("first", "second"))
    stranger = Peer(internet.host("stranger", router), run="another")
    first.until("the other one", known=[second.name])
    second.until("the other one", known=[first.name])
    assert first.echo(second)["path"] == "direct"
    assert stranger.do("state")["known"] == []


def test_the_workers_of_two_apps_on_one_lan_need_no_address_to_share_a_run(internet: Internet, tmp_path: Path) -> None:
    router = internet.router("a", nat="cone")
    signed, organiser = "pictures-00c0ffee", "ab" * 32
    other = Peer(internet.host("other", router), run=signed, organiser=organiser)
    for name in ("shy", "first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "settings.json").write_text(json.dumps({"version": 3, "lan": name != "shy"}))
    shy, first, second = (
        WorkerPeer(internet.host(name, router), tmp_path / name, joins=True, computes=name != "shy")
        for name in ("shy", "first", "second")
    )
    first.until_path(second, "direct")
    second.until_path(first, "direct")

    def shared() -> bool:
        here, there = first.experts(), second.experts()
        return bool(here and there) and not here & there and len(here | there) == 32

    wait_until(shared, "each expert of the run at one of them")
    [offered] = wait_until(lambda: first.ask("found_runs", list[FoundRun]), "the other peer's run")
    assert (offered.run_id, offered.organiser, offered.peers) == (signed, organiser, 1)
    assert other.name in offered.link
    state = first.network()
    assert state is not None and [peer.peer for peer in state.peers] == [second.name], "nobody is dialled for an offer"
    state = shy.network()
    assert state is not None and state.peers == []


def test_a_slow_lossy_line_works(internet: Internet) -> None:
    public = Peer(internet.host("public"), backbone=True)
    left = Peer(internet.host("left", internet.router("a", nat="cone")), bootstrap=[public])
    host = internet.host("right", internet.router("b", nat="cone"))
    host.shape(delay_ms=100, loss_percent=1)
    right = Peer(host, bootstrap=[public])
    right.until("its outside address", kind="punchable")
    left.until("its outside address", kind="punchable")
    left.meet(right)
    assert left.echo(right)["path"] == "direct"
