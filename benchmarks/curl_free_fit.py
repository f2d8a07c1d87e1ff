"""Is a curl-free fit by products at least ten times faster than the dense solve, under 2 GiB?

n points of a noisy gradient field in three dimensions. The memory of the fit by products is read
before the dense one starts.
"""

import sys

import numpy as np
from _measure import best_times, peak_mib, report, size
from rich.console import Console

from mercer import KernelDependency
from mercer.operators import CurlFree

n = int(sys.argv[1]) if len(sys.argv) > 1 else size(2000, 600)
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(n, 3))
bump = np.exp(-0.5 * (X**2).sum(axis=1, keepdims=True))
Y = -X * bump  # the gradient of the bump
Y += 0.1 * Y.std() * rng.normal(size=Y.shape)
KernelDependency(CurlFree(1.0), alpha=0.1, solver="cg").fit(X[:100], Y[:100])  # imports, threads

console = Console()
for alpha in (0.1, 0.01):
    products = KernelDependency(CurlFree(1.0), alpha=alpha, solver="cg")
    dense = KernelDependency(CurlFree(1.0), alpha=alpha, solver="dense")
    products.fit(X, Y)
    console.print(
        f"alpha = {alpha}: {products.n_iter_} rounds, residual {products.residual_:.1e}, "
        f"peak {peak_mib():.0f} MiB so far"
    )
    contestants = {"dense": lambda m=dense: m.fit(X, Y), "products": lambda m=products: m.fit(X, Y)}
    times = best_times(contestants, 2)
    apart = np.abs(products.predict(X[:200]) - dense.predict(X[:200])).max() / np.abs(Y).max()
    report(f"curl-free fit, n = {n:,}, alpha = {alpha}", times, "products", "dense at least 10")
    console.print(f"predictions {apart:.1e} apart, relative to the largest output")
