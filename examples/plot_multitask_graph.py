"""
Tasks on a graph
================

Forty tasks along a line, each a little different from the next, and 25 noisy examples. A graph
that links neighbours lets them lend each other strength; an operator that is learnt finds out some
of it from the data.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Covariance, Identity, LearnedOperator, Matrix

rng = np.random.default_rng(0)
tasks = np.linspace(0, 1, 40)


def truth(x):
    """Task t is a wave whose phase moves on with t."""
    return np.sin(6 * x + 3 * tasks)


x = rng.uniform(0, 1, size=(25, 1))
Y = truth(x) + 0.7 * rng.normal(size=(25, 40))

# %%
# The graph links each task with the next; its penalty is Σ ‖g_t - g_{t+1}‖² + ridge · Σ ‖g_t‖².

chain = np.diag(np.ones(39), 1) + np.diag(np.ones(39), -1)
choices = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "graph": [Matrix.graph(chain, ridge) for ridge in (0.01, 0.1, 1.0)],
    "learnt": [LearnedOperator(power=p) for p in (0.5, 1.0)],
}

# %%
# Ridge and length scale, and what each operator leaves open, are chosen on the 25 examples: by
# leave-one-out in closed form, for the learnt operator by five-fold refits.

x_new = np.linspace(0, 1, 200)[:, None]
models, errors = {}, {}
for name, operators in choices.items():
    kernels = [RBF(s) * operator for s in (0.1, 0.2, 0.4) for operator in operators]
    models[name] = KernelDependencyCV(kernels, alphas=np.logspace(-3, 4, 15)).fit(x, Y)
    errors[name] = float(((models[name].predict(x_new) - truth(x_new)) ** 2).mean())
    print(f"{name:11s} mean squared error {errors[name]:.3f}")

# %%
# Left: one task, its examples, and what each model makes of it. Right: how the learnt operator
# couples the tasks. It was told nothing of their order.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(x, Y[:, 20], ".", color="0.6", label="examples of task 20")
left.plot(x_new, truth(x_new)[:, 20], color="0.2", label="truth")
for name in ("identity", "graph", "learnt"):
    left.plot(x_new, models[name].predict(x_new)[:, 20], label=f"{name}, {errors[name]:.3f}")
left.legend(fontsize=8)
left.set_xlabel("x")
right.imshow(models["learnt"].kernel_.operator.B_, cmap="viridis")
right.set_title("learnt operator B")
right.set_xlabel("task")
right.set_ylabel("task")
plt.show()
