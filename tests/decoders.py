"""A small decoder that learnt some text, and its states as the worker collects them for an export."""

import argparse
from pathlib import Path
from typing import Any

import msgspec

from core.commands.new_run import new
from core.contracts import manifest as manifests
from core.contracts.export import Collected, CollectedPart
from core.contracts.manifest import Manifest
from core.runtime.part_files import Part
from core.store import shards
from tests.experts import pack
from tests.unit.text_run import Setup


def organised(folder: Path, tokenizer: Path | None = None) -> tuple[Manifest, Path]:
    """A run of tokens as `hearth run new` proposes it, and its folder."""
    texts = folder / "texts"
    texts.mkdir(parents=True)
    for number, page in enumerate(shards.local_text()[:200_000].split(b"\n\n\n")):
        (texts / f"{number}.txt").write_bytes(page)
    asked = dict.fromkeys(("name", "title", "licence", "volunteers", "column"))
    out = folder / "mine.toml"
    new(
        argparse.Namespace(
            run=str(texts), yes=True, out=out, data_dir=folder, template="decoder", tokenizer=tokenizer, **asked
        )
    )
    run = manifests.load(str(out))
    small: dict[str, Any] = {
        "layers": 1,
        "grid": (2, 2),
        "width": 16,
        "hidden": 16,
        "heads": 2,
        "kv_heads": 1,
        "sequence": 32,
    }
    return (
        msgspec.structs.replace(
            run,
            model=msgspec.structs.replace(run.model, **small),
            training=msgspec.structs.replace(run.training, trunk_rate=0.01, warmup_samples=500, target_samples=16),
        ),
        folder / "runs" / run.run_id,
    )


async def trained(manifest: Manifest, folder: Path, steps: int) -> Setup:
    """A model that was trained a little: gates of a new one choose alike for all tokens."""
    setup = Setup(manifest, folder)
    async with setup.running(900.0):
        await setup.trained(steps)
    return setup


def collected(setup: Setup, manifest: Manifest, run_folder: Path, folder: Path) -> Collected:
    """The states of all parts, in files of a folder."""
    states = {str(uid): (backend.state(), backend.samples) for uid, backend in setup.backends.items()}
    states["trunk"] = setup.trainer.state(), setup.trainer.samples
    parts = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, (state, samples) in states.items():
        path = folder / f"{name}.part"
        path.write_bytes(pack(manifest.run, name, Part(state, 1, samples)))
        parts[name] = CollectedPart(str(path), 1, samples)
    return Collected(manifest.run_id, str(run_folder), manifest, parts, len(setup.backends))


def with_model(manifest: Manifest, **model: Any) -> Manifest:
    return msgspec.structs.replace(manifest, model=msgspec.structs.replace(manifest.model, **model))
