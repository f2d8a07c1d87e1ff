"""How much dearer than the eigendecompositions of its kernels is a whole selection?

Bibtex (4880 texts, 159 labels): fit, choice of 3 kernels × 10 alphas by the sample-F1 of
thresholded leave-one-out predictions, and prediction of 2515 texts, against one `eigh` of that size
for each kernel, timed in the same run.
"""

from time import perf_counter

import scipy.linalg

from experiments.bibtex import ALPHAS, KERNELS
from experiments.label_sets import model
from mercer.datasets import load_bibtex
from mercer.metrics import sample_f1

if __name__ == "__main__":
    data = load_bibtex()
    start = perf_counter()
    fitted = model(KERNELS, ALPHAS, "f1").fit(data.X_train, data.y_train)
    selected = perf_counter()
    predictions = fitted.predict(data.X_test)
    end = perf_counter()
    K = fitted.input_kernel_(data.X_train)
    scipy.linalg.eigh(K, driver="evd")
    floor = len(KERNELS) * (perf_counter() - end)
    print(f"chosen       {fitted.kernel_.scalar}, alpha {fitted.alpha_:.3g}")
    print(f"sample-F1    {100 * sample_f1(data.y_test, predictions):.2f}", end="")
    print(f" (left out {100 * fitted.loo_score_:.2f})")
    print(f"eigh         {floor:7.1f} s, one of n = {len(K)} for each of {len(KERNELS)} kernels")
    print(f"fit + choice {selected - start:7.1f} s")
    print(f"prediction   {end - selected:7.1f} s")
    print(f"all / eigh   {(end - start) / floor:7.2f}  (at most 4 is the target)")
