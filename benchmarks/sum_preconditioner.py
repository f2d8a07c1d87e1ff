"""Does the separable preconditioner cut the rounds of conjugate gradients at least five times?

A sum of three terms whose operators have no common eigenvectors, with ridges that leave the
equation badly conditioned.
"""

import warnings

import numpy as np
from _measure import best_times, record, size
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelDependency
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance, Matrix
from mercer.solvers import BlockConjugateGradient

rng = np.random.default_rng(0)
n, q = size(600, 200), 12
X = rng.uniform(-1, 1, size=(n, 3))
mix = rng.normal(size=(8, q))
Y = np.cos(X @ rng.normal(size=(3, 8))) @ mix + 0.1 * rng.normal(size=(n, q))
chain = np.linalg.inv(np.eye(q) * 2.1 - np.eye(q, k=1) - np.eye(q, k=-1))
kernel = RBF(0.7) * Covariance() + RBF(1.0) * Matrix(chain) + RBF(2.0) * ConditionalCovariance(0.1)
WAYS = {
    "none": BlockConjugateGradient(rounds=20_000, preconditioner="none"),
    "separable": BlockConjugateGradient(rounds=20_000),
    "low rank": BlockConjugateGradient(rounds=20_000, rank=500),
}

table = Table(title=f"rounds and seconds to a residual of 1e-6, n = {n}, q = {q}, three terms")
for column in ("alpha", *(f"{name}: {what}" for name in WAYS for what in ("rounds", "s"))):
    table.add_column(column, justify="right")
for alpha in track((1.0, 1e-1, 1e-2, 1e-3), "ridges"):
    row, rounds = [f"{alpha:g}"], {}
    for name, solver in WAYS.items():
        model = KernelDependency(kernel, alpha=alpha, solver=solver)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds = best_times({"fit": lambda m=model: m.fit(X, Y)}, 1)["fit"]
        rounds[name] = model.n_iter_
        row += [str(model.n_iter_), f"{seconds:.2f}"]
    question = f"conjugate gradients, alpha = {alpha:g}: rounds without over with preconditioner"
    record(question, rounds["none"] / rounds["separable"], "at least 5")
    table.add_row(*row)
Console().print(table, "wanted: none over separable at least 5")
