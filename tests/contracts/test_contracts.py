"""The contracts of mercer.testing, over every part of the registry."""

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Decoder
from mercer.features import Explicit, FeatureMap, Nystroem
from mercer.kernels import RBF, Delta, Kendall, Kernel, Labels, Linear, On, Polynomial, Spectrum
from mercer.kernels.capabilities import ItemGradient
from mercer.operators import Covariance, Operator
from mercer.testing import (
    check_decoder,
    check_feature_map,
    check_kernel,
    check_operator,
    check_operator_kernel,
    check_structured_estimator,
)
from registry import (
    CLASSES,
    DECODERS,
    FEATURES,
    FULL_FEATURES,
    IMAGES,
    KERNELS,
    LETTERS,
    MORE_DECODERS,
    MORE_FEATURES,
    MORE_KERNELS,
    OPERATOR_KERNELS,
    OPERATORS,
    RANKS,
    ROWS,
    SETS,
    SETTINGS,
    TOLD,
    VECTORS,
    WORDS,
    name_of,
)


@pytest.mark.parametrize("case", KERNELS + MORE_KERNELS, ids=name_of)
def test_kernels(case):
    check_kernel(*case)


@pytest.mark.parametrize("operator", OPERATORS, ids=name_of)
def test_operators(operator):
    check_operator(operator)


@pytest.mark.parametrize("kernel", OPERATOR_KERNELS, ids=name_of)
def test_operator_kernels(kernel):
    check_operator_kernel(kernel, VECTORS, VECTORS[::-1])


@pytest.mark.parametrize("map", FULL_FEATURES, ids=name_of)
@pytest.mark.parametrize(
    "case", [(RBF(), VECTORS), (Polynomial(2), VECTORS), (LETTERS, WORDS)], ids=name_of
)
def test_feature_maps_that_are_exact(map, case):
    check_feature_map(map, *case)


@pytest.mark.parametrize("map", FEATURES + MORE_FEATURES, ids=name_of)
def test_feature_maps(map):
    kernel = Linear() if isinstance(map, Explicit) else RBF()
    check_feature_map(map, kernel, VECTORS, tolerance=np.inf)


def test_feature_maps_of_other_items():
    check_feature_map(Nystroem(landmarks=["abc", "xyz"]), LETTERS, WORDS, tolerance=np.inf)
    for kernel in (Linear(), 2 * Linear(), Linear() + 2 * Linear()):
        check_feature_map(Explicit(), kernel, VECTORS)


@pytest.mark.parametrize("case", DECODERS + MORE_DECODERS, ids=name_of)
def test_decoders(case):
    check_decoder(*case)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_estimators(number):
    outputs = [VECTORS, VECTORS[:, 0], IMAGES][number % 3]
    X = np.random.default_rng(2).normal(size=(len(outputs), 2))
    check_structured_estimator(SETTINGS[number], X, outputs)


@pytest.mark.parametrize("outputs", [VECTORS, VECTORS[:, 0], IMAGES], ids=["rows", "1-D", "images"])
@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
def test_estimators_of_arrays(Model, outputs):
    X = np.random.default_rng(2).normal(size=(len(outputs), 2))
    check_structured_estimator(Model(RBF() * Covariance(), RBF(), fit_intercept=True), X, outputs)


@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
@pytest.mark.parametrize(
    ("kernel", "y"),
    [
        (Labels(), SETS),
        (Kendall(), RANKS),
        (TOLD, WORDS[::-1]),
        (Delta(), CLASSES),
        (On("title", Spectrum(2)) + On("price", RBF()), ROWS),
    ],
    ids=name_of,
)
def test_estimators_of_other_outputs(Model, kernel, y):
    check_structured_estimator(Model(TOLD, kernel), WORDS, y)
    check_structured_estimator(Model(TOLD * Covariance(), kernel), WORDS, y)


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


class NegativeOnSmallOutputs(Operator):
    def matrix(self, moments):
        return moments.covariance - 0.1 * np.eye(len(moments.vu))


class NegativeOnAlikeOutputs(Operator):
    def matrix(self, moments):
        C = moments.covariance
        return 1.5 * np.diag(np.diag(C)) - C


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
        (lambda: check_operator(NegativeOnSmallOutputs()), "not positive"),
        (lambda: check_operator(NegativeOnAlikeOutputs()), "not positive"),
        (lambda: check_feature_map(Halved(), Linear(), VECTORS), r"is not k\(A\)"),
        (lambda: check_decoder(Shuffled(), Linear(), VECTORS[:8]), "output 0 was not found again"),
    ],
)
def test_a_broken_promise_is_named(check, message):
    with pytest.raises(AssertionError, match=message):
        check()
