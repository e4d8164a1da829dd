"""A run that its organiser opens to those with a token. Real worker processes: two volunteers train with the organiser,
a third without a token is refused everywhere, one that is revoked is out within a minute, a renewed token interrupts
nobody."""

import asyncio
import time
from pathlib import Path

import pytest

from core.contracts import manifest
from core.contracts.access import Introduction, Shown
from core.contracts.control import RunLinked
from core.contracts.dht import FindValue, Values
from core.contracts.errors import AccessError, CallRefused
from core.contracts.hosting import AskManifest, Hello, HelloReply, ManifestFollows, ReadFile
from core.contracts.net import of_run
from core.contracts.network_status import DhtRecord, NetworkStatus
from core.contracts.run_details import RunDetails
from core.contracts.trunk_status import TrunkStatus
from core.dht.records import key_digest
from core.identity import Identity, PeerId
from core.net.addresses import parse_address
from core.net.admission import SHOW
from core.net.rpc import RpcNode
from core.store.access_files import TOKEN_FILE
from tests.scenarios.test_joining_by_link import run_of, step_of
from tests.unit.test_manifest_files import TINY
from tests.workers import HERE, RunningWorker, Workers, codes, hearth, start_paused, wait_until

OUT_S = 60.0
"""Within which a revoked peer must be out everywhere."""


def organise(folder: Path, access: str = "tokens", revision: int = 1) -> Path:
    """The signed manifest of a run that only those with a token may take part in, if it is not open."""
    path = folder / "tiny.toml"
    text = TINY.replace('strategy = "diloco"\nfragments = 2', 'strategy = "dedloc"\ntarget_samples = 128')
    path.write_text(f'access = "{access}"\nrevision = {revision}\n{text}')
    done = hearth(folder / "organiser", "run", "sign", str(path))
    assert done.returncode == 0, done.stderr
    return folder / "tiny.signed.json"


def key_of(running: RunningWorker) -> str:
    return running.ask("network", {}, NetworkStatus).peer


def granted(organiser: RunningWorker, peer: str, name: str, days: int = 90) -> str:
    """The link that the organiser sends to somebody."""
    done = hearth(organiser.folder, "access", "grant", "tiny", peer, "--name", name, "--days", str(days))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def invited(organiser: RunningWorker, ann: RunningWorker, address: str) -> str:
    """The link that the organiser makes in the window: by its worker, which has the key; no other PC's can."""
    asked = {"run": "tiny", "peer": address, "name": "Bob", "days": 1}
    details = {"run": "tiny"}
    assert organiser.ask("run_details", details, RunDetails).invites
    held = ann.ask("run_details", details, RunDetails)
    assert not held.invites and held.let_in_until is not None and 89 < (held.let_in_until - time.time()) / 86_400 <= 90
    with pytest.raises(AccessError, match="did not sign the run"):
        ann.ask("grant", asked, RunLinked)
    return organiser.ask("grant", asked, RunLinked).link


def joins(running: RunningWorker, link: str, says: str) -> None:
    """Its only run is that of the link from now on."""
    done = hearth(running.folder, "run", "join", link, "--yes")
    assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
    assert hearth(running.folder, "run", "leave", "digits").returncode == 0
    running.call("resume")


def members(running: RunningWorker, run_id: str) -> set[str]:
    """Who takes part, as the hash table tells this PC."""
    return {record.peer for record in running.ask("dht_get", {"key": f"{run_id}.hosts"}, list[DhtRecord])}


def accepted(running: RunningWorker) -> int:
    """Samples of this PC that the others took into the common trunk."""
    return running.ask("trunk", {}, TrunkStatus).done.accepted


def test_only_those_with_a_token_take_part(tmp_path: Path) -> None:
    path = organise(tmp_path)
    run_id = manifest.load(str(path)).run_id
    for name in ("ann", "bob", "eve"):
        start_paused(tmp_path / name)
    with Workers() as workers:
        organiser = workers.start(tmp_path / "organiser", "--run", str(path), "--listen", HERE, share=30)
        ann, bob, eve = (workers.start(tmp_path / name, "--listen", HERE, share=30) for name in ("ann", "bob", "eve"))
        keys = {running: key_of(running) for running in (organiser, ann, bob, eve)}
        joins(ann, granted(organiser, keys[ann], "Ann"), "The link's token lets this PC in.")
        joins(bob, invited(organiser, ann, hearth(bob.folder, "address").stdout.strip()), "The link's token lets")
        insiders = {keys[running] for running in (organiser, ann, bob)}
        for running in (organiser, ann, bob):
            wait_until(lambda running=running: members(running, run_id) == insiders, "all insiders")  # type: ignore[misc]
            wait_until(lambda running=running: accepted(running) > 0, "its part in the common trunk")  # type: ignore[misc]
        is_told_plainly(eve, organiser, ann, run_id)
        asked_by_hand(organiser, tmp_path, run_id)
        assert all(members(running, run_id) == insiders for running in (organiser, ann, bob))
        is_renewed(organiser, ann, keys[ann])
        is_revoked(organiser, bob, ann, run_id, keys)


