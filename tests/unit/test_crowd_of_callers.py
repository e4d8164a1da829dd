"""Callers of one network are one in what an expert learns, unless they are known or near."""

import random

import msgspec
import pytest
import torch

from core.contracts import manifest as manifests
from core.experts.calls import Call
from core.runtime.agreement import LEAST
from core.runtime.kernel_gate import KernelGate
from core.runtime.runtime import Runtime
from core.swarm.crowd import crowds
from tests.experts import all_experts

DIGITS = manifests.load("digits")
FAR = {"192.0.2.1:4401": "192.0.2.1", "192.0.2.1:9": "192.0.2.1", "[2001:db8::7]:1": "2001:db8::/64"}
NEAR = ("127.0.0.1:1", "192.168.0.7:1", "[fe80::1]:1", None)


@pytest.mark.parametrize("address", [*FAR, *NEAR])
def test_keys_of_one_network_are_one_and_neighbours_are_not(address: str | None) -> None:
    assert crowds(DIGITS)(address) == FAR.get(address or "", "")
    assert crowds(msgspec.structs.replace(DIGITS, access="tokens"))(address) == ""


async def test_many_keys_of_one_network_weigh_as_much_as_one() -> None:
    [backend, *_] = all_experts(DIGITS)
    gate = KernelGate()
    gate.open()
    runtime = Runtime({backend.uid: backend}, gate)

    async def send(caller: str, crowd: str, size: float) -> None:
        rows = torch.randn(8, 64)
        call = Call(backend.uid, rows, size * rows, backend.version)
        request = runtime.submit([call], "backward", caller, crowd=crowd)
        while not request.answers.done():
            runtime.serve_next()

    for number in range(20):
        for trainer in ("a", "b", "c"):
            await send(trainer, "", 1.0)
        await send(f"key {number}", "one network", 50.0)
    assert len(backend.guard._callers) == 4
    clipped = runtime.admission.clipped
    assert clipped["a"] == 0 and sum(count for name, count in clipped.items() if name.startswith("key")) >= 18


async def test_who_is_hardly_believed_makes_no_steps() -> None:
    [backend, *_] = all_experts(DIGITS)
    gate = KernelGate()
    gate.open()
    runtime = Runtime({backend.uid: backend}, gate)
    torch.manual_seed(1)
    random.seed(3)
    common = torch.randn(64, 64) / 8

    async def send(caller: str, sign: float) -> None:
        rows = torch.randn(8, 64)
        call = Call(backend.uid, rows, sign * rows @ common + 0.5 * torch.randn(8, 64), backend.version)
        request = runtime.submit([call], "backward", caller)
        while not request.answers.done():
            runtime.serve_next()

    for _ in range(300):
        for trainer in ("a", "b", "c"):
            await send(trainer, 1.0)
        await send("liar", -1.0)
    assert runtime.admission.agreement.weight("liar") == LEAST
    steps = backend.version
    for _ in range(20):
        await send("liar", -1.0)
    assert backend.version == steps
    await send("a", 1.0)
    assert backend.version == steps + 1
