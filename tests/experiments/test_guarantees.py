"""A small Monte Carlo: no kind of set misses the truth more often than it states."""

import numpy as np
import pytest

from experiments.guarantees import fill_unstated_levels, p_value, table_cells, trial

REPEATS = 10
FEW = {"around a transducer": 4}
"""Repeats of what takes a second each."""
CELLS = table_cells()


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_stated_levels_hold(cell):
    found = np.array([trial(cell, 40, seed) for seed in range(FEW.get(cell.name, REPEATS))])
    levels, hits = found.T
    if not cell.stated:
        assert np.isnan(levels).all()
        return
    levels, hits = fill_unstated_levels(levels, hits)
    assert p_value(levels, hits) > 0.01 / len(CELLS)


def test_the_test_sees_a_broken_level():
    assert p_value(np.full(500, 0.8), np.arange(500) % 10 < 7) < 1e-6
    assert p_value(np.full(500, 0.8), np.arange(500) % 10 < 8) > 0.1