def test_who_was_given_a_token_ahead_goes_on_when_an_open_run_is_closed(tmp_path: Path) -> None:
    path = organise(tmp_path, "open")
    run_id = manifest.load(str(path)).run_id
    start_paused(tmp_path / "ann")
    with Workers() as workers:
        organiser = workers.start(tmp_path / "organiser", "--run", str(path), "--listen", HERE, share=30)
        ann = workers.start(tmp_path / "ann", "--listen", HERE, share=30)
        joins(ann, granted(organiser, key_of(ann), "Ann"), "The link's token is kept")
        wait_until(lambda: accepted(ann) > 0, "its part in the common trunk")
        published = hearth(organiser.folder, "run", "publish", str(organise(tmp_path, "tokens", 2)))
        assert published.returncode == 0 and "hearth access grant tiny ADDRESS" in published.stdout, published.stderr
        joins_again = hearth(ann.folder, "run", "join", granted(organiser, key_of(ann), "Ann"), "--yes")
        assert "now uses revision 2 of its manifest" in joins_again.stdout, "also where it waits"
        before = accepted(ann)
        wait_until(lambda: accepted(ann) > before, "more of its part in the common trunk")
        assert ann.ask("run_details", {"run": run_id}, RunDetails).manifest.revision == 2
        waits = run_of(ann, run_id)
        assert waits is not None and waits.waits is None


def is_told_plainly(eve: RunningWorker, organiser: RunningWorker, ann: RunningWorker, run_id: str) -> None:
    """A volunteer without a token, or with somebody else's, is told so, and its PC does not train."""
    stolen = granted(organiser, key_of(ann), "Ann")
    refused = hearth(eve.folder, "run", "join", stolen, "--yes")
    assert refused.returncode == AccessError.exit_code and "The token is for the peer" in refused.stderr
    bare = hearth(organiser.folder, "run", "link", "tiny").stdout.strip()
    joins(eve, bare, "The link has no token")
    told = eve.until(lambda status: "access.no_token" in codes(tuple(status.attention)), "the reason")
    eve.until(lambda status: status.state == "limited" and codes(status.reason) == ["access.no_token"], "its state")
    assert codes(tuple(told.attention)).count("access.no_token") == 1
    waits = run_of(eve, run_id)
    assert waits is not None and waits.waits is not None and waits.waits.code == "access.no_token"
    assert step_of(eve, run_id) == 0 and members(eve, run_id) <= {key_of(eve)}
    assert "unknown how many alive" in hearth(eve.folder, "run", "status", "tiny").stdout
    assert "Why am I not running?" in hearth(eve.folder, "why").stdout


async def asked(node: RpcNode, peer: bytes, method: str, request: object, reply: type) -> bytes:
    return (await node.call(PeerId(peer), method, request, reply, deadline_s=20))[1]  # type: ignore[arg-type]


def asked_by_hand(organiser: RunningWorker, folder: Path, run_id: str) -> None:
    """Whoever speaks the protocol by itself and shows a token of another peer gets the manifest, and nothing else."""
    token = (folder / "ann" / "runs" / run_id / TOKEN_FILE).read_bytes()
    address = parse_address(hearth(organiser.folder, "address").stdout.strip())

    async def ask() -> None:
        async with RpcNode(Identity.generate(), listen=("127.0.0.1:0",)) as node:
            node.learn(address)
            await asked(node, address.peer, SHOW, Introduction({run_id: Shown(token)}), Introduction)
            assert await asked(node, address.peer, of_run("run.manifest", run_id), AskManifest(0), ManifestFollows)
            for method, request, reply in (
                ("host.hello", Hello(), HelloReply),
                ("file.read", ReadFile("ab" * 32, 0, 1), ManifestFollows),
                ("expert.forward", Hello(), HelloReply),
                ("trunk.join", Hello(), HelloReply),
                ("credit.show", Hello(), HelloReply),
            ):
                with pytest.raises(CallRefused, match="have shown no token that holds"):
                    await asked(node, address.peer, of_run(method, run_id), request, reply)
            ask = FindValue([key_digest(f"{run_id}.hosts")], False, "", False)
            found, _ = await node.call(PeerId(address.peer), "dht.find_value", ask, Values, deadline_s=20)
            assert found.found[0].records == []

    asyncio.run(ask())


def is_renewed(organiser: RunningWorker, ann: RunningWorker, key: str) -> None:
    """A new link takes the place of the old one while everything goes on."""

    def life() -> float:
        """Seconds for which Ann has been connected to the organiser."""
        found = [one for one in organiser.ask("network", {}, NetworkStatus).peers if one.peer == key]
        return found[0].since if found else 0.0

    since, pid, before = life(), ann.compute(), accepted(ann)
    done = hearth(ann.folder, "run", "join", granted(organiser, key, "Ann", 2), "--yes")
    assert done.returncode == 0 and "token lets this PC in" in done.stdout, done.stderr
    ann.until(lambda status: "access.ends_soon" in codes(tuple(status.attention)), "the new token, for two days")
    wait_until(lambda: accepted(ann) > before, "more of its part in the common trunk")
    assert (life(), ann.compute()) == (since, pid), "the same connection and process"


def is_revoked(
    organiser: RunningWorker, bob: RunningWorker, ann: RunningWorker, run_id: str, keys: dict[RunningWorker, str]
) -> None:
    done = hearth(organiser.folder, "access", "revoke", "tiny", "Bob")
    assert done.returncode == 0 and "No worker" not in done.stdout, done.stderr
    began = time.monotonic()
    for running in (organiser, ann):
        wait_until(lambda running=running: keys[bob] not in members(running, run_id), "Bob's end", OUT_S)  # type: ignore[misc]
    bob.until(lambda status: "access.was_revoked" in codes(tuple(status.attention)), "word of it", OUT_S)
    assert members(bob, run_id) <= {keys[bob]}
    print(f"a revoked peer was out everywhere after {time.monotonic() - began:.0f} s")
    for _ in range(2):  # the first may have begun before; until its compute ends, Bob's PC takes steps by itself
        before = accepted(ann)
        wait_until(lambda before=before: accepted(ann) > before, "the others to go on")  # type: ignore[misc]
    givers = ann.ask("trunk", {}, TrunkStatus).givers
    assert givers and keys[bob] not in {giver.peer for giver in givers}, "what a revoked peer gave was taken"
    wait_until(lambda: bob.compute() is None, "the end of Bob's training")
