"""How near are exact fits with a covariance operator to their floor, two eigendecompositions?"""

import numpy as np
import scipy.linalg
from _measure import best_times, report, size

from mercer import KernelDependency
from mercer.decoders import Candidates
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance

n = size(4000, 1200)
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(n, 20)), rng.normal(size=(n, 20))
K, L = RBF(4.0)(X), RBF(4.0)(Y)


def floor():
    scipy.linalg.eigh(K, driver="evd")
    scipy.linalg.eigh(L, driver="evd")


def fit(operator, intercept):
    model = KernelDependency(
        RBF(4.0) * operator, RBF(4.0), alpha=0.1, decoder=Candidates(), fit_intercept=intercept
    )
    return lambda: model.fit(X, Y)


LIMITS = {Covariance(): "at most 1.25", ConditionalCovariance(0.1): "at most 1.5"}
for operator, limit in LIMITS.items():
    contestants = {
        "two eigh": floor,
        "without intercept": fit(operator, False),
        "with intercept": fit(operator, True),
    }
    times = best_times(contestants, size(2, 3))
    report(f"{type(operator).__name__}, exact, n = {n:,}", times, "two eigh", limit)
