from __future__ import annotations

import numpy as np

from .._base.checks import Limits, bounded
from .._base.parameters import integer
from ..spaces import Sequences
from ._sequences import Alphabet, Codes
from .base import Kernel


class WeightedDegree(Kernel):
    r"""Weighted number of equal substrings at the same position, or a few symbols apart.

    .. math::

        k(s, t) = \sum_{d=1}^D \beta_d \sum_i \sum_{\lvert \delta \rvert \le \text{shifts}}
        \gamma_\delta [s_{i \ldots i+d} = t_{i+\delta \ldots i+\delta+d}]

    with :math:`D` the degree, :math:`\beta_d = 2 (D - d + 1) / (D (D + 1))`, :math:`\gamma_0 = 1`
    and :math:`\gamma_\delta = 1 / (2 (\lvert \delta \rvert + 1))`.

    Parameters
    ----------
    degree : int, default=3
        The longest block that counts.
    shifts : int, default=0
        The largest distance of equal blocks; 0 for equal positions only.

    Notes
    -----
    It is positive semidefinite: the numbers :math:`\gamma_\delta` have the transform
    :math:`1 + \sum_\delta \cos(\delta \theta) / (\delta + 1)`, which is at least 1/2 for every
    :math:`\theta` (Rogosinski and Szegő 1928).

    References
    ----------
    Rätsch, Sonnenburg, Schölkopf: RASE, Bioinformatics 2005.

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(2)(["gatta"], ["gatto", "atta"]).round(3)
    array([[3.667, 0.667]])
    >>> WeightedDegree(2, shifts=1)(["gatta"], ["atta"]).round(3)
    array([[1.583]])
    """

    space = Sequences()

    def __init__(self, degree: int = 3, shifts: int = 0):
        self.degree = degree
        self.shifts = shifts

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if degree or shifts are larger than the limits allow."""
        bounded(self.degree, "degree", 1, limits.steps)
        bounded(self.shifts, "shifts", 0, limits.steps)

    def _run_and_shift_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of runs of equal symbols by length, and of shifts by size."""
        degree = integer(self.degree, "degree")
        shifts = np.arange(integer(self.shifts, "shifts", 0) + 1)
        beta = 2.0 * (degree - np.arange(degree)) / (degree * (degree + 1))
        return np.concatenate([[0.0], np.cumsum(beta)]), np.where(shifts, 0.5 / (shifts + 1), 1.0)

    def _gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the total weight of equal substrings at the same or near positions."""
        from ._string_loops import fill_weighted_degree

        ours, theirs = encode_both(A, B)
        out = np.empty((len(A), len(B)))
        weights = self._run_and_shift_weights()
        fill_weighted_degree(
            ours.flat, ours.starts, theirs.flat, theirs.starts, *weights, A is B, out
        )
        return out


def encode_both(A: np.ndarray, B: np.ndarray) -> tuple[Codes, Codes]:
    """Return both batches as symbol numbers of their common alphabet."""
    alphabet = Alphabet.of(A if A is B else np.concatenate([A, B]))
    ours = alphabet.encode(A)
    return ours, ours if A is B else alphabet.encode(B)
