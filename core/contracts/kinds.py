"""What must be known of each kind without torch: whether a manifest fits it, what it costs, what people give.

What a kind does is the module of its name in `core.experts.kinds` or `core.training.{models,data,tasks}`.
"""

import importlib
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import NamedTuple, NoReturn, TypeVar

from core.contracts.errors import ManifestError
from core.contracts.model import Model, Pictures
from core.contracts.notices import Notice, notice

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


class Parameter(NamedTuple):
    """One of a trunk's tensors."""

    numbers: int
    is_fine: bool
    """Whether it is a vector, as of a norm, or of a gate: few numbers, of which each counts. Else it is a map."""


class ModelKind(NamedTuple):
    """What a trunk costs, its gates included and its experts not."""

    parameters: Callable[[Model, Ends], list[Parameter]]
    """What it trains, as its module names them one after the other; gates come last."""
    multiplications: Callable[[Model, Ends], int]
    """Of a forward pass, for each row of a DMoE layer."""
    rows: Callable[[Model], int] = lambda model: 1
    """Rows that a sample makes in a DMoE layer, such as the tokens of a sequence."""
    trouble: Callable[[Model, Ends], Notice | None] = lambda model, ends: None
    """Why these sizes do not fit the kind, or each other, if they do not."""
    experts: bool | None = True
    """Whether it has DMoE layers; False: the trunk is the whole model; None: as its manifest wants."""

    def numbers(self, model: Model, ends: Ends) -> int:
        """That it trains.

        Args:
            model: its sizes.
            ends: what the data put in and want out.
        """
        return sum(parameter.numbers for parameter in self.parameters(model, ends))


class DataKind(NamedTuple):
    """What a data set is for."""

    task: str
    """One of `TASKS`."""
    ends: Callable[[Model, Pictures | None], Ends]
    """What its samples look like to a model; of pictures, as the manifest says what they are."""
    pictures: bool = False
    """Whether they are such pictures."""
    token_bytes: int = 1
    """Of a token of text in a shard."""


class TaskKind(NamedTuple):
    """What a model is asked."""

    name: str
    unit: str
    """What is counted and judged: "samples", "bytes"."""
    in_tokens: bool
    """Whether that are parts of a text; else whole samples."""
    takes: str
    """What people give: a "picture", of which they get the digits' probabilities, or a "text", which goes on. Or
    "nothing": it is only trained."""


class Kinds(dict[str, K]):
    """All kinds of one sort, by the names that manifests give them. To look for another one raises a ManifestError."""

    def __init__(self, sort: str, **kinds: K) -> None:
        """
        Args:
            sort: for the sentence that there is none of a name.
            kinds: by name.
        """
        super().__init__(kinds)
        self._sort = sort

    def __missing__(self, name: str) -> NoReturn:
        raise ManifestError(notice(f"manifest.no_{self._sort}", name=repr(name), known=sorted(self)))

    def module(self, package: str, name: str) -> ModuleType:
        """Where a kind is written: only what is declared here is imported.

        Args:
            package: the folder of its module.
            name: any text.

        Raises:
            ManifestError: there is no such kind.
        """
        self[name]
        return importlib.import_module(f"{package}.{name}")


def _vectors(*sizes: int) -> list[Parameter]:
    return [Parameter(size, True) for size in sizes]


def _map(inputs: int, outputs: int, *, bias: bool = True) -> list[Parameter]:
    return [Parameter(inputs * outputs, False), *(_vectors(outputs) if bias else ())]


def _gates(model: Model, *, bias: bool = True) -> list[Parameter]:
    """Of d linear heads a layer, as one."""
    cells = sum(model.grid)
    return model.layers * _vectors(model.width * cells, *([cells] if bias else []))


def _gates_multiplications(model: Model) -> int:
    """For each row of the DMoE layers."""
    return model.layers * model.width * sum(model.grid)


def _classifier_parameters(model: Model, ends: Ends) -> list[Parameter]:
    norms = model.layers * _vectors(model.width, model.width)
    return [*_map(ends.inputs, model.width), *norms, *_map(model.width, ends.classes), *_gates(model)]


def _mlp_parameters(model: Model, ends: Ends) -> list[Parameter]:
    widths = ends.inputs, model.width, model.hidden, ends.classes
    return [each for inputs, outputs in pairwise(widths) for each in _map(inputs, outputs)]


def _mlp_multiplications(model: Model, ends: Ends) -> int:
    return ends.inputs * model.width + model.width * model.hidden + model.hidden * ends.classes


def _transformer_parameters(model: Model, ends: Ends) -> list[Parameter]:
    width, words = model.width, _map(ends.classes, model.width, bias=False)
    norm = _vectors(width, width)
    attention = [*norm, *_map(width, 3 * width), *_map(width, width)]
    return [*words, *model.layers * attention, *norm, *_map(width, ends.classes), *_gates(model)]


def _transformer_multiplications(model: Model, ends: Ends) -> int:
    """Attention's four maps and, for each token, scores and mixture over all tokens that are seen at once."""
    attention = 4 * model.width**2 + 2 * model.width * ends.inputs
    return model.layers * attention + model.width * ends.classes + _gates_multiplications(model)


