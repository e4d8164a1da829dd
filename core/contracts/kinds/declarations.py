"""What must be known of a kind without torch: whether a manifest fits it, what it costs, what people give and get.

Each kind is one file of `core.contracts.kinds.{experts,models,data,tasks}` that holds its `KIND`; the file's name is
what manifests call it. What the kind does is the file of the same name in `core.experts.kinds` and in
`core.training.{models,data,tasks}`.
"""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple, TypeVar

from core.contracts import by_name
from core.contracts.kinds import data, experts, models, tasks
from core.contracts.model import Model
from core.contracts.notices import Notice

K = TypeVar("K")


class ExpertKind(NamedTuple):
    """What an expert costs."""

    numbers: Callable[[Model], int]
    """Numbers that it trains."""
    multiplications: Callable[[Model], int]
    """Of a forward pass, for each sample; a backward pass with its recomputation takes three times as many."""
    sample: Callable[[Model], tuple[int, ...]] = lambda model: (model.width,)
    """Shape of one sample; outputs have the same."""


class Ends(NamedTuple):
    """What the data put into a model and want out of it."""

    inputs: int
    """Numbers of a sample; of a text, the tokens that are seen at once."""
    classes: int
    """Between which the model chooses."""


class ModelKind(NamedTuple):
    """What a trunk costs, its gates included and its experts not."""

    numbers: Callable[[Model, Ends], int]
    """Numbers that it trains."""
    multiplications: Callable[[Model, Ends], int]
    """Of a forward pass, for each row of a DMoE layer."""
    rows: Callable[[Model], int]
    """Rows that a sample makes in a DMoE layer, such as the tokens of a sequence."""
    trouble: Callable[[Model], Notice | None]
    """Why these sizes do not fit the kind; None if they do."""


class DataKind(NamedTuple):
    """What a data set is for."""

    task: str
    """File in `core.contracts.kinds.tasks`."""
    ends: Callable[[Model], Ends]
    """What its samples look like to a model."""


class TaskKind(NamedTuple):
    """What people give a model and what they get."""

    name: str
    unit: str
    """What is counted and judged: "samples", "bytes"."""
    in_tokens: bool
    """Whether that are parts of a text; else whole samples."""
    takes: str
    """What people give: "picture", "text"."""
    gives: str
    """What they get: "classes" with their probabilities, or "text", piece by piece."""


def _declared(package: ModuleType, what: str, kind: type[K]) -> Callable[[str], K]:
    def find(name: str) -> K:
        found: K = by_name.named(package, "KIND", name, what)
        return found

    return find


expert = _declared(experts, "expert_kind", ExpertKind)
"""The declared kind of expert of a name; where there is none, a ManifestError is raised, as by the next three."""
model = _declared(models, "model_kind", ModelKind)
data_set = _declared(data, "data_set", DataKind)
task = _declared(tasks, "task", TaskKind)


def gates(model: Model) -> tuple[int, int]:
    """Numbers of all gates, and their multiplications for each row of the DMoE layers: d linear heads a layer."""
    cells = sum(model.grid)
    return model.layers * (model.width + 1) * cells, model.layers * model.width * cells
