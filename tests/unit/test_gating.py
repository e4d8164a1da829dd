"""The additive gate and its load-balancing loss."""

import itertools

import pytest
import torch
from torch import Tensor

from core.experts.gating import Gate, add_up, balance_loss


def test_scores_are_sums_of_the_heads() -> None:
    gate = Gate(8, (3, 5, 2))
    x = torch.randn(4, 8)
    cells = [(0, 4, 1), (2, 0, 0), (1, 1, 1)]
    heads = gate(x)
    first, second, third = heads.split((3, 5, 2), dim=1)
    scores = add_up(heads, gate.columns(torch.tensor(cells)))
    for index, (a, b, c) in enumerate(cells):
        torch.testing.assert_close(scores[:, index], first[:, a] + second[:, b] + third[:, c])


def test_an_even_load_costs_one_and_a_collapsed_one_as_much_as_there_are_experts() -> None:
    even = torch.eye(6, dtype=torch.float64) * 50
    assert float(balance_loss(even, torch.arange(6)[:, None])) == pytest.approx(1.0)
    collapsed = torch.zeros(6, 6, dtype=torch.float64)
    collapsed[:, 2] = 50
    assert float(balance_loss(collapsed, torch.full((6, 1), 2))) == pytest.approx(6.0)


def test_the_joint_loss_sees_a_diagonal_whose_marginals_are_uniform() -> None:
    cells = torch.tensor(list(itertools.product(range(4), range(4))))
    diagonal = (cells[:, 0] == cells[:, 1]).nonzero().flatten()
    scores = torch.full((4, 16), -50.0)
    scores[:, diagonal] = torch.eye(4) * 50
    assert float(balance_loss(scores, diagonal[:, None])) == pytest.approx(4.0)


def skewed_gate() -> tuple[Gate, Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    gate = Gate(16, (4, 4))
    with torch.no_grad():
        gate.heads.bias[:2] += 1.5
        gate.heads.bias[4:6] += 1.5
    active = torch.tensor([cell for cell in itertools.product(range(4), range(4)) if cell != (0, 0)])
    return gate, gate.columns(active), torch.randn(256, 16), active


def variation(gate: Gate, columns: Tensor, x: Tensor, k: int) -> float:
    """Coefficient of variation of the experts' load."""
    with torch.no_grad():
        chosen = add_up(gate(x), columns).topk(k).indices
    load = torch.bincount(chosen.flatten(), minlength=len(columns)).double()
    return float(load.std(correction=0) / load.mean())


def test_the_loss_has_a_gradient_that_evens_out_a_skewed_gate() -> None:
    gate, columns, x, _ = skewed_gate()
    before = variation(gate, columns, x, k=4)
    for step in range(200):
        scores = add_up(gate(x), columns)
        loss = balance_loss(scores, scores.topk(4).indices)
        gradients = torch.autograd.grad(loss, list(gate.parameters()))
        if not step:
            assert max(float(gradient.norm()) for gradient in gradients) > 1e-2
        with torch.no_grad():
            for parameter, gradient in zip(gate.parameters(), gradients, strict=True):
                parameter.sub_(0.3 * gradient)
    assert before > 0.5
    assert variation(gate, columns, x, k=4) < before / 2


def test_the_gradient_is_that_of_the_probabilities_alone() -> None:
    scores = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    chosen = scores.topk(2).indices

    def fixed_load(s: Tensor) -> Tensor:
        return balance_loss(s, chosen)

    assert torch.autograd.gradcheck(fixed_load, scores)
