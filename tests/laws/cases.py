"""The problems and conditions that the laws run over, and the mark of what is not yet so."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest

from laws import literal
from mercer.features import Explicit, Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    CurlFree,
    DivergenceFree,
    Identity,
    Local,
    Matrix,
    Patchwise,
)


def crossed(*lists: Iterable) -> list:
    """All combinations as parameters."""
    return [pytest.param(*names) for names in product(*lists)]


# -- data --------------------------------------------------------------------------------------

N = 18
B = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.6]])
OFFSET = 1e6


def vectors(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in three dimensions and outputs in three, noisy and off zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], X.sum(axis=1)])
    return X, Y + 0.2 * rng.normal(size=Y.shape) + 1.0


def line(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs on a line: eigenvalues of a smooth kernel fall below rounding within the first 40."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] ** 2, np.abs(X[:, 0])])
    return X, Y + 0.2 * rng.normal(size=Y.shape) + 1.0


def fields(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of the plane and vectors at them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, size=(n, 2))
    return X, np.column_stack([2 * X[:, 0] * X[:, 1], X[:, 0] ** 2]) + 0.1 * rng.normal(size=(n, 2))


def images(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images of 2 × 3 pixels on both sides."""
    X = np.random.default_rng(seed).normal(size=(n, 6))
    return X, np.cos(X) + X[:, ::-1] + 0.5


