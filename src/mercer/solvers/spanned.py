"""Left-out errors for outputs without coordinates, from kernel values of the outputs only.

Points are weights on the training outputs. With the smoother H = E diag(f) Eᵀ + NNᵀ and
f_p = s_p / (s_p + α), the left-out residual of example i has the weights (e_i - H_i) / (1 - H_ii)
on the outputs, where e_i is a unit vector. With the output Gram matrix L, its squared norm is

    (L_ii - 2 (HL)_ii + (HLH)_ii) / (1 - H_ii)²,

for which LE (n × m) and EᵀLE (m × m) are computed once for all α. A group g has the weights
(I - H_gg)⁻¹ (I_g - H_g). The norms take n × m numbers of memory, the points n².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import final

import numpy as np

from .._base.arrays import Array, Items, blocks, count, host, like, namespace, put, sliced, take
from .._base.errors import NotSupported
from .._base.memory import ENTRIES
from .._base.plan import LEFT_OUT_SQUARES, require_exact
from ..embedding import Embedding, PointMap, SpanFrame
from ..kernels import Kernel
from ..operators import OperatorKernel
from ..problem import Problem
from .factorization import Factorization, LeftOut, LeftOutModels, Solution
from .left_out import LeaveOneOut, members_by_size
from .outputs import Basis, OutputRows
from .part import CANCELLED_FRACTION, Part
from .parts import Parts, training_weights
from .weights import DualWeights


class OutputGram:
    """The weighted, centred Gram matrix of the outputs, by products and blocks; it is not formed.

    With an intercept, the weighted mean of the outputs in feature space is subtracted.
    """

    def __init__(self, problem: Problem):
        self.kernel: Kernel = problem.outputs.kernel
        self.y = self.kernel.check(problem.outputs.items, "y")
        self.center, self.w = problem.intercept, problem.weights

    def _unweighted_times(self, M: Array) -> Array:
        """Return the output Gram matrix, without weights and centring, times M."""
        n = count(self.y)
        parts = [
            self.kernel._gram(sliced(self.y, rows), self.y) @ M for rows in blocks(n, ENTRIES // n)
        ]
        return self.kernel.finite_values(namespace(*parts).concat(parts, axis=0))

    def gram_times(self, M: Array) -> Array:
        """Return the weighted, centred output Gram matrix times M.

        The columns of M must be orthogonal to the constants.
        """
        xp, n = namespace(M), M.shape[0]
        roots = None if self.w is None else like(np.sqrt(self.w)[:, None], M)
        M = M if roots is None else roots * M
        if self.center:
            fractions = np.full(n, 1.0 / n) if self.w is None else self.w / self.w.sum()
            fractions = like(fractions[:, None], M)
            LM = self._unweighted_times(xp.concat([M, fractions], axis=1))
            self.means = LM[:, -1]
            self.level = float(fractions[:, 0] @ self.means)
            LM = LM[:, :-1] - fractions.T @ LM[:, :-1]
        else:
            LM = self._unweighted_times(M)
        return LM if roots is None else roots * LM

    def diagonal(self) -> Array:
        """Return the weighted squared norms of the centred outputs; call `gram_times` first."""
        norms = self.kernel.diag(self.y)
        norms = norms - 2.0 * self.means + self.level if self.center else norms
        return norms if self.w is None else like(self.w, norms) * norms

    def block(self, index: np.ndarray) -> Array:
        """Return the weighted, centred Gram matrix of the outputs `index`.

        Call `gram_times` first, with an intercept: it computes the means.
        """
        outputs = take(self.y, index)
        L = self.kernel._gram(outputs, outputs)
        if self.center:
            means = take(self.means, index)
            L = L - means[:, None] - means[None, :] + self.level
        if self.w is None:
            return L
        roots = like(np.sqrt(self.w[index]), L)
        return roots[:, None] * L * roots[None, :]


class SpanMoments:
    """Squared left-out errors from products of the output Gram matrix and input eigenvectors.

    The products are computed once for all ridges.

    Parameters
    ----------
    part
        The only part of a factorisation, with a multiple of the identity as operator.
    problem
        The problem.
    """

    def __init__(self, part: Part, problem: Problem):
        self.part, self.problem, self.gram = part, problem, OutputGram(problem)
        self.E = part.spectrum.E

    @cached_property
    def gram_times_basis(self) -> Array:
        """LE, the output Gram matrix L times the input eigenvectors E."""
        return self.gram.gram_times(self.E)

    @cached_property
    def gram_in_basis(self) -> Array:
        """EᵀLE, the output Gram matrix L in the basis of input eigenvectors E."""
        return self.E.T @ self.gram_times_basis

    @cached_property
    def gram_times_basis_outside(self) -> Array:
        """P L E, the output Gram matrix L times the eigenvectors E, with their span projected out.

        P = I - EEᵀ - NNᵀ is the projector, with the constants N.
        """
        return self.gram_times_basis - self.E @ self.gram_in_basis

    @cached_property
    def unfitted_sqlengths(self) -> Array:
        """The squared norm of each output's component outside the input eigenvectors."""
        xp = namespace(self.E)
        both = self.gram_times_basis + self.gram_times_basis_outside
        norms = self.gram.diagonal()  # now that the means are computed
        left = norms - xp.sum(self.E * both, axis=1)
        lost = np.flatnonzero(host(left < CANCELLED_FRACTION * norms))
        if len(lost):  # the difference has lost its digits: compute rows of the projector
            R = self.part.complement_columns(lost)
            left = put(left, lost, xp.sum(R * self.gram.gram_times(R), axis=0))
        return xp.where(left > 0, left, xp.zeros_like(left))

    def sqlengths(self, alpha: float, averaged: bool) -> Array:
        """Return the squared norm of the left-out residual of each example.

        Without groups it is ((I - H) L (I - H))_ii / (1 - H_ii)², with the smoother H and the
        output Gram matrix L. With `averaged`, the mean of 1 - H_ii replaces it.
        """
        groups = self.problem.groups
        shrunk = self.E * self.part.shrinkage(alpha)[:, 0]
        if groups is not None and not averaged:
            found = self._sqlengths_of_groups(alpha, shrunk, groups)
        else:
            found = self._sqlengths_of_rows(alpha, shrunk, averaged)
        w = self.problem.weights
        found = found if w is None else found / like(w, found)
        return namespace(found).where(found > 0, found, namespace(found).zeros_like(found))

    def _sqlengths_of_rows(self, alpha: float, shrunk: Array, averaged: bool) -> Array:
        """Return the squared norms of left-out residuals if each example is left out alone.

        They are computed from I - H = P + E diag(d) Eᵀ; `shrunk` is E diag(d).
        """
        xp = namespace(shrunk)
        found = xp.sum((shrunk @ self.gram_in_basis) * shrunk, axis=1)
        if not self.part.spectrum.complete:
            outside = xp.sum(shrunk * self.gram_times_basis_outside, axis=1)
            found = found + 2.0 * outside + self.unfitted_sqlengths
        rest = self.part.residual_leverages(alpha)[:, 0]
        rest = xp.where(rest > 0, rest, xp.ones_like(rest))
        lost = np.flatnonzero(host(rest**2 < CANCELLED_FRACTION))
        if len(lost) and not self.part.spectrum.complete:
            exact = xp.linalg.diagonal(self._block_of_products(alpha, lost))
            found = put(found, lost, exact)
        rest = self.part.mean_residual_leverage(rest) if averaged else rest
        return found / (rest * rest)

    def _sqlengths_of_groups(self, alpha: float, shrunk: Array, groups: np.ndarray) -> Array:
        """Return the squared norms of left-out residuals if groups are left out together.

        `shrunk` is that of `_sqlengths_of_rows`.
        """
        xp = namespace(shrunk)
        lengths = xp.zeros_like(xp.sum(shrunk, axis=1))
        for rows in (rows for same in members_by_size(groups) for rows in same):
            E, G = take(self.E, rows), take(shrunk, rows)
            N = G @ self.gram_in_basis @ G.T
            if not self.part.spectrum.complete:
                complement = take(self.gram_times_basis_outside, rows)
                cross = G @ complement.T
                outside = self.gram.block(rows) - E @ take(self.gram_times_basis, rows).T
                N = N + cross + cross.T + outside - complement @ E.T
            rest = self.part.residual_blocks([alpha], rows[None, :], E)[0, 0, 0, :, :]
            if float(xp.min(xp.linalg.diagonal(rest))) ** 2 < CANCELLED_FRACTION:
                N = self._block_of_products(alpha, rows)
            found = xp.linalg.diagonal(xp.linalg.solve(rest, xp.linalg.solve(rest, N).T))
            lengths = put(lengths, rows, found)
        return lengths

    def _block_of_products(self, alpha: float, rows: np.ndarray) -> Array:
        """Return the block over `rows` of (I - H) L (I - H), with smoother H, output Gram L.

        It is computed from rows of I - H, which is slower but more accurate than from products.
        """
        (R,) = self.part.residual_rows(rows, [alpha], take(self.E, rows))
        roots = self.part.spectrum.roots
        R = R if roots is None else R / roots.T
        return R @ self.gram.gram_times(R.T)

    def points(self, alpha: float) -> Embedding:
        """Return the left-out predictions as weights on the training outputs, (n, n)."""
        problem, n = self.problem, self.problem.n
        require_exact(n, LEFT_OUT_SQUARES)
        R = next(iter(LeaveOneOut(self.part, problem.groups).path([alpha])))
        R = R if problem.weights is None else R / like(np.sqrt(problem.weights)[:, None], R)
        frame = SpanFrame(problem.outputs.kernel, problem.outputs.items)
        C = like(np.eye(n), R) - R
        inputs, weights = problem.decoder_inputs, problem.weights
        return Embedding(C, frame, problem.left_out_labels, inputs, weights)


