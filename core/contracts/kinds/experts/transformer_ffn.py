"""The feed-forward block of a Transformer, with its norm: width -> hidden -> width (Vaswani et al., 2017)."""

from core.contracts.kinds.declarations import ExpertKind
from core.contracts.model import Model


def _multiplications(model: Model) -> int:
    return 2 * model.width * model.hidden


def _numbers(model: Model) -> int:
    biases, norm = model.hidden + model.width, 2 * model.width
    return _multiplications(model) + biases + norm


KIND = ExpertKind(_numbers, _multiplications)
