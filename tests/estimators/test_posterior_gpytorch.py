"""Means, variances and evidence are those of GPyTorch's intrinsic coregionalisation model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency
from mercer.kernels import RBF
from mercer.operators import Matrix

torch = pytest.importorskip("torch")
gpytorch = pytest.importorskip("gpytorch")

B = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.4]])
SCALE, ALPHA = 1.2, 0.3
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


class Coregionalised(gpytorch.models.ExactGP):
    """RBF times B, without a mean."""

    def __init__(self, X, Y, likelihood, signal):
        super().__init__(X, Y, likelihood)
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ZeroMean(), len(B))
        base = gpytorch.kernels.RBFKernel().double()
        base.lengthscale = torch.asarray(SCALE, dtype=torch.float64)
        self.covar_module = gpytorch.kernels.MultitaskKernel(base, num_tasks=len(B), rank=len(B))
        between = self.covar_module.double().task_covar_module
        factor = np.linalg.cholesky(signal * B - 1e-3 * signal * np.eye(len(B)))
        between.covar_factor = torch.nn.Parameter(torch.asarray(factor))
        between.var = torch.full((len(B),), 1e-3 * signal, dtype=torch.float64)

    def forward(self, X):
        return gpytorch.distributions.MultitaskMultivariateNormal(
            self.mean_module(X), self.covar_module(X)
        )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_the_coregionalised_model_of_gpytorch(device):
    rng = np.random.default_rng(3)
    X, X_new = rng.normal(size=(40, 2)), rng.normal(size=(7, 2))
    Y = np.sin(X @ rng.normal(size=(2, 3))) + 0.1 * rng.normal(size=(40, 3))
    model = KernelDependency(RBF(SCALE) * Matrix(B), alpha=ALPHA, fit_intercept=False)
    points = model.fit(X, Y).embed(X_new)
    noise = points.posterior.noise
    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(
        num_tasks=3, has_task_noise=False, noise_constraint=gpytorch.constraints.Positive()
    )
    at = {"dtype": torch.float64, "device": device}
    peer = Coregionalised(*(torch.asarray(A, **at) for A in (X, Y)), likelihood, noise / ALPHA)
    peer.to(**at)
    likelihood.to(**at)
    likelihood.noise = torch.asarray(float(noise), **at)
    peer.train()
    settings = gpytorch.settings.fast_computations(False, False, False)
    with torch.no_grad(), settings, gpytorch.settings.cholesky_jitter(double_value=0.0):
        density = likelihood(peer(peer.train_inputs[0])).log_prob(peer.train_targets)
        peer.eval()
        found = peer(torch.asarray(X_new, **at))
    assert_allclose(model.predict(X_new), found.mean.cpu().numpy(), rtol=1e-10, atol=1e-10)
    assert_allclose(points.variance(), found.variance.cpu().numpy(), rtol=1e-10, atol=1e-10)
    constants = -0.5 * Y.size * (1 + np.log(2 * np.pi))  # left out of a profiled density
    evidence = points.posterior.factorization.evidence(ALPHA)
    assert_allclose(evidence + constants, float(density), rtol=1e-8)
