"""Every route, with a problem that it solves and what it refuses; and the kernels written out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from laws import cases, literal
from laws.dense import Dense
from mercer import KernelDependency
from mercer.features import Nystroem
from mercer.fields import Shared, ShiftEquivariant
from mercer.kernels import RBF, Linear
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Local,
    Matrix,
)
from mercer.problem import Want
from mercer.solvers import SOLVERS, BlockConjugateGradient, Cache, Solver
from mercer.spaces import Fields

N, M = 12, 4
ALPHA = 0.3
Grams = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Kernel values between training inputs, from new to training inputs, and between new ones."""


# -- data ----------------------------------------------------------------------------------------


def rings(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Values at four points of a circle, and a local law of them that shifts and mirrors keep."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    near = np.roll(X, 1, axis=1) + np.roll(X, -1, axis=1)
    return X, X**2 + 0.5 * near + 1.0


def two_channels(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The same with outputs of two channels."""
    X, Y = rings(n, seed)
    return X, np.stack([Y, np.cos(X)], axis=-1)


# -- kernels, written out ------------------------------------------------------------------------


def terms(*pairs: tuple) -> Callable:
    """Σ k_t B_t of scalar kernels and operators that are made of centred data."""

    def grams(case: "Posed") -> Grams:
        V, w, total = case.V, case.w, 0
        V = literal.centred(V, w) if case.intercept else V
        for gram, operator in pairs:
            K = gram(case.X, case.X)
            B = operator(literal.centred_gram(K, w) if case.intercept else K, V, w)
            made = [np.kron(gram(a, b), B) for a, b in case.sides]
            total = made if total == 0 else [a + b for a, b in zip(total, made, strict=True)]
        return tuple(total)

    return grams


def low_rank(operator: Callable) -> Callable:
    """Landmarks as coordinates; the kernel between new inputs stays exact."""
    marks = cases.LANDMARKS

    def grams(case: "Posed") -> Grams:
        gram = literal.rbf(1.0)
        inner = np.linalg.inv(gram(marks, marks))

        def coarse(A: np.ndarray, B: np.ndarray) -> np.ndarray:
            return gram(A, marks) @ inner @ gram(marks, B)

        G, G_new, _ = terms((coarse, operator))(case)
        V = literal.centred(case.V, case.w) if case.intercept else case.V
        K = coarse(case.X, case.X)
        B = operator(literal.centred_gram(K, case.w) if case.intercept else K, V, case.w)
        return G, G_new, np.kron(gram(case.X_new, case.X_new), B)

    return grams


def local(case: "Posed") -> Grams:
    """One kernel for each output location: near input values count more."""
    at = np.arange(case.X.shape[1])
    roots = np.sqrt(np.exp(-((at[:, None] - at) ** 2) / 2.0) + 0.1)

    def gram(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        G = np.zeros((len(A), len(at), len(B), len(at)))
        for c in at:
            G[:, c, :, c] = literal.rbf(2.0)(roots[c] * A, roots[c] * B)
        return G.reshape(len(A) * len(at), -1)

    return tuple(gram(A, B) for A, B in case.sides)


def equivariant(case: "Posed") -> Grams:
    """The mean over all shifts s of k(x, s x') times the matrix of s."""

    def gram(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        moved = [np.roll(B, k, axis=1) for k in range(4)]
        shifts = [np.roll(np.eye(4), k, axis=0) for k in range(4)]
        scalar = literal.rbf(3.0)
        return sum(np.kron(scalar(A, C), P) for C, P in zip(moved, shifts, strict=True)) / 4

    return tuple(gram(A, B) for A, B in case.sides)


def own_gram(case: "Posed") -> Grams:
    """Kernel values as the fitted kernel itself gives them."""
    return tuple(case.kernel.gram(A, B).matrix() for A, B in case.sides)


def shared(case: "Posed") -> Grams:
    """Windows as examples, on windows that were drawn as landmarks."""
    kernel = case.kernel
    marks = kernel.on_grids().draw_window_indices(len(case.X), kernel.rank)
    bare = kernel if kernel.operator is None else case.kernel_without_operator
    K, K_new, K_between = (bare.gram(A, B).matrix() for A, B in case.sides)
    inner = K[np.ix_(marks, marks)]
    inner = inner + 1e-10 * np.trace(inner) / len(inner) * np.eye(len(inner))
    right = np.linalg.solve(inner, K[marks])
    B = np.eye(case.V.shape[1] // case.X.shape[1]) if kernel.operator is None else kernel.operator
    return tuple(np.kron(A, B) for A in (K[:, marks] @ right, K_new[:, marks] @ right, K_between))


# -- problems ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Parameters of an estimator, the data, and the kernel written out.

    Attributes
    ----------
    output
        The length scale of an RBF kernel on outputs; None for the linear kernel.
    blocks
        Whether pairs are streamed.
    coupled
        For kernels that couple output components, the directions of the channels of a component.
    sets
        Sets of output directions, as columns, that the kernel does not couple, where they are not
        those of channels.
    steady
        The output directions, as columns, that an intercept fits; None for each component.
    """

    kernel: Any
    grams: Callable
    data: Callable = cases.vectors
    params: dict = field(default_factory=dict)
    output: float | None = None
    blocks: bool = False
    coupled: tuple | None = None
    sets: tuple | None = None
    steady: np.ndarray | None = None


PLANE = Nystroem(landmarks=cases.LANDMARKS)
RING = Fields(periodic=("x",))
WINDOWS = {"radius": 1, "fields": RING, "output_fields": RING, "rank": 10}
TWO = {"output_fields": Fields(periodic=("x",), channels=2)}
CHANNELS = np.array([[1.0, 0.3], [0.3, 0.5]])
TURN = 2 * np.pi * np.arange(4)[:, None] / 4
WAVES = np.hstack([np.cos(TURN), np.sin(TURN)]) / 2**0.5
MODES = (np.full((4, 1), 0.5), WAVES, np.cos(2 * TURN) / 2)
"""The constant, the cosine and sine of one period, and the cosine of two, at four points."""
rbf, wide = literal.rbf(1.0), literal.rbf(2.0)
given = literal.given(cases.B)
conditional = literal.conditional_covariance(0.1)

CASES = {
    "identity": Case(RBF(1.0), terms((rbf, literal.identity))),
    "covariance": Case(RBF(1.0) * Covariance(), terms((rbf, literal.covariance))),
    "conditional": Case(RBF(1.0) * ConditionalCovariance(0.1), terms((rbf, conditional))),
    "rbf outputs": Case(RBF(1.0), terms((rbf, literal.identity)), output=2.0),
    "rbf outputs, covariance": Case(
        RBF(1.0) * Covariance(), terms((rbf, literal.covariance)), output=2.0
    ),
    "rbf outputs, conditional": Case(
        RBF(1.0) * ConditionalCovariance(0.1), terms((rbf, conditional)), output=2.0
    ),
    "sum": Case(
        RBF(1.0) * Covariance() + RBF(2.0) * Identity(),
        terms((rbf, literal.covariance), (wide, literal.identity)),
    ),
    "local": Case(Local(RBF(2.0), width=1.0, floor=0.1), local, data=rings),
    "coupled": Case(
        RBF(1.0) * Covariance() + RBF(2.0) * Matrix(cases.B),
        terms((rbf, literal.covariance), (wide, given)),
        coupled=(np.ones(1),),
    ),
    "low rank": Case(RBF(1.0), low_rank(literal.identity), params={"features": PLANE}),
    "low rank, matrix": Case(
        RBF(1.0) * Matrix(cases.B), low_rank(given), params={"features": PLANE}
    ),
    "low rank, rbf outputs": Case(
        RBF(1.0), low_rank(literal.identity), params={"features": PLANE}, output=2.0
    ),
    "stream": Case(
        RBF(1.0) * Covariance(), low_rank(literal.covariance), params={"features": PLANE},
        blocks=True,
    ),
    "shared": Case(
        Shared(RBF(2.0), None, 1.0, 0.1, **WINDOWS), shared, data=rings, coupled=(np.ones(1),)
    ),
    "shared, channels": Case(
        Shared(RBF(2.0), None, 1.0, 0.1, operator=CHANNELS, **WINDOWS | TWO), shared,
        data=two_channels, coupled=tuple(np.linalg.eigh(CHANNELS)[1].T),
    ),
    "shifts": Case(
        ShiftEquivariant(RBF(3.0)), equivariant, data=rings, sets=MODES, steady=MODES[0]
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """What fit is given besides the pairs."""

    intercept: bool = False
    weighted: bool = False
    grouped: bool = False


PLAIN = Condition()
CONDITIONS = {
    "plain": PLAIN,
    "weights, groups": Condition(weighted=True, grouped=True),
    "intercept, groups": Condition(intercept=True, grouped=True),
    "weights, intercept, groups": Condition(intercept=True, weighted=True, grouped=True),
}


class Posed:
    """A case with data: a public fit, and the dense reference of the same problem.

    Attributes
    ----------
    weights, groups
        What fit is given besides the pairs; None where it is not.
    smooth
        Whether all outputs are nearly one, which windows that are alike explain almost wholly.
    twice
        Whether each input occurs twice, with different outputs.
    w, labels
        The same in full.
    """

    def __init__(
        self,
        case: Case,
        condition: Condition = PLAIN,
        factor: Callable | None = None,
        alpha: float = ALPHA,
        scale: float = 1.0,
        weights: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        smooth: bool = False,
        twice: bool = False,
    ):
        self.case, self.intercept, self.alpha = case, condition.intercept, alpha
        (X, self.Y), X_new = case.data(N), case.data(M, seed=1)[0]
        if twice:
            X = np.concatenate([X[: N // 2], X[: N // 2]])
        if smooth:  # outputs that a smooth kernel explains up to less than a thousandth
            self.Y = 1.0 + 1e-3 * self.Y
        self.X, self.X_new, self._factor = scale * X, scale * X_new, factor
        if condition.weighted and weights is None:
            weights = 0.5 + np.arange(N) % 4
        if condition.grouped and groups is None:
            groups = np.arange(N) * 7 % 5
        self.weights, self.groups = weights, groups
        self.w = np.ones(N) if weights is None else weights
        self.labels = np.arange(N) if groups is None else groups
        self.V = self.Y.reshape(N, -1)
        if case.output is not None:
            self.V = literal.coordinates(literal.rbf(case.output)(self.V, self.V))

    def model(self, kernel: Any = None, **params: Any) -> KernelDependency:
        """The estimator, fitted."""
        case = self.case
        output = Linear() if case.output is None else RBF(case.output)
        params = {"alpha": self.alpha, "fit_intercept": self.intercept} | case.params | params
        model = KernelDependency(case.kernel if kernel is None else kernel, output, **params)
        if not case.blocks:
            return model.fit(self.X, self.Y, groups=self.groups, sample_weight=self.weights)
        given = (self.X, self.Y) if self.weights is None else (self.X, self.Y, self.weights)
        return model.fit([tuple(A[rows] for A in given) for rows in (slice(0, 5), slice(5, N))])

    @cached_property
    def fitted(self) -> KernelDependency:
        return self.model()

    @cached_property
    def factorization(self) -> Any:
        """The problem of the fitted model, factored by the route."""
        fitted = self.fitted.fitted_
        return fitted.factorization if self._factor is None else self._factor(fitted.problem)

    @property
    def kernel(self) -> Any:
        return self.fitted.kernel_

    @cached_property
    def kernel_without_operator(self) -> Any:
        """A fitted `Shared` kernel whose operator over channels is left out."""
        params = self.case.kernel.get_params(deep=False) | {"operator": None} | WINDOWS
        return Shared(**params).for_outputs(self.X.shape[1:]).fit(self.X, self.X)

    @property
    def sides(self) -> tuple:
        return (self.X, self.X), (self.X_new, self.X), (self.X_new, self.X_new)

    @property
    def directions(self) -> list[np.ndarray]:
        """Sets of output directions, as columns, that the kernel does not couple."""
        q = self.dense.q
        if self.case.coupled is not None:
            return [np.kron(np.eye(q // len(d)), d[:, None]) for d in self.case.coupled]
        if self.case.sets is not None:
            return list(self.case.sets)
        return [direction[:, None] for direction in self.dense.directions().T]

    @cached_property
    def reference(self) -> Any:
        """What quantities are compared with, the dense reference unless another one is set."""
        return self.dense

    @cached_property
    def dense(self) -> Dense:
        """The dense reference."""
        G, G_new, prior = self.case.grams(self)
        return Dense(G, G_new, prior, self.V, self.w, self.alpha, self.intercept, self.case.steady)


PATH = Want(alphas=[ALPHA, 3 * ALPHA], left_out=True)
ONE = Want(alphas=[ALPHA])
QUANTITIES = ("left out", "gcv", "moves", "without", "variance", "evidence", "density")
BY_NAME = {solver.name: solver for solver in SOLVERS}

# -- routes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    """A solver, a case that it solves, how it is called, and the sentences by which it refuses.

    Attributes
    ----------
    refuses
        A part of the sentence for each quantity that it does not offer.
    grouped
        Whether it takes groups.
    error
        The largest error relative to the largest entry.
    """

    name: str
    case: str
    want: Want = PATH
    refuses: dict[str, str] = field(default_factory=dict)
    grouped: bool = True
    error: float = 1e-9

    @property
    def solver(self) -> Solver | None:
        """The solver of the name; None if the kernel brings its own."""
        return BY_NAME.get(self.name)

    def posed(self, condition: Condition, **data: Any) -> Posed:
        """The case under a condition, factored by this route."""
        condition = replace(condition, grouped=condition.grouped and self.grouped)

        def factor(problem: Any) -> Any:
            if self.solver is None:
                return problem.kernel.factor(problem, self.want, Cache())
            return self.solver.build(problem, self.want, Cache())

        return Posed(CASES[self.case], condition, factor, **data)


INFINITE = {"evidence": "infinitely many directions", "density": "infinitely many directions"}
PRODUCTS = {"left out": "no left-out predictions", "gcv": "no left-out predictions"}
PRODUCTS |= dict.fromkeys(("moves", "without", "variance", "evidence", "density"), "no closed form")

BY_PRODUCTS = replace(ONE, solver="cg")
AT_ONE = replace(ONE, left_out=True, solver="cg")
AT_ITS_RIDGE = {k: v for k, v in PRODUCTS.items() if k != "gcv"} | {"left out": "at its ridge"}

ROUTES = {
    "iterative": Route("iterative", "identity", BY_PRODUCTS, PRODUCTS),
    "iterative, covariance": Route("iterative", "covariance", BY_PRODUCTS, PRODUCTS),
    "iterative, conditional": Route("iterative", "conditional", BY_PRODUCTS, PRODUCTS),
    "iterative, rbf outputs": Route(
        "iterative", "rbf outputs, covariance", BY_PRODUCTS, PRODUCTS | INFINITE
    ),
    "leverages": Route("leverages", "identity", AT_ONE, AT_ITS_RIDGE, grouped=False),
    "leverages, conditional": Route(
        "leverages", "conditional", AT_ONE, AT_ITS_RIDGE, grouped=False
    ),
    "cholesky": Route("cholesky", "identity", ONE),
    "cholesky, rbf outputs": Route(
        "cholesky", "rbf outputs", ONE,
        INFINITE | {"moves": "in coordinates", "variance": "in coordinates"},
    ),
    "spectral, one ridge": Route("spectral", "covariance", ONE),
    "spectral, one ridge, conditional": Route("spectral", "conditional", ONE),
    "spectral, one ridge, rbf outputs": Route(
        "spectral", "rbf outputs, conditional", ONE, INFINITE
    ),
    "spectral": Route("spectral", "identity"),
    "spectral, covariance": Route("spectral", "covariance"),
    "spectral, conditional": Route("spectral", "conditional"),
    "spectral, rbf outputs": Route("spectral", "rbf outputs, covariance", refuses=INFINITE),
    "by direction": Route("by direction", "sum"),
    "by direction, local": Route("by direction", "local"),
    "dense": Route("dense", "coupled"),
    "cg": Route("cg", "coupled", replace(ONE, solver=BlockConjugateGradient(1e-13)), PRODUCTS),
    "moments": Route("moments", "low rank, matrix", ONE, PRODUCTS),
    "low rank": Route("low rank", "low rank"),
    "low rank, one ridge": Route("low rank", "low rank", ONE),
    "low rank, matrix": Route("low rank", "low rank, matrix"),
    "low rank, spanned": Route(
        "low rank", "low rank, rbf outputs",
        refuses=INFINITE | {"moves": "in coordinates", "variance": "in coordinates"},
    ),
    "streamed": Route(
        "streamed", "stream", grouped=False, refuses={"density": "keeps a sample"}
    ),
    "windows": Route("windows", "shared", error=1e-6),
    "windows, channels": Route("windows", "shared, channels", error=1e-6),
    "shifts": Route("shifts", "shifts"),
}  # fmt: skip
