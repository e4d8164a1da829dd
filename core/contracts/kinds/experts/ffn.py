"""The paper's feed-forward block: width -> hidden -> hidden -> width, with layer norms in between (section 4.1)."""

from core.contracts.kinds.declarations import ExpertKind
from core.contracts.model import Model


def _multiplications(model: Model) -> int:
    return 2 * model.width * model.hidden + model.hidden**2


def _numbers(model: Model) -> int:
    biases, norms = 2 * model.hidden + model.width, 4 * model.hidden
    return _multiplications(model) + biases + norms


KIND = ExpertKind(_numbers, _multiplications)
