"""
Outputs that are wrong
======================

The lower half of one training digit in ten is multiplied by ten. Huber's loss reduces the effect of
these outliers. The squared loss does not.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyCV
from mercer.datasets import load_digit_halves
from mercer.kernels import RBF
from mercer.losses import Huber

upper, lower = load_digit_halves()
X, Y, X_test, Y_test = upper[:300], lower[:300].copy(), upper[600:1200], lower[600:1200]
wrong = np.random.default_rng(0).choice(300, 30, replace=False)
Y[wrong] *= 10

# %%
# The parameters are chosen on the training data with outliers. The squared loss uses leave-one-out,
# and Huber's loss uses five-fold cross-validation. The threshold of Huber's loss is the median
# length of left-out residuals. The test digits have no outliers.

models = {}
for name, loss in {"square": None, "Huber": Huber()}.items():
    kernels, alphas = [RBF(s) for s in (0.7, 1.0, 1.4)], np.logspace(-3, 1, 9)
    models[name] = KernelDependencyCV(kernels, alphas=alphas, loss=loss).fit(X, Y)
    error = ((models[name].predict(X_test) - Y_test) ** 2).mean()
    print(f"{name:7s} squared error {error:.4f}, alpha {models[name].alpha_:.3g}")
print(f"threshold {models['Huber'].loss_.threshold_:.2f}")

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
