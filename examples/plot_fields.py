"""
A pressure from a permeability
==============================

Water seeps through porous ground (Darcy's equation): from a map of how easily it passes, predict
its pressure everywhere. The small simulator beside this file makes the pairs. One kernel compares
whole maps, another looks at windows around each place and shares what it learns between places.
"""

import matplotlib.pyplot as plt
import numpy as np
from simulators import darcy

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import Matern
from mercer.metrics import relative_error
from mercer.operators import Shared
from mercer.spaces import Fields

X, Y = darcy(260, points=16, smooth=False, length=0.2)
X, Y = np.log(X), Y / Y.std()
train, test = slice(0, 200), slice(200, 260)

# %%
# Whole maps: ridge and length scale by leave-one-out.

median = Matern().fit(X[train].reshape(200, -1)).length_scale_
whole = KernelDependencyCV([Matern(s * median) for s in (0.5, 1.0, 2.0)]).fit(X[train], Y[train])
print("whole maps:", round(relative_error(Y[test], whole.predict(X[test])), 3))

# %%
# Windows, weighted towards their centre; lengths are in the units of the grid.

grid = Fields(spacing=1 / 16)
kernel = Shared(Matern(6.0), Matern(0.5), 0.25, 0.003, rank=600, fields=grid, output_fields=grid)
model = KernelDependency(kernel, alpha=0.03).fit(X[train], Y[train])
print("shared:", round(relative_error(Y[test], model.predict(X[test])), 3))

# %%
# The same model answers on a finer grid.

fine = model.predict(X[test][:1], grid=Fields(spacing=1 / 32, shape=(31, 31)))
shown = {
    "permeability": X[test][0],
    "pressure": Y[test][0],
    "whole maps": whole.predict(X[test][:1])[0],
    "shared": model.predict(X[test][:1])[0],
    "shared, finer": fine[0],
}
figure, axes = plt.subplots(1, len(shown), figsize=(11, 2.6), layout="constrained")
for axis, (title, field) in zip(axes, shown.items(), strict=True):
    axis.imshow(field)
    axis.set_title(title, fontsize=9)
    axis.set_axis_off()
