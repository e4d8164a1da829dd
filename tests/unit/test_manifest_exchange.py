"""A signed manifest among peers, on real connections: who joins is given it, a newer one spreads, others do not."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.contracts.errors import ManifestError, NetworkError
from core.contracts.hosting import AskManifest, ManifestFollows
from core.contracts.manifest import MAX_BYTES, Manifest
from core.contracts.run_link import RunLink
from core.identity import Identity, peer_text
from core.net.addresses import address_text
from core.net.rpc import RpcNode
from core.swarm.manifest_exchange import READ_MANIFEST, ManifestExchange, fetch_manifest
from tests.unit.test_signed_manifest import ORGANISER, STRANGER, decoded, signed

FIRST, SECOND = signed(), signed(title="Digits", revision=2)
RUN = decoded(FIRST)


class Known:
    """The other members that a peer knows of."""

    def __init__(self, *others: RpcNode) -> None:
        self.others = others

    def keepers(self, part: str) -> list[str]:
        return [peer_text(other.peer) for other in self.others]


@contextlib.asynccontextmanager
async def two_peers() -> AsyncIterator[tuple[RpcNode, RpcNode]]:
    async with (
        RpcNode(Identity.generate(), listen=("127.0.0.1:0",)) as one,
        RpcNode(Identity.generate(), listen=("127.0.0.1:0",)) as other,
    ):
        one.learn(other.address())
        yield one, other


def keeps(node: RpcNode, path: Path, document: bytes, *others: RpcNode) -> ManifestExchange:
    """A peer that has a manifest."""
    path.write_bytes(document)
    return ManifestExchange(decoded(document), path, node, Known(*others).keepers)


def gives(node: RpcNode, document: bytes) -> None:
    """A peer that gives whatever it wants to."""
    node.register(f"{READ_MANIFEST}@{RUN.run_id}", AskManifest, lambda *_: (ManifestFollows(), document))


def link_through(*nodes: RpcNode, run: Manifest = RUN) -> RunLink:
    return RunLink(run.run_id, str(run.organiser), tuple(address_text(node.address()) for node in nodes))


async def test_a_newer_manifest_goes_from_peer_to_peer_and_is_kept(tmp_path: Path) -> None:
    async with two_peers() as (here, there):
        mine = keeps(here, tmp_path / "here.json", FIRST, there)
        theirs = keeps(there, tmp_path / "there.json", SECOND)
        await mine.tend()
        assert mine.successor == decoded(SECOND) and theirs.successor is None
        assert (tmp_path / "here.json").read_bytes() == SECOND
        await mine.tend()
        assert mine.successor == decoded(SECOND) and not mine.notes


@pytest.mark.parametrize(
    ("document", "strikes"),
    [
        (FIRST, True),
        (signed(title="Other words"), True),
        (signed(by=STRANGER, revision=2), True),
        (SECOND.replace(b"Digits", b"Dagits"), True),
        (SECOND[:-20], True),
        (b"\x00" * 100, True),
        (signed(revision=2, needs="99.1"), False),
        (signed("digits-vc", revision=2), True),
    ],
    ids=["the same", "other words", "foreign", "tampered", "half", "rubbish", "for a newer Hearth", "another run"],
)
async def test_nothing_else_takes_its_place(tmp_path: Path, document: bytes, strikes: bool) -> None:
    async with two_peers() as (here, there):
        mine = keeps(here, tmp_path / "here.json", FIRST, there)
        gives(there, document)
        await mine.tend()
        assert mine.successor is None and (tmp_path / "here.json").read_bytes() == FIRST
        assert (here.bans.score(there.peer, 0.0) > 0) == strikes
        assert any("Hearth 99.1" in str(note) for note in mine.notes) == (b"99.1" in document)


async def test_more_than_a_manifest_may_have_is_not_even_read(tmp_path: Path) -> None:
    async with two_peers() as (here, there):
        mine = keeps(here, tmp_path / "here.json", FIRST, there)
        gives(there, bytes(MAX_BYTES + 1))
        with pytest.raises(NetworkError, match="bytes as a manifest"):
            await mine.tend()


async def test_a_link_leads_to_the_newest_manifest_of_its_run_and_organiser(tmp_path: Path) -> None:
    async with two_peers() as (here, there), RpcNode(Identity.generate(), listen=("127.0.0.1:0",)) as third:
        keeps(there, tmp_path / "there.json", FIRST)
        keeps(third, tmp_path / "third.json", SECOND)
        assert await fetch_manifest(here, link_through(there, third)) == (decoded(SECOND), SECOND)
        stranger_s = decoded(signed(by=STRANGER))
        with pytest.raises(NetworkError, match="No peer of the link gave the manifest"):
            await fetch_manifest(here, link_through(there, run=stranger_s))


@pytest.mark.parametrize("document", [signed(by=STRANGER), signed("digits-vc"), FIRST[:-9], b""])
async def test_what_a_link_s_peers_give_must_be_that_run_s(tmp_path: Path, document: bytes) -> None:
    async with two_peers() as (here, there):
        gives(there, document)
        with pytest.raises(ManifestError):
            await fetch_manifest(here, link_through(there))
        assert peer_text(ORGANISER.peer) == RUN.organiser
