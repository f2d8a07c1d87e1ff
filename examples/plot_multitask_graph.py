"""
Tasks on a graph
================

There are forty tasks along a line and 25 noisy examples. Each task differs a little from the next.
A graph links neighbouring tasks, so that they share what they learn. A learnt operator finds some
of this structure in the data.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Covariance, Identity, Matrix, learn_operator

rng = np.random.default_rng(0)
tasks = np.linspace(0, 1, 40)


def truth(x):
    """Return the value of each task, a wave whose phase grows with the task."""
    return np.sin(6 * x + 3 * tasks)


x = rng.uniform(0, 1, size=(25, 1))
Y = truth(x) + 0.7 * rng.normal(size=(25, 40))

# %%
# The graph links each task with the next. Its penalty is
# :math:`\sum_t \lVert g_t - g_{t+1} \rVert^2 + \text{ridge} \sum_t \lVert g_t \rVert^2`.

chain = np.diag(np.ones(39), 1) + np.diag(np.ones(39), -1)
choices = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "graph": [Matrix.graph(chain, ridge) for ridge in (0.01, 0.1, 1.0)],
}

# %%
# The ridge, the length scale and the parameters of each operator are chosen by leave-one-out on the
# 25 examples.

scales, alphas = (0.1, 0.2, 0.4), np.logspace(-3, 4, 15)
models = {}
for name, operators in choices.items():
    kernels = [RBF(s) * operator for s in scales for operator in operators]
    models[name] = KernelDependencyCV(kernels, alphas=alphas).fit(x, Y)

# %%
# The left-out prediction of an example is too good if the operator was learnt from this example.
# The ridge and length scale of a learnt operator are therefore chosen on five folds, each of which
# is left out of the operator too.


def learnt(scale, alpha, rows):
    """Return a model with an operator that is learnt from some of the examples."""
    operator = learn_operator(RBF(scale), x[rows], Y[rows], alpha)
    return KernelDependency(RBF(scale) * operator, alpha=alpha).fit(x[rows], Y[rows])


def held_out_error(scale, alpha):
    """Return the sum of squared errors over five folds."""
    folds = KFold(5).split(x)
    return sum(((learnt(scale, alpha, a).predict(x[b]) - Y[b]) ** 2).sum() for a, b in folds)


best = min(product(scales, alphas), key=lambda pair: held_out_error(*pair))
models["learnt"] = learnt(*best, slice(None))

# %%
# The errors on new inputs, compared with the truth:

x_new = np.linspace(0, 1, 200)[:, None]
errors = {}
for name, model in models.items():
    errors[name] = float(((model.predict(x_new) - truth(x_new)) ** 2).mean())
    print(f"{name:11s} mean squared error {errors[name]:.3f}")

# %%
# Each line of a picture is a task. Only the graph contains the order of the tasks.

pictures = {"truth": truth(x_new)} | {n: model.predict(x_new) for n, model in models.items()}
figure, axes = plt.subplots(1, 5, figsize=(11, 3), sharey=True, layout="constrained")
for axis, (name, values) in zip(axes, pictures.items(), strict=True):
    axis.imshow(values.T, aspect="auto", extent=(0, 1, 39, 0), cmap="RdBu", vmin=-1.5, vmax=1.5)
    axis.set(title=f"{name}, {errors[name]:.3f}" if name in errors else name, xlabel="x")
    axis.set_xticks([0.2, 0.5, 0.8])
axes[0].set_ylabel("task")
plt.show()
