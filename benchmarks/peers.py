"""How long do himalaya and GPyTorch take for the same choice of a ridge, the same posterior?

    python benchmarks/peers.py                 # on the CPU
    python benchmarks/peers.py --device cuda   # everything on the GPU, which needs PyTorch

Peers that are not installed are left out.
"""

import argparse
from importlib.util import find_spec

import numpy as np
from _measure import best_times, report, size

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Matrix

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
device = parser.parse_args().device
n, q = size(2000, 800), 10
alphas = np.logspace(-6, 1, 20)
rng = np.random.default_rng(0)
X, X_new = rng.normal(size=(n, 20)), rng.normal(size=(n, 20))
Y = np.sin(X[:, :q]) + 0.1 * rng.normal(size=(n, q))
A = rng.normal(size=(q, q))
B, noise = A @ A.T / q + 0.1 * np.eye(q), 0.1


def moved(*arrays):
    """The arrays on the device."""
    if device == "cpu":
        return arrays
    import torch

    return tuple(torch.asarray(array, device=device) for array in arrays)


def waiting(run):
    """The function, done when the device is."""
    if device == "cpu":
        return run
    import torch

    def whole():
        run()
        torch.cuda.synchronize()

    return whole


def choice():
    """The choice of one of 20 ridges: leave-one-out here, five folds there."""
    mine = KernelDependencyCV(RBF(4.0), alphas=alphas, fit_intercept=False)
    x, y = moved(X, Y)
    contestants = {"mercer": waiting(lambda: mine.fit(x, y))}
    if find_spec("himalaya"):
        from himalaya.backend import set_backend
        from himalaya.kernel_ridge import KernelRidgeCV

        set_backend("numpy" if device == "cpu" else "torch_cuda", on_error="raise")
        peer = KernelRidgeCV(alphas=alphas, kernel="rbf", kernel_params={"gamma": 1 / 32}, cv=5)
        contestants["himalaya"] = waiting(lambda: peer.fit(x, y))
    return contestants


def posterior():
    """Mean and variance of a Gaussian process of covariance k(x, x') B, parameters given."""
    model = KernelDependency(RBF(4.0) * Matrix(B), alpha=noise, fit_intercept=False)
    x, y, x_new = moved(X, Y, X_new)
    contestants = {"mercer": waiting(lambda: model.fit(x, y).embed(x_new).variance("directions"))}
    if find_spec("gpytorch") and find_spec("torch"):
        contestants["GPyTorch"] = waiting(gpytorch_posterior())
    return contestants


def gpytorch_posterior():
    """The same by GPyTorch's multitask kernel, which knows the Kronecker product."""
    import gpytorch
    import torch

    at = {"dtype": torch.float64, "device": device}
    x, y, x_new = (torch.asarray(array, **at) for array in (X, Y, X_new))
    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(
        num_tasks=q, has_task_noise=False, noise_constraint=gpytorch.constraints.Positive()
    )

    class Process(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ZeroMean(), q)
            base = gpytorch.kernels.RBFKernel().double()
            base.lengthscale = torch.asarray(4.0, dtype=torch.float64)
            self.covar_module = gpytorch.kernels.MultitaskKernel(base, num_tasks=q, rank=q)
            between = self.covar_module.double().task_covar_module
            between.covar_factor = torch.nn.Parameter(torch.asarray(A / np.sqrt(q)))
            between.var = torch.full((q,), 0.1, dtype=torch.float64)

        def forward(self, some):
            mean, covariance = self.mean_module(some), self.covar_module(some)
            return gpytorch.distributions.MultitaskMultivariateNormal(mean, covariance)

    process = Process().to(**at)
    likelihood.to(**at)
    likelihood.noise = torch.asarray(noise, **at)

    def run():
        process.train()  # forgets what it has factored
        process.eval()
        with torch.no_grad():
            points = process(x_new)
            return points.mean, points.variance

    return run


for question, made in {"a choice of 20 ridges": choice, "mean and variance": posterior}.items():
    times = best_times(made(), 3)
    report(f"{question}, n = {n:,}, {q} outputs, {device}", times, "mercer", "peers at least 1")
