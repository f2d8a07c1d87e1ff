"""The contracts of mercer.testing, over everything of the core: a new part is one line here."""

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, Decoder, Direct, FixedPoint, Gradient
from mercer.features import (
    Exact,
    Explicit,
    FeatureMap,
    IncompleteCholesky,
    KernelPCA,
    Nystroem,
    RandomFourier,
    RandomPivotedCholesky,
)
from mercer.kernels import (
    RBF,
    Centered,
    Function,
    Gaussian,
    Kernel,
    Laplacian,
    LaplacianRegularized,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    Precomputed,
)
from mercer.kernels.capabilities import ItemGradient
from mercer.losses import EpsilonInsensitive, Huber
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    LearnedOperator,
    Matrix,
    Mixture,
    Operator,
)
from mercer.testing import (
    check_decoder,
    check_feature_map,
    check_kernel,
    check_loss,
    check_operator,
    check_structured_estimator,
)

VECTORS = np.random.default_rng(0).normal(size=(9, 3))
VECTORS[8] = VECTORS[0]
IMAGES = np.random.default_rng(1).normal(size=(7, 2, 3))
WORDS = ["abc", "bcd", "", "abcd", "xyz", "abc"]


def shared_letters(a, b):
    return float(len(set(a) & set(b)))


def equal(a, b):
    return float(a == b)


LETTERS = Function(shared_letters, of_items=True)
TOLD = LETTERS + Function(equal, of_items=True)
"""Tells anagrams apart, as a decoder's kernel must."""


def kind(part):
    return type(part).__name__  # not str: a function's address differs between processes


VECTOR_KERNELS = [
    Linear(), Polynomial(2), Polynomial(3, gamma=0.5, coef0=0.0), RBF(1.0), RBF(), Laplacian(2.0),
    Laplacian(), Matern(1.0, nu=0.5), Matern(), Matern(1.0, nu=2.5), Matern(1.0, nu=np.inf),
    Normalized(Polynomial(2)), Normalized(Linear()), Gaussian(Linear()),
    Gaussian(Polynomial(2), 3.0),
    Centered(RBF()), Centered(Linear()), RBF() + Linear(), RBF() * Polynomial(2), 0.3 * Linear(),
    Linear() ** 3, Function(lambda A, B: A @ B.T), Normalized(Centered(RBF())),
    LaplacianRegularized(RBF(), neighbors=2), LaplacianRegularized(Linear(), gamma=0.0),
]  # fmt: skip


@pytest.mark.parametrize("kernel", VECTOR_KERNELS, ids=kind)
@pytest.mark.parametrize("items", [VECTORS, IMAGES], ids=["vectors", "images"])
def test_kernels_on_vectors(kernel, items):
    if isinstance(kernel, Function) and items is IMAGES:
        pytest.skip("this function knows matrices only")
    check_kernel(kernel, items)


@pytest.mark.parametrize(
    "kernel",
    [LETTERS, Normalized(LETTERS), Gaussian(LETTERS), LETTERS**2, LaplacianRegularized(LETTERS)],
    ids=kind,
)
def test_kernels_on_words(kernel):
    check_kernel(kernel, WORDS)


def test_kernels_on_indices():
    for kernel in (Precomputed(RBF(1.0)(VECTORS)), Normalized(Precomputed(Linear()(VECTORS)))):
        check_kernel(kernel, [3, 1, 4, 1, 5])


@pytest.mark.parametrize(
    "operator",
    [
        Identity(), Covariance(), Covariance(0.0), Covariance(0.5), ConditionalCovariance(),
        ConditionalCovariance(1e-6), Matrix(np.diag([1.0, 2.0, 0.0])), 0.5 * Covariance(),
        Identity() + Covariance(),
        sum([Identity(), ConditionalCovariance(), Matrix(np.ones((3, 3)))]),
        LearnedOperator(), LearnedOperator(power=0.5), Matrix.mean_regularized(3, 0.9),
        Matrix.graph(np.ones((3, 3)), 0.1), Matrix.similarity(np.ones((3, 3))),
        Mixture([Identity(), Covariance(), ConditionalCovariance()], [0.2, 0.5, 0.3]),
    ],
    ids=kind,
)  # fmt: skip
def test_operators(operator):
    check_operator(operator)


@pytest.mark.parametrize(
    "loss",
    [Huber(), Huber(0.7), EpsilonInsensitive(), EpsilonInsensitive(0.0), EpsilonInsensitive(2.0)],
    ids=str,
)
def test_losses(loss):
    check_loss(loss)


FULL_MAPS = [
    Exact(), KernelPCA(), IncompleteCholesky(), RandomPivotedCholesky(random_state=0),
    Nystroem(rank=9),
]  # fmt: skip


@pytest.mark.parametrize("map", FULL_MAPS, ids=kind)
@pytest.mark.parametrize("kernel", [RBF(), Linear(), Polynomial(2)], ids=kind)
def test_feature_maps(map, kernel):
    check_feature_map(map, kernel, VECTORS)


@pytest.mark.parametrize(
    "map",
    [
        KernelPCA(2), KernelPCA(2, center=True), IncompleteCholesky(3), Nystroem(3, random_state=0),
        Nystroem(landmarks=VECTORS[:4] + 0.1), RandomPivotedCholesky(3, random_state=0),
        RandomFourier(6, random_state=0), RandomFourier(7, orthogonal=False, random_state=0),
    ],
    ids=kind,
)  # fmt: skip
def test_feature_maps_of_low_rank(map):
    check_feature_map(map, RBF(), VECTORS, tolerance=np.inf)


