"""A causal Transformer over classes whose feed-forward layers are DMoE (paper, section 4.1)."""

from core.contracts.kinds.declarations import Ends, ModelKind, gates
from core.contracts.model import Model
from core.contracts.notices import Notice, notice


def _multiplications(model: Model, ends: Ends) -> int:
    """Attention's four maps and, for each token, scores and mixture over all tokens that are seen at once."""
    attention = 4 * model.width**2 + 2 * model.width * ends.inputs
    return model.layers * attention + model.width * ends.classes + gates(model)[1]


def _numbers(model: Model, ends: Ends) -> int:
    attention = 4 * model.width**2 + 4 * model.width  # with biases
    norms = 2 * model.width * (model.layers + 1)
    embedding, head = ends.classes * model.width, (model.width + 1) * ends.classes
    return model.layers * attention + norms + embedding + head + gates(model)[0]


def _trouble(model: Model) -> Notice | None:
    if model.heads is None or model.sequence is None or model.width % (2 * model.heads):
        return notice("manifest.no_attention", kind=model.kind)
    return None


KIND = ModelKind(_numbers, _multiplications, rows=lambda model: model.sequence or 1, trouble=_trouble)
