"""A small internet of Linux network namespaces for tests: public hosts, routers with NAT, delay, loss, cut links.

Everything is made inside namespaces of its own names and goes with them; the machine's own network is not touched.

    with Internet() as internet:
        public = internet.host("public")
        router = internet.router("home", nat="cone")
        laptop = internet.host("laptop", router)
        process = laptop.start([sys.executable, ...])
        laptop.cut(); laptop.mend()
"""

import contextlib
import ctypes
import math
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

Nat = Literal["full", "restricted", "cone", "symmetric"]
ROOT = Path(__file__).parents[2]
PUBLIC = "203.0.113"
PUBLIC6 = "2001:db8:1"
"""Addresses for documentation (RFC 5737, RFC 3849) play the internet; homes have IPv4 only."""

ROUTER_RULES = """
table ip hearth {{
    set written {{
        type ipv4_addr
        flags dynamic,timeout
        timeout 5m
    }}
    chain inbound {{
        type nat hook prerouting priority dstnat;
        {forwards}
    }}
    chain outbound {{
        type nat hook postrouting priority srcnat;
        oifname "outside" masquerade {random};
    }}
    chain forwarded {{
        type filter hook forward priority filter; policy drop;
        oifname "outside" update @written {{ ip daddr }}
        ct state established,related accept
        ct status dnat accept
        iifname "inside" accept
    }}
    chain arriving {{
        type filter hook input priority filter; policy accept;
        iifname "outside" ct state established,related accept
        iifname "outside" drop
    }}
}}
"""
"""A home router. It must drop stray packets in silence: one that answers them remembers them, and that changes the
mapping of the packet sent towards them a moment later, so that no hole opens. Linux keeps a port where it can and
lets in only whom the host has written to: a port-restricted cone. With `random` each destination sees another port:
symmetric. With `forwards` the first host gets what comes to its port: from everywhere (full), or from all ports of the
hosts that were written to (restricted)."""
FORWARDS = {
    "full": 'iifname "outside" udp dport 4000 dnat to {host}',
    "restricted": 'iifname "outside" ip saddr @written udp dport 4000 dnat to {host}',
}


CLONE_NEWNET = 0x40000000
"""Of Linux's setns(2)."""
T = TypeVar("T")


class NamespaceError(Exception):
    """A command of iproute2 or nftables failed."""


def run(*command: str, text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise NamespaceError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def impossible() -> str | None:
    """Why this machine cannot run namespaces, or None if it can."""
    missing = [program for program in ("ip", "tc", "nft") if not shutil.which(program)]
    if missing:
        return f"programs are missing: {', '.join(missing)} (packages iproute2 and nftables)"
    try:
        with Internet() as internet:
            host = internet.host("probe", internet.router("router", nat="symmetric"))
            host.shape(delay_ms=1, loss_percent=1)
    except (NamespaceError, OSError, subprocess.SubprocessError) as error:
        return f"network namespaces with NAT and netem do not work here (root is needed): {error}"
    return None


class Node:
    """One namespace."""

    def __init__(self, internet: "Internet", name: str) -> None:
        self.internet, self.name = internet, name
        self.namespace = f"{internet.prefix}-{name}"
        self.address = ""
        run("ip", "netns", "add", self.namespace)
        internet.nodes.append(self)
        self.ip("link", "set", "lo", "up")

    def ip(self, *arguments: str) -> str:
        return run("ip", "-n", self.namespace, *arguments)

    def inside(self, *command: str, text: str = "") -> str:
        """Run one command in the namespace to its end."""
        return run("ip", "netns", "exec", self.namespace, *command, text=text)

    def within(self, act: Callable[[], T]) -> T:
        """Do something in the namespace, in a thread of this process that moves there: without the start of another."""

        def moved() -> T:
            with Path("/run/netns", self.namespace).open() as place:
                if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), f"cannot move to {self.namespace}")
            return act()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(moved).result()

    def start(self, command: list[str], **options: Any) -> "subprocess.Popen[str]":
        """Start a real process in the namespace; it is ended with the internet at the latest."""
        process = subprocess.Popen(["ip", "netns", "exec", self.namespace, *command], text=True, **options)
        self.internet.processes.append(process)
        return process

    def plug(self, interface: str, switch: "Node", address: str | None) -> None:
        """A cable from here to the bridge of `switch`."""
        port = f"p{secrets.token_hex(4)}"
        self.ip("link", "add", interface, "type", "veth", "peer", "name", port, "netns", switch.namespace)
        self._configure(interface, address)
        switch.ip("link", "set", port, "master", "switch", "up")

    def _configure(self, interface: str, address: str | None) -> None:
        if address:
            self.ip("address", "add", f"{address}/24", "dev", interface)
        self.ip("link", "set", interface, "up")

    def bridge(self) -> None:
        self.ip("link", "add", "switch", "type", "bridge")
        self.ip("link", "set", "switch", "up")