def _transformer_trouble(model: Model, ends: Ends) -> Notice | None:
    if model.heads is None or model.sequence is None or model.width % (2 * model.heads):
        return notice("manifest.no_attention", kind=model.kind)
    if ends.inputs != model.sequence:
        return notice("manifest.other_sequence", inputs=ends.inputs, sequence=model.sequence)
    return None


def inner(model: Model) -> int:
    """Width inside a dense layer of a `decoder`."""
    return max(1, model.k) * model.hidden


def _decoder_parts(model: Model) -> tuple[list[Parameter], list[Parameter]]:
    """Attention and a dense layer, without biases."""
    assert model.heads
    width, head = model.width, model.width // model.heads
    shared = head * (model.kv_heads or model.heads)
    asks, told, leaves = (_map(width, size, bias=False) for size in (width, shared, width))
    attention = [*_vectors(width), *asks, *told, *told, *_vectors(head, head), *leaves]
    return attention, [*_vectors(width), *3 * _map(width, inner(model), bias=False)]


def _decoder_parameters(model: Model, ends: Ends) -> list[Parameter]:
    """Norms have a factor for each number."""
    attention, dense = _decoder_parts(model)
    words, norm = _map(ends.classes, model.width, bias=False), _vectors(model.width)
    before, layer = model.dense * [*attention, *dense], [*norm, *attention]
    body = [*norm, *before, *attention, *(model.layers - 1) * layer] if model.layers else before
    return [*words, *body, *norm, *([] if model.tied else words), *_gates(model, bias=False)]


def _decoder_multiplications(model: Model, ends: Ends) -> int:
    """As for the older Transformer; what attention sees is counted as if it were all tokens."""
    attention, dense = (sum(one.numbers for one in part if not one.is_fine) for part in _decoder_parts(model))
    seen = 2 * model.width * ends.inputs
    layers = model.dense + model.layers
    return (
        layers * (attention + seen) + model.dense * dense + model.width * ends.classes + _gates_multiplications(model)
    )


def _decoder_trouble(model: Model, ends: Ends) -> Notice | None:
    if trouble := _transformer_trouble(model, ends):
        return trouble
    heads, kv_heads = model.heads or 1, model.kv_heads or model.heads or 1
    if heads % kv_heads:
        return notice("manifest.kv_heads", heads=heads, kv_heads=kv_heads)
    if not model.layers + model.dense:
        return notice("manifest.no_layers", kind=model.kind)
    if model.layers and model.expert != "swiglu":
        return notice("manifest.other_expert", kind=model.kind, expert=str(model.expert), wanted="swiglu")
    return None


def _of_pictures(model: Model, pictures: Pictures | None) -> Ends:
    return Ends(pictures.pixels, len(pictures.classes)) if pictures else Ends(0, 0)


EXPERTS = Kinds(
    "expert_kind",
    ffn=ExpertKind(
        lambda model: 2 * model.width * model.hidden + model.hidden**2 + 6 * model.hidden + model.width,
        lambda model: 2 * model.width * model.hidden + model.hidden**2,
    ),
    swiglu=ExpertKind(
        lambda model: 3 * model.width * model.hidden,
        lambda model: 3 * model.width * model.hidden,
    ),
    transformer_ffn=ExpertKind(
        lambda model: 2 * model.width * model.hidden + model.hidden + 3 * model.width,
        lambda model: 2 * model.width * model.hidden,
    ),
)
MODELS = Kinds(
    "model_kind",
    decoder=ModelKind(
        _decoder_parameters,
        _decoder_multiplications,
        rows=lambda model: model.sequence or 1,
        trouble=_decoder_trouble,
        experts=None,
    ),
    ffn_dmoe=ModelKind(
        _classifier_parameters,
        lambda model, ends: (ends.inputs + ends.classes) * model.width + _gates_multiplications(model),
    ),
    mlp=ModelKind(_mlp_parameters, _mlp_multiplications, experts=False),
    transformer_dmoe=ModelKind(
        _transformer_parameters,
        _transformer_multiplications,
        rows=lambda model: model.sequence or 1,
        trouble=_transformer_trouble,
    ),
)
DATA = Kinds(
    "data_set",
    digits=DataKind("picture", lambda model, _: Ends(64, 10)),  # 8x8 pixels
    pictures=DataKind("pictures", _of_pictures, pictures=True),
    tokens=DataKind("tokens", lambda model, _: Ends(model.sequence or 0, model.vocabulary or 0), token_bytes=2),
    text=DataKind("text", lambda model, _: Ends(model.sequence or 0, 256)),  # what is wanted is every byte's next one
)
TASKS = Kinds(
    "task",
    pictures=TaskKind("pictures", unit="samples", in_tokens=False, takes="nothing"),
    picture=TaskKind("picture", unit="samples", in_tokens=False, takes="picture"),
    tokens=TaskKind("tokens", unit="tokens", in_tokens=True, takes="text"),
    text=TaskKind("text", unit="bytes", in_tokens=True, takes="text"),
)
