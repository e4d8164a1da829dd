"""`hearth run check` and `sign`: an organiser's manifest; and what it tells those who are to join."""

import argparse
import textwrap
from collections.abc import Iterator
from pathlib import Path

from core.commands import common, proposal
from core.commands.manifest_text import lacks_licence
from core.contracts import manifest as manifests
from core.contracts.errors import ManifestError
from core.contracts.manifest import Manifest
from core.contracts.notices import Notice, notice
from core.contracts.run_details import RunDetails, access_of
from core.contracts.run_times import told
from core.contracts.signed import CONTEXT, enveloped
from core.contracts.succession import check_successor, of_organiser
from core.contracts.words import counted, size, traffic
from core.identity import Identity, peer_text
from core.store.data_folder import data_folder
from core.store.settings_file import write_atomically

WIDTH = 100
"""Columns of a description."""
SIGNED = ".signed.json"


def check(options: argparse.Namespace) -> int:
    """Say all that is wrong with a manifest, or that nothing is."""
    path = common.named_run(options)
    manifest, wrong = manifests.check(Path(path))
    if manifest is None:
        return refuse(path, wrong)
    print(f"{path} is right. {_signature(manifest)}")
    _tell_unknown_licences(manifest)
    return 0


def sign(options: argparse.Namespace) -> int:
    """Write the signed form of a manifest, unless one of another run, or one that holds against it, is there."""
    path = Path(common.named_run(options))
    manifest, wrong = manifests.check(path)
    if manifest is None:
        return refuse(str(path), wrong)
    out, signed = signed_form(manifest, path, options)
    print(f"{out}: the run {signed.run_id}, revision {signed.revision}, signed by {signed.organiser}.")
    return 0


def signed_form(manifest: Manifest, path: Path, options: argparse.Namespace) -> tuple[Path, Manifest]:
    """Sign a manifest with the key of the data folder and write it, unless it is there.

    Args:
        manifest: what the file says.
        path: the file.
        options: where to write, and the data folder.

    Raises:
        ManifestError: there is one of another run, or one that holds against it.
        HearthError: it cannot be written, or the key cannot be used.
    """
    _tell_unknown_licences(manifest)
    identity = Identity.load_or_create(data_folder(options.data_dir))
    signed = of_organiser(manifest, peer_text(identity.peer))
    out: Path = options.out or path.with_name(path.name.removesuffix(SIGNED).removesuffix(path.suffix) + SIGNED)
    if out.exists() and (before := manifests.load(str(out))) != signed:
        try:
            check_successor(before, signed)
        except ManifestError as error:
            raise ManifestError(notice("manifest.not_replaced", path=str(out), why=error.notice)) from error
    content = signed.canonical
    write_atomically(out, enveloped(content, identity.sign(CONTEXT + content)))
    return out, signed


def _tell_unknown_licences(manifest: Manifest) -> None:
    if lacks_licence(manifest.licence):
        print("Volunteers read the licences of data and model before they join. Name both, under [licence].")


def described(run: RunDetails, everything: bool = False) -> Iterator[str]:
    """The lines that tell what a run is.

    Args:
        run: the run.
        everything: with what matters to no newcomer.
    """
    manifest = run.manifest
    following = "" if run.next_revision is None else f" now, revision {run.next_revision} next"
    yield f"{manifest.title} ({run.id}), revision {manifest.revision}{following}"
    yield _signature(manifest)
    if run.namesake:
        yield f"Careful: this PC has joined another run of this title, {run.namesake}. This is not that one."
    yield from textwrap.wrap(manifest.description, WIDTH)
    licence = manifest.licence
    parts = f" in {counted(run.shards, 'part')}" if run.shards else ""
    data = (
        f", {traffic(run.data_bytes)}{parts}" if run.data_bytes else ", of unknown size" if manifest.shard_list else ""
    )
    yield f"Data      {manifest.data}{data}; licence: {licence.data if licence else 'not stated'}"
    experts = f", {counted(run.experts, 'expert')}" if run.experts else ""
    yield (
        f"Learns    a model of the kind {manifest.model.kind}, {run.numbers:,} numbers{experts}; "
        f"licence: {licence.model if licence else 'not stated'}"
    )
    if manifest.brokers:
        yield f"Tells     {', '.join(manifest.brokers)}: this PC's key and address, how training goes, its credit"
    yield f"Needs     {_needs(manifest)}"
    yield f"Takes     {_takes(run)}"
    yield from textwrap.wrap(f"Access    {access_of(run)}", WIDTH, subsequent_indent=" " * 10)
    if times := told(manifest.schedule):
        yield f"When      {times}"
    if run.next_revision is not None:
        changed = ", ".join(run.changed)
        yield f"Next      revision {run.next_revision} when compute starts next, within an hour; changes {changed}"
    if everything:
        for name, table in (("Model", manifest.model), ("Training", manifest.training), ("Trunk", manifest.trunk)):
            yield f"{name:<10}{common.in_one_line(table)}"
        yield f"Bootstrap {', '.join(manifest.bootstrap) or 'none'}"


def _needs(manifest: Manifest) -> str:
    told = [
        f"Hearth {manifest.needs}" if manifest.needs else "",
        f"{size(manifest.needs_memory_mb << 20)} of memory" if manifest.needs_memory_mb else "",
        f"{size(manifest.needs_disk_mb << 20)} free on the disk" if manifest.needs_disk_mb else "",
    ]
    return ", ".join(filter(None, told)) or "no minimum stated"


def _takes(run: RunDetails) -> str:
    """What it will cost, as `hearth run new` reckons it."""
    costs, pcs = proposal.of_manifest(run.manifest, run.data_bytes, proposal.VOLUNTEERS), proposal.VOLUNTEERS
    moved, disk = traffic(costs.sent_per_hour), traffic(costs.disk_bytes + run.data_bytes)
    line = proposal.LINE_BITS_PER_S / 1e6
    return (
        f"about {size(costs.memory_bytes)} of memory, {disk} of the disk with all data, and in an hour of training up "
        f"to {moved} sent and {moved} received. (Estimated, as if {pcs} PCs took part, each with "
        f"{proposal.FLOPS_PER_S / 1e9:.0f} GFLOP/s and a quarter of a line of {line:.0f} Mbit/s; "
        "your settings set limits.)"
    )


def _signature(manifest: Manifest) -> str:
    if manifest.organiser is None:
        return "Nobody has signed it."
    return f"Signed by {manifest.organiser}."


def refuse(path: str, wrong: list[Notice]) -> int:
    """Say all that is wrong with a file; the exit code."""
    for one in wrong:
        print(f"{path}: {one}")
    return ManifestError.exit_code
