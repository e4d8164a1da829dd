"""Even load without a loss."""

import torch
from torch import Tensor

from core.experts.balance import Balance

CELLS = [(row, column) for row in range(4) for column in range(4)]


def scores(batch: int, favourites: int = 2) -> Tensor:
    """Random, but all samples like the first cells best."""
    found = torch.randn(batch, len(CELLS))
    found[:, :favourites] += 3.0
    return found


def load(chosen: Tensor, cells: int) -> Tensor:
    """Of each cell, in shares of an even one."""
    return torch.bincount(chosen.flatten(), minlength=cells) * cells / chosen.numel()


def test_favourites_are_asked_little_more_than_others_after_a_while() -> None:
    torch.manual_seed(0)
    balance = Balance()
    for _ in range(1000):
        balance.choose(CELLS, scores(64), 4)
    late = load(torch.cat([balance.choose(CELLS, scores(64), 4) for _ in range(50)]), len(CELLS))
    assert late.std(correction=0) < 0.3 and late.min() > 0.8 and late.max() < 1.7
    assert load(scores(64).topk(4).indices, len(CELLS)).max() > 3, "without it two experts do half of the work"


def test_a_sample_still_gets_the_best_of_what_is_free() -> None:
    """Where the load is even by itself the best are chosen."""
    torch.manual_seed(0)
    balance = Balance()
    same = 0.0
    for _ in range(100):
        plain = scores(64, favourites=0)
        chosen = balance.choose(CELLS, plain, 4)
        same += float((chosen.unsqueeze(2) == plain.topk(4).indices.unsqueeze(1)).any(2).float().mean()) / 100
    assert same > 0.95


def test_what_was_learnt_of_a_cell_outlives_others_that_come_and_go() -> None:
    torch.manual_seed(0)
    balance = Balance()
    for _ in range(1000):
        balance.choose(CELLS, scores(64), 4)
    fewer = CELLS[:-1]  # a host has gone
    late = load(balance.choose(fewer, scores(4096)[:, :-1], 4), len(fewer))
    assert late.max() < 1.5
    more = [*CELLS, (4, 0)]  # a new one has come
    late = load(balance.choose(more, torch.cat([scores(4096), torch.randn(4096, 1)], 1), 4), len(more))
    assert late[:-1].max() < 1.5


def test_one_that_comes_late_is_asked_like_the_others_at_once() -> None:
    """Of many cells, of which few are asked in a batch, so that the load is uneven from batch to batch."""
    torch.manual_seed(0)
    balance, cells = Balance(), [(at,) for at in range(512)]
    for _ in range(2000):
        balance.choose(cells, torch.randn(16, len(cells)), 4)
    more = [*cells, (len(cells),)]
    late = load(torch.cat([balance.choose(more, torch.randn(16, len(more)), 4) for _ in range(100)]), len(more))
    assert late[-1] > 0.5


def test_all_are_asked_where_there_are_no_more_than_wanted() -> None:
    assert Balance().choose(CELLS[:2], torch.randn(3, 2), 2).sort(1).values.tolist() == [[0, 1]] * 3
