"""Operator-valued kernels and prediction sets under misuse."""

import numpy as np
import pytest

from mercer import ConformalSets, ForestDependency, KernelDependency, KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Blocks, Patchwise, Pointwise
from mercer.solvers import BlockConjugateGradient
from tolerances import IDENTITY


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(8, 6)), rng.normal(size=(8, 6))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "kernel",
    [
        Pointwise(),
        Patchwise(RBF(1.0), shape=(2, 3), size=(2, 2), overlap=1),
        Patchwise(RBF(1.0), shape=(1, 6), size=(1, 3), overlap=0),
    ],
)
def test_every_solver_agrees_on_kernels_by_component(pairs, kernel, intercept):
    X, Y = pairs

    def predicted(solver):
        model = KernelDependency(kernel, alpha=0.1, solver=solver, fit_intercept=intercept)
        return model.fit(X, Y).predict(X + 0.1)

    want = predicted("auto")
    np.testing.assert_allclose(predicted("dense"), want, atol=IDENTITY)
    np.testing.assert_allclose(predicted("cg"), want, atol=10 * BlockConjugateGradient().tolerance)


def test_slots_of_a_part_are_those_of_the_matrix(pairs):
    X, Y = pairs
    gram = Patchwise(RBF(1.0), shape=(2, 3), size=(2, 2), overlap=1).fit(X, Y).gram(X)
    G = gram.matrix()
    for own, part in gram.diagonal_blocks():
        np.testing.assert_allclose(part, G[np.ix_(own, own)], atol=IDENTITY)


def test_blocks_that_are_no_kernel_are_refused(pairs):
    X, Y = pairs
    B = np.eye(6) + np.triu(np.full((6, 6), 0.1), 1)
    kernel = Blocks(lambda A, C: RBF(1.0)(A, C)[:, :, None, None] * B)
    with pytest.raises(ValueError, match="must be the transpose"):
        KernelDependency(kernel).fit(X, Y)


# -- prediction sets --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:jackknife. proves no coverage")
@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
@pytest.mark.parametrize("kind", ["ball", "band"])
def test_sets_of_numbers_are_those_of_columns_of_one(rng, calibration, kind):
    X, y = rng.normal(size=(24, 2)), rng.normal(size=24)

    def sets(y):
        model = ConformalSets(KernelDependency(RBF(1.0)), 0.6, calibration, kind, held_out=0.5)
        return model.fit(X, y)

    flat, column = sets(y), sets(y[:, None])
    np.testing.assert_allclose(flat.sizes(X), column.sizes(X))
    np.testing.assert_array_equal(flat.covers(X, y), column.covers(X, y[:, None]))


@pytest.mark.filterwarnings("ignore:jackknife. proves no coverage")
@pytest.mark.parametrize("kind", ["ball", "band"])
def test_sets_hold_no_output_of_another_shape(pairs, kind):
    X, Y = pairs
    sets = ConformalSets(KernelDependency(), 0.5, "jackknife+", kind).fit(X, Y)
    with pytest.raises(ValueError, match=r"has shape \(6,\), got \(1,\)"):
        sets.covers(X, Y[:, :1])


@pytest.mark.filterwarnings("ignore:jackknife. proves no coverage")
@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_a_failed_refit_leaves_the_sets(pairs, calibration):
    X, Y = pairs
    sets = ConformalSets(KernelDependency(), 0.5, calibration).fit(X, Y)
    before = sets.sizes(X)
    with pytest.raises(ValueError, match="coverage"):
        sets.set_params(coverage=3).fit(X, Y)
    with pytest.raises(ValueError, match="same length"):
        sets.set_params(coverage=0.5).fit(X, Y[:3])
    other = {"split": "jackknife+", "jackknife+": "split"}[calibration]
    sets.set_params(coverage=0.9, calibration=other)
    np.testing.assert_array_equal(sets.sizes(X), before)


def test_models_without_groups_make_sets_too(pairs):
    trees = ConformalSets(ForestDependency(n_trees=3, random_state=0), 0.5).fit(*pairs)
    assert trees.covers(*pairs).shape == (8,)
    chosen = KernelDependencyCV(RBF(1.0), alphas=[1.0])
    assert ConformalSets(chosen, 0.5).fit(*pairs).covers(*pairs).shape == (8,)
