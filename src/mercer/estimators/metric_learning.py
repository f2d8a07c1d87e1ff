"""Metrics of inputs, learnt from the gradients of a predictor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._base.arrays import Array, host, is_foreign, like, namespace, take
from .._base.linalg import eigh
from ..kernels import RBF, Kernel, Linear, Mahalanobis, Matern, RationalQuadratic, Standardized
from ..kernels.principal_components import principal_directions
from .held_out_trials import HeldOutSplit, HeldOutTrial

FAMILIES: tuple[Kernel, ...] = (
    RationalQuadratic(1.0, exponent=0.5),
    Matern(1.0, nu=2.5),
    Matern(1.0, nu=4.5),
    RBF(1.0),
)
"""The kernels of distances that are compared; metrics are learnt with the first one."""
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Length scales, in units of the median distance."""
NEIGHBOURS = (0.5, 1.0, 2.0)
NEAR = (0.5, 0.7, 1.0, 1.4, 2.0)
"""Length scales around a chosen one, in units of it: of all kernels, and at the end."""
NEAR_RIDGES = (0.1, 1.0, 10.0)
"""Ridges around a chosen one, in units of it."""
LINEAR = (Standardized(Linear()), *(Standardized(Linear(), "common", s) for s in (False, True)))
"""The linear kernels that are compared with kernels of distances."""
ROUNDS = 4
"""The largest number of times that a metric is learnt anew."""
METRIC_POWERS = (0.5, 1.0)
"""Powers of the mean outer product of the gradients that are tried as metrics."""
KEPT_VARIANCE = 1.0 - 1e-10
"""The fraction of the variance of the outputs that their leading components must have."""
HELD_OUT = 0.2
"""The fraction of the pairs that are held out, up to `ChoiceSizes.held_out` pairs."""


@dataclass(frozen=True)
class ChoiceSizes:
    """Numbers of pairs for a choice on held-out pairs.

    Attributes
    ----------
    metric
        The largest number of training pairs that metrics are learnt on.
    choice
        The largest number of training pairs that the chosen kernel is refined on.
    held_out
        The largest number of held-out pairs.
    """

    metric: int = 1500
    choice: int = 2000
    held_out: int = 1000

    @classmethod
    def of(cls, X: Array) -> ChoiceSizes:
        """Return the numbers for arrays in main memory, or larger ones for arrays on a GPU."""
        return cls(5000, 20_000) if is_foreign(X) else cls()


@dataclass(frozen=True)
class LearntMetric:
    """The kernel and the ridge with the least error on held-out pairs.

    Attributes
    ----------
    kernel, alpha
        The kernel on the original inputs, and its ridge.
    risk
        Its mean squared error on held-out pairs, in the feature space of the outputs.
    risk_before
        The least one in the given metric.
    rounds
        The number of times that the metric was learnt anew; 0 for the given metric.
    power
        The power of the outer products of gradients; None for a linear kernel.
    """

    kernel: Kernel
    alpha: float
    risk: float
    risk_before: float
    rounds: int = 0
    power: float | None = None

    def __str__(self) -> str:
        metric = f", in a metric learnt in {self.rounds} rounds" if self.rounds else ""
        return f"{self.kernel} at alpha={self.alpha:.2g}{metric}"


@dataclass(frozen=True)
class MetricPath:
    """Metrics that are learnt one after the other, with the best trial in each.

    Attributes
    ----------
    power
        The power of the outer products of gradients.
    trials
        The best trial before the first round, and after each.
    roots
        The matrices R of the metrics RᵀR; the first one is the identity.
    """

    power: float
    trials: list[HeldOutTrial]
    roots: list[Array]

    @classmethod
    def of(cls, split: HeldOutSplit, power: float, first: HeldOutTrial) -> MetricPath:
        """Return the path of `ROUNDS` rounds from the best trial in the given metric."""
        trials, roots = [first], [identity(split)]
        for _ in range(ROUNDS):
            root = next_root(split, roots[-1], trials[-1], power)
            if root is None:
                break
            roots.append(root)
            trials.append(split.mapped(root).best(FAMILIES[:1], SCALES))
        return cls(power, trials, roots)

    @property
    def rounds(self) -> int:
        """The number of rounds with the least error; 0 unless it is clearly less than before."""
        best = int(np.argmin([trial.risk for trial in self.trials]))
        return best if best and self.trials[best].is_clearly_better(self.trials[0]) else 0

    def best_of_families(self, split: HeldOutSplit) -> HeldOutTrial:
        """Return the best trial of all kernels of distances in the chosen metric."""
        scales = scales_near(self.trials[self.rounds], NEIGHBOURS)
        return split.mapped(self.root).best(FAMILIES, scales)

    @property
    def root(self) -> Array:
        """The matrix of the metric after the chosen number of rounds."""
        return self.roots[self.rounds]


