"""How long does one row take, as a server asks, and how many rows go through in a batch?

The floor of one row is the kernel row and its product with the coefficients, in plain numpy.
"""

import numpy as np
from _measure import best_times, record, report, size
from sklearn.kernel_ridge import KernelRidge

from mercer import KernelDependency
from mercer.kernels import RBF

n, batch = 2000, size(10_000, 2_000)
rng = np.random.default_rng(0)
X, Y, new = rng.normal(size=(n, 20)), rng.normal(size=(n, 10)), rng.normal(size=(batch, 20))
model = KernelDependency(RBF(4.0), alpha=0.1).fit(X, Y)
peer = KernelRidge(kernel="rbf", gamma=1 / 32, alpha=0.1).fit(X, Y)
squares = (X * X).sum(axis=1)


def bare(x):
    distances = squares - 2.0 * (x @ X.T) + (x * x).sum(axis=1)[:, None]
    return np.exp(distances / -32.0) @ peer.dual_coef_


WAYS = {"bare numpy": bare, "KernelRidge": peer.predict, "mercer": model.predict}
rounds = 300
times = best_times({name: lambda f=f: [f(new[i : i + 1]) for i in range(rounds)]
                    for name, f in WAYS.items()}, 5)  # fmt: skip
times = {name: seconds / rounds for name, seconds in times.items()}
report(f"one row, n = {n:,}", times, "bare numpy", "mercer at most 1 ms")
record("one row: milliseconds", 1000 * times["mercer"], "at most 1")
times = best_times({name: lambda f=f: f(new) for name, f in WAYS.items()}, 3)
report(f"{batch:,} rows, n = {n:,}", times, "bare numpy", "–")
