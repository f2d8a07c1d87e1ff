import numpy as np
import pytest

from mercer.solvers.dual import left_out_weights


@pytest.mark.parametrize("groups", [np.arange(9), np.arange(9) // 2, np.arange(9) % 4])
def test_weights_are_those_of_a_refit(groups):
    rng = np.random.default_rng(0)
    U = rng.normal(size=(9, 5))
    K, alpha = U @ U.T, 0.3
    C = left_out_weights(K, alpha, groups)
    for i in range(9):
        kept = np.flatnonzero(groups != groups[i])
        expected = np.zeros(9)
        expected[kept] = np.linalg.solve(
            K[np.ix_(kept, kept)] + alpha * np.eye(len(kept)), K[kept, i]
        )
        np.testing.assert_allclose(C[i], expected, atol=1e-10)
