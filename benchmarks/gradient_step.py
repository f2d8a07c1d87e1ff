"""What does a gradient step cost, in factorisations? n = 2,000, 20 parameters, then n on a GPU.

python benchmarks/gradient_step.py                              # this machine
python benchmarks/gradient_step.py --device cuda --n 10000 --p 28 --steps 50
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _measure import best_times, report

from mercer import KernelDependency
from mercer.estimators.learned_parameters import ParameterSearch
from mercer.kernels import RBF
from mercer.operators import Identity
from mercer.problem import Want
from mercer.solvers.exact import spectral


def data(n: int, p: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of which a third matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    relevant = X[:, : max(1, p // 3)]
    Y = np.sin(relevant @ rng.normal(size=(relevant.shape[1], q)))
    return X, Y + 0.1 * rng.normal(size=Y.shape)


def search(X, Y, criterion) -> ParameterSearch:
    """The objective over a length scale for each feature, a weight and the ridge."""
    model = KernelDependency(1.0 * RBF("ard") * Identity())
    problem, _ = model._first_problem(X, Y)
    return ParameterSearch(problem, criterion)


def steps(n: int, p: int, q: int) -> None:
    """One step against one factorisation, for both criteria."""
    X, Y = data(n, p, q)
    for criterion in ("evidence", "loo"):
        found = search(X, Y, criterion)
        at = found.start

        def factorised(found=found, at=at):
            problem, _ = found.problem_at(at)
            return spectral(problem, Want([1.0], left_out=True), found.cache)

        times = best_times(
            {"factorisation": factorised, "gradient step": lambda f=found, a=at: f(a)}, 2
        )
        report(f"{criterion}, n = {n:,}, {len(at)} parameters", times, "factorisation", "at most 4")


def on_device(n: int, p: int, q: int, number: int, device: str) -> None:
    """A whole search of a number of steps."""
    import torch

    X, Y = (torch.as_tensor(A, device=device) for A in data(n, p, q))
    for criterion in ("evidence", "loo"):
        start = time.perf_counter()
        found = search(X, Y, criterion)
        learnt = found.run(max_iter=number)
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        print(
            f"{criterion}: n = {n:,}, {len(found.start)} parameters, {number} steps at most, "
            f"{learnt.n_evaluations} factorisations in {seconds:.1f} s on {device}; "
            f"objective {learnt.objective[0]:.1f} to {min(learnt.objective):.1f}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--p", type=int, default=18)
    parser.add_argument("--q", type=int, default=5)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device")
    options = parser.parse_args()
    if options.device is None:
        steps(options.n, options.p, options.q)
    else:
        on_device(options.n, options.p, options.q, options.steps, options.device)
