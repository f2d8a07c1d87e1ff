"""Output operators that are learnt together with the function, at its ridge."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._base.arrays import Array, like, namespace
from .._base.linalg import add_ridge, eigh
from .._base.parameters import field, integer, parameters, positive
from .._base.symmetric import trace
from .base import Operator
from .moments import Moments

SMOOTHING = 1e-9
"""Ridge that keeps B invertible while it is learnt, relative to the outputs' mean square."""


@parameters
class LearnedOperator(Operator):
    r"""Operator that is learnt with the model, under a penalty on its trace.

    It minimises :math:`\sum_i \lVert g(x_i) - \Phi(y_i) \rVert^2 + \alpha \lVert g \rVert^2 +
    \text{penalty} \cdot \operatorname{tr} B^{\text{power}}` over :math:`g` *and* :math:`B \succeq
    0`, where :math:`\lVert g \rVert` is the norm of the space with kernel :math:`k(x, x') B`.

    Parameters
    ----------
    penalty : float, default=1.0
        The weight of the trace. Only :math:`\alpha^{\text{power}} \cdot \text{penalty}` changes g
        (see Notes): choosing alpha is enough.
    power : float, default=1.0
        1 is the trace. Smaller values find fewer directions and shrink them less, but the problem
        is then not convex. 2 is the Frobenius norm of Dinuzzo et al.
    max_iter : int, default=500
        Largest number of rounds; a `ConvergenceWarning` is issued if they were too few.
    tol : float, default=1e-05
        The rounds end when the objective decreases by less than this fraction of its value.

    Attributes
    ----------
    B_
        The learnt matrix B in output coordinates.
    objective_
        The objective after each round; it never rises.
    n_iter_
        The number of rounds.

    Notes
    -----
    Write :math:`g(x) = C u(x)`. Then :math:`\lVert g \rVert^2 =
    \operatorname{tr}(C^\top B^{-1} C)`, and both halves of a round are closed forms:

    - B fixed, C is the ridge solution, entry by entry in the two eigenbases;
    - C fixed, :math:`\alpha \operatorname{tr}(B^{-1} CC^\top) + \mu \operatorname{tr} B^p` is
      smallest at :math:`B = (\alpha / (\mu p) \cdot CC^\top)^{1/(1 + p)}`.

    At :math:`p = 1` that is :math:`B = \sqrt{\alpha/\mu} (CC^\top)^{1/2}`, and the price is
    :math:`2 \sqrt{\alpha\mu}` times the sum of C's singular values: learning the operator under a
    trace penalty *is* nuclear-norm regression, a convex problem, so that the rounds do not depend
    on where they start. In general the price is the sum of the singular values to the power
    :math:`2p/(1 + p)`, times a constant. As B can only lose rank, a tiny multiple of the identity
    is added to :math:`CC^\top`.

    B is computed from the outputs on which it is scored, and closed-form leave-one-out, which keeps
    B fixed, would be far too optimistic. `KernelDependencyCV` therefore refits on K folds if this
    operator is among the choices.

    References
    ----------
    Output kernel learning: Dinuzzo, Ong, Gehler, Pillonetto (ICML 2011), with another penalty;
    Ciliberto, Mroueh, Poggio, Rosasco (ICML 2015) for the convex family. The trace and the nuclear
    norm: Argyriou, Evgeniou, Pontil (Machine Learning 2008).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import Linear
    >>> from mercer.operators import LearnedOperator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = X @ rng.normal(size=(5, 1)) @ rng.normal(size=(1, 8)) + rng.normal(size=(60, 8))
    >>> model = KernelDependency(Linear() * LearnedOperator(), alpha=1000.0).fit(X, Y)
    >>> np.linalg.matrix_rank(model.kernel_.operator.B_, rtol=1e-2)  # eight tasks, one direction
    np.int64(1)
    """

    learnt = True
    penalty: float = 1.0
    power: float = 1.0
    max_iter: int = 500
    tol: float = 1e-5

    objective_: list[float] = field(init=False)
    n_iter_: int = field(init=False)

    def learn(self, moments: Moments, alpha: float) -> LearnedOperator:
        """Return a copy with the matrix `B_` learnt at the ridge `alpha`."""
        self._check_parameters()
        learnt = clone(self)
        learnt.objective_ = []
        for B, objective in self._alternate(moments, alpha):
            learnt.B_ = B
            learnt.objective_.append(objective)
            if self._converged(learnt.objective_):
                break
        else:
            warnings.warn(
                f"LearnedOperator was still learning after {self.max_iter} rounds: raise max_iter "
                "or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        learnt.n_iter_ = len(learnt.objective_)
        return learnt

    def unit(self, square: float) -> float:
        """Return the typical size of the learnt operator, given the mean square of outputs."""
        return (square / (self.penalty * self.power)) ** (1.0 / self.power)

    def _alternate(self, moments: Moments, alpha: float) -> Iterator[tuple[Array, float]]:
        """Yield operator matrix and objective after each round of alternating minimisation.

        The rounds start at the multiple of the identity that is the best B for coefficients that
        explain all outputs, so that the result does not depend on the units of the outputs.
        """
        xp = namespace(moments.vu)
        s, P = eigh(moments.uu, "input moment", drop=False)
        vu = moments.vu if P is None else moments.vu @ P
        total = trace(moments.vv)
        square = total / (float(xp.sum(s)) or 1.0) or 1.0  # the length of a column of C
        epsilon, weight = SMOOTHING * square, alpha / (self.penalty * self.power)
        b: Array = moments.ones * (square * weight) ** (1.0 / (1.0 + self.power))
        Q: Array = None
        for _ in range(self.max_iter):
            R = vu if Q is None else Q.T @ vu
            C = R * (b[:, None] / (b[:, None] * s[None, :] + alpha))
            C = C if Q is None else Q @ C
            misfit = total + float(xp.sum(C * (C * s[None, :] - 2.0 * vu)))
            squares, Q = eigh(add_ridge(C @ C.T, like(epsilon, C)), "learnt operator", drop=False)
            squares = xp.where(squares > epsilon, squares, xp.full_like(squares, epsilon))
            b = (squares * weight) ** (1.0 / (1.0 + self.power))
            price = float(xp.sum(alpha * squares / b + self.penalty * b**self.power))
            yield (Q * b) @ Q.T, misfit + price

    def _converged(self, objective: list[float]) -> bool:
        """Return whether the last round lowered the objective by less than the tolerance."""
        if len(objective) < 2:
            return False
        return objective[-2] - objective[-1] <= self.tol * abs(objective[-1])

    def _check_parameters(self) -> None:
        """Raise an error if a parameter is not positive."""
        for name, value in (("penalty", self.penalty), ("power", self.power), ("tol", self.tol)):
            positive(value, name)
        integer(self.max_iter, "max_iter")


class ReducedRank(Operator):
    r"""The projection on the leading directions of ridge predictions: reduced-rank regression.

    With :math:`\hat g` the ridge solution under the identity, :math:`B` is the projection on the
    `rank` leading eigenvectors of :math:`\sum_i \hat g(x_i) \hat g(x_i)^\top`, so that the model is
    :math:`B \hat g`. Directions of the outputs that the inputs hardly explain are predicted by
    their mean, however much they vary.

    Parameters
    ----------
    rank : int, default=5
        The number of directions; choose it among several by `KernelDependencyCV`.

    Attributes
    ----------
    B_
        The projection, in output coordinates.

    Notes
    -----
    The sum is :math:`S_{vu} (S_{uu} + \alpha I)^{-1} S_{uu} (S_{uu} + \alpha I)^{-1}
    S_{uv}`, a function of the moments, so that pairs may be streamed. As with `LearnedOperator`,
    `KernelDependencyCV` refits on K folds if this operator is among the choices, because B is
    computed from the outputs on which it is scored.

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

    learnt = True

    def __init__(self, rank: int = 5):
        self.rank = rank

    def learn(self, moments: Moments, alpha: float) -> ReducedRank:
        """Return a copy whose `B_` projects on the leading directions of ridge predictions."""
        learnt, rank = clone(self), integer(self.rank, "rank")
        s, P = eigh(moments.uu, "input moment", drop=False)
        xp = namespace(moments.vu)
        R = moments.vu if P is None else moments.vu @ P
        R = R * (xp.sqrt(s) / (s + alpha))[None, :]
        Q: Array = eigh(R @ R.T, "covariance of the predictions", drop=False)[1]
        top = Q[:, -min(rank, int(Q.shape[1])) :]
        learnt.B_ = top @ top.T
        return learnt