def scales_near(trial: HeldOutTrial, factors: Iterable[float]) -> list[float]:
    """Return the length scale of a trial times each of the factors."""
    return [trial.scale * factor for factor in factors]


def identity(split: HeldOutSplit) -> Array:
    """Return the identity matrix of the size of the inputs."""
    return like(np.eye(int(split.X.shape[1])), split.X)


def next_root(split: HeldOutSplit, R: Array, trial: HeldOutTrial, power: float) -> Array | None:
    """Return the matrix of the metric that the gradients of a trial in the metric RᵀR give.

    With M the mean outer product of gradients with respect to the d given inputs, it is the root of
    d · M^power / tr(M^power); None if all gradients are zero.
    """
    values, vectors = eigh(R.T @ split.mapped(R).gradient_moments(trial) @ R)
    if vectors is None or not len(values):
        return None
    xp = namespace(values)
    values = values**power
    values = values * (R.shape[1] / float(xp.sum(values)))
    return xp.sqrt(values)[:, None] * vectors.T


def relearnt_root(split: HeldOutSplit, path: MetricPath) -> Array:
    """Return the matrix of the last metric of a path, learnt anew on the pairs of `split`."""
    R = identity(split)
    for trial in path.trials[: path.rounds]:
        root = next_root(split, R, trial, path.power)
        if root is None:
            break
        R = root
    return R


def choose(
    X: Array, V: Array, groups: np.ndarray, weights: np.ndarray | None, sizes: ChoiceSizes
) -> LearntMetric:
    """Choose a kernel of distances, its metric, length scale and ridge on held-out pairs.

    Parameters
    ----------
    X, V
        The inputs, and the outputs in coordinates of their feature space, as rows.
    groups
        The group number of each pair; groups are held out as a whole.
    weights
        The sample weights; None for ones.
    sizes
        How many pairs are used.
    """
    training, held = split_rows(groups, weights, sizes)
    learning = training[: sizes.metric]
    mean, directions = principal_directions(take(X, np.sort(learning)), 1.0)
    Z = (X - like(mean, X)) @ like(directions, X).T
    V = leading_outputs(V)
    split = HeldOutSplit.of(Z, V, learning, held, weights)
    first = split.best(FAMILIES[:1], SCALES)
    paths = [MetricPath.of(split, power, first) for power in METRIC_POWERS]
    found = [path.best_of_families(split) for path in paths]
    path, best = min(zip(paths, found, strict=True), key=lambda pair: pair[1].risk)
    large = HeldOutSplit.of(Z, V, training[: sizes.choice], held, weights).mapped(path.root)
    ridges = [best.ridge * factor for factor in NEAR_RIDGES]
    best = large.best([best.kernel], scales_near(best, NEAR), ridges)
    straight = HeldOutSplit.of(X, V, learning, held, weights).best_of(LINEAR)
    if not best.is_clearly_better(straight):
        return LearntMetric(straight.kernel, straight.ridge, straight.risk, first.risk)
    everything = np.concatenate([learning, held])
    R = relearnt_root(HeldOutSplit.of(Z, V, everything, everything[:1], weights), path)
    kernel = Mahalanobis(best.kernel, host(R) @ directions, mean)
    return LearntMetric(kernel, best.ridge, best.risk, first.risk, path.rounds, path.power)


def split_rows(
    groups: np.ndarray, weights: np.ndarray | None, sizes: ChoiceSizes
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows for training, in random order, and held-out rows; groups are not divided."""
    number = int(groups.max()) + 1
    order = np.random.RandomState(0).permutation(number)
    totals = np.bincount(groups, weights, minlength=number)
    wanted = min(HELD_OUT * float(totals.sum()), sizes.held_out)
    last = max(1, int(np.searchsorted(np.cumsum(totals[order]), wanted, side="right")))
    if last >= number:
        raise ValueError("all pairs are in one group, so that none can be held out.")
    place = np.empty(number, dtype=int)
    place[order] = np.arange(number)
    held = place[groups] < last
    rows = np.argsort(place[groups], kind="stable")
    return rows[~held[rows]], rows[held[rows]]


def leading_outputs(V: Array) -> Array:
    """Return the leading principal components of the outputs, with nearly all of the variance."""
    mean, directions = principal_directions(V, KEPT_VARIANCE)
    return (V - like(mean, V)) @ like(directions, V).T
