"""The fits whose results are recorded: one for each route, as a function by name.

The laws compare all routes with the literal formulas; these fits show that results do not drift.
Ridges and length scales keep the matrices well conditioned, so that two correct routes agree far
below the tolerance of the comparison.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, PerPosition
from mercer.features import (
    Explicit,
    IncompleteCholesky,
    KernelPCA,
    Nystroem,
    RandomFourier,
    RandomPivotedCholesky,
)
from mercer.kernels import (
    RBF,
    Kendall,
    Labels,
    Laplacian,
    LaplacianRegularized,
    Linear,
    Normalized,
    Positions,
    Spectrum,
)
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    CurlFree,
    DivergenceFree,
    Identity,
    Matrix,
    Mixture,
    Patchwise,
    Pointwise,
    Positionwise,
)
from mercer.solvers import BlockConjugateGradient
from mercer.sources import Stream

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)
N = 24
ALPHA = 0.1
ALPHAS = [0.03, 0.1, 1.0]


def scattered(n: int, d: int, first: int = 0) -> np.ndarray:
    """Points spread evenly over [-1, 1]^d, by a formula that no version of numpy changes."""
    turns = np.outer(np.arange(1, n + 1), np.sqrt(PRIMES[first : first + d]))
    return 2.0 * np.modf(turns)[0] - 1.0


X, X_NEW = 2.0 * scattered(N, 3), 2.0 * scattered(5, 3, 5)
Y = np.stack(
    [np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], X.sum(axis=1), np.cos(X[:, 1])], axis=1
) @ (np.eye(4) + 0.3) + 0.3 * scattered(N, 4, 9) + 1.0  # fmt: skip
GROUPS = np.arange(N) * 7 % 9
B = np.array([[2.0, 0.5, 0.0, 0.1], [0.5, 1.0, 0.2, 0.0], [0.0, 0.2, 1.5, 0.4], [0.1, 0, 0.4, 0.8]])
LANDMARKS = scattered(7, 3, 2) * 2.0
IMAGES, IMAGES_NEW = scattered(N, 12), scattered(5, 12, 5)
IMAGES_OUT = np.cos(2 * IMAGES) + IMAGES[:, ::-1] + 0.5
POINTS, POINTS_NEW = 1.5 * scattered(N, 2), 1.5 * scattered(5, 2, 5)
FIELD = np.stack([2 * POINTS[:, 0] * POINTS[:, 1], POINTS[:, 0] ** 2 - POINTS[:, 1]], axis=1) + 0.2

CASES: dict[str, Callable[[], dict[str, Any]]] = {}


# -- what is recorded --------------------------------------------------------------------------


def points(model: Any, x_new: Any, outputs: Any) -> dict[str, Any]:
    """Return the points at new inputs, as inner products with training outputs."""
    return {"new": model.embed(x_new).inner(outputs[:4])}


def chosen(model: Any, x_new: Any, outputs: Any) -> dict[str, Any]:
    """Return the same, the risks and the left-out points."""
    left_out = model.loo_embed().inner(outputs[:4])[:6]
    return points(model, x_new, outputs) | {
        "alpha": model.alpha_,
        "risk": model.loo_risk_,
        "risks": model.cv_results_["risk"],
        "left out": left_out,
    }


def add(name: str, model: Any, data: tuple = (X, Y, X_NEW), **fit: Any) -> None:
    """Add one fit under a new name."""
    assert name not in CASES, name
    report = chosen if isinstance(model, KernelDependencyCV) else points

    def run() -> dict[str, Any]:
        inputs, outputs, x_new = data
        return report(model.fit(inputs, outputs, **fit), x_new, outputs)

    CASES[name] = run


def add_groups(
    name: str, kernel: Any, output: Any = None, data: tuple = (X, Y, X_NEW), **parts: Any
):
    """Add a choice by groups that are left out, with an intercept."""
    model = KernelDependencyCV(kernel, output, ALPHAS, fit_intercept=True, **parts)
    add(f"{name}, intercept, groups", model, data, groups=GROUPS[: len(data[1])])


# -- a scalar kernel times an operator ---------------------------------------------------------

SCALAR, ROUND = RBF(0.8), RBF(1.5)
SEVERAL = [RBF(s) * op for s in (0.7, 1.5) for op in (Identity(), Covariance())]
add_groups("exact, identity, linear", SCALAR)
add_groups("exact, covariance, rbf", SCALAR * Covariance(), ROUND)
add_groups("exact, covariance power, linear", SCALAR * Covariance(0.5))
add_groups("exact, conditional, rbf", SCALAR * ConditionalCovariance(0.1), ROUND)
add_groups("exact, sum, rbf", SCALAR * (Covariance() + 0.2 * Identity()), ROUND)
add_groups("exact, mixture, linear", SCALAR * Mixture([Identity(), 3.0 * Identity()], [0.5, 0.5]))
add_groups("exact, matrix, linear", Laplacian(1.0) * Matrix(B))
add(
    "exact, conditional, linear",
    KernelDependency(SCALAR * ConditionalCovariance(0.1), None, ALPHA, fit_intercept=False),
)
add("exact, cholesky, rbf, intercept", KernelDependency(SCALAR, ROUND, ALPHA, solver="cholesky"))
add("exact, several kernels, intercept", KernelDependencyCV(SEVERAL, alphas=ALPHAS))
add("exact, plain numbers, intercept", KernelDependency(SCALAR, alpha=ALPHA), (X, Y[:, 0], X_NEW))


def many_pairs() -> dict[str, Any]:
    x = 3.0 * scattered(1000, 3)
    y = np.stack([np.sin(2 * x[:, 0]) + x[:, 1], x[:, 2] * x[:, 0]], axis=1)
    model = KernelDependencyCV(RBF(0.4), alphas=[0.1, 1.0], fit_intercept=False).fit(x, y)
    return chosen(model, X_NEW, y)


CASES["exact, many pairs"] = many_pairs

# -- low rank ----------------------------------------------------------------------------------

GIVEN = Nystroem(landmarks=LANDMARKS)
add_groups("given landmarks, spanned", SCALAR, ROUND, features=GIVEN)
add_groups("given landmarks, covariance", SCALAR * Covariance(), features=GIVEN)
add_groups("drawn landmarks, identity", SCALAR, features=Nystroem(7, random_state=0))
add_groups("incomplete Cholesky, identity", SCALAR, features=IncompleteCholesky(7))
for name, map in {
    "random pivots": RandomPivotedCholesky(7, random_state=0),
    "kernel PCA": KernelPCA(5),
    "random Fourier": RandomFourier(10, random_state=0),
}.items():
    model = KernelDependencyCV(SCALAR, alphas=ALPHAS, features=map, fit_intercept=True)
    add(f"{name}, identity", model, groups=GROUPS)
add_groups("explicit, conditional", Linear() * ConditionalCovariance(0.1), features=Explicit())
add_groups(
    "low rank both, conditional", SCALAR * ConditionalCovariance(0.1), ROUND,
    features=GIVEN, output_features=Nystroem(landmarks=Y[:6]),
)  # fmt: skip

# -- kernels that do not separate --------------------------------------------------------------

FIELDS = (POINTS, FIELD, POINTS_NEW)
PICTURES = (IMAGES, IMAGES_OUT, IMAGES_NEW)
MIXED = CurlFree(0.7) + DivergenceFree(0.9) + 0.2 * RBF(0.7) * Identity()
add_groups("commuting sum, rbf", RBF(0.7) * Covariance() + ROUND * Identity(), ROUND)
add_groups("sum apart", RBF(0.7) * Covariance() + RBF(1.5) * Matrix(B) + Linear() * Identity())
add_groups("patchwise", Patchwise(RBF(1.0), shape=(3, 4), size=2, overlap=1), data=PICTURES)
add_groups("pointwise", 0.7 * RBF(1.0) * Identity() + 0.3 * Pointwise(), data=PICTURES)
add_groups("fields", MIXED, data=FIELDS)
model = KernelDependency(MIXED, None, ALPHA, solver=BlockConjugateGradient(1e-13))
add("fields, conjugate gradients, intercept", model, FIELDS)

# -- inputs and outputs that are not vectors ----------------------------------------------------

WORDS = ["abc", "bcd", "cda", "dab", "abd", "bca", "cab", "dcb", "acb", "bda", "aabb", "bccd"]
TAGS = [{"x"} if "b" in word[:2] else {"y", "z"} if "c" in word else {"z"} for word in WORDS]
RANKS = np.argsort(np.argsort(Y, axis=1), axis=1)
LETTERS = {"a": (0.0, 0.0), "b": (2.0, 0.0), "c": (0.0, 2.0), "d": (1.0, 1.0)}
SPELT = ["ab", "cadd", "bca", "d", "dcba", "bb"]
DRAWN = [
    np.array([LETTERS[c] for c in w]) + 0.1 * scattered(len(w), 2, i) for i, w in enumerate(SPELT)
]
STRINGS = Normalized(Spectrum(2))


def add_decoded(name: str, kernels: tuple, data: tuple, **parts: Any) -> None:
    """Add a choice whose predictions are recorded as text."""
    model = KernelDependencyCV(*kernels, alphas=ALPHAS, scoring=None, **parts)

    def run() -> dict[str, Any]:
        inputs, outputs, x_new = data
        model.fit(inputs, outputs)
        found = {"predicted": text(model.predict(x_new)), "risks": model.cv_results_["risk"]}
        return found | {"left": text(model.loo_predict())}

    CASES[f"{name}, choice, intercept"] = run


def text(outputs: Any) -> list[str]:
    """Return outputs of any kind in one spelling."""
    plain = [
        sorted(y) if isinstance(y, set | frozenset) else np.asarray(y).tolist() for y in outputs
    ]
    return [str(y) for y in plain]


add_decoded("words to labels", (STRINGS, Labels()), (WORDS, TAGS, ["abca", "dd", "cb"]))
add_decoded(
    "vectors to words", (SCALAR, STRINGS), (scattered(12, 3) * 2, WORDS, X_NEW),
    decoder=Candidates(),
)  # fmt: skip
add_decoded("rankings", (SCALAR * Covariance(), Kendall()), (X, RANKS, X_NEW))
model = KernelDependencyCV(
    Positionwise(RBF(1.0), mu=0.5, eta=0.7, letters=4), Positions(), ALPHAS,
    decoder=PerPosition("input"), fit_intercept=False,
)  # fmt: skip
add("positionwise, KernelDependencyCV", model, (DRAWN, SPELT, DRAWN[:2]))
kernel = LaplacianRegularized(SCALAR, gamma=0.5, neighbors=4, unlabelled=scattered(9, 3, 6) * 2)
add("unlabelled inputs, intercept", KernelDependency(kernel, alpha=ALPHA))

# -- streams -----------------------------------------------------------------------------------


def add_stream(name: str, model: Any, *cuts: int) -> None:
    """Add a fit on blocks that are cut at some rows."""
    report = points if isinstance(model, KernelDependency) else chosen

    def run() -> dict[str, Any]:
        blocks = list(zip(np.split(X, cuts), np.split(Y, cuts), strict=True))
        return report(model.fit(Stream(blocks)), X_NEW, Y)

    CASES[name] = run


model = KernelDependencyCV(SCALAR * Covariance(), alphas=ALPHAS, features=GIVEN)
add_stream("stream, choice, covariance, intercept", model, 5, 13)
model = KernelDependency(Linear() * ConditionalCovariance(0.1), alpha=ALPHA)
add_stream("stream, explicit, conditional, intercept", model, 10)
