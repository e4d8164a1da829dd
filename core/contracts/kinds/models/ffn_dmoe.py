"""The paper's classifier: a linear map, DMoE layers with norms in between, a linear head (section 4.2)."""

from core.contracts.kinds.declarations import Ends, ModelKind, gates
from core.contracts.model import Model


def _multiplications(model: Model, ends: Ends) -> int:
    return (ends.inputs + ends.classes) * model.width + gates(model)[1]


def _numbers(model: Model, ends: Ends) -> int:
    norms = 2 * model.layers * model.width
    return (ends.inputs + 1) * model.width + norms + (model.width + 1) * ends.classes + gates(model)[0]


KIND = ModelKind(_numbers, _multiplications, rows=lambda model: 1, trouble=lambda model: None)
