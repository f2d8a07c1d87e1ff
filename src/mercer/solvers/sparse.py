"""One ridge from sparse features of inputs to sparse features of outputs, which stay sparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import final

import numpy as np
from scipy import linalg, sparse

from .._base.arrays import blocks, take
from .._base.errors import NotSupported
from .._base.memory import ENTRIES
from ..embedding import Embedding, OrthonormalFrame, PointMap
from ..features import Explicit
from ..kernels._bags import sum_over_shared_features
from ..operators import Separable
from ..problem import Problem, Want
from .factorization import Factorization, LeftOut, Solution
from .outputs import Basis, Cache, OutputRows
from .weights import NoWeights

DENSE_OUTPUTS = 2**27
"""Outputs of more entries than these, 1 GiB, stay sparse; with an intercept all do."""
SAMPLED_ROWS = 8000
"""The number of rows whose left-out predictions calibrate a decoder."""
LEFT_OUT_ROWS = 1000
"""The number of rows whose leverages are computed at once."""


def sparse_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why a problem is not solved with sparse outputs; None if it is."""
    inputs, outputs = problem.inputs.features, problem.outputs.features
    if not (isinstance(inputs, Explicit) and inputs.sparse):
        return "the inputs have no sparse features"
    features = problem.outputs.kernel.features
    explicit = outputs is None or isinstance(outputs, Explicit)
    if not explicit or features is None or features.sparse is None:
        return "the outputs have no sparse features"
    if problem.kernel.operator.uniform is None or len(want.alphas) != 1 or want.relative:
        return "there is more than one solution"
    width = problem.outputs.width or 0
    needed = problem.intercept or problem.n * width > DENSE_OUTPUTS
    return None if needed else "outputs are few, and have no mean to be subtracted"


