"""
Label sets: the threshold that suits the metric
===============================================

This example predicts the moods of songs. A mood is predicted if its score reaches a threshold. The
decoder `Threshold` chooses the threshold that is best for a metric on left-out predictions. The
data are read by `mercer.datasets.load_emotions`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependencyCV
from mercer.datasets import load_emotions
from mercer.decoders import Threshold
from mercer.kernels import Labels, Laplacian
from mercer.metrics import hamming_accuracy, sample_f1, subset_accuracy

data = load_emotions()
scaler = StandardScaler().fit(data.X_train.toarray())
X, X_test = (scaler.transform(A.toarray()) for A in (data.X_train, data.X_test))
y, y_test = data.y_train.toarray(), data.y_test.toarray()
model = KernelDependencyCV([Laplacian(s) for s in (50.0, 100.0)], Labels(), fit_intercept=True)
model.fit(X, y)
print(f"test sample-F1 {sample_f1(y_test, model.predict(X_test)):.3f}")

# %%
# Each curve shows a metric of the left-out predictions. Dots mark the chosen thresholds.
metrics = {"f1": sample_f1, "hamming": hamming_accuracy, "subset": subset_accuracy}
points, levels = model.loo_embed(), np.linspace(0.05, 0.8, 60)
for name, metric in metrics.items():
    cut = lambda t: Threshold(t, at_least_one=True).fit(model.output_kernel_, y).decode(points)  # noqa: E731
    (line,) = plt.plot(levels, [metric(y, cut(t)) for t in levels], label=name)
    best = Threshold(metric=name, at_least_one=True).fit(model.output_kernel_, y)
    best.calibrate(points, y)
    plt.plot(best.threshold_, best.calibration_, "o", color=line.get_color())
plt.xlabel("threshold")
plt.legend()
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/label_sets.png'
