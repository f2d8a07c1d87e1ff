from __future__ import annotations

import numpy as np

from .._base.checks import Limits, bounded
from .._base.parameters import integer
from ..spaces import Sequences
from .decaying import Decaying
from .weighted_degree import encode_both


class Subsequences(Decaying):
    r"""Weighted number of shared subsequences of n symbols; the weight decreases with gaps.

    :math:`k(s, t) = \sum_u \sum_{i: s_i = u} \sum_{j: t_j = u} \text{decay}^{\ell(i) + \ell(j)}`
    over all :math:`u` of :math:`n` symbols, where :math:`\ell(i) = i_n - i_1 + 1` is the number
    of symbols from the first to the last one of a subsequence.

    Parameters
    ----------
    n : int, default=3
        The number of symbols of a subsequence.
    decay : float, default=0.5
        The factor for each symbol that a subsequence covers, in (0, 1]; 1 ignores gaps.
    blended : bool, default=False
        Whether subsequences of 1, …, n symbols count, rather than those of n symbols only.

    Notes
    -----
    The dynamic programme of Lodhi et al., O(n |s| |t|) for a pair.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins: Text classification using string kernels,
    JMLR 2002.

    Examples
    --------
    >>> from mercer.kernels import Subsequences
    >>> Subsequences(2, decay=0.5)(["cat"], ["car", "cat"])
    array([[0.0625  , 0.140625]])
    """

    space = Sequences()

    def __init__(self, n: int = 3, decay: float = 0.5, blended: bool = False):
        self.n = n
        self.decay = decay
        self.blended = blended

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if subsequences are longer than the limits allow."""
        bounded(self.n, "n", 1, limits.steps)

    def _lengths(self) -> tuple[int, int]:
        """Return the largest and the smallest length of subsequences that are compared."""
        n = integer(self.n, "n")
        return n, 1 if self.blended else n

    def _gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the weighted number of shared subsequences for all pairs."""
        from ._string_loops import fill_subsequence_gram

        (n, first), (ours, theirs), decay = (
            self._lengths(),
            encode_both(A, B),
            self._checked_decay(),
        )
        out = np.empty((len(A), len(B)), type(decay))
        fill_subsequence_gram(
            ours.flat, ours.starts, theirs.flat, theirs.starts, n, decay, first, A is B, out
        )
        return out

    def _diag(self, A: np.ndarray) -> np.ndarray:
        """Return k(s, s), the weighted number of pairs of equal subsequences of each sequence s."""
        from ._string_loops import fill_subsequence_diag

        (n, first), codes, decay = self._lengths(), encode_both(A, A)[0], self._checked_decay()
        out = np.empty(len(A), type(decay))
        fill_subsequence_diag(codes.flat, codes.starts, n, decay, first, out)
        return out
