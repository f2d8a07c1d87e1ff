"""Ellipsoids next to balls, boxes and MAPIE's multivariate scores, around the same models."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from mercer import ConformalSets, KernelDependencyCV
from mercer.datasets._files import find_file
from mercer.features import RandomPivotedCholesky
from mercer.kernels import RBF, Standardized
from mercer.sets.ellipsoids import log_unit_ball

from .report import Report

ASKED = 0.9
SPLITS = 10
TABLES = ("births1", "air", "households")
"""Tables of `multi_output_sets`, of thousands of rows."""
SETS = ("slump", "andro", "edm", "jura", "atp1d")
"""Sets of `multi_target`, of 49 to 359 rows."""
TRAIN, TEST = 3000, 2000
"""Rows of a large table that are fitted and calibrated on, and that are tested on."""
SHARE = 0.7
"""The fraction of the rows of a small set that are fitted and calibrated on."""
SCALES = (0.3, 0.6, 1.0, 2.0, 4.0)
SLABS, SLAB_ROWS, SLAB_SHARE = 20, 1000, 0.2
"""Random directions of slabs; the least number of test rows for slabs; their least fraction."""
PEER = "MAPIE"
VOLUME = "volume relative to the ball"
Found = tuple[np.ndarray, np.ndarray]
"""Which test outputs the sets contain, and the logarithm of the volume of each set."""


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs and outputs of a data set."""
    large = name in TABLES
    file = "multi_output_sets/multi_output_sets.npz" if large else "multi_target/multi_target.npz"
    data = np.load(find_file(file))
    return data[f"{name}_X"].astype(float), data[f"{name}_{'y' if large else 'Y'}"].astype(float)


