"""Outputs that see the input through transforms of their own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency
from mercer.kernels import RBF, Gaussian, Spectrum
from mercer.operators import Transformed, transformed
from tolerances import IDENTITY

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def test_values(rng):
    A, B = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    kernel = Transformed(RBF(1.0), [np.eye(2), TURN, lambda X: 2 * X]).fit(A, np.zeros((4, 3)))
    blocks = kernel.gram(A, B).blocks()
    seen = [lambda x: x, lambda x: TURN @ x, lambda x: 2 * x]
    for p in range(3):
        for r in range(3):
            wanted = [[RBF(1.0)(seen[p](a)[None], seen[r](b)[None])[0, 0] for b in B] for a in A]
            assert_allclose(blocks[:, :, p, r], wanted, atol=IDENTITY)


def test_transforms_may_change_what_is_compared():
    words, Y = ["abc", "cab", "bca", "aab"], np.arange(8.0).reshape(4, 2)
    reverse = Transformed(Gaussian(Spectrum(2), 1.0), [lambda A: A, lambda A: [a[::-1] for a in A]])
    model = KernelDependency(reverse, alpha=1e-8, fit_intercept=False).fit(words, Y)
    assert_allclose(model.predict(words), Y, atol=1e-5)


def test_a_large_gram_matrix_is_made_again_for_every_product(rng, monkeypatch):
    X, D = rng.normal(size=(300, 2)), rng.normal(size=(600, 1))
    kernel = Transformed(RBF(1.0), [np.eye(2), TURN]).fit(X, X)
    wanted = kernel.gram(X).apply(D)
    monkeypatch.setattr(transformed, "KEPT", 0)
    gram = kernel.gram(X)
    assert_allclose(gram.apply(D), wanted, atol=IDENTITY)
    assert "_kept" not in vars(gram)


def test_refusals(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ValueError, match="one transform for each of the 2 output components"):
        KernelDependency(Transformed(RBF(1.0), [np.eye(2)]), fit_intercept=False).fit(X, X)
    with pytest.raises(ValueError, match=r"transforms\[1\] must be a matrix of 2 columns"):
        KernelDependency(Transformed(RBF(1.0), [np.eye(2), np.eye(3)]), fit_intercept=False).fit(
            X, X
        )
    with pytest.raises(ValueError, match=r"transforms\[0\] made 3 items of 6"):
        KernelDependency(
            Transformed(RBF(1.0), [lambda A: A[:3], np.eye(2)]), fit_intercept=False
        ).fit(X, X)