@final
@dataclass(eq=False)
class Spanned(Factorization):
    """A problem whose outputs have no coordinates: points are weights on the training outputs.

    The operator is a multiple of the identity.

    Parameters
    ----------
    problem, kernel, output_rows
        As in `Factorization`.
    part
        The only part.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), RBF(1.0), alpha=0.1).fit(X, Y)
    >>> found = model.fitted_.factorization
    >>> type(found).__name__, found.solve(0.1).points(X).coordinates.shape
    ('Spanned', (3, 3))
    """

    problem: Problem
    kernel: OperatorKernel
    output_rows: OutputRows
    part: Part
    coupled: bool = False

    def __post_init__(self) -> None:
        self.basis = Basis()

    @property
    def parts(self) -> list[Part]:  # type: ignore[override]
        """The only part, as a list."""
        return [self.part]

    @cached_property
    def _in_parts(self) -> Parts:
        """The same problem with the training outputs as coordinates."""
        return Parts(self.problem, self.kernel, self.output_rows, [self.part])

    def solve(self, alpha: float) -> Solution:
        """Return the fitted map g, by a Cholesky factor if the ridge exceeds rounding errors."""
        weights = training_weights(self.problem, self.output_rows, alpha)
        if not (isinstance(weights, DualWeights) and weights.is_accurate):
            return self._in_parts.solve(alpha)
        return Solution(PointMap(weights, None, self.output_rows.frame, weights), self.kernel)

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Yield the left-out predictions for each alpha.

        Squared errors come from moments, and points are weights on the training outputs.
        """
        part = self.part.at_ridge(alphas[0]) if len(alphas) == 1 else self.part
        moments = SpanMoments(part, self.problem)
        for alpha in alphas:
            yield LeftOut(alpha, moments.sqlengths(alpha, averaged), partial(moments.points, alpha))

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Yield the left-out residuals as weights on the training outputs, (n, n)."""
        return self._in_parts.residuals(alphas, averaged)

    def without(self, alpha: float) -> LeftOutModels:
        """Return a function that predicts each input by the model without given examples."""
        return self._in_parts.without(alpha)

    def noise(self, alpha: float) -> float:
        """Return the noise variance that maximises the evidence (REML with an intercept)."""
        return self._in_parts.noise(alpha)

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """Return the noise variance of each output direction, estimated from left-out residuals."""
        return self._in_parts.left_out_noises(alpha)

    def weights_along(self, X: Items, alpha: float) -> list[Array]:
        """Return the weights of training outputs in g(x), an array (inputs, n) per direction."""
        return self._in_parts.weights_along(X, alpha)

    def _no_closed_form(self) -> NotSupported:
        """Return the error for what takes output coordinates."""
        what = "left-out models at new inputs and variances"
        return NotSupported(f"{what} need outputs in coordinates.")

    @property
    def scale(self) -> float:
        """The unit of relative ridge parameters; the outputs cancel."""
        return self.part.spectrum.mean_diagonal * float(self.part.b[0]) or 1.0

    @property
    def nbytes(self) -> float:
        """The size in bytes of the eigenvectors."""
        return self.part.spectrum.nbytes
