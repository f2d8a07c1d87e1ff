"""
Sums of kernels, chosen by leave-one-out
========================================

Twelve curves share a slow season, and each has its own fast part. One scalar kernel times one
operator has the same length scale for both parts. A sum has two terms. The first is a wide kernel
with the covariance operator, for the shared part. The second is a narrow kernel with the identity,
for the fast parts.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Covariance, Identity

rng = np.random.default_rng(3)
year = np.linspace(0, 10, 400)[:, None]
season = np.cos(2 * year) * rng.normal(2.0, 0.5, size=12) + np.sin(year) * rng.normal(size=12)
wiggle = 0.5 * np.sin(year * rng.uniform(4, 9, size=12) + rng.uniform(0, 6, size=12))
truth = season + wiggle
seen = np.sort(rng.choice(400, size=90, replace=False))
X, Y = year[seen], truth[seen] + 0.4 * rng.normal(size=(90, 12))

# %%
# The identity and the covariance have common eigenvectors. The equation therefore separates into
# twelve problems of size 90 × 90.

ALPHAS = np.logspace(-2, 1, 10)
WIDE, NARROW = (0.5, 1.0, 2.0), (0.1, 0.2, 0.3)
KINDS = {
    "one kernel, identity": [RBF(s) * Identity() for s in (*NARROW, *WIDE)],
    "one kernel, covariance": [RBF(s) * Covariance() for s in (*NARROW, *WIDE)],
    "sum": [RBF(w) * Covariance() + RBF(s) * Identity() for w in WIDE for s in NARROW],
}
models = {}
for name, kernels in KINDS.items():
    models[name] = model = KernelDependencyCV(kernels, alphas=ALPHAS).fit(X, Y)
    error = ((model.predict(year) - truth) ** 2).mean()
    print(f"{name:24} left-out risk {model.loo_risk_:.3f}   error {error:.4f}   {model.kernel_}")

# %%
# The left plot shows the first curve. The right plot shows the left-out risk of each sum.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for name, color in zip(KINDS, ("tab:blue", "tab:orange", "tab:red"), strict=True):
    left.plot(year, models[name].predict(year)[:, 0], color=color, label=name, lw=1.2)
left.plot(year, truth[:, 0], color="0.6", lw=3, zorder=0, label="truth")
left.plot(X, Y[:, 0], "k.", ms=4, label="measured")
left.set_ylim(-6.5, 4.5)
left.set_title("the first curve")
left.legend(fontsize=7, ncols=2, loc="lower center")
risks = models["sum"].cv_results_["risk"].reshape(len(WIDE), len(NARROW), len(ALPHAS)).min(axis=2)
image = right.imshow(risks, cmap="Blues")
right.set_xticks(range(3), NARROW)
right.set_yticks(range(3), WIDE)
right.set_xlabel("length scale of the identity term")
right.set_ylabel("length scale of the covariance term")
right.set_title("left-out risk of the sum")
for (i, j), risk in np.ndenumerate(risks):
    right.text(j, i, f"{risk:.2f}", ha="center", va="center")
plt.show()
