"""Writes a trained model for use without Hearth: a process of its own, which ends when the folder is written.

A `decoder` is written as other programs know it (`core.compute.leaving`). For any other model the folder holds the
weights (safetensors), the manifest, the held-out data, what Hearth's own evaluation of exactly these weights gave, a
model card, and `model.py`, which loads and evaluates all that in plain PyTorch.
"""

import asyncio
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import msgspec
import torch
from safetensors.torch import save_file
from torch import Tensor

from core.compute.leaving import GGUF, HF_FILES, leave, told
from core.compute.model_card import card
from core.compute.restored import Restored
from core.contracts.errors import CheckpointError, HearthError
from core.contracts.export import Collected, ExportAnswer, Exported, ExportJob, form_of
from core.contracts.notices import notice

MOST_BYTES = 1 << 26
"""Of a job: 16 million experts are not exported by one PC."""
LOADER = "model.py"
FILES = {"model.safetensors", "held_out.safetensors", "manifest.json", "evaluation.json", "README.md", LOADER}
FILES |= HF_FILES
"""All that a folder holds, but for files of the kind GGUF. One with anything else in it is not replaced."""


def main() -> int:
    """Carry out the job that stdin holds, and say on stdout what came of it."""
    job = msgspec.json.decode(sys.stdin.buffer.read(MOST_BYTES), type=ExportJob)
    try:
        answer = ExportAnswer(asyncio.run(export(job)))
    except HearthError as error:
        gone = not all(Path(part.path).exists() for part in job.collected.parts.values())
        answer = ExportAnswer(fault=error.notice, again=gone)
    except OSError as error:
        answer = ExportAnswer(fault=notice("export.not_written", folder=job.out, why=error.strerror or str(error)))
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    return 0


async def export(job: ExportJob) -> Exported:
    """Write the folder; a former one of that name stays until the new one is whole.

    Args:
        job: what is to be written.

    Raises:
        HearthError: there is no trunk, a state is damaged, data are missing, or the model has no such form.
        OSError: it cannot be written.
    """
    collected, out = job.collected, Path(job.out)
    form = form_of(collected.manifest.model.kind, job.form)
    with whole_folder(out) as partial:
        if form != "safetensors":
            return await leave(msgspec.structs.replace(job, form=form), partial)
        return await _write(collected, partial)


async def _write(collected: Collected, folder: Path) -> Exported:
    restored = Restored(collected, all_experts=True)
    async with restored.serving():
        point = await restored.trainer.evaluate()
    weights = restored.trainer.agreed_weights()
    for uid, backend in restored.backends.items():
        name = ".".join(map(str, (uid.layer, *uid.coords)))
        weights |= {f"experts.{name}.{key}": value for key, value in backend.module.state_dict().items()}
    done, held_out = told(collected, point), restored.stream.held_out
    save_file({key: value.detach().contiguous() for key, value in weights.items()}, folder / "model.safetensors")
    data = {"inputs": _small(held_out.inputs), "labels": _small(held_out.labels)}
    save_file({key: value.contiguous() for key, value in data.items()}, folder / "held_out.safetensors")
    (folder / "manifest.json").write_bytes(msgspec.json.format(msgspec.json.encode(collected.manifest)))
    (folder / "evaluation.json").write_bytes(msgspec.json.format(msgspec.json.encode(done)))
    (folder / LOADER).write_bytes(files("resources").joinpath("export", LOADER).read_bytes())
    (folder / "README.md").write_text(card(collected.manifest, done, collected.contributors), "utf8")
    return done


@contextlib.contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder that takes a place when it is whole; until then what is there stays.

    Args:
        out: the place.

    Raises:
        CheckpointError: a folder with other files is there.
        OSError: it cannot be written.
    """
    _check(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        yield partial
        partial.chmod(0o755)  # it is there to be given away
        for path in partial.iterdir():
            path.chmod(0o644)
        _check(out)
        shutil.rmtree(out, ignore_errors=True)
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _check(out: Path) -> None:
    if out.exists() and not (out.is_dir() and all(_is_ours(path) for path in out.iterdir())):
        raise CheckpointError(notice("export.taken", folder=str(out)))


def _is_ours(path: Path) -> bool:
    return path.name in FILES or path.suffix == GGUF


def _small(tensor: Tensor) -> Tensor:
    """Bytes and classes as bytes; other numbers as they are."""
    whole = not tensor.is_floating_point()
    return tensor.to(torch.uint8) if whole and int(tensor.max()) < 256 and int(tensor.min()) >= 0 else tensor
