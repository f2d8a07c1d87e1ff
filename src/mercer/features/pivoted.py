"""Pivoted Cholesky feature maps, whose landmarks are chosen greedily or at random."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items, host, like, namespace, take
from .._base.linalg import triangular_inverse
from .._base.parameters import integer, non_negative, parameters
from ..kernels import Kernel
from ._factor import Factor
from .landmarks import LandmarkMap, check_rank

PROPOSALS = 128
"""Largest number of proposals that are accepted or rejected together."""


class IncompleteCholesky(LandmarkMap):
    r"""Greedy pivoted Cholesky features; the next pivot has the largest residual.

    Only `rank` columns of the Gram matrix are ever computed.

    Parameters
    ----------
    rank : int, default=None
        The largest number of landmarks; None for as many as there are items.
    tolerance : float, default=1e-12
        Stop when the trace of the error is at most this fraction of the trace.

    Attributes
    ----------
    pivots_
        The positions of the landmarks.
    trace_error_
        :math:`\operatorname{tr}(K - UU^\top) / \operatorname{tr} K`: the largest error of any
        kernel value is below its numerator.

    Notes
    -----
    The items with the largest residuals are outliers. If there are many, as among handwritten
    digits, landmarks drawn at random represent the others better: see `RandomPivotedCholesky`.

    References
    ----------
    Bach and Jordan (2002), as used in Appendix C of Kadri et al. (2013).

    Examples
    --------
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> map = IncompleteCholesky(rank=2).fit(RBF(1.0), [[0.0], [0.1], [5.0]])
    >>> map.pivots_.tolist()
    [0, 2]
    """

    random_state: Any = None
    """The seed of pivots that are drawn; None where they are not."""

    def __init__(self, rank: int | None = None, tolerance: float = 1e-12):
        self.rank = rank
        self.tolerance = tolerance

    def fit_transform(self, kernel: Kernel, A: Items) -> Array:
        """Choose the pivots, and return the factor U of K ≈ UUᵀ, one row for each item."""
        check_rank(self.rank)
        non_negative(self.tolerance, "tolerance")
        factor = Factor(kernel, A, self.rank)
        random = check_random_state(self.random_state)
        while len(factor.pivots) < factor.rank and factor.error > self.tolerance:
            if not self._grow(factor, random):
                break
        if not factor.pivots:
            raise ValueError(f"{kernel} is zero on all items: there is no landmark to choose.")
        self.pivots_ = np.array(factor.pivots, dtype=np.intp)
        self.trace_error_ = factor.error
        self.kernel_, self.landmarks_ = kernel, take(factor.A, self.pivots_)
        L = take(factor.rows, self.pivots_)
        self.weights_ = triangular_inverse(L).T
        return factor.rows

    def _grow(self, factor: Factor, random: np.random.RandomState) -> bool:
        """Add a pivot to the factor; return False if all residuals are rounding errors."""
        largest = int(namespace(factor.residual).argmax(factor.residual))
        if float(factor.residual[largest]) <= factor.noise:
            return False
        factor.grow_by_one(largest)
        return True


@parameters
class RandomPivotedCholesky(IncompleteCholesky):
    r"""Pivoted Cholesky features; pivots are drawn in proportion to their residuals.

    The error is never much above that of uniform landmarks, and far below it if there are small
    remote groups.

    Parameters
    ----------
    rank : int, default=None
        The largest number of landmarks; None for as many as there are items.
    block : int, default=None
        Number of proposals that are accepted or rejected together; None for a quarter of the rank,
        at most 128. It changes the speed, not the distribution of the pivots.
    tolerance : float, default=1e-12
        Stop when the trace of the error is at most this fraction of the trace.
    random_state : int, RandomState or None, default=None
        The seed, or a generator.

    Attributes
    ----------
    pivots_
        The positions of the landmarks.
    trace_error_
        :math:`\operatorname{tr}(K - UU^\top) / \operatorname{tr} K`.

    Notes
    -----
    With :math:`d` the diagonal of :math:`K - UU^\top` the next pivot is :math:`i` with probability
    :math:`d_i / \sum_j d_j`. A block of
    proposals is drawn from the d at its start; each is accepted with probability d_i (now) / d_i
    (then), where only the block's own square of :math:`K - UU^\top` is updated. Accepted pivots
    follow the law of the one-by-one method, at the speed of matrix products.

    References
    ----------
    Chen, Epperly, Tropp, Webber: Randomly pivoted Cholesky (2023). Epperly, Tropp, Webber:
    Embrace rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomPivotedCholesky
    >>> from mercer.kernels import RBF
    >>> A = np.linspace(0, 1, 200)[:, None]
    >>> map = RandomPivotedCholesky(rank=6, random_state=0).fit(RBF(0.5), A)
    >>> map.transform(A).shape, bool(map.trace_error_ < 1e-3)
    ((200, 6), True)
    """

    rank: int | None = None
    block: int | None = None
    tolerance: float = 1e-12
    random_state: int | np.random.RandomState | None = None

    def _grow(self, factor: Factor, random: np.random.RandomState) -> bool:
        """Draw pivots in proportion to residuals and add them; return False if none is accepted."""
        default_block = max(1, min(PROPOSALS, factor.rank // 4))
        block = default_block if self.block is None else integer(self.block, "block")
        index = _draw_positions(factor.residual, random.uniform(size=block))
        H = np.array(host(factor.residual_block(index)))
        accepted = _accept_proposals(H, random.uniform(size=block), factor.noise)
        if accepted:
            factor.grow(index[accepted][: factor.rank - len(factor.pivots)])
        return bool(accepted)


def _draw_positions(weights: Array, chances: np.ndarray) -> np.ndarray:
    """Return positions drawn in proportion to weights, given uniform numbers `chances`."""
    xp = namespace(weights)
    sums = xp.cumulative_sum(weights)
    at = xp.searchsorted(sums, like(chances, weights) * sums[-1], side="right")
    return np.minimum(host(at), weights.shape[0] - 1)  # rounding may pass the last sum


def _accept_proposals(H: np.ndarray, chances: np.ndarray, noise: float) -> list[int]:
    """Return the proposals accepted by rejection sampling; H, their residuals, is overwritten.

    `chances` are uniform random numbers; residuals up to `noise` are rounding errors.
    """
    before, accepted = H.diagonal().copy(), []
    for i, chance in enumerate(chances):
        if H[i, i] > max(noise, chance * before[i]):
            column = H[i + 1 :, i] / np.sqrt(H[i, i])
            H[i + 1 :, i + 1 :] -= np.outer(column, column)
            accepted.append(i)
    return accepted
