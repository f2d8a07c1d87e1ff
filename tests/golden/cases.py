"""The fits whose results are recorded: one dictionary from a name to a function that fits.

Ridges and length scales keep the matrices well conditioned, so that two correct routes agree far
below the tolerance of the comparison. Known errors of the recorded version are left out.
"""

from collections.abc import Callable
from itertools import product
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
    RandomOperatorFourier,
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
from mercer.losses import EpsilonInsensitive, Huber
from mercer.operators import (
    Blocks,
    ConditionalCovariance,
    Covariance,
    CurlFree,
    DivergenceFree,
    Identity,
    LearnedOperator,
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


def told(model: Any, x_new: Any, outputs: Any) -> dict[str, Any]:
    """The points at new inputs, as inner products with training outputs."""
    return {"new": model.embed(x_new).inner(outputs[:4])}


def chosen(model: Any, x_new: Any, outputs: Any) -> dict[str, Any]:
    """The same, and what was left out."""
    left_out = model.loo_embed().inner(outputs[:4])[:6]
    return told(model, x_new, outputs) | {
        "alpha": model.alpha_,
        "risk": model.loo_risk_,
        "risks": model.cv_results_["risk"],
        "left out": left_out,
    }


def add(name: str, model: Any, data: tuple = (X, Y, X_NEW), **fit: Any) -> None:
    """Add one fit under a name that is not there yet."""
    assert name not in CASES, name
    report = chosen if isinstance(model, KernelDependencyCV) else told

    def run() -> dict[str, Any]:
        inputs, outputs, x_new = data
        return report(model.fit(inputs, outputs, **fit), x_new, outputs)

    CASES[name] = run


def add_all(name: str, kernel: Any, output: Any = None, data: tuple = (X, Y, X_NEW), **parts: Any):
    """Add one fit at one ridge, and two choices: rows left out, groups left out."""
    for intercept in (False, True):
        same = {"fit_intercept": intercept, **parts}
        title = f"{name}{', intercept' * intercept}"
        add(title, KernelDependency(kernel, output, ALPHA, **same), data)
        choice = KernelDependencyCV(kernel, output, ALPHAS, **same)
        add(f"{title}, choice", choice, data)
        choice = KernelDependencyCV(kernel, output, ALPHAS, **same)
        add(f"{title}, groups", choice, data, groups=GROUPS[: len(data[1])])


# -- a scalar kernel times an operator ---------------------------------------------------------

SCALAR = RBF(0.8)
OPERATORS = {
    "identity": Identity(),
    "scaled identity": 2.5 * Identity(),
    "covariance": Covariance(),
    "covariance power": Covariance(0.5),
    "conditional": ConditionalCovariance(0.1),
    "sum": Covariance() + 0.2 * Identity(),
    "mixture": Mixture([Identity(), 3.0 * Identity()], [0.5, 0.5]),
}
OUTPUTS = {"linear": Linear(), "rbf": RBF(1.5)}

for (op, operator), (out, l) in product(OPERATORS.items(), OUTPUTS.items()):
    if (op, out) != ("mixture", "rbf"):
        add_all(f"exact, {op}, {out}", SCALAR * operator, l)
add_all("exact, matrix, linear", Laplacian(1.0) * Matrix(B))
add_all("exact, matrix and covariance, linear", SCALAR * (Matrix(B) + 0.5 * Covariance()))
add_all("exact, linear kernel, covariance", Linear() * Covariance())
for solver, (out, l), intercept in product(
    ("cholesky", "spectral"), OUTPUTS.items(), (False, True)
):
    model = KernelDependency(SCALAR, l, ALPHA, solver=solver, fit_intercept=intercept)
    add(f"exact, {solver}, {out}{', intercept' * intercept}", model)
several = [RBF(s) * op for s in (0.7, 1.5) for op in (Identity(), Covariance())]
for intercept in (False, True):
    model = KernelDependencyCV(several, alphas=ALPHAS, fit_intercept=intercept)
    add(f"exact, several kernels{', intercept' * intercept}", model)
    model = KernelDependency(SCALAR, alpha=ALPHA, fit_intercept=intercept)
    add(f"exact, plain numbers{', intercept' * intercept}", model, (X, Y[:, 0], X_NEW))


def tridiagonal() -> dict[str, Any]:
    x = 3.0 * scattered(1000, 3)
    y = np.stack([np.sin(2 * x[:, 0]) + x[:, 1], x[:, 2] * x[:, 0]], axis=1)
    model = KernelDependencyCV(RBF(0.4), alphas=[0.1, 1.0], fit_intercept=False).fit(x, y)
    return chosen(model, X_NEW, y)


CASES["exact, tridiagonal"] = tridiagonal

# -- low rank ----------------------------------------------------------------------------------

MAPS = {
    "given landmarks": Nystroem(landmarks=LANDMARKS),
    "drawn landmarks": Nystroem(7, random_state=0),
    "incomplete Cholesky": IncompleteCholesky(7),
}
for name, map in MAPS.items():
    add_all(f"{name}, identity", SCALAR, features=map)
    add_all(f"{name}, spanned", SCALAR, RBF(1.5), features=map)
    add_all(f"{name}, covariance", SCALAR * Covariance(), features=map)
for name, map in {
    "random pivots": RandomPivotedCholesky(7, random_state=0),
    "kernel PCA": KernelPCA(5),
    "random Fourier": RandomFourier(10, random_state=0),
}.items():
    model = KernelDependencyCV(SCALAR, alphas=ALPHAS, features=map, fit_intercept=True)
    add(f"{name}, identity", model, groups=GROUPS)
add_all("explicit, identity", Linear() + 0.5 * Linear(), features=Explicit())
add_all("explicit, conditional", Linear() * ConditionalCovariance(0.1), features=Explicit())
add_all("low rank outputs", SCALAR * Covariance(), RBF(1.5), output_features=KernelPCA(4))
add_all(
    "low rank both, conditional", SCALAR * ConditionalCovariance(0.1), RBF(1.5),
    features=Nystroem(landmarks=LANDMARKS), output_features=Nystroem(landmarks=Y[:6]),
)  # fmt: skip

# -- kernels that do not separate --------------------------------------------------------------


def rotating(A: np.ndarray, C: np.ndarray) -> np.ndarray:
    turn = A[:, None, 0] - C[None, :, 0]
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return RBF(0.7)(A, C)[:, :, None, None] * R.transpose(2, 3, 0, 1)


FIELDS = (POINTS, FIELD, POINTS_NEW)
PICTURES = (IMAGES, IMAGES_OUT, IMAGES_NEW)
COMMUTING = RBF(0.7) * Covariance() + RBF(1.5) * Identity()
APART = RBF(0.7) * Covariance() + RBF(1.5) * Matrix(B) + Linear() * Identity()
PATCHES = Patchwise(RBF(1.0), shape=(3, 4), size=2, overlap=1)
COUPLED = {
    "commuting sum": (COMMUTING, (X, Y, X_NEW)),
    "sum apart": (APART, (X, Y, X_NEW)),
    "patchwise": (PATCHES, PICTURES),
    "pointwise": (0.7 * RBF(1.0) * Identity() + 0.3 * Pointwise(), PICTURES),
    "curl-free": (CurlFree(0.7), FIELDS),
    "divergence-free": (DivergenceFree(0.7), FIELDS),
    "fields": (CurlFree(0.7) + DivergenceFree(0.9) + 0.2 * RBF(0.7) * Identity(), FIELDS),
    "blocks": (Blocks(rotating), FIELDS),
}
for name, (kernel, data) in COUPLED.items():
    add_all(name, kernel, data=data)
add_all("commuting sum, rbf", COMMUTING, RBF(1.5))
add_all("operator features", CurlFree(0.7), data=FIELDS, features=RandomOperatorFourier(8, 0))
for intercept, (name, solver) in product(
    (False, True),
    {"dense": "dense", "conjugate gradients": BlockConjugateGradient(1e-13)}.items(),
):
    for kind in ("commuting sum", "sum apart", "fields"):
        kernel, data = COUPLED[kind]
        model = KernelDependency(kernel, None, ALPHA, solver=solver, fit_intercept=intercept)
        add(f"{kind}, {name}{', intercept' * intercept}", model, data)

# -- losses and operators that are solved for by rounds ----------------------------------------

TIGHT = LearnedOperator(tol=1e-14, max_iter=20000)
HUBER = Huber(0.5, tol=1e-12, max_iter=20000)
for intercept in (False, True):
    parts = {"fit_intercept": intercept}
    end = ", intercept" * intercept
    add(f"learnt operator{end}", KernelDependency(SCALAR * TIGHT, alpha=1.0, **parts))
    add(f"Huber{end}", KernelDependency(SCALAR * Covariance(), alpha=ALPHA, loss=HUBER, **parts))
    model = KernelDependency(SCALAR, RBF(1.5), alpha=ALPHA, loss=HUBER, **parts)
    add(f"Huber, rbf{end}", model)
    tube = EpsilonInsensitive(0.3, tol=1e-12, max_iter=20000)
    add(f"epsilon-insensitive{end}", KernelDependency(SCALAR, alpha=ALPHA, loss=tube, **parts))
    model = KernelDependencyCV(SCALAR, alphas=[ALPHA], loss=HUBER, cv=4, **parts)
    add(f"Huber, choice{end}", model, groups=GROUPS)

# -- outputs and inputs that are no vectors ----------------------------------------------------

WORDS = ["abc", "bcd", "cda", "dab", "abd", "bca", "cab", "dcb", "acb", "bda", "aabb", "bccd"]
TAGS = [{"x"} if "b" in word[:2] else {"y", "z"} if "c" in word else {"z"} for word in WORDS]
RANKS = np.argsort(np.argsort(Y, axis=1), axis=1)
LETTERS = {"a": (0.0, 0.0), "b": (2.0, 0.0), "c": (0.0, 2.0), "d": (1.0, 1.0)}
SPELT = ["ab", "cadd", "bca", "d", "dcba", "bb"]
DRAWN = [
    np.array([LETTERS[c] for c in w]) + 0.1 * scattered(len(w), 2, i) for i, w in enumerate(SPELT)
]


def decoded(model: Any, inputs: Any, outputs: Any, x_new: Any) -> Callable[[], dict[str, Any]]:
    """Decoded predictions, as text where they are no numbers."""

    def run() -> dict[str, Any]:
        model.fit(inputs, outputs)
        found = {"predicted": text(model.predict(x_new))}
        if isinstance(model, KernelDependencyCV):
            found |= {"risks": model.cv_results_["risk"], "left": text(model.loo_predict())}
        return found

    return run


def text(outputs: Any) -> list[str]:
    """Outputs of any kind, spelt the same way every time."""
    plain = [
        sorted(y) if isinstance(y, set | frozenset) else np.asarray(y).tolist() for y in outputs
    ]
    return [str(y) for y in plain]


for intercept in (False, True):
    end, parts = ", intercept" * intercept, {"fit_intercept": intercept}
    strings = Normalized(Spectrum(2))
    vectors = scattered(12, 3) * 2
    for kind, make in {"": KernelDependency, ", choice": KernelDependencyCV}.items():
        ridge = {"alphas": ALPHAS, "scoring": None} if kind else {"alpha": ALPHA}
        model = make(strings, Labels(), **ridge, **parts)
        CASES[f"words to labels{kind}{end}"] = decoded(model, WORDS, TAGS, ["abca", "dd", "cb"])
        model = make(SCALAR, strings, decoder=Candidates(), **ridge, **parts)
        CASES[f"vectors to words{kind}{end}"] = decoded(model, vectors, WORDS, X_NEW)
        model = make(SCALAR * Covariance(), Kendall(), **ridge, **parts)
        CASES[f"rankings{kind}{end}"] = decoded(model, X, RANKS, X_NEW)
places = Positionwise(RBF(1.0), mu=0.5, eta=0.7, letters=4)
for make, ridge in ((KernelDependency, {"alpha": ALPHA}), (KernelDependencyCV, {"alphas": ALPHAS})):
    model = make(places, Positions(), decoder=PerPosition("input"), fit_intercept=False, **ridge)
    add(f"positionwise, {make.__name__}", model, (DRAWN, SPELT, DRAWN[:2]))
for intercept in (False, True):
    model = KernelDependency(
        LaplacianRegularized(SCALAR, gamma=0.5, neighbors=4), alpha=ALPHA, fit_intercept=intercept
    )
    add(f"unlabelled inputs{', intercept' * intercept}", model, unlabelled=scattered(9, 3, 6) * 2)

# -- streams -----------------------------------------------------------------------------------


def streamed(model: Any, *cuts: int, **fit: Any) -> Callable[[], dict[str, Any]]:
    def run() -> dict[str, Any]:
        blocks = list(zip(np.split(X, cuts), np.split(Y, cuts), strict=True))
        fitted = model.fit(Stream(blocks), **fit)
        return (told if isinstance(model, KernelDependency) else chosen)(fitted, X_NEW, Y)

    return run


for intercept, (op, operator) in product(
    (False, True), {k: OPERATORS[k] for k in ("identity", "covariance", "conditional")}.items()
):
    end = f"{op}{', intercept' * intercept}"
    same = {"features": Nystroem(landmarks=LANDMARKS), "fit_intercept": intercept}
    model = KernelDependency(SCALAR * operator, alpha=ALPHA, **same)
    CASES[f"stream, {end}"] = streamed(model, 5, 13)
    model = KernelDependencyCV(SCALAR * operator, alphas=ALPHAS, **same)
    CASES[f"stream, choice, {end}"] = streamed(model, 5, 13)
    model = KernelDependency(Linear() * operator, alpha=ALPHA, fit_intercept=intercept)
    CASES[f"stream, explicit, {end}"] = streamed(model, 10)
