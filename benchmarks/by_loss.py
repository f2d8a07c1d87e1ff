"""Is `ByLoss` at least as good as the natural decoder, each on its own loss?

The same fitted model is decoded twice: by the natural decoder of the output kernel (calibrated for
the loss where it can be) and by the least expected loss. Paired differences of the losses of the
test examples with their 95 % intervals: below zero `ByLoss` is better. Next to them what a user of
scikit-learn would have tried: one-vs-rest logistic regression tuned for the loss, the nearest word.

MERCER_DATA=data python benchmarks/by_loss.py --jobs 16 --out out/by_loss
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import _one_thread  # noqa: F401 (before numpy)
import numpy as np
from sklearn.model_selection import KFold

from experiments.baselines import OneVsRest
from experiments.string_baselines import predict_by_nearest
from mercer import KernelDependencyCV
from mercer.datasets import (
    LABEL_RANKING,
    load_bibtex,
    load_cmudict,
    load_emotions,
    load_label_ranking,
)
from mercer.decoders import ByLoss, Threshold, natural
from mercer.kernels import RBF, Kendall, Labels, Linear, Normalized, Spearman, Spectrum
from mercer.metrics import (
    edit_distance,
    hamming_accuracy,
    kendall_tau,
    sample_f1,
    spearman_rho,
    subset_accuracy,
)

LABELS = {"f1": sample_f1, "hamming": hamming_accuracy, "subset": subset_accuracy}
RANKS = {"kendall": (kendall_tau, Kendall()), "spearman": (spearman_rho, Spearman())}
LABEL_SETS = ("bibtex", "yeast", "emotions")


def scaled(X, new):
    """Inputs of unit spread."""
    spread = X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return (X - X.mean(axis=0)) / spread, (new - X.mean(axis=0)) / spread


def decoded(kernels, output, X, y, new, *decoders):
    """The predictions of one model under several decoders, calibrated on its left-out points."""
    best = KernelDependencyCV(kernels, output).fit(X, y)
    points = best.embed(new)
    for decoder in decoders:
        fitted = (decoder or natural(output)).fit(best.output_kernel_, best.outputs_)
        if fitted.calibrates:
            fitted = fitted.calibrate(best.loo_embed(), best.outputs_)
        yield fitted.decode(points)


def label_sets(name, quick):
    """The losses of both decoders on the test set in the set's own split."""
    if name == "yeast":
        data = np.load(Path(os.environ["MERCER_DATA"]) / "label_sets_more/label_sets_more.npz")
        parts = [data[f"yeast_{part}"] for part in ("X_train", "Y_train", "X_test", "Y_test")]
    else:
        found = load_emotions() if name == "emotions" else load_bibtex()
        parts = [found.X_train, found.y_train, found.X_test, found.y_test]
    usual = parts[0], parts[2]  # logistic regression is faster on sparse words
    X, y, new, truth = (part.toarray() if hasattr(part, "toarray") else part for part in parts)
    if quick:
        X, y, new, truth = X[:200], y[:200], new[:100], truth[:100]
    y, truth = y.astype(int), truth.astype(int)
    if name == "bibtex":
        kernels = [Normalized(Linear()), RBF(4.0), RBF(8.0)]
    else:
        usual = X, new = scaled(X, new)
        kernels = [RBF(c * X.shape[1] ** 0.5) for c in (0.3, 0.5, 1.0, 2.0)]
    decoders = [make(loss) for loss in LABELS for make in (lambda m: Threshold(metric=m), ByLoss)]
    found = list(decoded(kernels, Labels(), X, y, new, *decoders))
    for k, (loss, metric) in enumerate(LABELS.items()):
        logistic = OneVsRest(metric).fit(usual[0][: len(y)], y).predict(usual[1][: len(truth)])
        three = [*found[2 * k : 2 * k + 2], logistic]
        yield loss, *(1.0 - metric(truth, one, average=False) for one in three)


def rankings(name, quick):
    """The losses of both decoders over ten folds."""
    X, y = load_label_ranking(name)
    if quick:
        X, y = X[:100], y[:100]
    kernels = [RBF(c * X.shape[1] ** 0.5) for c in (0.3, 0.6, 1.0, 1.7, 3.0)]
    for loss, (metric, _) in RANKS.items():
        losses = [[], []]
        for train, test in KFold(2 if quick else 10, shuffle=True, random_state=0).split(X):
            own, new = scaled(X[train], X[test])
            pair = decoded(kernels, Kendall(), own, y[train], new, None, ByLoss(loss))
            for kept, found in zip(losses, pair, strict=True):
                kept.append(1.0 - metric(y[test], found, average=False))
        yield loss, *(np.concatenate(kept) for kept in losses), np.array(np.nan)


def cmudict(name, quick):
    """The edit distances of both decoders on held-out words."""
    words, phones = load_cmudict()
    drawn = np.random.default_rng(0).permutation(len(words))
    size, tested = (400, 100) if quick else (4000, 1000)
    train, test = drawn[tested : tested + size], drawn[:tested]
    kernels = [Normalized(Spectrum(n, blended=True, width=w)) for n in (2, 3) for w in (2, 4)]
    output = Spectrum(2, blended=True, width=3)
    pair = decoded(kernels, output, words[train], phones[train], words[test], None, ByLoss("edit"))
    three = [*pair, predict_by_nearest(words[train], phones[train], words[test])]
    yield "edit", *(edit_distance(phones[test], found, average=False) for found in three)


def measure(job):
    """Rows of one set."""
    name, quick = job
    run = label_sets if name in LABEL_SETS else cmudict if name == "cmudict" else rankings
    rows, start = [], time.perf_counter()
    for loss, one, two, usual in run(name, quick):
        difference = two - one
        half = 1.96 * difference.std(ddof=1) / len(difference) ** 0.5
        row = {
            "set": name,
            "loss": loss,
            "natural": float(one.mean()),
            "by loss": float(two.mean()),
            "scikit-learn": float(usual.mean()),
        }
        rows.append(row | {"difference": float(difference.mean()), "half": float(half),
                           "examples": len(difference),
                           "seconds": time.perf_counter() - start})  # fmt: skip
        start = time.perf_counter()
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", nargs="*", default=[*LABEL_SETS, "cmudict", *LABEL_RANKING])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        jobs = [(name, options.quick) for name in options.sets]
        rows = [row for found in pool.map(measure, jobs) for row in found]
    heads = ("natural", "by loss", "scikit-learn", "difference", "95 %")
    print(f"{'set':12s}{'loss':10s}" + "".join(f"{head:>13s}" for head in heads))
    for r in rows:
        print(f"{r['set']:12s}{r['loss']:10s}" + "".join(f"{r[head]:13.4f}" for head in heads[:3]),
              f"{r['difference']:+12.4f}  ± {r['half']:.4f}  {r['seconds']:.0f} s")  # fmt: skip
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "by_loss.json").write_text(json.dumps(rows, indent=1))