def split(rows: int, large: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random training and test rows."""
    order = np.random.default_rng(seed).permutation(rows)
    train = TRAIN if large else round(SHARE * rows)
    return order[:train], order[train:][:TEST]


def model_for(X: np.ndarray) -> KernelDependencyCV:
    """Return the model that all sets are around, which chooses its length scale and ridge."""
    kernels = [Standardized(RBF(c * np.sqrt(X.shape[1]))) for c in SCALES]
    map = RandomPivotedCholesky(300, random_state=0) if len(X) >= 1000 else None
    return KernelDependencyCV(kernels, features=map)


def sets_of(
    kind: str, X: np.ndarray, Y: np.ndarray, level: float = ASKED, **named: Any
) -> ConformalSets:
    """Return fitted sets; all kinds hold out the same rows and have the same model."""
    return ConformalSets(model_for(X), level, kind=kind, **named).fit(X, Y)


def by_ball(X: np.ndarray, Y: np.ndarray, X_new: np.ndarray, Y_new: np.ndarray) -> Found:
    """Return what balls contain, and their volumes."""
    sets = sets_of("ball", X, Y)
    volume = log_unit_ball(Y.shape[1]) + Y.shape[1] * np.log(sets.sizes(X_new))
    return sets.covers(X_new, Y_new), volume


def by_box(X: np.ndarray, Y: np.ndarray, X_new: np.ndarray, Y_new: np.ndarray) -> Found:
    """Return what boxes of intervals contain, with a level for each by Bonferroni."""
    sets = sets_of("intervals", X, Y, 1.0 - (1.0 - ASKED) / Y.shape[1])
    found: Any = sets.predict(X_new)
    inside = ((found.lower <= Y_new) & (Y_new <= found.upper)).all(axis=1)
    return inside, np.log(found.upper - found.lower).sum(axis=1)


def by_ellipsoid(
    X: np.ndarray, Y: np.ndarray, X_new: np.ndarray, Y_new: np.ndarray, scale: str = "auto"
) -> Found:
    """Return what ellipsoids contain, and their volumes."""
    sets = sets_of("ellipsoid", X, Y, scale=scale)
    return sets.covers(X_new, Y_new), np.array([one.log_volume for one in sets.predict(X_new)])


def by_flat_ellipsoid(X: np.ndarray, Y: np.ndarray, X_new: np.ndarray, Y_new: np.ndarray) -> Found:
    """Return what ellipsoids of one shape for all inputs contain, and their volumes."""
    return by_ellipsoid(X, Y, X_new, Y_new, "flat")


def by_peer(X: np.ndarray, Y: np.ndarray, X_new: np.ndarray, Y_new: np.ndarray) -> Found:
    """Return what the sets of MAPIE's `MultivariateResidualNormalisedScore` contain.

    Its network learns covariances about zero from the left-out residuals of the model, because it
    does not accept predictions, and it is calibrated on all rows that are held out.
    """
    import torch
    from mapie.experimental.conformity_scores import MultivariateResidualNormalisedScore

    torch.set_num_threads(1)
    torch.manual_seed(0)
    sets = sets_of("ball", X, Y)
    held, rest = sets._held_out_rows(np.arange(len(X)))
    centre, spread = X[rest].mean(axis=0), X[rest].std(axis=0)
    inputs = [(A - centre) / np.where(spread > 0, spread, 1.0) for A in (X, X_new)]
    single = [A.astype(np.float32) for A in inputs]
    p = Y.shape[1]
    score = MultivariateResidualNormalisedScore(center_model=lambda A: np.zeros((len(A), p)))
    residuals = Y[rest] - sets.model_.loo_predict()
    score.fit(single[0][rest], residuals.astype(np.float32))
    lengths, volumes = [], []
    for A, B, given in ((single[0][held], Y[held], X[held]), (single[1], Y_new, X_new)):
        roots = np.linalg.cholesky(score.covariance_estimator_.get_covariance_matrix(A))
        difference = B - sets.model_.predict(given)
        lengths.append(
            np.linalg.norm(np.linalg.solve(roots, difference[..., None])[..., 0], axis=1)
        )
        volumes.append(np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1))
    rank = int(np.ceil(ASKED * (len(held) + 1)))
    radius = np.sort(lengths[0])[rank - 1] if rank <= len(held) else np.inf
    return lengths[1] <= radius, volumes[1] + p * np.log(radius) + log_unit_ball(p)


METHODS = {
    "ball": by_ball,
    "box by Bonferroni": by_box,
    "ellipsoid, one shape": by_flat_ellipsoid,
    "ellipsoid": by_ellipsoid,
    PEER: by_peer,
}


def worst_slab(X: np.ndarray, inside: np.ndarray, seed: int) -> tuple[float, int]:
    """Return the coverage in the worst slab of inputs, and the number of test rows in it.

    The slab is the one of least coverage on half of the test rows, among the slabs of at least
    `SLAB_SHARE` of them along random directions. Its coverage is that of the other half.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    half, other = np.array_split(order, 2)
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    best = (np.inf, None, 0.0, 0.0)
    for direction in rng.normal(size=(SLABS, X.shape[1])):
        along = Z @ direction
        ranked = half[np.argsort(along[half])]
        covered = np.concatenate([[0], np.cumsum(inside[ranked])])
        least = int(SLAB_SHARE * len(half))
        starts, ends = np.triu_indices(len(covered), least)
        values = (covered[ends] - covered[starts]) / (ends - starts)
        at = int(values.argmin())
        if values[at] < best[0]:
            low, high = along[ranked[starts[at]]], along[ranked[ends[at] - 1]]
            best = (float(values[at]), direction, low, high)
    along = Z[other] @ best[1]
    chosen = (along >= best[2]) & (along <= best[3])
    return float(inside[other][chosen].mean()), int(chosen.sum())


def trial(name: str, seed: int, methods: list[str]) -> Iterator[tuple[str, str, float]]:
    """Yield (method, metric, value) of each method on one split of a data set."""
    X, Y = load(name)
    train, test = split(len(X), name in TABLES, seed)
    Y = (Y - Y[train].mean(axis=0)) / Y[train].std(axis=0)
    reference = None
    for method in methods:
        inside, volumes = METHODS[method](X[train], Y[train], X[test], Y[test])
        middle = float(np.median(volumes))
        reference = middle if reference is None else reference
        yield method, "coverage", float(np.mean(inside))
        yield method, VOLUME, float(np.exp(middle - reference))
        if len(test) >= SLAB_ROWS:
            yield method, "worst slab", worst_slab(X[test], inside, seed)[0]


def run(folder: Path, console: Any, quick: bool = False, repeats: int | None = None) -> Report:
    """Report coverage and median volume of each kind of set on each data set."""
    repeats = repeats or (1 if quick else SPLITS)
    peer = find_spec("mapie") is not None and find_spec("torch") is not None
    methods = [method for method in METHODS if peer or method != PEER]
    names = ["slump", "edm"] if quick else [*TABLES, *SETS]
    report = Report("ellipsoids", baseline="ball", lower_is_better=[f"median {VOLUME}"])
    steps = [(name, seed) for name in names for seed in range(repeats)]
    found: dict[tuple[str, str, str], list[float]] = {}
    for name, seed in track(steps, "splits", console=console, transient=True):
        for method, metric, value in trial(name, seed, methods):
            found.setdefault((method, name, metric), []).append(value)
    for (method, name, metric), values in found.items():
        if metric == VOLUME:  # a few splits of small sets have huge sets of any kind
            report.add(method, name, f"median {metric}", float(np.median(values)))
        else:
            report.add(method, name, metric, scores=values)
    report.notes.append(
        f"Sets of level {ASKED:.0%} around one model, {repeats} random splits; medians of volumes "
        "over test rows, relative to the ball of the same split in standardised outputs."
    )
    if not peer:
        report.notes.append("MAPIE and PyTorch are not installed: no comparison with them.")
    return report
