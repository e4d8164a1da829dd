"""Writes a trained model for use without Hearth: a process of its own, which ends when the folder is written.

The folder holds the weights (safetensors), the manifest, the held-out data, what Hearth's own evaluation of exactly
these weights gave, a model card, and `model.py`, which loads and evaluates all that in plain PyTorch.
"""

import asyncio
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import msgspec
import torch
from safetensors.torch import save_file
from torch import Tensor

from core.contracts.errors import CheckpointError, HearthError
from core.contracts.export import Collected, Contributors, ExportAnswer, Exported, ExportJob
from core.contracts.files import TRUNK
from core.contracts.manifest import Manifest
from core.contracts.notices import notice
from core.contracts.status import CurvePoint
from core.contracts.words import counted, operations
from core.experts.directory import LOCAL, LocalDirectory
from core.experts.grid import Grid, Uid
from core.runtime.backend import ExpertBackend
from core.runtime.kernel_gate import KernelGate
from core.runtime.part_files import read
from core.runtime.runtime import Runtime
from core.training.data.shuffle_buffer import without_place
from core.training.data.stream import Part, open_stream
from core.training.trainer import Trainer

MOST_BYTES = 1 << 26
"""Of a job: 16 million experts are not exported by one PC."""
LOADER = "model.py"
MARKS = frozenset("\\`*_{}[]()<>#+-.!|&~:/@$")
"""That mean something in Markdown."""
FILES = {"model.safetensors", "held_out.safetensors", "manifest.json", "evaluation.json", "README.md", LOADER}
"""All that a folder holds. One with anything else in it is not replaced."""


def main() -> int:
    """Carry out the job that stdin holds, and say on stdout what came of it."""
    job = msgspec.json.decode(sys.stdin.buffer.read(MOST_BYTES), type=ExportJob)
    try:
        answer = ExportAnswer(asyncio.run(export(job.collected, Path(job.out))))
    except HearthError as error:
        gone = not all(Path(part.path).exists() for part in job.collected.parts.values())
        answer = ExportAnswer(fault=error.notice, again=gone)
    except OSError as error:
        answer = ExportAnswer(fault=notice("export.not_written", folder=job.out, why=error.strerror or str(error)))
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    return 0


async def export(collected: Collected, out: Path) -> Exported:
    """Write the folder; a former one of that name stays until the new one is whole.

    Args:
        collected: the states.
        out: the folder.

    Raises:
        HearthError: there is no trunk, a state is damaged, or data are missing.
        OSError: it cannot be written.
    """
    manifest = collected.manifest
    await asyncio.to_thread(_check, out)
    if TRUNK not in collected.parts:
        raise CheckpointError(notice("export.no_trunk", run=collected.run))
    backends = _experts(collected)
    gate = KernelGate()
    runtime = Runtime(backends, gate)
    stream = open_stream(manifest, Path(collected.folder))
    trainer = Trainer(manifest, {LOCAL: runtime}, LocalDirectory(backends), gate, stream)
    trunk = read(manifest.run, TRUNK, Path(collected.parts[TRUNK].path)).tensors
    trainer.load_state(without_place(trunk))  # the place is one in the order of whoever trained it
    gate.open()
    serving = asyncio.create_task(runtime.run())
    try:
        point = await trainer.evaluate()
    finally:
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
    weights = trainer.agreed_weights()
    for uid, backend in backends.items():
        name = ".".join(map(str, (uid.layer, *uid.coords)))
        weights |= {f"experts.{name}.{key}": value for key, value in backend.module.state_dict().items()}
    done = _told(collected, point)
    told = card(manifest, done, collected.contributors)
    await asyncio.to_thread(_write, out, manifest, weights, stream.held_out, done, told)
    return done


def _check(out: Path) -> None:
    if out.exists() and not (out.is_dir() and {path.name for path in out.iterdir()} <= FILES):
        raise CheckpointError(notice("export.taken", folder=str(out)))


