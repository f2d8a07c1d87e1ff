from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._base.arrays import Items, object_array, refuse_empty
from .._base.checks import Limits, bounded
from .._base.parameters import integer
from ..spaces.sequences import as_sequences, describe_item
from ._sequences import Alphabet, Codes
from .decaying import Decaying


class LocalWindow(Decaying):
    r"""Similarity of two positions in sequences by the symbols around them.

    .. math::

        k((x, i), (x', i')) = [x_i = x'_{i'}] \sum_{-r \le a \le b \le r}
        \text{decay}^{\operatorname{span}(a, b)} [x_{i+a \ldots i+b} = x'_{i'+a \ldots i'+b}]

    A window from offset a to offset b may contain the position or lie next to it; with the symbol
    at the position it is then a pattern with a gap.
    :math:`\operatorname{span}(a, b) = \max(b, 0) - \min(a, 0)` is the reach of window and position
    together. Two special symbols stand outside a sequence, one next to its first and last symbol,
    the other at all positions farther out; they are the same before and after it. The numbers of
    the positions are not compared: a model applies to all positions alike.

    Parameters
    ----------
    radius : int, default=5
        The farthest position that a window reaches to either side, r.
    decay : float, default=0.45
        The weight of one more symbol of span, in (0, 1].

    Notes
    -----
    Items are pairs (sequence, position). There is one feature for each distinct window content, and
    an item has (2r + 1)(r + 1) nonzero features. Windows are distinguished by 64-bit keys.

    Examples
    --------
    >>> from mercer.kernels import LocalWindow
    >>> LocalWindow(radius=1, decay=0.5)([("cat", 1)], [("car", 1), ("bat", 1), ("cot", 1)])
    array([[2., 2., 0.]])
    """

    def __init__(self, radius: int = 5, decay: float = 0.45):
        self.radius = radius
        self.decay = decay

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if the radius gives more windows than the limits allow."""
        bounded(self.radius, "radius", 0, int((limits.steps / 2) ** 0.5))

    def windows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and last offset of each window, and its feature value √weight."""
        r = integer(self.radius, "radius", 0)
        ends = np.array([(a, b) for a in range(-r, r + 1) for b in range(a, r + 1)])
        span = np.maximum(ends[:, 1], 0) - np.minimum(ends[:, 0], 0)
        return ends, np.sqrt(self._checked_decay() ** span)

    def keys(self, codes: Codes, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return a 64-bit key of each window around each position, (positions, windows).

        Position i is at positions[i] in sequence rows[i] of `codes`; equal windows have equal keys.
        """
        from .._base._window_loops import window_keys

        lengths = np.diff(codes.starts)[rows]
        if ((positions < 0) | (positions >= lengths)).any():
            raise ValueError("every position must be one of its sequence.")
        ends, _ = self.windows()
        keys = np.zeros((len(rows), len(ends)), dtype=np.uint64)
        window_keys(codes.flat, codes.starts, rows, positions, ends, keys)
        return keys

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check that items are pairs (sequence, position), and return them in an object array."""
        if isinstance(A, str) or not hasattr(A, "__len__"):
            raise TypeError(f"{name} must be a batch of (sequence, position), got {A!r:.60}.")
        items = object_array([_check_pair(item, i, name) for i, item in enumerate(A)])
        refuse_empty(len(items), name)
        as_sequences([item[0] for item in items], name)
        return items

    def _gram(self, A: Items, B: Items) -> np.ndarray:
        """Return the weighted number of equal windows around each pair of positions."""
        sequences = [item[0] for item in (*A, *B)]
        codes = Alphabet.of(sequences).encode(sequences)
        positions = np.array([item[1] for item in (*A, *B)], dtype=np.int64)
        keys = self.keys(codes, np.arange(len(sequences)), positions)
        _, columns = np.unique(keys.ravel(), return_inverse=True)
        weights = np.tile(self.windows()[1], len(keys))
        indptr = np.arange(0, keys.size + 1, keys.shape[1])
        F = sparse.csr_array((weights, columns.ravel(), indptr))
        return (F[: len(A)] @ F[len(A) :].T).toarray()

    def _diag(self, A: Items) -> np.ndarray:
        """Return k(a, a), the sum of the weights of all windows."""
        return np.full(len(A), (self.windows()[1] ** 2).sum())


def _check_pair(item: Any, i: int, name: str) -> tuple[Any, int]:
    """Check item i, and return it as (sequence, position); errors call the batch `name`."""
    if not isinstance(item, tuple | list) or len(item) != 2 or not hasattr(item[0], "__len__"):
        raise ValueError(
            f"{name}[{i}] must be a pair (sequence, position), got {describe_item(item)}."
        )
    sequence, position = item
    is_integer = isinstance(position, int | np.integer) and not isinstance(position, bool)
    if not is_integer or not 0 <= position < len(sequence):
        raise ValueError(
            f"{name}[{i}] asks for position {position!r} of a sequence of {len(sequence)} symbols: "
            "positions count from 0."
        )
    return sequence, int(position)