class Host(Node):
    """A computer with one cable, `eth0`."""

    def __init__(self, internet: "Internet", name: str, router: "Router | None") -> None:
        super().__init__(internet, name)
        self.join(router)

    def join(self, router: "Router | None") -> None:
        """Plug the cable in at another place, as a laptop does."""
        if self.address:
            self.ip("link", "delete", "eth0")
        self.router = router
        switch = router.lan if router else self.internet.switch
        self.address = router.next_address() if router else self.internet.next_address()
        self.plug("eth0", switch, self.address)
        if router is None:
            self.address6 = f"{PUBLIC6}::{self.address.rpartition('.')[2]}"
            self.ip("address", "add", f"{self.address6}/64", "dev", "eth0", "nodad")
        self._set_route()

    def _set_route(self) -> None:
        if self.router:
            self.ip("route", "add", "default", "via", self.router.inside_address)

    def cut(self) -> None:
        """The cable is cut somewhere on the way: the interface stays up, nothing gets through."""
        self.inside("nft", "-f", "-", text=CUT)

    def mend(self) -> None:
        self.inside("nft", "delete", "table", "netdev", "cut")

    def limit(self, mbit: float, delay_ms: float) -> None:
        """Let this host's cable carry so much each way, and delay what goes over it: by half of it each way."""
        self._insert_wire(delay_ms / 2, 0, mbit)

    def shape(self, delay_ms: float, loss_percent: float) -> None:
        """Delay and lose packets on this host's cable: what it sends by netem, or both ways half each by `wire.py`."""
        netem = ("netem", "delay", f"{delay_ms}ms", "loss", f"{loss_percent}%", "limit", "20000")
        try:
            self.inside("tc", "qdisc", "replace", "dev", "eth0", "root", *netem)
        except NamespaceError as error:
            if "qdisc kind is unknown" not in str(error):
                raise
            self._insert_wire(delay_ms / 2, loss_percent / 2)

    def _insert_wire(self, delay_ms: float, loss_percent: float, mbit: float = math.inf) -> None:
        wire = Node(self.internet, f"{self.name}-wire")
        self.ip("link", "delete", "eth0")
        self.ip("link", "add", "eth0", "type", "veth", "peer", "name", "near", "netns", wire.namespace)
        wire.ip("link", "set", "near", "up")
        switch = self.router.lan if self.router else self.internet.switch
        wire.plug("far", switch, None)
        self._configure("eth0", self.address)
        self._set_route()
        command = [sys.executable, "-m", "tests.swarm.wire", *map(str, (delay_ms, loss_percent, mbit))]
        process = wire.start(command, stdout=subprocess.PIPE, cwd=ROOT)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"


CUT = """
table netdev cut {
    chain arriving { type filter hook ingress device "eth0" priority 0; policy drop; }
    chain leaving { type filter hook egress device "eth0" priority 0; policy drop; }
}
"""


class Router(Node):
    """A home router: `outside` is on the internet, `inside` leads to a LAN of its own."""

    def __init__(self, internet: "Internet", name: str, nat: Nat) -> None:
        super().__init__(internet, name)
        self.kind = nat
        number = sum(isinstance(node, Router) for node in internet.nodes)
        self.prefix, self.used = f"192.168.{number}", 1
        self.inside_address = f"{self.prefix}.1"
        self.address = internet.next_address()
        self.lan = Node(internet, f"{name}-lan")
        self.lan.bridge()
        self.plug("outside", internet.switch, self.address)
        self.plug("inside", self.lan, self.inside_address)
        self.inside("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        random = "fully-random" if nat == "symmetric" else ""
        forwards = FORWARDS.get(nat, "").format(host=f"{self.prefix}.2")
        self.inside("nft", "-f", "-", text=ROUTER_RULES.format(random=random, forwards=forwards))

    def next_address(self) -> str:
        self.used += 1
        return f"{self.prefix}.{self.used}"


class Internet:
    """Context of it all: on leaving, also by a failure, processes are ended and namespaces removed."""

    def __init__(self) -> None:
        self.prefix = f"hearth-{os.getpid()}-{secrets.token_hex(2)}"
        self.nodes: list[Node] = []
        self.processes: list[subprocess.Popen[str]] = []
        self.used = 0

    def __enter__(self) -> Self:
        try:
            self.switch = Node(self, "internet")
            self.switch.bridge()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def next_address(self) -> str:
        self.used += 1
        return f"{PUBLIC}.{self.used}"

    def host(self, name: str, router: Router | None = None) -> Host:
        """A computer on a router's LAN, or on the internet itself."""
        return Host(self, name, router)

    def router(self, name: str, nat: Nat) -> Router:
        return Router(self, name, nat)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(60)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
        for node in self.nodes:
            if Path("/run/netns", node.namespace).exists():
                run("ip", "netns", "delete", node.namespace)
