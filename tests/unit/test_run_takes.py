"""What who is asked to join is told that a run takes: data, memory, disk, traffic. And of which run it is no twin."""

import msgspec
import pytest

from core.commands.manifests import described
from core.commands.proposal import UPLOAD_BYTES_PER_S, of_manifest
from core.contracts.manifest import Manifest, Shard, ShardList, load
from core.contracts.run_details import RunDetails, details_of

TEXT = load("text")
LISTED = msgspec.structs.replace(TEXT, shards=(), shard_list=ShardList("ab" * 32, 1000), data_bytes=3_200_000)


def told(run: RunDetails, name: str) -> str:
    [line] = [line for line in described(run) if line.startswith(name)]
    return line.removeprefix(name).strip()


def test_data_memory_disk_and_traffic_are_told() -> None:
    run = details_of(TEXT)
    assert "466 kB in 8 parts" in told(run, "Data")
    takes = told(run, "Takes")
    assert "of memory" in takes and "of the disk" in takes and "received. (Estimated" in takes
    assert "3.2 MB;" in told(details_of(LISTED), "Data"), "the organiser says it to those who lack the list"
    unsaid = msgspec.structs.replace(LISTED, data_bytes=None)
    assert "of unknown size" in told(details_of(unsaid), "Data")
    here = details_of(LISTED, [Shard("cd" * 32, 100_000), Shard("ef" * 32, 100_000, held_out=True)])
    assert (here.shards, here.data_bytes) == (2, 200_000), "the list says more than the organiser"


@pytest.mark.parametrize("name", ["digits", "digits-vc", "stories", "text"])
def test_more_pcs_share_what_there_is(name: str) -> None:
    manifest: Manifest = load(name)
    few, many = of_manifest(manifest, 1_000_000, 4), of_manifest(manifest, 1_000_000, 40)
    assert many.memory_bytes <= few.memory_bytes and many.disk_bytes <= few.disk_bytes
    assert 0 < few.sent_per_hour <= 3600 * UPLOAD_BYTES_PER_S * 1.01, (
        "no more than the limit of a home line lets through"
    )
    assert of_manifest(manifest, 1_000_000, 1).sent_per_hour <= few.sent_per_hour


def test_a_run_that_looks_like_a_signed_one_is_told_from_it() -> None:
    run = msgspec.structs.replace(details_of(TEXT), namesake="text-12345678")
    assert "another run of this title, text-12345678" in "\n".join(described(run))
