"""
Completing images
=================

This example predicts the lower half of a digit from its upper half. One fitted model is used with
two decoders. `Candidates` returns the best training image. `FixedPoint` improves this image step by
step, and returns a new image.
"""

import matplotlib.pyplot as plt

from mercer import KernelDependencyCV
from mercer.datasets import load_digit_halves
from mercer.decoders import Candidates, FixedPoint
from mercer.kernels import RBF
from mercer.metrics import rbf_loss
from mercer.operators import ConditionalCovariance, Covariance, Identity
from mercer.plots import completions, risk

upper, lower = load_digit_halves()
train, test = slice(0, 500), slice(500, 1000)

# %%
# Leave-one-out on the 500 training digits chooses the length scale, the operator and the ridge. In
# the plot, each line is a kernel, and each dot is a ridge.

operators = (Identity(), Covariance(), ConditionalCovariance(0.1))
model = KernelDependencyCV(
    [RBF(scale) * operator for scale in (0.5, 1.0, 2.0) for operator in operators],
    output_kernel=RBF(2.0),
    decoder=FixedPoint(),
).fit(upper[train], lower[train])
print(model.kernel_, "alpha", model.alpha_)
figure, axes = plt.subplots(figsize=(10, 4), layout="constrained")
risk(model, axes)
axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# Decode the predictions for 500 other digits in both ways. The new images are closer to the truth
# on average. They are greyer, because they are averages of possible images.

points = model.embed(upper[test])
made = model.decoder_.decode(points)
seen = Candidates().fit(model.output_kernel_, lower[train]).decode(points)
for name, halves in {"best seen": seen, "made": made}.items():
    print(f"{name}: RBF loss {rbf_loss(lower[test], halves, length_scale=2.0):.3f}")

# sphinx_gallery_thumbnail_number = 2
shown = slice(0, 6)
columns = {"truth": lower[test][shown], "best seen": seen[shown], "made": made[shown]}
completions(upper[test][shown], columns)
plt.show()
