"""How near are random pivots to the bare products that they need?

The bare products are those of a Cholesky factor whose pivots are known: kernel columns of all items
against the pivots, and one triangular solve.
"""

import numpy as np
import scipy.linalg
from _measure import best_times, report, size

from mercer.features import RandomPivotedCholesky
from mercer.kernels import RBF

n, rank = size((100_000, 2_000), (20_000, 400))
X = np.random.default_rng(0).normal(size=(n, 10))
kernel = RBF(2.0)
map = RandomPivotedCholesky(rank, random_state=0)
pivots = X[map.fit(kernel, X).pivots_]


def bare():
    L = np.linalg.cholesky(kernel(pivots) + 1e-10 * np.eye(len(pivots)))
    columns = kernel(pivots, X)
    scipy.linalg.solve_triangular(L, columns, lower=True, overwrite_b=True, check_finite=False)


contestants = {"bare products": bare, "random pivots": lambda: map.fit_transform(kernel, X)}
report(
    f"pivots, n = {n:,}, rank {rank:,}", best_times(contestants, 2), "bare products", "at most 1.5"
)
