"""How much dearer than its eigendecompositions is a whole selection over kernels and ridges?

Bibtex (4880 texts, 159 labels): fit, choice of 3 kernels × 10 alphas by the sample-F1 of
thresholded leave-one-out predictions, and prediction of 2515 texts, against the time of the `eigh`
calls made.
"""

from time import perf_counter

from mercer import _linalg
from mercer.datasets import load_bibtex
from mercer.experiments.bibtex import ALPHAS, KERNELS
from mercer.experiments.label_sets import model
from mercer.metrics import sample_f1

calls: list[tuple[int, float]] = []
plain = _linalg._numpy_eigh


def timed(S):
    size, start = len(S), perf_counter()
    result = plain(S)
    calls.append((size, perf_counter() - start))
    return result


if __name__ == "__main__":
    _linalg._numpy_eigh = timed
    data = load_bibtex()
    start = perf_counter()
    fitted = model(KERNELS, ALPHAS, "f1").fit(data.X_train, data.y_train)
    selected = perf_counter()
    predictions = fitted.predict(data.X_test)
    end = perf_counter()
    spent = sum(seconds for _, seconds in calls)
    sizes = sorted({size for size, _ in calls})
    print(f"chosen       {fitted.kernel_.scalar}, alpha {fitted.alpha_:.3g}")
    print(f"sample-F1    {100 * sample_f1(data.y_test, predictions):.2f}", end="")
    print(f" (left out {100 * fitted.loo_score_:.2f})")
    print(f"eigh         {spent:7.1f} s, {len(calls)} calls of n = {sizes}")
    print(f"fit + choice {selected - start:7.1f} s")
    print(f"prediction   {end - selected:7.1f} s")
    print(f"all / eigh   {(end - start) / spent:7.2f}  (at most 4 is wanted)")
