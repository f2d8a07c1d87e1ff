"""
Jumps that travel
=================

A profile with jumps moves along a circle. High parts move faster than low parts. This example
predicts the profile at the end from the profile at the start. One hundred pairs are enough if the
kernel uses physical knowledge: only nearby locations matter, and the law is the same everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np
from simulators import advection

from mercer import KernelDependency, KernelDependencyCV
from mercer.fields import Shared, ShiftEquivariant
from mercer.kernels import Matern
from mercer.metrics import relative_error
from mercer.spaces import Fields

X, Y = advection(300)
train, test = slice(0, 100), slice(100, 300)

# %%
# The first model has a kernel on whole profiles. Leave-one-out chooses its length scale and ridge.

median = Matern().fit(X[train]).length_scale_
kernels = [Matern(s * median) for s in (1.0, 3.0, 8.0)]
whole = KernelDependencyCV(kernels).fit(X[train], Y[train])

# %%
# The second model has a kernel on the window around each location. All locations share its weights.

ring = Fields(periodic=("x",), spacing=1 / 64)
windows = Shared(Matern(16.0), None, 0.2, 0.0, rank=800, fields=ring, output_fields=ring)
shared = KernelDependency(windows, alpha=1e-3).fit(X[train], Y[train])

# %%
# The third model has a kernel on whole profiles, and learns from every pair with all its shifts.

shifted = [ShiftEquivariant(kernel) for kernel in kernels]
moved = KernelDependencyCV(shifted, alphas=np.logspace(-6, 0, 4))
moved.fit(X[train], Y[train])

# %%
# Relative L2 errors on 200 new profiles:

models = {"whole profiles": whole, "shared windows": shared, "with all shifts": moved}
predicted = {name: model.predict(X[test]) for name, model in models.items()}
for name, fields in predicted.items():
    print(f"{name:15s} {relative_error(Y[test], fields):.3f}")

figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), sharey=True, layout="constrained")
for axis, (name, fields) in zip(axes, predicted.items(), strict=True):
    axis.plot(X[test][0], color="0.8", label="start")
    axis.plot(Y[test][0], color="0.4", label="end")
    axis.plot(fields[0], "--", label="predicted")
    axis.set_title(name, fontsize=9)
axes[0].legend(fontsize=8)
