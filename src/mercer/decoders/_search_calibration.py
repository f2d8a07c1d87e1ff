"""Weights and probabilities of the search decoder, from left-out points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from .._base.arrays import Items, blocks, take
from ..embedding import Embedding
from ..kernels import Kernel
from ._explorer import Goal

CALIBRATION_ROWS = 8000
"""The largest number of left-out points whose residuals are used."""
FLOOR_POINTS, TEMPERATURE_POINTS = 100, 400
"""The numbers of left-out points that are searched to choose the floor and the temperature."""
SLOWER = 4
"""How many times fewer points are searched where the search is not compiled."""
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
    """The choice of floor and temperature on left-out points, by the likelihood of the truth.

    The answers to a point are what the search keeps and the truth, with probabilities by their
    scores.

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
            losses.append(self._fit(FLOOR_POINTS)[1])
        return FLOORS[int(np.argmin(losses))]

    def temperature(self) -> float:
        """Return the temperature of the largest likelihood with the weights of the decoder."""
        return self._fit(TEMPERATURE_POINTS)[0]

    def _fit(self, most: int) -> tuple[float, float]:
        """Return the best temperature, and its negative mean log-likelihood."""
        fast = self.decoder.explorer.compiled
        rows = drawn(len(self.G), most if fast else most // SLOWER, 1)
        lists, counts = self._score_lists(rows), self.points.counts[rows]
        scale = float(np.median([np.ptp(scores) for scores in lists])) or 1.0

        def loss(log_temperature: float) -> float:
            """Return the negative mean log-likelihood of the truth, the first of each list."""
            T = np.exp(log_temperature)
            losses = [logsumexp(s / T) - s[0] / T for s in lists]
            return float(np.average(losses, weights=counts))

        low, high = np.log(scale * 1e-4), np.log(scale * 1e3)
        found = minimize_scalar(loss, bounds=(low, high), method="bounded")
        return float(np.exp(found.x)), float(found.fun)

    def _score_lists(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return for each point the score of the truth, then those of the other answers."""
        decoder = self.decoder
        found = decoder.search(self.points[rows], self.G[rows])
        space, lists = decoder.kernel_.space, []
        truths = take(self.y, rows)
        for i, row in enumerate(found):
            goal = Goal(self.G[rows[i]], decoder.weights_, decoder.price_)
            truth = take(truths, [i])
            own = goal.scores(decoder.kernel_.features, decoder.kernel_.check(truth, "y"))
            key = space.key(truth[0])
            others = [
                one.score for one in row if space.key(decoder.explorer.decoded(one.item)) != key
            ]
            lists.append(np.array([float(own[0]), *others]))
        return lists
