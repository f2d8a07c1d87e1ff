"""The comparison of ellipsoids: slabs by brute force, volumes by their formulas."""

import numpy as np
import pytest

from experiments.ellipsoids import METHODS, PEER, SLAB_SHARE, worst_slab

RNG = np.random.default_rng(0)


def test_a_slab_that_is_missed_is_found():
    X = RNG.uniform(-1, 1, size=(2000, 1))
    inside = np.where(X[:, 0] > 0.4, RNG.random(2000) < 0.5, True)
    coverage, rows = worst_slab(X, inside, 0)
    assert coverage == pytest.approx(0.5, abs=0.1) and rows >= 0.8 * SLAB_SHARE * 1000
    assert worst_slab(X, np.ones(2000), 0)[0] == 1.0


def test_volumes_of_all_methods_are_in_the_same_units():
    X = RNG.uniform(-1, 1, size=(300, 2))
    Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1]]) + 0.3 * RNG.normal(size=(300, 2))
    found = {
        name: method(X[:200], Y[:200], X[200:], Y[200:])
        for name, method in METHODS.items()
        if name != PEER
    }
    for inside, volumes in found.values():  # the noise has circles of equal density
        assert inside.mean() > 0.8 and volumes.shape == (100,)
        assert np.median(volumes) == pytest.approx(np.log(np.pi * 0.65**2), abs=0.7)
