"""Does a length scale for each feature, learnt by gradient, beat a grid of one for all?

Multi-target regression in raw units, five folds: the average relative root mean squared error of
the grid, of learnt length scales by the penalised evidence (the default), without a penalty and by
leave-one-out, of the grid and the default averaged, and of scikit-learn's Gaussian process, which
learns them by the evidence too, from scaled inputs. Then 5 relevant of 50 features.

MERCER_DATA=data python benchmarks/ard.py --jobs 16 --out out/ard
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import _one_thread  # noqa: F401 (before numpy)
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as Anisotropic
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelDependency, KernelDependencyCV, tune
from mercer.kernels import RBF

SETS = ("slump", "edm", "andro", "jura", "atp1d")
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
LEARNT = {
    "evidence, penalised": {},
    "evidence": {"penalty": 0.0},
    "leave-one-out, penalised": {"criterion": "loo"},
    "leave-one-out": {"criterion": "loo", "penalty": 0.0},
}
"""The first is the default."""


def grid(X, Y, spread):
    """One length scale for all features over their spreads, ridge too, by leave-one-out."""
    middle = RBF().fit(X / spread).length_scale_
    kernels = [RBF(factor * middle * spread) for factor in FACTORS]
    return KernelDependencyCV(kernels).fit(X, Y)


def process(X, Y):
    """scikit-learn's: one process for all targets, all parameters by marginal likelihood."""
    width = X.shape[1]
    kernel = ConstantKernel() * Anisotropic(np.full(width, width**0.5)) + WhiteKernel()
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True))
    with warnings.catch_warnings():  # length scales of features that do not matter grow
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y)


def fold(job):
    """The predictions of every method on one fold of one set."""
    name, number, learnt = job
    data = np.load(Path(os.environ["MERCER_DATA"]) / "multi_target" / "multi_target.npz")
    X, Y = data[f"{name}_X"], data[f"{name}_Y"]
    train, test = list(KFold(5, shuffle=True, random_state=0).split(X))[number]
    spread = X[train].std(axis=0)
    spread[spread == 0] = 1.0
    methods = {
        "grid, raw": lambda: grid(X[train], Y[train], np.ones(X.shape[1])),
        "grid, scaled": lambda: grid(X[train], Y[train], spread),
        "scikit-learn: process": lambda: process(X[train], Y[train]),
    }
    for method in learnt:
        methods[method] = lambda method=method: tune(
            KernelDependency(RBF("ard")), X[train], Y[train], **LEARNT[method]
        )
    found, seconds = {}, {}
    for method, fit in methods.items():
        start = time.perf_counter()
        found[method] = fit().predict(X[test])
        seconds[method] = time.perf_counter() - start
    default = found["evidence, penalised"]
    for kind in ("raw", "scaled"):
        found[f"default + grid, {kind}"] = (default + found[f"grid, {kind}"]) / 2.0
    truth, mean = Y[test], Y[train].mean(axis=0)
    floor = ((truth - mean) ** 2).sum(axis=0)
    errors = {m: ((p - truth) ** 2).sum(axis=0).tolist() for m, p in found.items()}
    return name, errors, floor.tolist(), seconds


def draw(seed):
    """How many of 5 relevant features are among the 5 shortest length scales of 50."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 50))
    own = rng.permutation(50)[:5]
    a, b, c, d, e = X[:, own].T
    f = np.sin(1.5 * a) + b * c + 0.5 * d**2 + e
    y = f + 0.3 * f.std() * rng.normal(size=200)
    model = tune(KernelDependency(RBF("ard")), X, y[:, None])
    return len(set(np.argsort(model.kernel_.scalar.length_scale)[:5]) & set(own))


def scored(results):
    """aRRMSE by set and method, errors summed over the folds; seconds likewise."""
    table, seconds = {}, {}
    for name in dict.fromkeys(result[0] for result in results):
        own = [result for result in results if result[0] == name]
        floor = np.sum([result[2] for result in own], axis=0)
        table[name] = {
            method: float(np.mean(np.sqrt(np.sum([r[1][method] for r in own], axis=0) / floor)))
            for method in own[0][1]
        }
        seconds[name] = {m: float(sum(r[3][m] for r in own)) for m in own[0][3]}
    return table, seconds


def show(table, seconds, hits):
    """The table, and what was wanted."""
    methods = list(next(iter(table.values())))
    print(f"{'aRRMSE':28s}" + "".join(f"{name:>9s}" for name in table) + f"{'mean':>9s}")
    for method in methods:
        row = [table[name][method] for name in table]
        print(f"{method:28s}" + "".join(f"{v:9.4f}" for v in row) + f"{np.mean(row):9.4f}")
    for kind in ("raw", "scaled"):
        base = np.array([table[name][f"grid, {kind}"] for name in table])
        both = np.array([table[name][f"default + grid, {kind}"] for name in table])
        own = np.array([table[name]["evidence, penalised"] for name in table])
        ratio = [seconds[n]["evidence, penalised"] / seconds[n][f"grid, {kind}"] for n in table]
        print(
            f"against the grid, {kind}: averaged {both.mean() / base.mean() - 1:+.1%} on average "
            f"(wanted ≤ -1 %), worst set {np.max(both / base - 1):+.1%} (≤ +3 %), "
            f"learnt alone on {list(table)[-1]} {own[-1] / base[-1] - 1:+.1%} (≤ -8 %), "
            f"time {max(ratio):.1f} × at most (≤ 10)"
        )
    if hits:
        print(f"relevant features among the first five: {hits} (wanted ≥ 4 in nine of ten)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="the default method alone, one fold")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    learnt = list(LEARNT)[:1] if options.quick else list(LEARNT)
    folds = 1 if options.quick else 5
    jobs = [(name, number, learnt) for name in options.sets[::-1] for number in range(folds)]
    with ProcessPoolExecutor(options.jobs) as pool:
        results = sorted(pool.map(fold, jobs), key=lambda r: options.sets.index(r[0]))
        hits = list(pool.map(draw, range(2 if options.quick else 10)))
    table, seconds = scored(results)
    show(table, seconds, hits)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        found = {"arrmse": table, "seconds": seconds, "hits": hits}
        (options.out / "ard.json").write_text(json.dumps(found, indent=1))
