"""The contract of models that learn from streams, over models and kinds of pairs."""

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, FixedPoint
from mercer.features import IncompleteCholesky, KernelPCA, Nystroem, RandomFourier
from mercer.kernels import RBF, Labels, Linear, Spectrum
from mercer.operators import ConditionalCovariance, Covariance, Identity
from mercer.testing import check_stream_learner

X = np.random.default_rng(0).normal(size=(24, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
CHOICE = [RBF(s) * op for s in (1.0, 2.0) for op in (Identity(), Covariance())]
MODELS = {
    "linear": (KernelDependency(Linear(), alpha=0.1), Y),
    "numbers": (KernelDependency(Linear(), alpha=0.1, fit_intercept=True), Y[:, 0]),
    "images": (KernelDependency(RBF(), features=IncompleteCholesky(8)), Y[:, :, None] * np.ones(3)),
    "random features": (
        KernelDependency(
            RBF(2.0) * ConditionalCovariance(), features=RandomFourier(20, random_state=0)
        ),
        Y,
    ),
    "fixed point": (
        KernelDependency(
            RBF(2.0) * Covariance(), RBF(1.0), alpha=0.1, decoder=FixedPoint(),
            features=Nystroem(8, random_state=0), output_features=KernelPCA(4),
        ),
        Y,
    ),
    "candidates": (
        KernelDependency(Linear(), RBF(1.0), decoder=Candidates(), output_features=KernelPCA(4)),
        Y,
    ),
    "labels": (KernelDependency(Linear(), Labels()), [{"a"}, {"b"}, {"a", "b"}] * 8),
    "chosen": (
        KernelDependencyCV(CHOICE, alphas=[0.1, 1.0], features=IncompleteCholesky(8)), Y
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_models_of_vectors(name):
    model, outputs = MODELS[name]
    check_stream_learner(model, X, outputs)


def test_models_of_words():
    words = ["ab", "abc", "bca", "cab", "bb", "ca", "abab", "cc"]
    model = KernelDependency(
        Spectrum(2), Spectrum(1), alpha=0.1, features=IncompleteCholesky(5), decoder=Candidates()
    )
    check_stream_learner(model, words, words)


class Careless(KernelDependency):
    """Takes what it can of a bad block."""

    def fit(self, X, y=None, groups=None):
        return super().fit([(x[: len(y)], y) for x, y in X] if isinstance(X, list) else X, y)


def test_a_broken_promise_is_named():
    with pytest.raises(AssertionError, match="accepted a block"):
        check_stream_learner(Careless(Linear(), alpha=0.1), X, Y)
