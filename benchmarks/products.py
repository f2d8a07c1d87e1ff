"""How long does one solution take, relative to an eigendecomposition and to scikit-learn?

    python benchmarks/products.py                 # a minute
    python benchmarks/products.py --large         # n = 20,000, and 60,000 without n² numbers
    python benchmarks/products.py --device cuda   # the rows of a GPU, with PyTorch
    python benchmarks/products.py --device cuda --left-out 50000

Set ``OMP_NUM_THREADS`` and ``OPENBLAS_NUM_THREADS`` to 1 to measure processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from _measure import best_times, report, size

from mercer import KernelDependency
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix

EPSILON, ALPHA = 1e-3, 0.1
REFIT_SECONDS = 180
"""Refits of an operator end after so many seconds."""
OPERATORS = {
    "identity": Identity(),
    "covariance": Covariance(),
    "conditional covariance": ConditionalCovariance(EPSILON),
}


def pairs(n: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs near a surface of eight dimensions, and outputs of which half are noise."""
    rng = np.random.default_rng(0)
    X = np.tanh(rng.normal(size=(n, 8)) @ rng.normal(size=(8, 20)) / 8**0.5)
    X += 0.05 * rng.normal(size=X.shape)
    smooth = np.sin(X @ rng.normal(size=(20, q // 2)) / 2)
    return X, np.hstack([smooth, 0.3 * rng.normal(size=(n, q - q // 2))])


def model(name: str, **params: Any) -> KernelDependency:
    """The model with an operator, at the ridge of all rows."""
    return KernelDependency(RBF(4.0) * OPERATORS[name], alpha=ALPHA, **params)


def against_references(n: int, q: int, names: list[str]) -> None:
    """Fits, relative to one eigendecomposition and to the fit of `KernelRidge`."""
    from sklearn.kernel_ridge import KernelRidge

    X, Y = pairs(n, q)
    K = RBF(4.0)(X)
    reference = KernelRidge(kernel="rbf", gamma=1 / 32, alpha=ALPHA)
    contestants: dict[str, Callable[[], object]] = {
        "KernelRidge": lambda: reference.fit(X, Y),
        **{name: lambda name=name: model(name).fit(X, Y) for name in names},
    }
    if "covariance" in names:
        contestants["one eigh"] = lambda: scipy.linalg.eigh(K, driver="evd")
    times = best_times(contestants, size(2, 1))
    report(f"one solution, n = {n:,}, q = {q}", times, "KernelRidge", "at most 1.3")


def alone(title: str, fit: Callable[[], KernelDependency], wait: Callable[[], None]) -> None:
    """One fit, with its iterations and residual, on the clock and in processor time."""
    wait()
    clock, processor = time.perf_counter(), time.process_time()
    fitted = fit()
    wait()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    how = "spectrum" if fitted.n_iter_ is None else f"{fitted.n_iter_} iterations"
    print(f"{title}: {clock:.2f} s, processor time {processor:.2f} s, {how}, ", end="")
    print(f"residual {fitted.residual_ or 0:.1e}", flush=True)


def on_processor(large: bool) -> None:
    """The rows of a processor."""
    against_references(size(4000, 2000), 20, ["covariance", "conditional covariance"])
    against_references(size(8000, 2000), 20, ["identity"])
    if large:
        name = "conditional covariance"
        X, Y = pairs(20_000, 20)
        alone(f"{name}, n = 20,000, q = 20", partial(model(name).fit, X, Y), lambda: None)
        X, Y = pairs(60_000, 10)
        for name in ("identity", "covariance"):
            title = f"{name}, n = 60,000, q = 10, Gram matrix in blocks"
            alone(title, partial(model(name).fit, X, Y), lambda: None)


def on_device(device: str) -> None:
    """The rows of an accelerator: fits, eigendecompositions, and the time of one product."""
    import torch

    def wait() -> None:
        """Wait until the device has finished."""
        torch.cuda.synchronize()

    def moved(n: int, q: int) -> tuple[Any, Any]:
        """The pairs as arrays on the device."""
        X, Y = pairs(n, q)
        return torch.asarray(X, device=device), torch.asarray(Y, device=device)

    def timed(run: Callable[[], object]) -> float:
        """The seconds of one run."""
        wait()
        start = time.perf_counter()
        run()
        wait()
        return time.perf_counter() - start

    X, Y = moved(2000, 20)
    model("conditional covariance").fit(X, Y)  # loads the libraries
    model("conditional covariance", solver="spectral").fit(X, Y)
    for n in (5000, 20_000):
        X, _ = moved(n, 20)
        K = RBF(4.0)(X)
        whole = timed(lambda K=K: torch.linalg.eigh(K))
        for q in (20, 200, 1000):
            D = torch.ones(len(K), q, device=device, dtype=torch.float64)
            timed(lambda K=K, D=D: K @ D)
            column = timed(lambda K=K, D=D: K @ D) / q
            print(
                f"n = {n:,}, q = {q}: one eigh takes {whole / (n * column):.1f} n column-products"
            )
        del K, D
    for q in (20, 1000):
        X, Y = moved(20_000, q)
        for name in OPERATORS:
            for solver in ("auto", "spectral"):
                title = f"{name}, n = 20,000, q = {q}, solver={solver!r}"
                chosen = model(name, solver=solver)
                alone(title, partial(chosen.fit, X, Y), wait)
    found, wanted = (model(name, solver=s).fit(X, Y).predict(X[:500]) for s in ("cg", "spectral"))
    print(f"largest difference at q = 1000: {float(abs(found - wanted).max()):.1e}", flush=True)
    del X, Y, found, wanted
    torch.cuda.empty_cache()
    X, Y = moved(100_000, 1000)
    torch.cuda.reset_peak_memory_stats()
    name = "conditional covariance"
    alone(f"{name}, n = 100,000, q = 1,000", partial(model(name).fit, X, Y), wait)
    print(f"peak memory {torch.cuda.max_memory_allocated() / 2**30:.0f} GiB")


def left_out(device: str, n: int, refits: int = 200) -> None:
    """Decoded left-out predictions of all examples, and the same by refits for some of them."""
    import torch

    X, Y = (torch.asarray(A, device=device) for A in pairs(n, 20))
    small = [torch.asarray(A, device=device) for A in pairs(2000, 20)]
    model("covariance").fit(*small).loo_predict()  # loads the libraries
    for name in ("identity", "covariance"):
        fitted = model(name).fit(X, Y)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        found = fitted.loo_predict()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        peak = torch.cuda.max_memory_allocated() / 2**30
        print(f"{name}: left out all of {n:,} in {seconds:.1f} s, peak {peak:.0f} GiB", flush=True)
        centred = Y - Y.mean(0)
        operator = Identity() if name == "identity" else Matrix(centred.T @ centred / n)
        worst, start = 0.0, time.perf_counter()
        for i in np.random.default_rng(0).permutation(n)[:refits]:
            rest = torch.cat([torch.arange(i), torch.arange(i + 1, n)]).to(device)
            again = KernelDependency(RBF(4.0) * operator, alpha=ALPHA).fit(X[rest], Y[rest])
            gap = again.predict(X[i : i + 1]) - found[i]
            worst = max(worst, float(abs(gap).max() / abs(Y).max()))
            if time.perf_counter() - start > REFIT_SECONDS:
                break
        print(f"{name}: largest difference to refits {worst:.1e}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--left-out", type=int, metavar="N")
    given = parser.parse_args()
    if given.left_out:
        left_out(given.device, given.left_out)
    elif given.device != "cpu":
        on_device(given.device)
    else:
        on_processor(given.large)
