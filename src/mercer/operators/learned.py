"""Output operators that are learnt from the data at a ridge."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._base.arrays import Array, Items, count, like, namespace
from .._base.errors import NotSupported, warn
from .._base.linalg import add_ridge, eigh
from .._base.parameters import integer, positive
from .._base.symmetric import trace
from ..features import Explicit
from ..kernels import Kernel, as_kernel
from ..kernels.base import as_output_kernel
from .base import Operator
from .matrix import Matrix
from .moments import Moments
from .separable import SpectralMoments, centred_gram

SMOOTHING = 1e-9
"""Ridge that keeps B invertible while it is learnt, relative to the outputs' mean square."""


def learn_operator(
    kernel: Kernel | str,
    X: Items,
    y: Items,
    alpha: float,
    *,
    output_kernel: Kernel | str | None = None,
    penalty: float = 1.0,
    power: float = 1.0,
    fit_intercept: bool = True,
    max_iter: int = 500,
    tol: float = 1e-5,
) -> Matrix:
    r"""Return the operator that is learnt with the model, under a penalty on its trace.

    It minimises :math:`\sum_i \lVert g(x_i) - \Phi(y_i) \rVert^2 + \alpha \lVert g \rVert^2 +
    \text{penalty} \cdot \operatorname{tr} B^{\text{power}}` over :math:`g` *and* :math:`B \succeq
    0`, where :math:`\lVert g \rVert` is the norm of the space with kernel :math:`k(x, x') B`.

    Parameters
    ----------
    kernel : Kernel or str
        The scalar kernel k.
    X, y : array-like
        Pairs, as in `KernelDependency.fit`, in memory.
    alpha : float
        The ridge. Only :math:`\alpha^{\text{power}} \cdot \text{penalty}` changes g.
    output_kernel : Kernel or str, default=None
        The kernel on outputs, with finite features (`Linear` if None).
    penalty : float, default=1.0
        The weight of the trace.
    power : float, default=1.0
        1 is the trace. Smaller values find fewer directions and shrink them less, but the problem
        is then not convex. 2 is the Frobenius norm of Dinuzzo et al.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    max_iter : int, default=500
        Largest number of rounds; a `ConvergenceWarning` is issued if they were too few.
    tol : float, default=1e-05
        The rounds end when the objective decreases by less than this fraction of its value.

    Returns
    -------
    Matrix
        The operator, to be compared with others by `KernelDependencyCV`. It is held fixed when
        examples are left out, so that its left-out score is optimistic; to measure by how much,
        learn it on some of the pairs and score the model on others.

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
    >>> from mercer.operators import learn_operator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> Y = X @ rng.normal(size=(5, 1)) @ rng.normal(size=(1, 8)) + rng.normal(size=(60, 8))
    >>> operator = learn_operator(Linear(), X, Y, alpha=1000.0)
    >>> np.linalg.matrix_rank(operator.B, rtol=1e-2)      # eight tasks, one direction
    np.int64(1)
    >>> model = KernelDependency(Linear() * operator, alpha=1000.0).fit(X, Y)
    """
    for name, value in (("alpha", alpha), ("penalty", penalty), ("power", power), ("tol", tol)):
        positive(value, name)
    moments = _moments(kernel, X, y, output_kernel, fit_intercept)
    rounds = learning_rounds(moments, alpha, penalty, power)
    B, objective = next(rounds)
    for _ in range(integer(max_iter, "max_iter") - 1):
        before = objective
        B, objective = next(rounds)
        if before - objective <= tol * abs(objective):
            return Matrix(B)
    warn(
        f"the operator was still learning after {max_iter} rounds: raise max_iter or tol.",
        ConvergenceWarning,
    )
    return Matrix(B)


def _moments(
    kernel: Kernel | str, X: Items, y: Items, output_kernel: Kernel | str | None, intercept: bool
) -> SpectralMoments:
    """Return the moments of checked pairs, centred if there is an intercept."""
    scalar, outputs = clone(as_kernel(kernel)), clone(as_output_kernel(output_kernel))
    y = outputs.as_outputs(y)
    X, outputs = scalar.check(X, "X"), outputs.fit(y)
    if outputs.features is None:
        raise NotSupported(
            f"an operator is learnt for outputs with finite features, which {outputs} has not: use "
            "another output kernel, such as Linear(), or another operator."
        )
    V = Explicit().fit_transform(outputs, y)
    if count(X) != count(y):
        raise ValueError(f"X and y must have equal lengths, got {count(X)} and {count(y)}.")
    K = scalar.fit(X).checked_gram(X)
    if intercept:
        V, K = V - namespace(V).mean(V, axis=0)[None, :], centred_gram(K, None)
    return SpectralMoments(count(y), V, gram=lambda: K)


def learning_rounds(
    moments: Moments | SpectralMoments, alpha: float, penalty: float, power: float
) -> Iterator[tuple[Array, float]]:
    """Yield operator matrix and objective after each round of alternating minimisation, for ever.

    The rounds start at the multiple of the identity that is the best B for coefficients that
    explain all outputs, so that the result does not depend on the units of the outputs.
    """
    xp = namespace(moments.vu)
    s, P = eigh(moments.uu, "input moment", drop=False)
    vu = moments.vu if P is None else moments.vu @ P
    total = trace(moments.vv)
    square = total / (float(xp.sum(s)) or 1.0) or 1.0  # the length of a column of C
    epsilon, weight = SMOOTHING * square, alpha / (penalty * power)
    b: Array = moments.ones * (square * weight) ** (1.0 / (1.0 + power))
    Q: Array = None
    while True:
        R = vu if Q is None else Q.T @ vu
        C = R * (b[:, None] / (b[:, None] * s[None, :] + alpha))
        C = C if Q is None else Q @ C
        misfit = total + float(xp.sum(C * (C * s[None, :] - 2.0 * vu)))
        squares, Q = eigh(add_ridge(C @ C.T, like(epsilon, C)), "learnt operator", drop=False)
        squares = xp.where(squares > epsilon, squares, xp.full_like(squares, epsilon))
        b = (squares * weight) ** (1.0 / (1.0 + power))
        price = float(xp.sum(alpha * squares / b + penalty * b**power))
        yield (Q * b) @ Q.T, misfit + price


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
    S_{uv}`, a function of the moments, so that pairs may be streamed. B is computed at each ridge,
    and held fixed when examples are left out.

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

    depends_on_ridge = True

    def __init__(self, rank: int = 5):
        self.rank = rank

    def at_ridge(self, moments: Moments, alpha: float) -> ReducedRank:
        """Return a copy whose `B_` projects on the leading directions of ridge predictions."""
        found, rank = clone(self), integer(self.rank, "rank")
        s, P = eigh(moments.uu, "input moment", drop=False)
        xp = namespace(moments.vu)
        R = moments.vu if P is None else moments.vu @ P
        R = R * (xp.sqrt(s) / (s + alpha))[None, :]
        Q: Array = eigh(R @ R.T, "covariance of the predictions", drop=False)[1]
        top = Q[:, -min(rank, int(Q.shape[1])) :]
        found.B_ = top @ top.T
        return found
