"""Weights and probabilities of the search decoder, from left-out points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from .._base.arrays import Items, blocks, take
from ..embedding import Embedding
from ..kernels import Kernel

CALIBRATION_ROWS = 8000
"""The largest number of left-out points whose residuals are used."""
FLOOR_POINTS, TEMPERATURE_POINTS = 100, 400
"""The numbers of left-out points that are searched to choose the floor and the temperature."""
SLOWER = 4
"""How many times fewer points are searched where the search is not compiled."""
MISSED = float(np.log(1000))
"""The log-likelihood that a point without the truth in its beam costs when floors are compared."""
PRIOR = 1e-3
"""The weight of the squares of log-temperature and logits, so that few points suffice."""
STARTS_AT = (-2.0, 0.0, 2.0)
"""Log-temperatures, in units of the range of the scores of a beam, that the fit starts from."""
FLOORS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""The floors to choose from, in units of the mean variance."""


def residual_variances(G: np.ndarray, kernel: Kernel, y: Items, counts: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the squared left-out residuals of each feature.

    Parameters
    ----------
    G
        The left-out predictions of the features, one row for each of the outputs y.
    counts
        How often each output counts.
    """
    total, rows = np.zeros(G.shape[1]), drawn(len(G), CALIBRATION_ROWS, 0)
    for some in blocks(len(rows), 1024):
        F = kernel.features.rows(kernel.check(take(y, rows[some]), "y"))
        R, w = G[rows[some]], counts[rows[some]]
        total += w @ (R * R) - 2.0 * np.asarray(F.multiply(R).T @ w)
        total += F.multiply(F).T @ w
    return np.maximum(total / counts[rows].sum(), 0.0)


def drawn(n: int, k: int, seed: int) -> np.ndarray:
    """Return the sorted numbers of at most k of n points, drawn with a fixed seed."""
    return np.sort(np.random.RandomState(seed).permutation(n)[:k])


class SearchCalibration:
    r"""The choice of floor and temperature on left-out points, by their likelihood.

    An output of the beam has a probability proportional to :math:`e^{(s - s_1)/T}` for its score
    :math:`s` and the best score :math:`s_1`, the best one :math:`e^a` times that with :math:`a \geq
    0`, and "none of them" one proportional to :math:`e^{b}`. With a and b, the best output and none
    are right as often on left-out points as their mean probabilities say.
    Scores of different points are not compared: they grow with the size of an output.

    Parameters
    ----------
    decoder
        The `Search` decoder.
    points, G
        The left-out points and their predicted features.
    y
        The training outputs.
    """

    def __init__(self, decoder: Any, points: Embedding, G: np.ndarray, y: Items):
        self.decoder, self.points, self.G, self.y = decoder, points, G, y

    def best_floor(self, variances: np.ndarray) -> float:
        """Return the floor of the largest likelihood."""
        losses = []
        for floor in FLOORS:
            self.decoder._set_weights(variances, floor)
            losses.append(self._fit(FLOOR_POINTS)[3])
        return FLOORS[int(np.argmin(losses))]

    def softmax(self) -> tuple[float, float, float]:
        """Return the temperature and the logits a and b of the largest likelihood."""
        return self._fit(TEMPERATURE_POINTS)[:3]

    def _fit(self, most: int) -> tuple[float, float, float, float]:
        """Return the best temperature and logits a and b, and the negative mean log-likelihood."""
        fast = self.decoder.explorer.compiled
        rows = drawn(len(self.G), most if fast else most // SLOWER, 1)
        lists, counts = self._score_lists(rows), self.points.counts[rows]
        missed = np.average([place is None for _, place in lists], weights=counts)
        scale = float(np.median([np.ptp(scores) for scores, _ in lists])) or 1.0

        def loss(parameters: np.ndarray) -> float:
            """Return the negative mean log-likelihood, with a weak prior of both parameters."""
            T, none, first = scale * np.exp(parameters[0]), parameters[1], abs(parameters[2])
            losses = []
            for scores, place in lists:
                logits = np.append((scores - scores[0]) / T, none)
                logits[0] += first
                losses.append(logsumexp(logits) - logits[-1 if place is None else place])
            prior = PRIOR * float(np.square(parameters).sum())
            return float(np.average(losses, weights=counts)) + prior / len(lists)

        found = min(
            (minimize(loss, [start, -1.0, 0.1], method="Nelder-Mead") for start in STARTS_AT),
            key=lambda one: one.fun,
        )
        T, none = float(scale * np.exp(found.x[0])), float(found.x[1])
        return T, abs(float(found.x[2])), none, float(found.fun) + MISSED * float(missed)

    def _score_lists(self, rows: np.ndarray) -> list[tuple[np.ndarray, int | None]]:
        """Return the scores of the beam of each point, and the place of the truth in it."""
        decoder = self.decoder
        found = decoder.search(self.points[rows], self.G[rows])
        space, lists = decoder.kernel_.space, []
        for row, key in zip(found, space.keys(take(self.y, rows)), strict=True):
            keys = [space.key(decoder.explorer.decoded(one.item)) for one in row]
            place = keys.index(key) if key in keys else None
            lists.append((np.array([one.score for one in row]), place))
        return lists
