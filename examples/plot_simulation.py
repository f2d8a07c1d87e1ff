"""
A surrogate for a simulation
============================

A bar conducts heat better at some positions than at others. A model learns from 225 simulations to
predict the temperature. 75 other simulations calibrate a band around the prediction.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ConformalSets, KernelDependencyCV
from mercer.kernels import L2, RBF
from mercer.operators import Covariance, Identity

t = (np.arange(40) + 0.5) / 40
rng = np.random.default_rng(0)


def simulate(log_conductivity):
    """Solve -(a u')' = 1 with u = 0 at both ends, by finite volumes; return u."""
    a = np.exp(log_conductivity)
    inner = 2 / (1 / a[1:] + 1 / a[:-1])
    flow = np.concatenate([[2 * a[0]], inner, [2 * a[-1]]])
    matrix = np.diag(flow[1:] + flow[:-1]) - np.diag(inner, 1) - np.diag(inner, -1)
    return np.linalg.solve(matrix, np.full(40, 1 / 40**2))


waves = np.cos(np.pi * np.outer(np.arange(6), t))
X = 0.7 * (rng.normal(size=(400, 6)) / np.arange(1, 7)) @ waves
Y = np.array([simulate(x) for x in X])

# %%
# Leave-one-out chooses the kernel, the operator and the ridge.
kernels = [RBF(s) * operator for s in (2.0, 4.0, 8.0) for operator in (Identity(), Covariance(0.5))]
model = KernelDependencyCV(kernels, L2(t))
sets = ConformalSets(model, coverage=0.9, kind="band", random_state=0).fit(X[:300], Y[:300])
print(f"{sets.covers(X[300:], Y[300:]).mean():.0%} of 100 new solutions stay in their band")

# %%
# Plot the conductivity and the temperature of three new bars.
fig, axes = plt.subplots(2, 3, figsize=(9, 4.5), sharex=True, sharey="row")
bands, predicted = sets.predict(X[300:303]), sets.model_.predict(X[300:303])
for j, (above, below) in enumerate(axes.T):
    above.fill_between(t, np.exp(X[300 + j]), step="mid", color="tab:orange")
    below.fill_between(t, bands[j].lower, bands[j].upper, alpha=0.3, label="90 % band")
    below.plot(t, predicted[j], label="predicted")
    below.plot(t, Y[300 + j], "k--", lw=1, label="simulated")
axes[0, 0].set_ylabel("conductivity")
axes[1, 0].set_ylabel("temperature")
axes[1, 0].legend(fontsize=8)
fig.tight_layout()
plt.show()
