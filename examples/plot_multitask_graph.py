"""
Tasks on a graph
================

There are forty tasks along a line and 25 noisy examples. Each task differs a little from the next.
A graph links neighbouring tasks, so that they share what they learn. A learnt operator finds some
of this structure in the data.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyCV
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
    "learnt": [learn_operator(RBF(0.2), x, Y, alpha=1.0, power=p) for p in (0.5, 1.0)],
}

# %%
# The ridge, the length scale and the parameters of each operator are chosen by leave-one-out on the
# 25 examples.

x_new = np.linspace(0, 1, 200)[:, None]
models, errors = {}, {}
for name, operators in choices.items():
    kernels = [RBF(s) * operator for s in (0.1, 0.2, 0.4) for operator in operators]
    models[name] = KernelDependencyCV(kernels, alphas=np.logspace(-3, 4, 15)).fit(x, Y)
    errors[name] = float(((models[name].predict(x_new) - truth(x_new)) ** 2).mean())
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
