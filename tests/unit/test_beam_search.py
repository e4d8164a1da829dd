"""Beam search finds what trying every active expert finds, with and without a mirror of the directory."""

import asyncio
import itertools
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.contracts.errors import ComputeError
from core.experts.beam_search import BeamSearch
from core.experts.directory import LocalDirectory
from core.experts.gating import Gate
from core.experts.grid import Coords, Uid

Case = tuple[tuple[int, ...], list[Coords], int, int]


@st.composite
def sparse_grids(draw: st.DrawFn) -> Case:
    """A grid of two or three dimensions, its active cells, k and a seed."""
    shape = draw(st.lists(st.integers(1, 6), min_size=2, max_size=3).map(tuple))
    cells = list(itertools.product(*map(range, shape)))
    active = draw(st.lists(st.sampled_from(cells), min_size=1, unique=True))
    return shape, active, draw(st.integers(1, 6)), draw(st.integers(0, 1000))


def directory(active: Sequence[Coords], mirror_limit: int) -> LocalDirectory:
    return LocalDirectory((Uid("test", 0, cell) for cell in active), mirror_limit)


@pytest.mark.parametrize("mirror_limit", [0, 1000], ids=["searched", "mirrored"])
@given(case=sparse_grids())
@settings(max_examples=150, deadline=None)
def test_the_best_experts_of_every_sample_are_found(mirror_limit: int, case: Case) -> None:
    shape, active, k, seed = case
    generator = torch.Generator().manual_seed(seed)
    heads = torch.randn(5, sum(shape), generator=generator, dtype=torch.float64)
    beam = asyncio.run(BeamSearch(Gate(3, shape), directory(active, mirror_limit), 0, k).choose(heads))

    starts = [sum(shape[:i]) for i in range(len(shape))]
    for sample, chosen in enumerate(beam.chosen.tolist()):
        score = {
            cell: sum(float(heads[sample, start + u]) for start, u in zip(starts, cell, strict=True)) for cell in active
        }
        best = sorted(active, key=lambda cell: -score[cell])[:k]
        assert [beam.cells[index] for index in chosen] == best
        assert beam.scores[sample, chosen].tolist() == pytest.approx([score[cell] for cell in best])


class CountingDirectory(LocalDirectory):
    """A directory that keeps book of what it was asked, as a network would have to carry it."""

    rounds = 0
    looked_up: list[Coords] = []

    async def active_suffixes(self, layer: int, prefixes: Sequence[Coords]) -> list[Sequence[int]]:
        self.rounds += 1
        self.looked_up = [*self.looked_up, *prefixes]
        return await super().active_suffixes(layer, prefixes)


async def test_look_ups_are_shared_by_the_samples_of_a_batch() -> None:
    shape, k = (20, 20, 20), 4
    generator = torch.Generator().manual_seed(0)
    cells = (torch.rand(600, 3, generator=generator) * 20).long().tolist()
    asked = CountingDirectory({Uid("test", 0, (a, b, c)) for a, b, c in cells}, mirror_limit=0)
    heads = torch.randn(64, sum(shape), generator=generator)

    beam = await BeamSearch(Gate(3, shape), asked, 0, k).choose(heads)

    assert beam.chosen.shape == (64, k)
    assert len(asked.looked_up) == len(set(asked.looked_up)), "a prefix was asked for twice"
    assert asked.rounds <= 12, "look-ups were not asked for together"


async def test_fewer_experts_than_k_are_all_taken() -> None:
    heads = torch.randn(3, 8)
    for mirror_limit in (0, 1000):
        found = directory([(0, 1), (3, 2)], mirror_limit)
        beam = await BeamSearch(Gate(3, (4, 4)), found, 0, k=4).choose(heads)
        assert beam.chosen.shape == (3, 2)
        assert sorted(beam.cells) == [(0, 1), (3, 2)]


async def test_a_layer_without_experts_is_a_clear_error() -> None:
    for mirror_limit in (0, 1000):
        search = BeamSearch(Gate(3, (4, 4)), directory([], mirror_limit), 0, k=4)
        with pytest.raises(ComputeError, match="no active expert"):
            await search.choose(torch.randn(3, 8))


async def test_experts_that_come_and_go_are_followed() -> None:
    for mirror_limit in (0, 1000):
        found = directory([(0, 0), (1, 1)], mirror_limit)
        search = BeamSearch(Gate(3, (2, 2)), found, 0, k=4)
        heads = torch.randn(2, 4)
        assert sorted((await search.choose(heads)).cells) == [(0, 0), (1, 1)]
        found.remove(Uid("test", 0, (1, 1)))
        found.add(Uid("test", 0, (0, 1)))
        assert sorted((await search.choose(heads)).cells) == [(0, 0), (0, 1)]
        assert not await found.hosts([Uid("test", 0, (1, 1))])