def sparse_ridge(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Solve a problem with sparse features of inputs and outputs by one Cholesky factor."""
    return SparseRidge(problem)


@final
class SparseRidge(Factorization):
    r"""The ridge solution for sparse features u of inputs and v of outputs.

    With weighted means :math:`\bar u, \bar v` and :math:`S = \sum_i w_i (u_i - \bar u)(u_i - \bar
    u)^\top`, the map is :math:`g(x) = \bar v + T^\top (S + \tau I)^{-1} (u(x) - \bar u)`, where
    :math:`T` is the moment of inputs and outputs and :math:`\tau` the ridge over the operator's
    scale. Means are subtracted from the moments, so that features stay sparse.

    Parameters
    ----------
    problem
        The problem.
    """

    complete = False

    def __init__(self, problem: Problem):
        self.problem, self.basis = problem, Basis()
        self.kernel = Separable(problem.inputs.kernel, problem.kernel.operator)
        self.map, U = problem.inputs.coordinates
        self.U = sparse.csr_array(U)
        kernel, Y = problem.outputs.kernel, problem.outputs.items
        self.V = sparse.csr_array(kernel.features.rows(Y))
        self.outputs = Explicit().fit(kernel, Y)
        n = self.U.shape[0]
        self.w = np.ones(n) if problem.weights is None else np.asarray(problem.weights, float)
        self.total = float(self.w.sum())
        self.means = tuple(
            (self.w @ F) / self.total if problem.intercept else np.zeros(F.shape[1])
            for F in (self.U, self.V)
        )
        self.output_rows = OutputRows(None, None, None, self.frame)
        self.solved: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def frame(self) -> OrthonormalFrame:
        """The coordinates of the outputs: the features of their kernel."""
        return OrthonormalFrame(self.outputs)

    def _moment(self, F: sparse.csr_array, mean: np.ndarray) -> np.ndarray:
        """Return the centred moment Σ_i w_i (u_i - ū)(f_i - f̄)ᵀ of inputs with features F."""
        from ..kernels._bag_loops import add_inner_products

        weighted = sparse.csr_array(sparse.diags_array(self.w) @ self.U)
        S = sum_over_shared_features(add_inner_products, weighted.T, F.T)
        if self.problem.intercept:
            for rows in blocks(len(S), LEFT_OUT_ROWS):
                S[rows] -= self.total * np.outer(self.means[0][rows], mean)
        return S

    def _factor_and_solve(self, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the Cholesky factor of S + τI, and the coefficients (S + τI)⁻¹ T."""
        if alpha not in self.solved:
            S = self._moment(self.U, self.means[0])
            S[np.diag_indices_from(S)] += alpha / self.problem.operator_scale
            L = linalg.cholesky(S.T, lower=False, overwrite_a=True, check_finite=False)
            T = self._moment(self.V, self.means[1])
            coef = linalg.cho_solve((L, False), T.T.copy().T, overwrite_b=True, check_finite=False)
            self.solved = {alpha: (L, np.ascontiguousarray(coef))}
        return self.solved[alpha]

    def solve(self, alpha: float) -> Solution:
        """Return the fitted map g for the ridge `alpha`."""
        coef = self._factor_and_solve(alpha)[1]
        offset = self.means[1] - self.means[0] @ coef
        map = self.map.compose(coef)
        return Solution(PointMap(map, offset, self.frame, NoWeights()), self.kernel)

    @property
    def scale(self) -> float:
        """Return the unit of relative ridges, tr S / n times the scale of the operator."""
        squares = self.U.multiply(self.U)
        trace = float((self.w @ squares).sum() - self.total * (self.means[0] ** 2).sum())
        return trace / self.total * self.problem.operator_scale

    # -- left out -----------------------------------------------------------------------------

    def left_out_sample(self, alpha: float) -> tuple[Embedding, np.ndarray]:
        """Return the left-out points of some random rows, in whole groups, and these rows."""
        labels = self.problem.left_out_labels
        drawn = np.random.RandomState(0).permutation(int(labels.max()) + 1)
        ends = np.cumsum(np.bincount(labels)[drawn])
        kept = drawn[: max(2, int(np.searchsorted(ends, SAMPLED_ROWS, side="right")))]
        rows = np.flatnonzero(np.isin(labels, kept))
        return self._points(alpha, rows), rows

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Yield the left-out predictions of all examples, if they fit into memory as an array."""
        n, q = self.V.shape
        if n * q > ENTRIES:
            raise NotSupported(
                f"left-out predictions of {n} outputs with {q} sparse features are too many to "
                "keep. Decoders are calibrated on a random sample of them."
            )
        for alpha in alphas:
            points = self._points(alpha, np.arange(n))
            lengths = ((points.coordinates - self.V.toarray()) ** 2).sum(axis=1)
            yield LeftOut(alpha, lengths, partial(lambda found: found, points))

    def _points(self, alpha: float, rows: np.ndarray) -> Embedding:
        """Return the left-out points of rows, which are whole groups."""
        labels, inputs = self.problem.left_out_labels, self.problem.decoder_inputs
        weights = self.problem.weights
        return Embedding(
            self.V[rows].toarray() - self._residuals(alpha, rows),
            self.frame,
            labels[rows],
            None if inputs is None else take(inputs, rows),
            None if weights is None else weights[rows],
            groups=labels,
        )

    def _residuals(self, alpha: float, rows: np.ndarray) -> np.ndarray:
        """Return outputs minus left-out predictions of rows, which are whole groups."""
        (L, coef), (u, v) = self._factor_and_solve(alpha), self.means
        R = self.V[rows].toarray() - (self.U[rows] @ coef + (v - u @ coef))
        order = np.argsort(self.problem.left_out_labels[rows], kind="stable")
        starts = np.flatnonzero(np.diff(self.problem.left_out_labels[rows][order], prepend=-1))
        for some in _whole_groups(starts, len(order)):
            own = order[some]
            Z = linalg.solve_triangular(
                L, (self.U[rows[own]].toarray() - u).T, trans="T", check_finite=False
            )
            R[own] = self._without_own_group(Z, R[own], self.w[rows[own]], rows[own])
        return R

    def _without_own_group(
        self, Z: np.ndarray, R: np.ndarray, w: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Return left-out residuals from residuals R and columns Z of L⁻ᵀ(u - ū)."""
        labels = self.problem.left_out_labels[rows]
        constant = 1.0 / self.total if self.problem.intercept else 0.0
        if self.problem.groups is None:
            return R / (1.0 - w * (constant + (Z * Z).sum(axis=0)))[:, None]
        out = np.empty_like(R)
        for label in np.unique(labels):
            own = np.flatnonzero(labels == label)
            H = (Z[:, own].T @ Z[:, own] + constant) * w[own]
            out[own] = np.linalg.solve(np.eye(len(own)) - H, R[own])
        return out


def _whole_groups(starts: np.ndarray, n: int) -> Iterator[slice]:
    """Yield slices of about LEFT_OUT_ROWS sorted rows that do not cut a group."""
    begin = 0
    for end in [*starts[1:].tolist(), n]:
        if end - begin >= LEFT_OUT_ROWS or end == n:
            yield slice(begin, end)
            begin = end