def _write(
    out: Path, manifest: Manifest, weights: Mapping[str, Tensor], held_out: Part, done: Exported, told: str
) -> None:
    """Write a folder beside it, which takes its place when it is whole."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        save_file({key: value.detach().contiguous() for key, value in weights.items()}, partial / "model.safetensors")
        data = {"inputs": _small(held_out.inputs), "labels": _small(held_out.labels)}
        save_file({key: value.contiguous() for key, value in data.items()}, partial / "held_out.safetensors")
        (partial / "manifest.json").write_bytes(msgspec.json.format(msgspec.json.encode(manifest)))
        (partial / "evaluation.json").write_bytes(msgspec.json.format(msgspec.json.encode(done)))
        (partial / LOADER).write_bytes(files("resources").joinpath("export", LOADER).read_bytes())
        (partial / "README.md").write_text(told, "utf8")
        partial.chmod(0o755)  # it is there to be given away
        for path in partial.iterdir():
            path.chmod(0o644)
        _check(out)
        shutil.rmtree(out, ignore_errors=True)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _experts(collected: Collected) -> dict[Uid, ExpertBackend]:
    """All experts of the run's grid, each in its newest state, or as it begins."""
    manifest = collected.manifest
    grid = Grid(manifest.run, manifest.model.layers, manifest.model.grid)
    backends = {uid: ExpertBackend(uid, manifest.model, manifest.training) for uid in grid.uids()}
    for uid, backend in backends.items():
        if part := collected.parts.get(str(uid)):
            backend.load_state(read(manifest.run, str(uid), Path(part.path)).tensors)
    return backends


def _told(collected: Collected, point: CurvePoint) -> Exported:
    trained = len(collected.parts) - 1
    return Exported(collected.run, point.step, point.samples, trained, collected.experts, point.loss, point.accuracy)


def _small(tensor: Tensor) -> Tensor:
    """Bytes and classes as bytes; other numbers as they are."""
    whole = not tensor.is_floating_point()
    return tensor.to(torch.uint8) if whole and int(tensor.max()) < 256 and int(tensor.min()) >= 0 else tensor


def card(manifest: Manifest, done: Exported, contributors: Contributors) -> str:
    """The model card, in Markdown.

    Args:
        manifest: the run's.
        done: what was exported.
        contributors: to the run.
    """
    model, task = manifest.model, manifest.task
    experts = f"{model.layers} layers of {done.experts // model.layers} experts" if model.layers else "no experts"
    untrained, licence = done.experts - done.trained, manifest.licence
    return f"""# {manifest.title}

{manifest.description or "Trained by volunteers with Hearth."} The run is `{done.run}`.

| | |
| --- | --- |
| model | `{model.kind}`, {experts}, width {model.width} |
| licence of the model | {licence.model if licence else "not stated"} |
| data | {manifest.data}; licence: {licence.data if licence else "not stated"} |
| organiser | {manifest.organiser or "nobody has signed this run"} |
| trained on | {done.samples:,} {task.unit} in {done.step:,} steps of the trunk |
| loss on data that were never trained on | {done.loss:.5f} nats |
| right there | {done.accuracy:.2%} |
| experts as they began: not trained yet, or nobody gave the state | {untrained:,} of {done.experts:,} |
{_contributors(contributors)}
`manifest.json` says what was trained, on which data and by which rules. `python model.py` repeats the evaluation in
`evaluation.json` from `model.safetensors` and `held_out.safetensors`; it needs `torch` and `safetensors` only:

    from model import Model
    scores = Model(".")(inputs)

`model.py` says what goes in and what comes out.
"""


def _contributors(of: Contributors) -> str:
    """Those who computed for others, as their trainers have signed it."""
    if not of.named and not of.others:
        return ""
    rows = [f"| {_plain(one.name)} | {_plain(one.team)} | {operations(one.verified)} |" for one in of.named]
    if of.others:
        rows.append(f"| {counted(of.others, 'other')}, who chose no name | | {operations(of.others_verified)} |")
    return "\n".join(
        (
            "\n## Contributors\n",
            "What each computed for others, signed and audited by those for whom it was done.\n",
            "| | team | computed |",
            "| --- | --- | --- |",
            *rows,
            "",
        )
    )


def _plain(name: str) -> str:
    """What a stranger calls himself, as nothing but text in Markdown."""
    return "".join(f"&#{ord(letter)};" if letter in MARKS or not letter.isprintable() else letter for letter in name)
