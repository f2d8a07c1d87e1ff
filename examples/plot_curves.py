"""
Precipitation curves from temperature curves
============================================

This example predicts the precipitation of a year from the temperature. Each Canadian weather
station is left out in turn. The data are read by `mercer.datasets.load_canadian_weather`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependencyCV
from mercer.datasets import load_canadian_weather
from mercer.fields import Resample
from mercer.kernels import L2, Gaussian
from mercer.operators import Covariance, Identity

temperature, rain, places = load_canadian_weather()
year = np.linspace(0, 1, 365)

# %%
# Daily values are noisy. `Resample` fits a smoothing spline to each station. Generalised
# cross-validation chooses the penalty.

smooth = Resample(year, penalty="gcv").fit_transform(rain)

# %%
# The kernel compares curves by :math:`\int (f - g)^2`. Leave-one-out chooses the length scale, the
# operator and the ridge. `loo_predict` returns the prediction for each station from the others.

model = KernelDependencyCV(
    [Gaussian(L2(year), s) * op for s in (6, 12, 24, 48) for op in (Identity(), Covariance())],
    output_kernel=L2(year),
    alphas=np.logspace(-8, 0, 17),
    fit_intercept=True,
).fit(temperature, smooth)
print(model.kernel_.operator, model.alpha_)
left_out = model.loo_predict()

# %%
# The red curves are the left-out predictions for six stations.

figure, axes = plt.subplots(2, 3, figsize=(10, 5), sharex=True, sharey=True, layout="constrained")
shown = ["Halifax", "Montreal", "Winnipeg", "Vancouver", "Pr. Rupert", "Resolute"]
for axis, place in zip(axes.flat, shown, strict=True):
    i = list(places).index(place)
    axis.plot(rain[i], color="0.8", label="daily")
    axis.plot(smooth[i], color="0.3", label="smoothed")
    axis.plot(left_out[i], color="tab:red", label="predicted, station left out")
    axis.set_title(place)
axes[0, 0].legend(fontsize=8)
figure.supxlabel("day of the year")
figure.supylabel("log10 precipitation (mm)")
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/curves.png'
