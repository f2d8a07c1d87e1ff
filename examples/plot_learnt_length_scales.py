"""
Which features matter? Length scales by gradient
================================================

Five of fifty features determine the outputs. A kernel with one length scale for all features cannot
ignore the other forty-five. `tune` learns a length scale for each feature by the gradient of the
penalised evidence, and finds the five features.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependency, KernelDependencyCV, tune
from mercer.kernels import RBF

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 50))
own = np.array([3, 11, 24, 30, 42])
a, b, c, d, e = X[:, own].T
signal = np.sin(1.5 * a) + b * c + 0.5 * d**2 + e
y = signal + 0.3 * signal.std() * rng.normal(size=400)
train, test = slice(0, 200), slice(200, 400)

# %%
# The first model has one length scale, which leave-one-out chooses. The second has a length scale
# for each feature. The third minimises the leave-one-out error without a penalty, and overfits.

median = RBF().fit(X[train]).length_scale_
grid = KernelDependencyCV([RBF(median * factor) for factor in (0.25, 0.5, 1, 2, 4)])
grid.fit(X[train], y[train])
learnt = tune(KernelDependency(RBF("ard")), X[train], y[train])
overfitted = tune(KernelDependency(RBF("ard")), X[train], y[train], criterion="loo", penalty=0.0)
for name, model in (("grid", grid), ("learnt", learnt), ("leave-one-out alone", overfitted)):
    error = np.mean((model.predict(X[test]) - signal[test]) ** 2) / signal[test].var()
    print(f"{name:20} {error:.3f} of the variance is not explained on new inputs")

# %%
# The inverse of a length scale shows how much a feature matters.

colours = np.where(np.isin(np.arange(50), own), "tab:red", "tab:grey")
figure, axes = plt.subplots(2, 1, figsize=(8, 4), sharex=True, layout="constrained")
for axis, (name, model) in zip(
    axes, (("penalised evidence", learnt), ("leave-one-out alone", overfitted)), strict=True
):
    axis.bar(np.arange(50), 1.0 / model.kernel_.scalar.length_scale, color=colours)
    axis.set(title=name, ylabel="1 / ℓ")
axes[-1].set_xlabel("feature (red: those that matter)")
