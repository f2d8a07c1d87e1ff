"""Losses of structured outputs: of all pairs, and the output of the least weighted sum of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._base.arrays import Items, blocks, count, dense, host, object_array, take
from .._base.errors import require
from .._base.memory import ENTRIES
from .._base.overlap import OVERLAPS
from ..kernels import Kendall, Kernel, Labels, Spearman
from ..kernels._sequences import as_given
from .rankings import Borda, Kemeny

PRICES = tuple(sorted(np.round(np.linspace(-0.6, 0.6, 49), 3).tolist(), key=abs))
"""What calibration chooses from."""


class ExpectedLoss:
    """The loss Δ(y, y_i) of an output y against training outputs y_i, a given function.

    Children know more of their loss: how to find the best y for weights on the training outputs.

    Attributes
    ----------
    searches
        Whether `search` finds an output that need not be a training output.
    """

    searches = False

    def __init__(self, function: Callable[[Any, Any], float], y: Items):
        self.function, self.y = function, y

    def pairs(self, outputs: Items) -> np.ndarray:
        """Return the loss Δ of each output (row) against each training output (column)."""
        rows = [[float(self.function(a, b)) for b in self.y] for a in outputs]
        return np.array(rows).reshape(count(outputs), count(self.y))

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return argmin_y Σ_i c_i Δ(y, y_i) for each row c of C, and a bound of the minimum."""
        raise NotImplementedError

    def values(self, C: np.ndarray, outputs: Items) -> np.ndarray:
        """Return Σ_i c_i Δ(y_t, y_i) for each row c of C and its output y_t."""
        found = []
        for rows in blocks(len(C), max(1, ENTRIES // C.shape[1])):
            some = take(outputs, np.arange(rows.start, rows.stop))
            found.append((C[rows] * self.pairs(some)).sum(axis=1))
        return np.concatenate(found)


class LabelLoss(ExpectedLoss):
    """One minus F1, Hamming accuracy or subset accuracy of label sets; all searches are exact.

    Notes
    -----
    Hamming: label by label, Σ_i c_i (2Y_ij - 1) > 0. F1: among sets of s labels the gains
    Σ_i 2 c_i Y_ij / (s + |y_i|) add up, so that the best s labels are those of the largest gains,
    for every s. Subset: a training output, or with the sum of all weights any other set.

    A `price` is added to the expected loss for each label of a set, over the number of labels for
    Hamming. It makes up for a ridge that draws weights towards the mean.
    """

    searches = True
    price = 0.0

    def __init__(self, name: str, kernel: Kernel, y: Items):
        known = kernel.multiple.kernel
        self.labels = known if isinstance(known, Labels) else Labels().fit(Labels().as_outputs(y))
        self.name, self.y, self.sample = name, y, take(y, [0])
        self.Y = self._indicators(y)
        self.sizes = self.Y.sum(axis=1)

    def _indicators(self, y: Items) -> np.ndarray:
        """Return label sets as a matrix of zeros and ones, one column per label."""
        return np.asarray(host(dense(self.labels.check(y, "y"))) > 0, dtype=float)

    def pairs(self, outputs: Items) -> np.ndarray:
        """Return the loss Δ of each output (row) against each training output (column)."""
        Z = self._indicators(outputs)
        sizes = Z.sum(axis=1)[:, None]
        return 1.0 - OVERLAPS[self.name](Z @ self.Y.T, sizes, self.sizes[None, :], Z.shape[1])

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return the label set of least expected loss for each row of C, and that loss."""
        found = self.labels.decoded(self._best_sets(C, [self.price])[0], self.sample)
        return found, self.values(C, found)

    def calibrate(self, C: np.ndarray, y: Items) -> None:
        """Choose the price per label with the least loss of the sets found for weights C.

        Row t of C has the weights of an example that was left out, and y[t] is its true
        set.

        The price stays 0 unless another one lowers the loss by more than one standard error.
        """
        true = self._indicators(y)
        losses = []
        for chosen in self._best_sets(C, PRICES):
            sizes = chosen.sum(axis=1)
            both = (chosen * true).sum(axis=1)
            right = OVERLAPS[self.name](both, sizes, true.sum(axis=1), true.shape[1])
            losses.append(1.0 - right)
        best = int(np.argmin([loss.mean() for loss in losses]))
        gain = losses[0] - losses[best]
        self.price = PRICES[best] if gain.mean() > gain.std() / len(gain) ** 0.5 else 0.0

    def _best_sets(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price the best label set of each row of C, as boolean indicators."""
        step = max(1, ENTRIES // self.Y.shape[1] ** 2) if self.name == "f1" else len(C)
        search = {"hamming": self._hamming, "f1": self._f1, "subset": self._subset}[self.name]
        parts = [search(C[rows], prices) for rows in blocks(len(C), step)]
        return [np.concatenate(some) for some in zip(*parts, strict=True)]

    def _hamming(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price the sets of the labels whose weighted votes exceed the price."""
        votes = C @ (2.0 * self.Y - 1.0)
        return [votes > price for price in prices]

    def _f1(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price the label sets with the largest weighted F1 minus prices."""
        labels = self.Y.shape[1]
        sizes = np.arange(1, labels + 1)
        gains = np.zeros((len(C), labels, labels))  # point, label, size
        for size in np.unique(self.sizes[self.sizes > 0]).astype(int):
            own = self.sizes == size
            gains += (C[:, own] @ self.Y[own])[:, :, None] * (2.0 / (sizes + size))
        order, worth = best_by_size(gains)
        empty, found = C[:, self.sizes == 0].sum(axis=1), []
        for price in prices:
            priced = worth - price * sizes
            best = priced.argmax(axis=1)
            ranks = np.argsort(order[np.arange(len(C)), :, best], axis=1)
            found.append(ranks <= best[:, None])
            found[-1][empty > priced.max(axis=1)] = False
        return found

    def _subset(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price the training label sets with the largest weights minus prices."""
        rows, number = np.unique(self.Y, axis=0, return_inverse=True)
        votes = np.zeros((len(C), len(rows)))
        np.add.at(votes.T, number.reshape(-1), C.T)
        sizes = rows.sum(axis=1)
        return [rows[(votes - price * sizes).argmax(axis=1)] > 0 for price in prices]


def best_by_size(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels by falling gain for each set size, and the sum of the best s gains.

    The gains and the labels have the shape (points, labels, sizes).
    """
    order = np.argsort(-gains, axis=1, kind="stable")
    summed = np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1)
    return order, np.einsum("tss->ts", summed)


class RankingLoss(ExpectedLoss):
    """The loss (1 - τ) / 2 of Kendall's τ or (1 - ρ) / 2 of Spearman's ρ; searches are exact.

    Both are inner products of embeddings, so that weighted sums are points of these.
    """

    searches = True

    def __init__(self, name: str, kernel: Kernel, y: Items):
        self.kernel: Any = (Kendall() if name == "kendall" else Spearman()).fit(y)
        self.decoder: Any = (Kemeny() if name == "kendall" else Borda()).fit(self.kernel, y)
        self.y, self.F = y, self.kernel.features(y)

    def pairs(self, outputs: Items) -> np.ndarray:
        """Return the loss Δ of each output (row) against each training output (column)."""
        return (1.0 - self.kernel.features(outputs) @ self.F.T) / 2.0

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return the ranking of least expected loss for each row of C, and that loss.

        `Kemeny` warns if a ranking is not proved to be the best.
        """
        found = self.decoder._ranks(C @ self.F).astype(self.decoder.dtype_)
        return found, self.values(C, found)


class EditLoss(ExpectedLoss):
    """The edit distance of sequences; the search is local, with a lower bound of the optimum.

    Notes
    -----
    Only the `SUPPORT` outputs of the largest weights count. The best of them is improved by single
    insertions, deletions and replacements while that helps. With c⁺ and c⁻ the parts of the
    weights, C⁺ and C⁻ their sums and π = c⁺ / C⁺, the triangle inequality gives for every y

        Σ_i c_i d(y, y_i) ≥ (1 - C⁻/C⁺) Σ_{i<j} c⁺_i c⁺_j d_ij / C⁺ - Σ_k c⁻_k Σ_i π_i d_ik.
    """

    searches = True
    SUPPORT, STARTS, ROUNDS = 48, 24, 8

    def __init__(self, name: str, kernel: Kernel, y: Items):
        require("rapidfuzz", "strings")
        symbols = dict.fromkeys(symbol for item in y for symbol in item)
        self.code = {symbol: chr(0xF0000 + i) for i, symbol in enumerate(symbols)}
        self.symbol = {code: symbol for symbol, code in self.code.items()}
        self.y, self.texts = y, [self._as_text(item) for item in y]

    def _as_text(self, item: Any) -> str:
        """Return a sequence of symbols as a string with one character per symbol."""
        return "".join(self.code.get(symbol, "\0") for symbol in item)

    def pairs(self, outputs: Items) -> np.ndarray:
        """Return the edit distance of each output (row) to each training output (column)."""
        return _distances([self._as_text(item) for item in outputs], self.texts)

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return a locally best sequence for each row of C, and a bound of the least loss."""
        found, bounds = [], np.empty(len(C))
        for t, weights in enumerate(C):
            text, bounds[t] = self._search(weights)
            found.append(as_given([self.symbol[code] for code in text], self.y[0]))
        return object_array(found), bounds

    def values(self, C: np.ndarray, outputs: Items) -> np.ndarray:
        """Return Σ_i c_i Δ(y_t, y_i) for each row c of C, over the largest weights c_i only."""
        found = []
        for weights, output in zip(C, outputs, strict=True):
            own = _largest(weights, self.SUPPORT)
            distances = _distances([self._as_text(output)], [self.texts[i] for i in own])[0]
            found.append(float(distances @ weights[own]))
        return np.array(found)

    def _search(self, weights: np.ndarray) -> tuple[str, float]:
        """Return a locally best string for one row of weights, and a bound of the least loss."""
        own = _largest(weights, self.SUPPORT)
        texts, c = [self.texts[i] for i in own], weights[own]
        D = _distances(texts, texts)
        starts = np.argsort(D @ c, kind="stable")[: self.STARTS]
        best, value = texts[starts[0]], float((D @ c)[starts[0]])
        letters = sorted({code for text, weight in zip(texts, c, strict=True)
                          for code in text if weight > 0})  # fmt: skip
        for _ in range(self.ROUNDS):
            near = _one_edit_away(best, letters)
            values = _distances(near, texts) @ c
            k = int(values.argmin())
            if values[k] >= value - 1e-12:
                break
            best, value = near[k], float(values[k])
        return best, min(value, _lower_bound(D, c))


def _largest(weights: np.ndarray, number: int) -> np.ndarray:
    """Return the positions of the `number` weights with the largest absolute values."""
    return np.argsort(-np.abs(weights), kind="stable")[:number]


def _distances(left: list[str], right: list[str]) -> np.ndarray:
    """Return the edit distance of each string in `left` (row) to each in `right` (column)."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    return cdist(left, right, scorer=Levenshtein.distance, dtype=np.int32).astype(float)


def _one_edit_away(text: str, letters: list[str]) -> list[str]:
    """Return all strings that are one deletion, insertion or substitution from a string."""
    near = {text[:i] + text[i + 1 :] for i in range(len(text))}
    for letter in letters:
        near |= {text[:i] + letter + text[i:] for i in range(len(text) + 1)}
        near |= {text[:i] + letter + text[i + 1 :] for i in range(len(text))}
    return sorted(near)


def _lower_bound(D: np.ndarray, c: np.ndarray) -> float:
    """Return a lower bound of min_y Σ_i c_i d(y, y_i), given the distances D of the y_i."""
    up, down = np.maximum(c, 0.0), np.maximum(-c, 0.0)
    most, least = up.sum(), down.sum()
    if not most > least:
        return -np.inf
    apart = 0.5 * float(up @ D @ up) / most
    return (1.0 - least / most) * apart - float(down @ D @ up) / most
