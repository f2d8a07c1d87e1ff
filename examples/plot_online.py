"""
Learning a field as its arrows arrive
=====================================

An online learner sees every arrow once and keeps 300 of them. Its regret is what it lost on the
way beyond the best fixed model in hindsight, the ridge fit of all arrows seen so far.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependency
from mercer.estimators import OnlineKernelDependency
from mercer.kernels import RBF
from mercer.operators import DivergenceFree

N = 2000
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(N, 2))
Y = np.stack([-X[:, 1], X[:, 0]], axis=1) * np.exp(-(X**2).sum(axis=1, keepdims=True))
Y += 0.1 * Y.std() * rng.normal(size=Y.shape)

# %%
# A kernel that knows that the field has no sources and one that does not; and the same with a
# window, which forgets its oldest arrow instead of the one that matters least.

STEPS = {"rate": 0.5, "power": 0.25, "decay": 1e-4, "budget": 300}
MODELS = {
    "divergence-free": OnlineKernelDependency(DivergenceFree(0.8), **STEPS),
    "divergence-free, window": OnlineKernelDependency(DivergenceFree(0.8), drop="oldest", **STEPS),
    "independent": OnlineKernelDependency(RBF(0.8), **STEPS),
}
losses = {}
for name, model in MODELS.items():
    losses[name] = np.concatenate(
        [model.partial_fit(X[rows], Y[rows]).losses_ for rows in np.split(np.arange(N), 20)]
    )
    print(f"{name}: mean loss of the last 500 arrows {losses[name][-500:].mean():.5f}")

# %%
# The best fixed model of the first t arrows is a ridge fit of them.

times = np.array([50, 100, 200, 400, 700, 1000, 1400, 2000])
hindsight = np.array(
    [
        ((KernelDependency(DivergenceFree(0.8), alpha=0.3).fit(X[:t], Y[:t]).predict(X[:t]) - Y[:t])
         ** 2).sum()
        for t in times
    ]
)  # fmt: skip

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for name, lost in losses.items():
    left.plot(np.convolve(lost, np.ones(100) / 100, "valid"), label=name)
    right.plot(times, np.cumsum(lost)[times - 1] - hindsight, "o-", label=name)
left.set_yscale("log")
left.set_xlabel("arrow")
left.set_title("squared loss before learning, mean of 100")
scale = (np.cumsum(losses["divergence-free"])[times - 1] - hindsight)[3] / np.sqrt(times[3])
right.plot(times, scale * np.sqrt(times), "k:", label="∝ √t")
right.set_xlabel("arrows seen")
right.set_title("regret against the best fixed model")
left.legend()
right.legend()
plt.show()
