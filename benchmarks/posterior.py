"""What do the posterior variance and the evidence cost next to the fit and one product?"""

import numpy as np
from _measure import best_times, report, size

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Covariance

rng = np.random.default_rng(0)
n = size(3000, 1200)
X, X_new = rng.normal(size=(n, 20)), rng.normal(size=(n, 20))
Y = np.sin(X[:, :10]) + 0.1 * rng.normal(size=(n, 10))
K, E = rng.normal(size=(n, n)), rng.normal(size=(n, n))
for operator in (None, Covariance()):
    kernel = RBF(4.0) if operator is None else RBF(4.0) * operator
    model = KernelDependencyCV(kernel, alphas=[0.1], criterion="evidence").fit(X, Y)
    parts = model.fitted_.factorization
    times = best_times(
        {
            "one matrix product": lambda: K @ E,
            "kernel values": lambda model=model: model.input_kernel_(X_new, X),
            "fit": lambda model=model: model.fit(X, Y),
            "predict": lambda model=model: model.predict(X_new),
            "variance": lambda model=model: model.embed(X_new).variance(),
            "evidence": lambda parts=parts: parts.evidence(0.1),
        }
    )
    both = times["variance"] - times["predict"] - times["kernel values"] + times["evidence"]
    name = "identity" if operator is None else "covariance"
    times["variance and evidence beyond a prediction"] = max(both, 0.0)
    report(f"{name}, n = {n:,}", times, "one matrix product", "the last at most 1")

model = KernelDependency(RBF(4.0), alpha=0.1).fit(X, Y)
times = best_times(
    {
        "one matrix product": lambda: K @ E,
        "kernel values": lambda: model.input_kernel_(X_new, X),
        "fit": lambda: model.fit(X, Y),
        "predict": lambda: model.predict(X_new),
        "fit and variance": lambda: model.fit(X, Y).embed(X_new).variance(),
    }
)
known = times["fit"] + times["predict"] + times["kernel values"]
times["variance beyond a fit and a prediction"] = max(times["fit and variance"] - known, 0.0)
question = f"KernelDependency, nothing factored before, n = {n:,}"
report(question, times, "one matrix product", "the last at most 1")
