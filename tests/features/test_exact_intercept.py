import numpy as np

from mercer import KernelDependency
from mercer.kernels import RBF


def test_an_intercept_under_a_smooth_kernel_and_a_small_ridge():
    """Eigenvectors of tiny eigenvalues hold some of the constant, which must not come through."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(130, 3)), rng.normal(size=(20, 3))
    Y = np.sign(X[:, :2])
    for alpha in (1e-6, 1e-4, 1e-2):
        short, long = (
            KernelDependency(RBF(8.0), alpha=alpha, fit_intercept=True, solver=solver)
            .fit(X, Y)
            .predict(Z)
            for solver in ("cholesky", "spectral")
        )
        np.testing.assert_allclose(long, short, atol=1e-5)