# -- conditions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """What is peculiar about the data or the fit.

    Attributes
    ----------
    weighted, grouped
        Whether fit is given weights and groups.
    offset
        Whether inputs lie at 1e6.
    scale
        What length scales are multiplied by.
    repeated
        Whether some inputs, and one pair, occur more than once.
    """

    intercept: bool = False
    weighted: bool = False
    grouped: bool = False
    offset: bool = False
    scale: float = 1.0
    repeated: bool = False


CONDITIONS = {
    "plain": Condition(),
    "intercept": Condition(intercept=True),
    "groups": Condition(grouped=True),
    "intercept, groups": Condition(intercept=True, grouped=True),
    "offset": Condition(offset=True),
    "offset, intercept": Condition(offset=True, intercept=True),
    "wide": Condition(scale=30.0),
    "wide, intercept, groups": Condition(scale=30.0, intercept=True, grouped=True),
    "narrow, intercept": Condition(scale=0.3, intercept=True),
    "repeated": Condition(repeated=True),
    "repeated, intercept, groups": Condition(repeated=True, intercept=True, grouped=True),
    "weights": Condition(weighted=True),
    "weights, intercept, groups": Condition(weighted=True, intercept=True, grouped=True),
    "weights, wide, intercept": Condition(weighted=True, intercept=True, scale=30.0),
    "weights, offset, intercept": Condition(weighted=True, intercept=True, offset=True),
}

TELLING = [
    "plain",
    "intercept, groups",
    "offset, intercept",
    "wide, intercept, groups",
    "narrow, intercept",
    "repeated, intercept, groups",
    "weights, intercept, groups",
]
"""Those that say something of every problem; the others are run on a few."""

# -- problems ----------------------------------------------------------------------------------

Gram = Callable[[np.ndarray, np.ndarray], np.ndarray]
Operator = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Problem:
    """A kernel as mercer writes it and as its definition reads.

    Attributes
    ----------
    kernel
        The operator-valued kernel, given what length scales are multiplied by.
    terms
        The same as pairs of a scalar kernel and an operator, likewise; None for a kernel whose
        values are taken from its own `gram`.
    output
        The length scale of an RBF kernel on outputs; None is the linear one.
    parts
        Further parameters of the estimator.
    n
        How many pairs.
    """

    kernel: Callable[[float], Any]
    terms: Callable[[float], list[tuple[Gram, Operator]]] | None = None
    data: Callable[..., tuple[np.ndarray, np.ndarray]] = vectors
    output: float | None = None
    parts: dict = field(default_factory=dict)
    n: int = N


def one(kernel: Gram | Callable, operator: Operator) -> Callable:
    """A single term, the kernel a function of the length scale or none of it."""
    return lambda s: [(literal.linear if kernel is literal.linear else kernel(s), operator)]


def _sum(s: float) -> list[tuple[Gram, Operator]]:
    return [(literal.rbf(s), literal.covariance), (literal.rbf(2 * s), literal.identity)]


def _apart(s: float) -> list[tuple[Gram, Operator]]:
    return [(literal.rbf(s), literal.covariance), (literal.rbf(2 * s), literal.given(B))]


LANDMARKS = np.random.default_rng(5).uniform(-2, 2, size=(6, 3))
LOW_RANK = {"features": Nystroem(landmarks=LANDMARKS)}
CONDITIONAL = literal.conditional_covariance(0.1)

SEPARABLE = {
    "identity": Problem(lambda s: RBF(s), one(literal.rbf, literal.identity)),
    "linear kernel": Problem(lambda s: Linear(), one(literal.linear, literal.identity)),
    "covariance": Problem(lambda s: RBF(s) * Covariance(), one(literal.rbf, literal.covariance)),
    "conditional": Problem(
        lambda s: RBF(s) * ConditionalCovariance(0.1), one(literal.rbf, CONDITIONAL)
    ),
    "matrix": Problem(lambda s: RBF(s) * Matrix(B), one(literal.rbf, literal.given(B))),
    "rbf outputs": Problem(lambda s: RBF(s), one(literal.rbf, literal.identity), output=2.0),
    "rbf outputs, covariance": Problem(
        lambda s: RBF(s) * Covariance(), one(literal.rbf, literal.covariance), output=2.0
    ),
    "linear kernel, covariance": Problem(
        lambda s: Linear() * Covariance(), one(literal.linear, literal.covariance)
    ),
}
COUPLED = {
    "sum": Problem(lambda s: RBF(s) * Covariance() + RBF(2 * s) * Identity(), _sum),
    "sum apart": Problem(lambda s: RBF(s) * Covariance() + RBF(2 * s) * Matrix(B), _apart),
    "fields": Problem(lambda s: CurlFree(s) + DivergenceFree(1.5 * s), data=fields),
    "local": Problem(lambda s: Local(RBF(s), width=1.0, floor=0.1), data=images),
    "patchwise": Problem(lambda s: Patchwise(RBF(s), (2, 3), size=2, overlap=1), data=images),
}
LINES = {
    "line": replace(SEPARABLE["identity"], data=line, n=40),
    "line, rbf outputs": replace(SEPARABLE["rbf outputs"], data=line, n=40),
    "line, covariance": replace(SEPARABLE["covariance"], data=line, n=30),
    "line, sum": replace(COUPLED["sum"], data=line, n=30),
}
LOW_RANKS = {
    "low rank": replace(SEPARABLE["identity"], parts=LOW_RANK),
    "low rank, covariance": replace(SEPARABLE["covariance"], parts=LOW_RANK),
    "low rank, conditional": replace(SEPARABLE["conditional"], parts=LOW_RANK),
    "low rank, rbf outputs": replace(SEPARABLE["rbf outputs"], parts=LOW_RANK),
    "explicit": replace(SEPARABLE["linear kernel"], parts={"features": Explicit()}),
}
PROBLEMS = SEPARABLE | LINES | COUPLED | LOW_RANKS


CORE = ["identity", "linear kernel", "covariance", "rbf outputs", "line", "sum", "low rank"]


def under() -> list:
    """Problems and conditions as parameters: all conditions of the core, the telling of others."""
    others = [name for name in PROBLEMS if name not in CORE]
    return crossed(CORE, CONDITIONS) + crossed(others, TELLING)


@dataclass(frozen=True)
class Posed:
    """A problem under a condition: data, the parameters of mercer, and the literal ridge."""

    problem: Problem
    condition: Condition
    X: np.ndarray
    Y: np.ndarray
    X_new: np.ndarray

    @property
    def params(self) -> dict:
        """What both estimators are given, apart from the ridge."""
        output = self.problem.output
        return {
            "kernel": self.problem.kernel(self.condition.scale),
            "output_kernel": Linear() if output is None else RBF(output),
            "fit_intercept": self.condition.intercept,
            **self._parts(),
        }

    @property
    def weights(self) -> np.ndarray:
        """One for each pair; ones without weights."""
        n = len(self.Y)
        return 0.5 + np.arange(n) % 4 if self.condition.weighted else np.ones(n)

    @property
    def labels(self) -> np.ndarray:
        """The group of each pair, itself without groups."""
        n = len(self.Y)
        return np.arange(n) * 7 % 6 if self.condition.grouped else np.arange(n)

    @property
    def fit(self) -> dict:
        """What fit is given beside the pairs."""
        given = {"groups": self.labels} if self.condition.grouped else {}
        return given | ({"sample_weight": self.weights} if self.condition.weighted else {})

    @property
    def outputs(self) -> np.ndarray:
        """V: coordinates of the training outputs."""
        length = self.problem.output
        if length is None:
            return self.Y
        return literal.coordinates(literal.rbf(length)(self.Y, self.Y))

    def _parts(self) -> dict:
        """Landmarks move with the inputs."""
        if not (self.condition.offset and self.problem.parts == LOW_RANK):
            return self.problem.parts
        return {"features": Nystroem(landmarks=LANDMARKS + OFFSET)}

    def ridge(self, alpha: float, exactly: bool = False) -> literal.Ridge:
        """The literal problem, in float64 or with the digits that mpmath works with."""
        return replace(self._read(literal.digits) if exactly else self._plain, alpha=alpha)

    @cached_property
    def _plain(self) -> literal.Ridge:
        return self._read(np.asarray)

    def _read(self, read: Callable) -> literal.Ridge:
        X, X_new, V, w = map(read, (self.X, self.X_new, self.outputs, self.weights))
        G, G_new = self._grams(X, X_new, V, w)
        return literal.Ridge(G, G_new, V, w, 1.0, self.condition.intercept)

    def _grams(self, X: Any, X_new: Any, V: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
        centre = self.condition.intercept
        V = literal.centred(V, w) if centre else V
        if self.problem.terms is None:
            kernel = self.params["kernel"].fit(X, V)
            both = kernel.gram(X).blocks(), kernel.gram(X_new, X).blocks()
            return tuple(blocks.transpose(0, 2, 1, 3) for blocks in both)
        G = G_new = 0
        for gram, operator in self.problem.terms(self.condition.scale):
            K, K_new = self._scalar(gram, X, X_new)
            if operator is literal.identity and len(self.problem.terms(1.0)) == 1:
                return K[:, None, :, None], K_new[:, None, :, None]
            matrix = operator(literal.centred_gram(K, w) if centre else K, V, w)
            G = G + K[:, None, :, None] * matrix[None, :, None, :]
            G_new = G_new + K_new[:, None, :, None] * matrix[None, :, None, :]
        return G, G_new

    def _scalar(self, gram: Gram, X: Any, X_new: Any) -> tuple[np.ndarray, np.ndarray]:
        """Kernel values, of the coordinates where those are of low rank."""
        map = self._parts().get("features")
        if not isinstance(map, Nystroem):
            return gram(X, X), gram(X_new, X)
        U = map.fit_transform(RBF(self.condition.scale), X)
        return U @ U.T, map.transform(X_new) @ U.T


def posed(name: str, condition: str, n: int | None = None) -> Posed:
    """A problem under a condition, both by name."""
    problem, at = PROBLEMS[name], CONDITIONS[condition]
    X, Y = problem.data(problem.n if n is None else n)
    X_new, _ = problem.data(5, seed=1)
    if at.repeated:
        X[[1, 2]], X[5], Y[5] = X[0], X[4], Y[4]
    move = OFFSET if at.offset else 0.0
    return Posed(problem, at, X + move, Y, X_new + move)


def size(posed: Posed) -> float:
    """The largest eigenvalue of the kernel matrix, which ridges are relative to."""
    G = posed.ridge(1.0).G
    n = G.shape[0] * G.shape[1]
    return float(np.linalg.eigvalsh(G.reshape(n, n))[-1])


def off(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error, of the largest entry."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())
