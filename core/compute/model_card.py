"""What a folder with a trained model says of it, in Markdown."""

from core.contracts.export import Contributors, Exported
from core.contracts.manifest import Manifest
from core.contracts.words import counted, operations

MARKS = frozenset("\\`*_{}[]()<>#+-.!|&~:/@$")
"""That mean something in Markdown."""

OWN_USE = """`manifest.json` says what was trained, on which data and by which rules. `python model.py` repeats the
evaluation in `evaluation.json` from `model.safetensors` and `held_out.safetensors`; it needs `torch` and `safetensors`
only:

    from model import Model
    scores = Model(".")(inputs)

`model.py` says what goes in and what comes out.
"""


def card(manifest: Manifest, done: Exported, contributors: Contributors, use: str = OWN_USE) -> str:
    """The model card, in Markdown.

    Args:
        manifest: the run's.
        done: what was exported.
        contributors: to the run.
        use: how the folder is used.
    """
    model, task = manifest.model, manifest.task
    experts = f"{model.layers} layers of {done.experts // model.layers} experts" if model.layers else "no experts"
    untrained, licence = done.experts - done.trained, manifest.licence
    loss = f"{done.loss:.5f} nats" + (f" ({done.bits:.4f} bits per byte)" if done.bits else "")
    begun, missing = "experts as they began: not trained yet, or nobody gave the state", untrained
    if done.kept:
        begun, missing = "experts that are not in it", done.experts - model.layers * done.kept
    return f"""# {manifest.title}

{manifest.description or "Trained by volunteers with Hearth."} The run is `{done.run}`.

| | |
| --- | --- |
| model | `{model.kind}`, {experts}, width {model.width} |
| licence of the model | {licence.model if licence else "not stated"} |
| data | {manifest.data}; licence: {licence.data if licence else "not stated"} |
| organiser | {manifest.organiser or "nobody has signed this run"} |
| trained on | {done.samples:,} {task.unit} in {done.step:,} steps of the trunk |
| loss on data that were never trained on | {loss} |
| right there | {done.accuracy:.2%} |
| {begun} | {missing:,} of {done.experts:,} |
{_contributors(contributors)}
{use}"""


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
