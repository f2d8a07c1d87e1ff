from __future__ import annotations

from sklearn.base import clone

from .._arrays import Array, namespace
from .._parameters import whole
from ..symmetric import eigh
from .learned import LearntOfMoments
from .moments import Moments


class ReducedRank(LearntOfMoments):
    """The projection on the main directions of what ridge regression predicts: reduced rank.

    With ĝ the ridge solution under the identity, B is the projection on the `rank` leading
    eigenvectors of Σ_i ĝ(x_i) ĝ(x_i)ᵀ, so that the model is B ĝ: directions of the outputs that the
    inputs say little of are left at their mean, however much they vary.

    Parameters
    ----------
    rank
        The number of directions; choose it among several by `KernelDependencyCV`.

    Attributes
    ----------
    B_
        The projection, in output coordinates.

    Notes
    -----
    Σ_i ĝ(x_i) ĝ(x_i)ᵀ = S_vu (S_uu + αI)⁻¹ S_uu (S_uu + αI)⁻¹ S_uv is made of the moments, so that
    pairs may come in blocks. B is made of the outputs that it is judged on: `KernelDependencyCV`
    refits by K-fold where it meets this operator, as with `LearnedOperator`.

    References
    ----------
    Brogat-Motte, Rudi, Brouard, Rousu, d'Alché-Buc: Vector-valued least-squares regression under
    output regularity assumptions, JMLR 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import Linear
    >>> from mercer.operators import ReducedRank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = X @ rng.normal(size=(5, 1)) @ rng.normal(size=(1, 8)) + rng.normal(size=(60, 8))
    >>> model = KernelDependency(Linear() * ReducedRank(1), alpha=1.0).fit(X, Y)
    >>> np.linalg.matrix_rank(model.predict(X) - model.predict(X).mean(axis=0), tol=1e-8)
    np.int64(1)
    """

    def __init__(self, rank: int = 5):
        self.rank = rank

    def learn(self, moments: Moments, alpha: float) -> ReducedRank:
        """A copy of itself with the directions at one ridge."""
        learnt, rank = clone(self), whole(self.rank, "rank")
        s, P = moments.uu.eigh("input moment")
        xp = namespace(moments.vu)
        R = moments.vu if P is None else moments.vu @ P
        R = R * (xp.sqrt(s) / (s + alpha))[None, :]
        Q: Array = eigh(R @ R.T, "covariance of the predictions", drop=False)[1]
        top = Q[:, -min(rank, int(Q.shape[1])) :]
        learnt.B_ = top @ top.T
        return learnt
