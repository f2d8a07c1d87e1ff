"""
A vector field and its two parts
================================

Noisy vectors are measured at 150 points. The field is the sum of a source, which is a gradient and
has no curl, and of a swirl, which has no divergence. The sum of two kernels learns the field and
splits it into these parts.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import CurlFree, DivergenceFree


def source(X):
    """Return the gradient of a bump at (-0.7, 0)."""
    D = X - [-0.7, 0.0]
    return 1.5 * D * np.exp(-(D**2).sum(axis=1, keepdims=True))


def swirl(X):
    """Return a rotation about (0.8, 0) that decays with the distance."""
    D = X - [0.8, 0.0]
    return 2.0 * np.stack([-D[:, 1], D[:, 0]], 1) * np.exp(-(D**2).sum(axis=1, keepdims=True))


rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(150, 2))
Y = source(X) + swirl(X)
Y += 0.15 * Y.std() * rng.normal(size=Y.shape)

# %%
# Four kernels are compared: independent components, each part alone, and the sum of both parts.
# Leave-one-out chooses their length scale and ridge. Each part alone has a large error. The sum is
# as accurate as independent components, because any smooth field is a gradient plus a part without
# divergence. Only the sum also splits the field.

SCALES, ALPHAS = (0.5, 0.7, 1.0, 1.4), np.logspace(-3, 1, 9)
KINDS = {
    "independent": [RBF(s) for s in SCALES],
    "curl-free": [CurlFree(s) for s in SCALES],
    "divergence-free": [DivergenceFree(s) for s in SCALES],
    "sum of both": [CurlFree(s) + DivergenceFree(s) for s in SCALES],
}
T = rng.uniform(-2, 2, size=(2000, 2))
models = {}
for name, kernels in KINDS.items():
    models[name] = model = KernelDependencyCV(kernels, alphas=ALPHAS).fit(X, Y)
    error = ((model.predict(T) - source(T) - swirl(T)) ** 2).mean()
    print(f"{name:16} left-out risk {model.loo_risk_:.4f}   error {error:.5f}")

# %%
# Both kernels have the same coefficients :math:`c_j`. The part without curl is
# :math:`\sum_j K_{\text{curl}}(x, x_j) c_j`. The part without divergence is
# :math:`\sum_j K_{\text{div}}(x, x_j) c_j`.

model = models["sum of both"]
side = np.linspace(-2, 2, 18)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
parts = [term.gram(grid, X) @ model.coef_ for term in model.kernel_.terms_]

panels = [
    ("measured", X, Y),
    ("learnt", grid, model.predict(grid)),
    ("its part without curl", grid, parts[0]),
    ("its part without divergence", grid, parts[1]),
    ("the source", grid, source(grid)),
    ("the swirl", grid, swirl(grid)),
]
figure, axes = plt.subplots(2, 3, figsize=(10, 7), sharex=True, sharey=True, layout="constrained")
order = [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
for place, (title, at, arrows) in zip(order, panels, strict=True):
    length = np.linalg.norm(arrows, axis=1)
    axes[place].quiver(*at.T, *arrows.T, length, cmap="viridis", scale=14, width=0.006, clim=(0, 1))
    axes[place].set_title(title)
    axes[place].set_aspect("equal")
plt.show()
