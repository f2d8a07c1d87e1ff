"""A reduced Gram matrix is MᵀKM, with a basis M of the complement of the constants."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.solvers.reduction import Reduction
from tolerances import IDENTITY

N = 9
RAGGED = np.array([2, 0, 2, 1, 0, 2, 2, 0, 1])
"""The component of each row; the first rows are not of different components."""


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [None, np.arange(N) % 3, RAGGED], ids=["one", "full", "ragged"])
@pytest.mark.parametrize("intercept", [False, True])
def test_reduced_matrix(intercept, places, weighted, rng):
    A, V = rng.normal(size=(N, N)), rng.normal(size=(N, 2))
    K, weights = A @ A.T, rng.uniform(0.1, 9.0, N) if weighted else None
    roots = np.ones(N) if weights is None else np.sqrt(weights)
    reduction = Reduction.of(weights, intercept, K, places)
    reduced = reduction.reduce_gram(K)
    M = reduction.expand_rows(np.eye(len(reduced)))
    assert_allclose(M.T @ M, np.eye(len(reduced)), atol=IDENTITY)
    assert_allclose(reduced, M.T @ (roots[:, None] * K * roots) @ M, atol=IDENTITY)
    assert_allclose(reduction.reduce_rows(V), M.T @ V, atol=IDENTITY)
    components = np.zeros(N, int) if places is None else places
    constants = roots[:, None] * np.eye(components.max() + 1)[components]
    assert len(reduced) == N - intercept * constants.shape[1]
    if intercept:
        assert_allclose(constants.T @ M, 0.0, atol=IDENTITY)


def test_the_matrix_of_the_kernel_is_not_changed(rng):
    """Kernels may store their Gram matrix, and factorisations overwrite the reduced one."""
    K = np.eye(4)
    Reduction.of(None, False, K).reduce_gram(K)[:] = 7.0
    assert_allclose(K, np.eye(4))
