"""Is an identity fit as fast as scikit-learn's KernelRidge, which solves the same equation?"""

import numpy as np
from _measure import best_times, report, size
from sklearn.kernel_ridge import KernelRidge

from mercer import KernelDependency
from mercer.kernels import RBF

rng = np.random.default_rng(0)
n = size(4000, 1500)
X, Y = rng.normal(size=(n, 20)), rng.normal(size=(n, 10))
mine = KernelDependency(RBF(4.0), alpha=0.1, fit_intercept=False)
peer = KernelRidge(kernel="rbf", gamma=1 / 32, alpha=0.1)

times = best_times({"KernelRidge": lambda: peer.fit(X, Y), "mercer": lambda: mine.fit(X, Y)}, 5)
assert np.allclose(mine.predict(X[:5]), peer.predict(X[:5]))
report(f"identity fit, n = {n:,}", times, "KernelRidge", "at most 1.1")
