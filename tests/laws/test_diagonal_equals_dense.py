"""An operator sees one symmetric matrix, however the moments are stored."""

import numpy as np
import pytest

from laws import literal
from laws.cases import crossed, off, vectors
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import KernelPCA, Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Mixture,
    Operator,
    ReducedRank,
)
from mercer.testing import check_operator

AGREE = 1e-9
ALPHA = 0.3
X, Y = vectors(16)
X_NEW, _ = vectors(4, seed=1)


def width(moments):
    return moments.vu.shape[0]


class Shifted(Operator):
    """B = S_vv / n + 5 I, as somebody outside the package writes it."""

    def matrix(self, moments):
        return moments.vv / moments.n + 5 * np.eye(width(moments))


class ShiftedFromTheLeft(Operator):
    """The same with the identity first."""

    def matrix(self, moments):
        return 5 * np.eye(width(moments)) + moments.vv / moments.n


class Squared(Operator):
    """B = (S_vv / n)² + I."""

    def matrix(self, moments):
        C = moments.vv / moments.n
        return C @ C + np.eye(width(moments))


class Explained(Operator):
    """B = S_vu S_uv / n² + I: made of the cross moment."""

    def matrix(self, moments):
        return moments.vu @ moments.vu.T / moments.n**2 + np.eye(width(moments))


FORMULAS = {
    Shifted: lambda K, V, w: V.T @ V / len(V) + 5 * np.eye(V.shape[1]),
    ShiftedFromTheLeft: lambda K, V, w: V.T @ V / len(V) + 5 * np.eye(V.shape[1]),
    Squared: lambda K, V, w: (V.T @ V / len(V)) @ (V.T @ V / len(V)) + np.eye(V.shape[1]),
    Explained: lambda K, V, w: V.T @ K @ V / len(V) ** 2 + np.eye(V.shape[1]),
}


COORDINATES = {"exact": None, "kernel PCA": KernelPCA(), "landmarks": Nystroem(landmarks=Y)}


@pytest.mark.parametrize(
    ("operator", "output", "coordinates", "intercept"),
    crossed(FORMULAS, ["rbf"], COORDINATES, [False, True])
    + crossed(FORMULAS, ["linear"], ["exact"], [False, True]),
)
def test_operators_of_third_parties(operator, output, coordinates, intercept):
    ones, V = np.ones(len(Y)), Y
    if output == "rbf":
        V = literal.coordinates(literal.rbf(2.0)(Y, Y))
    K, K_new = literal.rbf(1.0)(X, X), literal.rbf(1.0)(X_NEW, X)
    centre = (literal.centred_gram(K, ones), literal.centred(V, ones)) if intercept else (K, V)
    B = FORMULAS[operator](*centre, ones)
    G, G_new = (A[:, None, :, None] * B[None, :, None, :] for A in (K, K_new))
    ridge = literal.Ridge(G, G_new, V, ones, ALPHA, intercept)
    parts = {
        "kernel": RBF(1.0) * operator(),
        "output_kernel": RBF(2.0) if output == "rbf" else Linear(),
        "output_features": COORDINATES[coordinates],
        "fit_intercept": intercept,
    }
    model = KernelDependency(alpha=ALPHA, **parts).fit(X, Y)
    assert off(model.embed(X_NEW).inner(Y), ridge.predict() @ V.T) <= AGREE
    choice = KernelDependencyCV(alphas=[ALPHA], **parts).fit(X, Y)
    wanted = ridge.left_out(np.arange(len(Y))) @ V.T
    assert off(choice.loo_embed().inner(Y), wanted) <= AGREE


@pytest.mark.parametrize(
    "operator",
    [Shifted(), ShiftedFromTheLeft(), Squared(), Explained()],
    ids=lambda operator: type(operator).__name__,
)
def test_they_keep_the_contract(operator):
    check_operator(operator)


OPERATORS = [
    Identity(),
    2.0 * Identity() + Covariance(),
    Covariance(),
    Covariance(0.5),
    ConditionalCovariance(0.1),
    Covariance() + 0.5 * ConditionalCovariance(0.1),
    Mixture([Identity(), Covariance(), ConditionalCovariance(0.1)], [0.2, 0.5, 0.3]),
    ReducedRank(2),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", OPERATORS, ids=str)
def test_own_operators_in_diagonal_and_dense_coordinates(operator, intercept):
    """Exact coordinates of the outputs have a diagonal moment, those on landmarks a dense one."""
    found = [
        KernelDependency(
            RBF(1.0) * operator, RBF(1.0), ALPHA, output_features=map, fit_intercept=intercept
        )
        .fit(X, Y)
        .embed(X_NEW)
        .inner(Y)
        for map in (None, KernelPCA(), Nystroem(landmarks=Y))
    ]
    for other in found[1:]:
        assert off(other, found[0]) <= AGREE
