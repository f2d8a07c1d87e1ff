"""Expected losses of structured outputs: their values, and the outputs that minimise them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._base.arrays import Items, blocks, count, dense, host, object_array, take
from .._base.errors import require
from .._base.memory import ENTRIES
from .._base.statistics import exceeds_standard_error
from ..kernels import Kendall, Kernel, Labels, Spearman
from ..kernels._sequences import restore_container
from ..spaces.label_sets import OVERLAPS
from .rankings import Borda, Kemeny

PRICES = tuple(sorted(np.round(np.linspace(-0.6, 0.6, 49), 3).tolist(), key=abs))
"""The prices per label that calibration tries, smallest absolute value first."""


class ExpectedLoss:
    """A loss function Δ(y, y_i) of outputs y and training outputs y_i, and its expected value.

    Subclasses for known losses also find the best y for given weights on the training outputs.

    Attributes
    ----------
    searches
        Whether `search` finds an output that need not be a training output.
    """

    searches = False

    def __init__(self, function: Callable[[Any, Any], float], y: Items):
        self.function, self.y = function, y

    def pairwise(self, outputs: Items) -> np.ndarray:
        """Return the loss of each output (row) with respect to each training output (column)."""
        rows = [[float(self.function(a, b)) for b in self.y] for a in outputs]
        return np.array(rows).reshape(count(outputs), count(self.y))

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return the outputs of least expected loss under weights C, and lower bounds of it.

        Output t minimises Σ_i C_ti Δ(y, y_i) over y.
        """
        raise NotImplementedError

    def values(self, C: np.ndarray, outputs: Items) -> np.ndarray:
        """Return the expected loss Σ_i C_ti Δ(y_t, y_i) of each output y_t under weights C."""
        values = []
        for rows in blocks(len(C), max(1, ENTRIES // C.shape[1])):
            some = take(outputs, np.arange(rows.start, rows.stop))
            values.append((C[rows] * self.pairwise(some)).sum(axis=1))
        return np.concatenate(values)


class LabelLoss(ExpectedLoss):
    """The loss of label sets: one minus F1, Hamming or subset accuracy; searches are exact.

    Notes
    -----
    Hamming: label j is in the best set if Σ_i c_i (2Y_ij - 1) > 0. F1: the gain of a set of s
    labels is the sum over its labels j of Σ_i 2 c_i Y_ij / (s + |y_i|), so that for every s the
    best set has the s labels of the largest gains. Subset: the best set is a training output.

    A `price` is added to the expected loss for each label of a set, divided by the number of
    labels for Hamming. It compensates for a ridge, which shrinks the weights.
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

    def pairwise(self, outputs: Items) -> np.ndarray:
        """Return the loss of each output (row) with respect to each training output (column)."""
        Z = self._indicators(outputs)
        sizes = Z.sum(axis=1)[:, None]
        return 1.0 - OVERLAPS[self.name](Z @ self.Y.T, sizes, self.sizes[None, :], Z.shape[1])

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return the label set of least expected loss for each row of weights C, and its loss."""
        best = self.labels.decoded(self._best_sets(C, [self.price])[0], self.sample)
        return best, self.values(C, best)

    def calibrate(self, C: np.ndarray, y: Items, counts: np.ndarray) -> None:
        """Choose `price`, the cost of each predicted label, by the loss of left-out predictions.

        Row t of C has the left-out weights of example t, which counts `counts[t]` times, and y[t]
        is its true set. The price stays 0 unless another one lowers the loss by more than one
        standard error.
        """
        true = self._indicators(y)
        losses = []
        for chosen in self._best_sets(C, PRICES):
            sizes = chosen.sum(axis=1)
            both = (chosen * true).sum(axis=1)
            right = OVERLAPS[self.name](both, sizes, true.sum(axis=1), true.shape[1])
            losses.append(1.0 - right)
        best = int(np.argmin([counts @ loss for loss in losses]))
        surely = exceeds_standard_error(losses[0] - losses[best], counts)
        self.price = PRICES[best] if surely else 0.0

    def _best_sets(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price of a label the best label sets for the rows of weights C.

        Row t of each result has the boolean indicators of the labels of set t.
        """
        step = max(1, ENTRIES // self.Y.shape[1] ** 2) if self.name == "f1" else len(C)
        search = {
            "hamming": self._best_by_hamming,
            "f1": self._best_by_f1,
            "subset": self._best_by_subset,
        }[self.name]
        parts = [search(C[rows], prices) for rows in blocks(len(C), step)]
        return [np.concatenate(some) for some in zip(*parts, strict=True)]

    def _best_by_hamming(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price per label the sets of least expected Hamming loss plus prices.

        Row t of C has the weights of the training label sets in prediction t; row t of each result
        has the boolean indicators of its labels.
        """
        votes = C @ (2.0 * self.Y - 1.0)
        return [votes > price for price in prices]

    def _best_by_f1(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price per label the sets of largest expected F1 minus prices.

        Row t of C has the weights of the training label sets in prediction t; row t of each result
        has the boolean indicators of its labels.
        """
        labels = self.Y.shape[1]
        sizes = np.arange(1, labels + 1)
        gains = np.zeros((len(C), labels, labels))  # point, label, size
        for size in np.unique(self.sizes[self.sizes > 0]).astype(int):
            rows = self.sizes == size
            gains += (C[:, rows] @ self.Y[rows])[:, :, None] * (2.0 / (sizes + size))
        order, totals = _best_by_size(gains)
        empty, chosen = C[:, self.sizes == 0].sum(axis=1), []
        for price in prices:
            priced = totals - price * sizes
            best = priced.argmax(axis=1)
            ranks = np.argsort(order[np.arange(len(C)), :, best], axis=1)
            chosen.append(ranks <= best[:, None])
            chosen[-1][empty > priced.max(axis=1)] = False
        return chosen

    def _best_by_subset(self, C: np.ndarray, prices: Sequence[float]) -> list[np.ndarray]:
        """Return for each price per label the training sets of largest probability minus prices.

        Row t of C has the weights of the training label sets in prediction t; row t of each result
        has the boolean indicators of its labels.
        """
        rows, number = np.unique(self.Y, axis=0, return_inverse=True)
        votes = np.zeros((len(C), len(rows)))
        np.add.at(votes.T, number.reshape(-1), C.T)
        sizes = rows.sum(axis=1)
        return [rows[(votes - price * sizes).argmax(axis=1)] > 0 for price in prices]


def _best_by_size(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels by falling gain for each set size, and the largest gain of such a set.

    The gain of a set of s labels is the sum of the first s gains. The gains and the labels have the
    shape (points, labels, sizes), the largest gains (points, sizes).
    """
    order = np.argsort(-gains, axis=1, kind="stable")
    summed = np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1)
    return order, np.einsum("tss->ts", summed)


class RankingLoss(ExpectedLoss):
    """The loss (1 - τ) / 2 or (1 - ρ) / 2 for Kendall's τ and Spearman's ρ; exact searches.

    τ and ρ are inner products of feature vectors, so that a weighted sum of them is the inner
    product with a weighted sum of feature vectors, which `Kemeny` and `Borda` decode.
    """

    searches = True

    def __init__(self, name: str, kernel: Kernel, y: Items):
        self.kernel: Any = (Kendall() if name == "kendall" else Spearman()).fit(y)
        self.decoder: Any = (Kemeny() if name == "kendall" else Borda()).fit(self.kernel, y)
        self.y, self.F = y, self.kernel.features(y)

    def pairwise(self, outputs: Items) -> np.ndarray:
        """Return the loss of each output (row) with respect to each training output (column)."""
        return (1.0 - self.kernel.features(outputs) @ self.F.T) / 2.0

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return the ranking of least expected loss for each row of weights C, and its loss.

        `Kemeny` warns if a ranking is not proved to be the best.
        """
        best = self.decoder._ranks(C @ self.F).astype(self.decoder.dtype_)
        return best, self.values(C, best)


class EditLoss(ExpectedLoss):
    """The edit distance of sequences, with a local search and a lower bound of the minimum.

    Notes
    -----
    The search minimises the loss over the `SUPPORT` outputs of the largest absolute weights: the
    best of them is improved by single insertions, deletions and replacements while that helps.
    Values and bounds count all outputs; with more than `BOUNDED` of them the bound is -inf. With c⁺
    and c⁻ the positive and negative parts of the weights, C⁺ and C⁻ their sums, π = c⁺ / C⁺ and
    d_ij the distance of y_i and y_j, the triangle inequality gives for every y

        Σ_i c_i d(y, y_i) ≥ (1 - C⁻/C⁺) Σ_{i<j} c⁺_i c⁺_j d_ij / C⁺ - Σ_k c⁻_k Σ_i π_i d_ik.
    """

    searches = True
    SUPPORT, ROUNDS, BOUNDED = 48, 8, 1000

    def __init__(self, name: str, kernel: Kernel, y: Items):
        require("rapidfuzz", "strings")
        symbols = dict.fromkeys(symbol for item in y for symbol in item)
        self.code = {symbol: chr(0xF0000 + i) for i, symbol in enumerate(symbols)}
        self.symbol = {code: symbol for symbol, code in self.code.items()}
        self.y, self.texts = y, [self._as_text(item) for item in y]

    def _as_text(self, item: Any) -> str:
        """Return a sequence of symbols as a string with one character per symbol."""
        return "".join(self.code.get(symbol, "\0") for symbol in item)

    def pairwise(self, outputs: Items) -> np.ndarray:
        """Return the edit distance of each output (row) to each training output (column)."""
        return _edit_distances([self._as_text(item) for item in outputs], self.texts)

    def search(self, C: np.ndarray) -> tuple[Items, np.ndarray]:
        """Return a locally best sequence for each row of weights C, and a bound of its loss."""
        best = []
        for weights in C:
            text = self._local_search(weights)
            best.append(restore_container([self.symbol[code] for code in text], self.y[0]))
        if len(self.texts) > self.BOUNDED:
            return object_array(best), np.full(len(C), -np.inf)
        return object_array(best), _lower_bounds(_edit_distances(self.texts, self.texts), C)

    def _local_search(self, weights: np.ndarray) -> str:
        """Return a locally best string for the largest weights of one prediction."""
        support = _largest_weights(weights, self.SUPPORT)
        texts, c = [self.texts[i] for i in support], weights[support]
        D = _edit_distances(texts, texts)
        values = D @ c
        start = int(values.argmin())
        best, value = texts[start], float(values[start])
        letters = sorted({code for text, weight in zip(texts, c, strict=True)
                          for code in text if weight > 0})  # fmt: skip
        for _ in range(self.ROUNDS):
            near = _one_edit_away(best, letters)
            values = _edit_distances(near, texts) @ c
            k = int(values.argmin())
            if values[k] >= value - 1e-12:
                break
            best, value = near[k], float(values[k])
        return best


def _largest_weights(weights: np.ndarray, number: int) -> np.ndarray:
    """Return the positions of the `number` weights with the largest absolute values."""
    return np.argsort(-np.abs(weights), kind="stable")[:number]


def _edit_distances(left: list[str], right: list[str]) -> np.ndarray:
    """Return the edit distance of each string in `left` (row) to each in `right` (column)."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    return cdist(left, right, scorer=Levenshtein.distance, dtype=np.int32).astype(float)


def _one_edit_away(text: str, letters: list[str]) -> list[str]:
    """Return all strings that are one deletion, insertion or substitution away from `text`."""
    near = {text[:i] + text[i + 1 :] for i in range(len(text))}
    for letter in letters:
        near |= {text[:i] + letter + text[i:] for i in range(len(text) + 1)}
        near |= {text[:i] + letter + text[i + 1 :] for i in range(len(text))}
    return sorted(near)


def _lower_bounds(D: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return lower bounds of min_y Σ_i c_i d(y, y_i) from edit distances D_ij = d(y_i, y_j).

    There is one for each row c of C. The formula is in the notes of `EditLoss`.
    """
    positive, negative = np.maximum(C, 0.0), np.maximum(-C, 0.0)
    gain, loss = positive.sum(axis=1), negative.sum(axis=1)
    unit = np.where(gain > 0, gain, 1.0)
    near = positive @ D
    spread = 0.5 * (near * positive).sum(axis=1) / unit
    found = (1.0 - loss / unit) * spread - (near * negative).sum(axis=1) / unit
    return np.where(gain > loss, found, -np.inf)
