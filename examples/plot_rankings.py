"""
Rankings of wines from their chemistry
======================================

This example predicts rankings with the output kernel `Kendall` and its decoder `Kemeny`.
`loo_predict` returns the prediction for each wine from a model without this wine. The data are read
by `mercer.datasets.load_label_ranking`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependencyCV
from mercer.datasets import load_label_ranking
from mercer.kernels import RBF, Kendall, Laplacian
from mercer.metrics import kendall_tau

X, ranks = load_label_ranking("wine")
X = StandardScaler().fit_transform(X)
kernels = [kind(s) for kind in (RBF, Laplacian) for s in (3.0, 10.0, 30.0)]
model = KernelDependencyCV(kernels, Kendall(), fit_intercept=True).fit(X, ranks)
taus = kendall_tau(ranks, model.loo_predict(), average=False)
print(f"{model.kernel_.scalar}, alpha {model.alpha_:.2g}: left-out Kendall tau {taus.mean():.3f}")

# %%
# Predictions are wrong more often if the best two rankings have similar scores.
tops = model.decoder_.decode_top(model.loo_embed(), 2)
margin = np.array([best[1] - second[1] for best, second in tops])
plt.hist([margin[taus == 1], margin[taus < 1]], bins=20, stacked=True, label=["right", "wrong"])
plt.xlabel("margin of the best ranking over the next")
plt.ylabel("wines")
plt.legend()
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/rankings.png'
