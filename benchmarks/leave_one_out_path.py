"""What does closed-form leave-one-out save against a grid search of KernelRidge?"""

import numpy as np
from _measure import best_times, report, size
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from mercer import KernelDependencyCV
from mercer.kernels import RBF

rng = np.random.default_rng(0)
alphas = np.logspace(-6, 1, 20)
n = size(2000, 1000)
X = rng.normal(size=(n, 20))
Y = np.sin(X[:, :10]) + 0.1 * rng.normal(size=(n, 10))
mine = KernelDependencyCV(RBF(4.0), alphas=alphas, fit_intercept=False)
peer = GridSearchCV(KernelRidge(kernel="rbf", gamma=1 / 32), {"alpha": alphas}, cv=5)

times = best_times({"mercer": lambda: mine.fit(X, Y), "GridSearchCV": lambda: peer.fit(X, Y)}, 4)
report(f"20 alphas, n = {n:,}", times, "mercer", "GridSearchCV at least 20")
print(f"chosen: {mine.alpha_:.2g} by leave-one-out, {peer.best_params_['alpha']:.2g} by five folds")
