"""Fields to fields at low rank: every place of every example is an example of its own."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, is_foreign, like, namespace
from .._linalg import PositiveDefinite, solve_triangular
from ..operators.separable import fitted
from ..operators.shared import SINGLE, Shared
from ..operators.views import View
from ..problem import Problem, Want
from .factorization import Cache, Factorization, LeftOut, Outputs, Refused, Solution
from .left_out import members_by_size
from .place_left_out import left_out_residuals
from .place_moments import Moments, PlaceData, PlaceMap, at_once, joined, stacked

CHOICE_RANK = 4000
"""The most landmarks that several ridges are chosen with; the last fit has all."""
HOST_CHOICE_RANK = 1000
"""The same without an accelerator."""
NOTHING = 1e-12
"""A share of the largest eigenvalue of an operator that counts as zero."""


class Places(Factorization):
    """Kernels that all places share, on landmarks among the windows; moments are streamed.

    Solutions have the rank asked for; several ridges are compared at a smaller one.
    """

    name, costs = "places", "low rank"

    def __init__(self, problem: Problem, kernel: Shared, outputs: Outputs):
        self.problem, self.kernel, self.outputs = problem, kernel, outputs
        self.data = PlaceData(problem, kernel, outputs)
        self.rank = int(self.data.marks.shown.shape[0])

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A kernel over places, pairs held whole, the square loss."""
        if problem.inputs.features is not None:
            return f"{problem.kernel} draws landmarks itself: give rank= there, not features="
        if problem.loss is not None or want.judge != "closed":
            return f"{problem.kernel} goes with the square loss"
        return None

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Choose what is open, draw landmarks, and gather the moments when they are needed."""
        from .place_choice import chosen

        outputs = cache.outputs(problem)
        kernel: Any = problem.kernel.for_outputs(tuple(problem.outputs.items.shape[1:]))
        if kernel.open:
            kernel = chosen(kernel, problem, outputs)
        problem = replace(problem, kernel=kernel)  # a model keeps what was chosen
        return cls(problem, settled(kernel, problem, outputs), outputs)

    @cached_property
    def full(self) -> Moments:
        """The moments of all landmarks."""
        return Moments(self.data, self.data.marks)

    @cached_property
    def small(self) -> Moments:
        """The moments of some, for a choice."""
        most = CHOICE_RANK if is_foreign(self.data.X) else HOST_CHOICE_RANK
        if self.rank <= most:
            return self.full
        return Moments(self.data, self.data.marks.first(most))

    @property
    def scale(self) -> float:
        """The mean of the diagonal over all places, as the small fit has it."""
        return self.kernel.scale * self.small.scale

    def _ridge(self, alpha: float) -> float:
        """The ridge of the kernel without the number that multiplies it."""
        return alpha / self.kernel.scale

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        full = self.full
        coef = self._coefficients(self._ridge(alpha))
        mean, offset = self.outputs.mean, None
        if mean is not None:
            explained = joined((full.means @ coef)[None, :, :], self.data.grid)
            offset = mean - explained[0, :]
        map = PlaceMap(self.kernel, full.marks, coef)
        return Solution(self._point_map(map, offset), self.kernel)

    @cached_property
    def channels(self) -> tuple[Array, list[float]] | None:
        """Eigenvectors and eigenvalues of the operator over channels; None for the identity."""
        B = self.kernel.channel_operator()
        if B is None:
            return None
        values, vectors = np.linalg.eigh(B)
        least = NOTHING * float(values[-1])  # where B is zero, the ridge takes all
        return like(vectors, self.data.X), [max(float(v), least) for v in values]

    def _coefficients(self, alpha: float) -> Array:
        """The coefficients of the landmarks; along an eigenvector of B the ridge is α / b."""
        full, xp = self.full, namespace(self.full.b)
        if self.channels is None:
            return PositiveDefinite(full.at(alpha)).solve(full.b)
        Q, values = self.channels
        turned, columns = full.b @ Q, []
        for j, b in enumerate(values):
            own = turned[:, j : j + 1]
            columns.append(PositiveDefinite(full.at(alpha / b)).solve(own))
        return xp.concat(columns, axis=1) @ xp.matrix_transpose(Q)

    def _by_place(self, alphas: list[float], moments: Moments) -> list[Array]:
        """Left-out residuals for every α, (n, places, channels)."""
        groups = members_by_size(self.problem.left_out_labels)
        if self.channels is None:
            return left_out_residuals(self.data, moments, alphas, groups)
        Q, values = self.channels
        xp, found = namespace(Q), []
        for j, b in enumerate(values):
            data, own = copy.copy(self.data), copy.copy(moments)
            data.T, own.b = (self.data.T @ Q)[:, :, j : j + 1], (moments.b @ Q)[:, j : j + 1]
            found.append(left_out_residuals(data, own, [alpha / b for alpha in alphas], groups))
        turned = xp.matrix_transpose(Q)
        return [xp.concat(parts, axis=2) @ turned for parts in zip(*found, strict=True)]

    # -- the Gaussian-process view ------------------------------------------------------------

    def noise(self, alpha: float) -> float:
        """The variance of the noise that makes the outputs most likely, profiled."""
        full, T = self.full, self.data.T
        xp = namespace(T)
        self._refuse_operator()
        explained = full.b * PositiveDefinite(full.at(self._ridge(alpha))).solve(full.b)
        rows = (self.data.n - self.problem.intercept) * int(T.shape[1]) * int(T.shape[2])
        return (float(xp.sum(T * T)) - float(xp.sum(explained))) / rows

    # -- left out -----------------------------------------------------------------------------

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Those of all places of a field (or group) together.

        One ridge is judged at the full rank, several at that of a choice.
        """
        if averaged:
            raise ValueError('generalised cross-validation needs no groups of places: use "loo".')
        return self._residuals(list(alphas), self.full if len(alphas) == 1 else self.small)

    def left_out_quickly(self, alpha: float) -> LeftOut:
        """Left-out predictions at the rank of a choice."""
        return self._left_out_at(alpha, next(self._residuals([alpha], self.small)))

    def _residuals(self, alphas: list[float], moments: Moments) -> Iterator[Array]:
        """Left-out residuals for every α, as rows of coordinates."""
        for E in self._by_place([self._ridge(alpha) for alpha in alphas], moments):
            yield self.outputs.unweighted(joined(E, self.data.grid))

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Σ_{i∈G} over all places of what each left-out residual adds at new inputs."""
        self._refuse_operator()
        full, data, alpha = self.full, self.data, self._ridge(alpha)
        (M, d), xp = next(full.basis([alpha])), namespace(data.X)
        labels = self.problem.left_out_labels
        (E,) = left_out_residuals(data, full, [alpha], members_by_size(labels))
        pulls = []  # of each field on the coordinates of g
        few = at_once(data.X, self.rank * int(data.T.shape[1]))
        for rows in blocks(data.n, few):
            Z = self._centred(data.by_place(np.arange(rows.start, rows.stop), full.marks), rows)
            pulls.append(xp.matrix_transpose((Z @ M) * d) @ E[rows, ...])
        pull = xp.concat(pulls)
        constant = E * like(np.sqrt(data.w)[:, None, None] / data.w.sum(), E)
        if self.problem.groups is not None:
            together = like((labels[:, None] == labels[None, :]).astype(float), E)
            n = data.n
            pull, constant = (
                xp.reshape(together @ xp.reshape(A, (n, -1)), A.shape) for A in (pull, constant)
            )
        A = data.view.inputs.split(like(X, data.X))
        for rows in blocks(count(A), max(1, few // data.n)):
            K = stacked(data.view.values(A[rows, ...], full.marks))
            K = K if full.means is None else K - full.means[None, :, :]
            D = (K @ M)[:, None, :, :] @ pull[None, :, :, :]
            D = D + constant[None, :, :, :] if self.problem.intercept else D
            flat = joined(xp.reshape(D, (-1, *D.shape[2:])), data.grid)
            yield rows, xp.reshape(flat, (D.shape[0], data.n, -1))

    def _refuse_operator(self) -> None:
        if self.channels is not None:
            raise Refused(
                f"{self.kernel} with an operator over channels has no closed form for it."
            )

    def _centred(self, K: Array, rows: slice) -> Array:
        """Kernel values of training fields less the means of their places."""
        if self.full.means is None:
            return K
        roots = like(np.sqrt(self.data.w[rows])[:, None, None], K)
        return K - roots * self.full.means[None, :, :]

    def variances(self, alpha: float) -> PlaceVariances:
        """The posterior variance of every output component, for unit noise."""
        self._refuse_operator()
        full, p, alpha = self.full, self.problem, self._ridge(alpha)
        return PlaceVariances(
            self.kernel, full.marks, full.means, full.root, full.at(alpha), alpha,
            p.intercept / p.total,
        )  # fmt: skip


@dataclass(frozen=True)
class PlaceVariances:
    """(k(x,x) - k_m K⁻¹ k_m) / α + k_m (K_mn K_nm + αK)⁻¹ k_m, and 1/Σw for an intercept.

    Attributes
    ----------
    kernel
        The fitted kernel.
    marks, means
        The landmarks, and the mean kernel values at every location; None without an intercept.
    root, ridged
        The Cholesky factors of K and of K_mn K_nm + αK.
    alpha
        The ridge.
    constant
        The variance of the intercept.
    """

    kernel: Any
    marks: Any
    means: Any
    root: Any
    ridged: Any
    alpha: float
    constant: float

    def __call__(self, X: Items) -> Array:
        """One row a field, one column an output component."""
        kernel, marks, columns = self.kernel, self.marks, []
        view, xp = View(kernel, kernel.input_grid, kernel.output_grid), namespace(self.root)
        X = view.inputs.split(like(X, self.root))
        prior = view.diagonal()
        for p, K in sorted(view.values(X, marks), key=lambda pair: pair[0]):
            Kt = xp.matrix_transpose(K)
            lost = prior[p] - xp.sum(solve_triangular(self.root, Kt) ** 2, axis=0)
            if self.means is not None:
                Kt = Kt - self.means[p, :][:, None]
            known = xp.sum(solve_triangular(self.ridged, Kt) ** 2, axis=0) + self.constant
            columns.append(xp.where(lost > 0, lost, xp.zeros_like(lost)) / self.alpha + known)
        V = xp.stack(columns, axis=1)[:, :, None]
        return joined(V * like(np.ones(kernel.output_grid.channels), V), kernel.output_grid)


def settled(kernel: Shared, problem: Problem, outputs: Outputs) -> Shared:
    """The kernel, fitted on all inputs; large fits take distances in float32."""
    made: Shared = fitted(kernel, problem.inputs.items, outputs.rows, problem.weights)
    size = float(problem.n) * made.output_grid.size * made.rank * len(made.roots_)
    made.single_ = size > SINGLE and made.window_.radial is not None
    return made