def test_feature_maps_on_words():
    for map in FULL_MAPS:
        check_feature_map(map, LETTERS, WORDS)
    check_feature_map(Nystroem(landmarks=["abc", "xyz"]), LETTERS, WORDS, tolerance=np.inf)


def test_explicit_features():
    for kernel in (Linear(), 2 * Linear(), Linear() + 2 * Linear()):
        check_feature_map(Explicit(), kernel, VECTORS)


@pytest.mark.parametrize(
    ("decoder", "kernel"),
    [
        (Direct(), Linear()), (Direct(), 2 * Linear()), (Candidates(), Linear()),
        (Candidates(), RBF()),
        (Candidates(), Laplacian()), (FixedPoint(), RBF()), (FixedPoint(), Matern()),
        (FixedPoint(), RBF(1.0) + RBF(2.0)), (Gradient(), RBF()), (Gradient(), Polynomial(3)),
        (Gradient(), Gaussian(Polynomial(2))),
    ],
    ids=kind,
)  # fmt: skip
@pytest.mark.parametrize("outputs", [VECTORS[:8], IMAGES], ids=["vectors", "images"])
def test_decoders(decoder, kernel, outputs):
    check_decoder(decoder, kernel, outputs)


def test_decoders_on_words():
    check_decoder(Candidates(), TOLD, ["abc", "bcd", "abcd", "xyz"])


MODELS = [
    KernelDependency(),
    KernelDependency(RBF() * Covariance(), RBF(), fit_intercept=True),
    KernelDependency(RBF() * ConditionalCovariance(), RBF(), decoder=Candidates()),
    KernelDependency(RBF(), RBF(), features=IncompleteCholesky(4), output_features=KernelPCA(2)),
    KernelDependency(RBF(), RBF(), features=Nystroem(4, random_state=0)),
    KernelDependencyCV(RBF(), RBF(), features=Nystroem(4, random_state=0), fit_intercept=True),
    KernelDependency(RBF(), RBF(), decoder=Gradient(max_iter=2000, tol=1e-10)),
    KernelDependencyCV([RBF() * Identity(), RBF() * Covariance()], RBF(), fit_intercept=True),
    KernelDependency(RBF() * LearnedOperator(), RBF(), fit_intercept=True),
    KernelDependency(RBF() * Covariance(), loss=Huber(), fit_intercept=True),
    KernelDependencyCV(
        [RBF() * Identity(), RBF() * LearnedOperator()],
        alphas=[0.1, 1.0],
        loss=[None, EpsilonInsensitive(tol=1e-7, max_iter=10000)],
        cv=2,
    ),
    KernelDependencyCV(LaplacianRegularized(RBF()), RBF()),
]


@pytest.mark.parametrize("model", MODELS, ids=range(len(MODELS)))
@pytest.mark.parametrize(
    "outputs", [VECTORS, VECTORS[:, 0], IMAGES], ids=["rows", "numbers", "images"]
)
def test_estimators(model, outputs):
    X = np.random.default_rng(2).normal(size=(len(outputs), 2))
    check_structured_estimator(model, X, outputs)


@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
def test_estimators_on_words(Model):
    check_structured_estimator(Model(TOLD, TOLD), WORDS, WORDS[::-1])
    check_structured_estimator(Model(TOLD * Covariance(), TOLD), WORDS, WORDS[::-1])
    check_structured_estimator(Model(TOLD), WORDS, np.arange(6.0))


# -- the contracts notice ---------------------------------------------------------------------


class NotSymmetric(Kernel):
    def _gram(self, A, B):
        return np.arange(len(A))[:, None] + 2.0 * np.arange(len(B))[None, :]


class NotPositive(Kernel):
    def _gram(self, A, B):
        return -np.ones((len(A), len(B)))


class WrongDiagonal(Linear):
    def _diag(self, A):
        return np.ones(len(A))


class WrongDerivative(Linear):
    @property
    def item_gradient(self):
        return ItemGradient(lambda A, B, C: 2 * C @ B, lambda A, c: 2 * c[:, None] * A)


class Negative(Operator):
    def matrix(self, moments):
        return -np.eye(len(moments.vu))


class Capped(Huber):
    def value(self, r):
        return np.minimum(super().value(r), 1.0)


class Careless(Huber):
    def proximal(self, r, tau):
        return r


class Halved(FeatureMap):
    def fit(self, kernel, A):
        self.kernel_ = kernel
        return self

    def transform(self, A):
        return 0.5 * self.kernel_.features(A)


class Shuffled(Decoder):
    def fit(self, kernel, y):
        self.y_ = y
        return self

    def decode(self, points):
        return self.y_[::-1]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_kernel(NotSymmetric(), VECTORS), "not symmetric"),
        (lambda: check_kernel(NotPositive(), VECTORS), "not positive semidefinite"),
        (lambda: check_kernel(WrongDiagonal(), VECTORS), "diag"),
        (lambda: check_kernel(WrongDerivative(), VECTORS), "vjp is not the derivative"),
        (lambda: check_operator(Negative()), "not positive"),
        (lambda: check_loss(Capped(2.0)), "not convex"),
        (lambda: check_loss(Careless(2.0)), "does not minimise"),
        (lambda: check_feature_map(Halved(), Linear(), VECTORS), r"is not k\(A\)"),
        (lambda: check_decoder(Shuffled(), Linear(), VECTORS[:8]), "output 0 was not found again"),
    ],
)
def test_a_broken_promise_is_named(check, message):
    with pytest.raises(AssertionError, match=message):
        check()
