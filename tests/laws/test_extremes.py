"""Left-out predictions keep their digits next to heavy weights, tiny ridges and high leverage."""

import mpmath
import numpy as np
import pytest

from laws import literal
from laws.cases import B, off, vectors
from mercer import KernelDependencyCV
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import RBF, Linear, Positions
from mercer.operators import Covariance, Matrix, Positionwise
from tolerances import LEFT_OUT

X, Y = vectors(12)
GROUPS = np.arange(12) // 2
ALPHA = 0.1


def refits(kernel, w, labels, alpha=ALPHA, operator=None, intercept=True):
    """Literal refits at 40 digits."""
    with mpmath.workdps(40):
        X_, V, w_ = (literal.digits(A) for A in (X, Y, w))
        G = kernel(X_, X_)[:, None, :, None]
        G = G if operator is None else G * operator[None, :, None, :]
        ridge = literal.Ridge(G, G, V, w_, mpmath.mpf(alpha), intercept)
        return ridge.left_out(labels).astype(float)


def left_out(kernel, w, groups, Y=Y, intercept=True):
    model = KernelDependencyCV(kernel, Linear(), [ALPHA], fit_intercept=intercept)
    return model.fit(X, Y, groups=groups, sample_weight=w).loo_embed().coordinates


def heavy(rows, weight):
    w = 1.0 + 0.1 * np.arange(12)
    w[rows] = weight
    return w


ROWS = [[3], [3, 7], [0, 3, 7, 8, 10]]
WEIGHTS = [1e10, 1e12, 1e14]


@pytest.mark.parametrize("rows", ROWS, ids=["one", "two", "five"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("groups", [None, GROUPS], ids=["examples", "groups"])
@pytest.mark.parametrize("operator", [None, B], ids=["identity", "matrix"])
def test_heavy_weights(rows, intercept, groups, operator):
    """A group may hold nearly all of the mass: whether others know the constant is counted.

    One of three weights for each combination, in turn: each meets every value of the others.
    """
    turn = ROWS.index(rows) + intercept + (groups is not None) + (operator is not None)
    w, labels = heavy(rows, WEIGHTS[turn % 3]), np.arange(12) if groups is None else groups
    kernel = RBF(1.0) if operator is None else RBF(1.0) * Matrix(operator)
    wanted = refits(literal.rbf(1.0), w, labels, operator=operator, intercept=intercept)
    assert off(left_out(kernel, w, groups, intercept=intercept), wanted) <= 1e-11


def test_a_heavy_group_is_not_predicted_by_its_own_outputs():
    w, other = heavy([2, 3], 1e11), Y.copy()
    other[[2, 3]] += 100.0
    found = [left_out(RBF(1.0), w, GROUPS, outputs)[[2, 3]] for outputs in (Y, other)]
    assert off(*found) <= 1e-9


def test_a_position_that_only_one_word_has():
    """A refit without the longest word has no constant there, and no example either."""
    words = ["aba", "b", "cab", "bca", "ccba", "ab"]
    rng = np.random.default_rng(0)
    images = [rng.normal(size=(len(word), 2)) for word in words]
    model = KernelDependencyCV(Positionwise(RBF(1.0), mu=1.0, eta=0.0), Positions(), [ALPHA])
    points = model.fit(images, words).loo_embed().coordinates
    V = model.output_kernel_.features(words)
    last = V[4] * (V[[0, 1, 2, 3, 5]].sum(axis=0) == 0) > 0
    fourth = slice(3 * 3, 4 * 3)  # the letters of the fourth position
    assert last[fourth].any()
    assert np.abs(points[4, fourth]).max() <= 1e-12


@pytest.mark.parametrize("alpha", [1e-18, 1e-30])
def test_a_ridge_that_is_lost_when_groups_are_left_out(alpha):
    """Ten features and six examples of twelve: nothing but the ridge determines the fit."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 10))
    model = KernelDependencyCV(Linear() * Covariance(), Linear(), [alpha])
    with pytest.raises(ValueError, match="alpha"):
        model.fit(A, Y, groups=np.arange(12) // 6)


def test_small_ridges_are_harmless_where_the_data_determine_the_fit():
    model = KernelDependencyCV(Linear(), Linear(), [1e-18], fit_intercept=True)
    found = model.fit(X, Y, groups=GROUPS).loo_embed().coordinates
    wanted = np.empty_like(Y)
    A = np.c_[X, np.ones(12)]
    for label in range(6):
        out = label == GROUPS
        wanted[out] = A[out] @ np.linalg.lstsq(A[~out], Y[~out], rcond=None)[0]
    assert off(found, wanted) <= LEFT_OUT


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["examples", "groups"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rank", [8, 40])
def test_low_rank_with_high_leverage(rank, intercept, groups):
    """More features than examples, and one example that decides a coordinate alone."""
    far = X.copy()
    far[5] += 1e3
    features = RandomFourier(rank, 0) if rank > 12 else Nystroem(landmarks=far[:8])
    alpha = 1e-9
    model = KernelDependencyCV(
        RBF(2.0), Linear(), [alpha], features=features, fit_intercept=intercept
    ).fit(far, Y, groups=groups)
    U = model.fitted_.problem.inputs.map.transform(far)
    labels = np.arange(12) if groups is None else groups
    with mpmath.workdps(40):
        U_, V, w = literal.digits(U), literal.digits(Y), literal.digits(np.ones(12))
        G = (U_ @ U_.T)[:, None, :, None]
        ridge = literal.Ridge(G, G, V, w, mpmath.mpf(alpha), intercept)
        wanted = ridge.left_out(labels).astype(float)
    assert off(model.loo_embed().coordinates, wanted) <= 1e-7
