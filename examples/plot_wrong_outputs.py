"""
Outputs that are wrong
======================

The lower half of one training digit in ten is multiplied by ten. With an RBF output kernel these
outliers do little harm, and their left-out predictions show which outputs are wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyCV
from mercer.datasets import load_digit_halves
from mercer.kernels import RBF, Linear

upper, lower = load_digit_halves()
X, Y, X_test, Y_test = upper[:300], lower[:300].copy(), upper[600:1200], lower[600:1200]
wrong = np.random.default_rng(0).choice(300, 30, replace=False)
Y[wrong] *= 10

# %%
# The parameters are chosen by leave-one-out on the training data with outliers. The test digits
# have no outliers.

models = {}
for name, output_kernel in {"linear": Linear(), "RBF": RBF()}.items():
    kernels, alphas = [RBF(s) for s in (0.7, 1.0, 1.4)], np.logspace(-3, 1, 9)
    models[name] = KernelDependencyCV(kernels, output_kernel, alphas=alphas).fit(X, Y)
    error = ((models[name].predict(X_test) - Y_test) ** 2).mean()
    print(f"{name:6s} squared error {error:.4f}, alpha {models[name].alpha_:.3g}")

# %%
# The 30 training outputs that are farthest from their left-out predictions:

distances = np.linalg.norm((Y - models["RBF"].loo_predict()).reshape(len(Y), -1), axis=1)
found = np.argsort(-distances)[:30]
print(f"{len(set(found) & set(wrong))} of 30 are wrong")

# %%
# The pictures show inputs, true outputs and predictions of eight test digits.

shown = X_test[:8]
rows = {"given": shown, "truth": Y_test[:8]} | {
    name: model.predict(shown) for name, model in models.items()
}
figure, axes = plt.subplots(len(rows), 8, figsize=(8, 3), layout="constrained")
for line, (name, images) in zip(axes, rows.items(), strict=True):
    for axis, image in zip(line, images, strict=True):
        axis.imshow(image, cmap="gray_r", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[])
    line[0].set_ylabel(name)
plt.show()
