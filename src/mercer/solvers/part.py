"""`Part`, the linear smoother of output directions that share one input spectrum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, blocks, concatenated, host, is_foreign, like, namespace, put, take
from .._base.linalg import EPS, adjoint, congruences, exceeds_rounding, unit_columns
from .._base.memory import ENTRIES
from ..operators.slots import Slots
from ..problem import Problem
from .exact_spectrum import REFINED
from .input_spectrum import InputSpectrum, ProjectedInputs

CANCELLED_FRACTION = 1e-6
"""Differences of numbers near 1 that are smaller have lost digits; a projection has not."""


@dataclass(eq=False)
class Part:
    """The linear smoother of a set of output directions that share one input spectrum.

    The smoother maps targets to fitted values. For output direction j it is
    H_j = E diag(s b_j / (s b_j + α)) Eᵀ + NNᵀ, with eigenvectors E and eigenvalues s of the input
    Gram matrix, operator eigenvalue b_j, ridge α and unit vectors N of the intercept.

    Parameters
    ----------
    spectrum
        E, s and N: the spectrum of the input Gram matrix.
    b
        The eigenvalues of the operator, one per direction.
    targets
        T: the outputs in the eigenbasis of the operator, centred if there is an intercept, rows
        times the roots of their weights; or a function that returns them. None for outputs without
        coordinates, whose targets are the rows of (I - NNᵀ) √w.
    known_projection
        EᵀT, or a function that returns it, if it is not computed from E and T; for a stream it
        comes from the moments of all pairs. None to compute it.
    stream_totals
        For a stream, the sum of the sample weights of all pairs, and the sum of their squared
        outputs along each direction; None if the rows are those of all pairs.
    component_means
        The mean output of each component, (width, directions), if an operator-valued kernel couples
        components and there is an intercept; else None.
    multiplicity
        The number of real directions of each column: 2 for a complex Fourier mode.

    Notes
    -----
    With d_pj = α / (s_p b_j + α) the residuals and one minus the leverages are

        R = (T - EEᵀT) + E [(EᵀT) ∘ d],    1 - H_ij = (1 - N_i² - Σ_p E_ip²) + Σ_p E_ip² d_pj.

    If E and N together are a complete basis, both brackets are zero and are not computed.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> (part,) = model.fitted_.factorization.parts
    >>> part.shape, part.b
    ((3, 1), array([1.]))
    """

    spectrum: InputSpectrum
    b: Array
    targets: Array | Callable[[], Array] | None
    known_projection: Array | Callable[[], Array] | None = None
    stream_totals: tuple[float, Array] | None = None
    component_means: Array | None = None
    multiplicity: int = 1
    _at_ridge: dict[float, Part] = field(default_factory=dict, init=False, repr=False)

    def at_ridge(self, alpha: float) -> Part:
        """Return a copy with an input spectrum for one alpha, if this is faster; else itself."""
        if alpha not in self._at_ridge:
            made = self
            if self.equal_eigenvalues:
                spectrum = self.spectrum.at_ridge(self.b, alpha)
                if spectrum is not self.spectrum:
                    made = replace(self, spectrum=spectrum, known_projection=None)
            self._at_ridge = {alpha: made}
        return self._at_ridge[alpha]

    # -- outputs -------------------------------------------------------------------------------

    @cached_property
    def T(self) -> Array:
        """The targets: weighted, centred outputs along the directions, one per column."""
        if self.targets is None:
            return self.target_rows(np.arange(self.spectrum.size))
        return self.targets() if callable(self.targets) else self.targets

    def target_rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of the targets T."""
        if self.targets is not None:
            return take(self.T, index)
        unit = unit_columns(self.spectrum.size, index, self.spectrum.E)
        return self._weight_columns(adjoint(self.project_out(unit, eigenvectors=False)))

    def _weight_columns(self, A: Array) -> Array:
        """Return A with its columns, one per example, times the roots of the sample weights."""
        roots = self.spectrum.roots
        return A if roots is None else A * adjoint(roots)

    @cached_property
    def projected(self) -> Array:
        """EᵀT, the targets T in the input eigenbasis E."""
        if self.known_projection is not None:
            known = self.known_projection
            return known() if callable(known) else known
        if self.targets is None:
            return self._weight_columns(adjoint(self.spectrum.E))
        return self.spectrum.project_targets(self.T)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and the number of output directions."""
        return self.spectrum.size, int(self.b.shape[0])

    @property
    def foreign(self) -> bool:
        """Whether the arrays belong to a library other than numpy."""
        return is_foreign(self.b)

    @property
    def slots(self) -> Slots:
        """The example and the output component of each row."""
        return self.spectrum.slots

    @cached_property
    def sqlengths(self) -> Array:
        """The sum of squared targets along each direction."""
        if self.stream_totals is not None:
            return self.stream_totals[1]
        return namespace(self.T).sum(abs(self.T) ** 2, axis=0)

    @property
    def free_rows(self) -> float:
        """The number of training rows minus the number of constants of the intercept.

        A row counts as often as its sample weight says.
        """
        if self.stream_totals is not None:
            return self.stream_totals[0] - self.spectrum.constants.count
        return self.counted_rows - self.spectrum.constants.count

    @cached_property
    def counted_rows(self) -> float:
        """The sum of the sample weights of the rows; their number without weights."""
        roots = self.spectrum.roots
        return float(self.shape[0] if roots is None else namespace(roots).sum(roots * roots))

    def group_labels(self, problem: Problem) -> np.ndarray | None:
        """Return the group label of each row; None if each row is left out alone."""
        one_row_each = self.slots.width == 1
        return problem.groups if one_row_each else problem.left_out_labels[self.slots.owners]

    # -- shrinkage -----------------------------------------------------------------------------

    @cached_property
    def equal_eigenvalues(self) -> bool:
        """Whether all directions have the same operator eigenvalue b, as for the identity."""
        return self.b.shape[0] == 0 or bool(namespace(self.b).all(self.b == self.b[:1]))

    @property
    def positive_multiple(self) -> bool:
        """Whether the operator is a positive multiple of the identity on these directions."""
        return self.equal_eigenvalues and self.b.shape[0] > 0 and float(self.b[0]) > 0

    def _eigenvalues(self) -> Array:
        """Return s_p b_j, input times operator eigenvalues, with one column if all b are equal."""
        return (
            self.spectrum.s[:, None] * (self.b[:1] if self.equal_eigenvalues else self.b)[None, :]
        )

    def shrinkage(self, alpha: float) -> Array:
        """Return α / (s_p b_j + α), the fraction of eigenvector p that stays in the residuals."""
        return alpha / (self._eigenvalues() + alpha)

    def _residual_factors(self, alpha: float) -> Array:
        """Return the factors of the eigenvectors in I - H, with the smoother H.

        They are d in I - H = C + E diag(d) Eᵀ with eigenvectors E. C = I - EEᵀ - NNᵀ for an
        orthonormal basis E. For a sample of rows E is not orthonormal, and C = I - NNᵀ.
        """
        if self.spectrum.complete or self.spectrum.orthonormal:
            return self.shrinkage(alpha)
        eigenvalues = self._eigenvalues()
        return -eigenvalues / (eigenvalues + alpha)

    def smooth(self, T: Array, alpha: float) -> Array:
        """Return the fitted values H T of given targets T, with the smoother H at `alpha`."""
        E, eigenvalues = self.spectrum.E, self._eigenvalues()
        fitted = E @ ((adjoint(E) @ T) * (eigenvalues / (eigenvalues + alpha)))
        return fitted + self.spectrum.constants.project(T)

    def coefficients(self, alpha: float, Q: Array | None = None) -> Array:
        """Return the coefficients D of the fitted map g(x) = z(x) D, for projected inputs z(x).

        D_pj = b_j (EᵀT)_pj / (b_j s_p + α) for eigenvector p and direction j; D Qᵀ if Q is given.
        For very small ridges, one step of iterative refinement with the Gram matrix corrects the
        rounding errors of E and s, in the directions in which it makes the residual smaller.
        """
        C, s, b = self.projected * self._gains(alpha, self.b), self.spectrum.s, self.b
        largest = 0.0
        if self.spectrum.has_gram and 0 not in C.shape:
            largest = float(namespace(s).max(s)) * float(namespace(b).max(b))
        if alpha < REFINED * largest and exceeds_rounding(alpha, int(C.shape[0]), largest):
            C = self._refined(C, alpha)
        C = C * self.b[None, :]
        return C if Q is None else C @ adjoint(Q)

    def _refined(self, C: Array, alpha: float) -> Array:
        """Return coefficients C of duals E C after a step of refinement, where it improves them."""
        xp, Et = namespace(C), adjoint(self.spectrum.E)
        rest = self._residual(C, alpha)
        corrected = C + (Et @ rest) * self._gains(alpha, self.b)
        after = self._residual(corrected, alpha)
        better = xp.sum(abs(after) ** 2, axis=0) < xp.sum(abs(rest) ** 2, axis=0)
        return xp.where(better, corrected, C)

    def _residual(self, C: Array, alpha: float) -> Array:
        """Return T - b K D - α D for the dual coefficients D = E C, by products with K."""
        dual = self.spectrum.E @ C
        return self.T - self.spectrum.gram_times(dual) * self.b[None, :] - alpha * dual

    def _gains(self, alpha: float, b: Array) -> Array:
        """Return 1 / (s_p b_j + α) for some operator eigenvalues b, one column for each.

        It is zero where s_p is zero up to rounding and α is below the same size: such directions
        are not in the span of the kernel functions, and their rounding errors would be magnified
        at new inputs.
        """
        s, b = self.spectrum.s[:, None], b[None, :]
        gains = 1.0 / (s * b + alpha)
        if 0 in gains.shape:  # a single pair with an intercept leaves no row
            return gains
        xp = namespace(gains)
        rounding = int(s.shape[0]) * EPS * float(xp.max(s)) * b
        return xp.where((s == 0) & (alpha <= rounding), xp.zeros_like(gains), gains)

    def misfit(self, alpha: float) -> float:
        """Return ⟨T, (I - H) T⟩, the minimum of the ridge objective, for targets T and smoother H.

        It is α Σ (EᵀT)² / (s b + α), plus the squared norm of T outside the basis E.
        """
        xp, squares = namespace(self.b), abs(self.projected) ** 2
        inside = float(xp.sum(squares * self._residual_factors(alpha)))
        if self.spectrum.complete:
            return inside
        outside = self.unfitted**2 if self.spectrum.orthonormal else self.sqlengths
        return max(0.0, inside + float(xp.sum(outside)))

    # -- complement of the basis ---------------------------------------------------------------

    @cached_property
    def unfitted(self) -> Array:
        """The targets minus their projection on eigenvectors E and constants N, if orthonormal."""
        if self.spectrum.complete:
            return 0.0
        if self.targets is None:
            return self._unfitted_rows(np.arange(self.spectrum.size))
        if not self.spectrum.orthonormal:
            return self.T
        rest, E = self.T - self.spectrum.E @ self.projected, self.spectrum.E
        return rest - E @ (adjoint(E) @ rest)  # again, to remove rounding errors

    def _unfitted_rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of `unfitted`."""
        if self.targets is None and not self.spectrum.complete:
            if not self.spectrum.orthonormal:
                return self.target_rows(index)
            return self._weight_columns(adjoint(self.complement_columns(index)))
        return self.unfitted if self.spectrum.complete else take(self.unfitted, index)

    @cached_property
    def squared_basis(self) -> Array:
        """The squared entries |E|² of the input eigenvectors."""
        return abs(self.spectrum.E) ** 2

    @cached_property
    def complement_diagonal(self) -> Array:
        """The diagonal of the projector on the complement of eigenvectors and constants, a column.

        It is that of I - EEᵀ - NNᵀ, or of I - NNᵀ if E is not orthonormal.
        """
        if self.spectrum.complete:
            return 0.0
        xp = namespace(self.b)
        rest = like(1.0 - self.spectrum.constants.entries(slice(None)) ** 2, self.b)
        if not self.spectrum.orthonormal:
            return rest[:, None]
        rest = rest - xp.sum(self.squared_basis, axis=1)
        lost = np.flatnonzero(host(rest < CANCELLED_FRACTION))
        if len(lost):
            rest = put(rest, lost, xp.sum(self.complement_columns(lost) ** 2, axis=0))
        return xp.where(rest > 0, rest, xp.zeros_like(rest))[:, None]

    def complement_columns(self, rows: np.ndarray) -> Array:
        """Return columns of the projector on the complement of eigenvectors and constants.

        `rows` are the numbers of the columns, those of training rows.
        """
        return self.project_out(unit_columns(self.spectrum.size, rows, self.spectrum.E))

    def project_out(self, A: Array, eigenvectors: bool = True) -> Array:
        """Return A minus its projection on the constants N, and on E if `eigenvectors`."""
        E = self.spectrum.E
        for _ in range(2):  # the second time removes rounding errors
            A = A - E @ (adjoint(E) @ A) if eigenvectors else A
            A = A - self.spectrum.constants.project(A)
        return A

    # -- residuals and leverages ---------------------------------------------------------------

    def residual_path(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """Yield the residuals of the fit, and one minus its leverages, for each alpha.

        With targets T and smoother H these are T - HT and the diagonal of I - H. Many ridges take a
        single matrix product if all directions have the same operator eigenvalue.
        """
        (n, q), together, rows_at_once = self.shape, len(alphas), max(1, self.shape[0])
        if self.spectrum.in_memory:
            together = max(1, ENTRIES // max(1, n * q)) if self.equal_eigenvalues else 1
        else:  # all ridges together, because the rows of E are computed for them
            rows_at_once = max(1, ENTRIES // max(1, self.spectrum.s.shape[0]))
        for ridges in blocks(len(alphas), together):
            factors = [self._residual_factors(alpha) for alpha in alphas[ridges]]
            found = [self._residuals_of(rows, factors) for rows in blocks(n, rows_at_once)]
            for pairs in zip(*found, strict=True):
                R, rest = zip(*pairs, strict=True)
                yield concatenated(R), concatenated(rest)

    def _residuals_of(self, rows: slice, factors: list[Array]) -> list[tuple[Array, Array]]:
        """Return residuals and one minus leverages of a slice of rows, for each alpha.

        `factors` are the factors of the eigenvectors in I - H for each alpha.
        """
        xp, whole = namespace(self.b), self.spectrum.in_memory
        E = self.spectrum.E if whole else self.spectrum.rows(np.arange(rows.start, rows.stop))
        R = E @ xp.concat([self.projected * d for d in factors], axis=1)
        rest = (self.squared_basis if whole else E * E) @ xp.concat(factors, axis=1)
        q, width, found = self.b.shape[0], factors[0].shape[1], []
        for i in range(len(factors)):
            residuals, rests = R[:, i * q : (i + 1) * q], rest[:, i * width : (i + 1) * width]
            if not self.spectrum.complete:
                residuals = residuals + self.unfitted[rows, :]
                rests = rests + self.complement_diagonal[rows, :]
            found.append((residuals, rests))
        return found

    def mean_residual_leverage(self, rest: Array) -> float:
        """Return the mean of 1 - H_ii over rows and columns, given these as `rest`.

        A row counts as often as its sample weight says; the trace of H is that of repeated rows.
        """
        n, repeats = rest.shape[0], self.counted_rows - rest.shape[0]
        return (n * float(namespace(rest).mean(rest)) + repeats) / self.counted_rows

    def residual_leverages(self, alpha: float) -> Array:
        """Return one minus the leverages, (n, directions); one column if all are equal."""
        return self.squared_basis @ self._residual_factors(alpha) + self.complement_diagonal

    def residual_rows(self, index: np.ndarray, alphas: Sequence[float], E: Array) -> list[Array]:
        """Return the rows `index` of the residuals for each alpha, given these rows of E."""
        outside = self._unfitted_rows(index)
        return [E @ (self.projected * self._residual_factors(alpha)) + outside for alpha in alphas]

    def residual_blocks(self, alphas: Sequence[float], members: np.ndarray, E: Array) -> Array:
        """Return the diagonal blocks of I - H over groups of equal size, with the smoother H.

        `members` are the training rows of each group, (groups, size), and E holds these rows of the
        eigenvectors. The result has the shape (groups, alphas, directions, size, size), with one
        direction if all have the same operator eigenvalue.
        """
        xp, (groups, size) = namespace(self.b), members.shape
        d = xp.concat([self._residual_factors(alpha) for alpha in alphas], axis=1)
        E = xp.reshape(E, (groups, size, -1))
        H = xp.reshape(congruences(E, d), (groups, len(alphas), -1, size, size))
        return H + self.complement_blocks(E, members)[:, None, None, :, :]

    def complement_blocks(self, E: Array, members: np.ndarray) -> Array:
        """Return the ridge-independent part of the blocks of I - H over groups.

        H is the smoother, the other part is E diag(d) Eᵀ, and E holds the eigenvectors' rows in the
        groups. A constant of the intercept whose rows are all in one group is not subtracted,
        because it cannot be fitted without the group.
        """
        xp, (fitted, alone) = namespace(E), self.spectrum.constants.blocks(members, self.b)
        if self.spectrum.complete:
            return alone
        rest = like(np.eye(members.shape[1]), self.b) - fitted
        if self.spectrum.orthonormal:
            rest = rest - E @ adjoint(E)
            smallest = host(xp.min(xp.linalg.diagonal(rest), axis=-1))
            for g in np.flatnonzero(smallest < CANCELLED_FRACTION):
                columns = self.complement_columns(members[g])
                rest[int(g), :, :] = adjoint(columns) @ columns
        return rest + alone

    # -- left-out models at new inputs ---------------------------------------------------------

    @property
    def has_weights(self) -> bool:
        """Whether `weights` is available: rows are examples, with eigenvectors in memory."""
        return self.slots.width == 1 and self.spectrum.in_memory

    def weights(self, Z: Array, alpha: float, direction: int) -> Array:
        """Return the weights of the targets in g_j(x), j = `direction`.

        Z holds the projected inputs z(x), one per row.
        """
        b = self.b[direction : direction + 1]
        W = (Z * (b * self._gains(alpha, b))[:, 0]) @ adjoint(self.spectrum.E)
        constants = self.spectrum.constants
        return W + like(float(constants.new_entries[0]) * constants.entries(slice(None)), W)

    def prediction_change(
        self, projected: ProjectedInputs, rows: np.ndarray, e: Array, alpha: float
    ) -> Array:
        """Return the change Σ_i w_i(x) e_i of g(x) if residuals e of `rows` are added to targets.

        w_i(x) is the weight of target i in g(x), and `projected` are the new inputs x.
        """
        b = self.b[:1] if self.equal_eigenvalues else self.b
        pull = b * self._gains(alpha, b) * (adjoint(self.spectrum.rows(rows)) @ e)
        change = self.spectrum.constants.change(projected.slots, rows, e)
        return projected.slots.join(projected.Z @ pull + change)

    # -- constants that occur in one group only ------------------------------------------------

    def unknown_constants(
        self, groups: np.ndarray, e: Array, alpha: float, rows: np.ndarray | None = None
    ) -> Array | float:
        """Return what is missing in left-out residuals where only the left-out group has constants.

        A model without the only group that has an output component has the value zero for its
        constant, and predicts there what the kernel shares with other components. The result is √w
        times the difference of the mean output and the mean of these predictions.

        Parameters
        ----------
        groups
            The label of the group of each row.
        e
            The left-out residuals, without that difference.
        alpha
            The ridge parameter.
        rows
            The rows of one group, to which e and the result belong; None for all rows.
        """
        if self.component_means is None:
            return 0.0
        positions = self.slots.positions
        rows = np.arange(len(positions)) if rows is None else rows
        alone = rows[self._is_alone(groups, rows)[positions[rows]]]
        if not len(alone):
            return 0.0
        levels = take(self.component_means, positions[alone]) - self._shared(
            groups, e, alpha, rows, alone
        )
        found = put(namespace(e).zeros_like(e), np.searchsorted(rows, alone), levels)
        return found if self.spectrum.roots is None else found * take(self.spectrum.roots, rows)

    def _is_alone(self, groups: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return for each component whether `rows` have it in one group that no other row is in."""
        positions, alone = self.slots.positions, np.ones(self.slots.width, dtype=bool)
        first = np.full(self.slots.width, -1)
        first[positions[::-1]] = groups[::-1]
        alone[positions[groups != first[positions]]] = False
        others = np.ones(len(positions), dtype=bool)
        others[rows] = False
        alone[positions[others]] = False
        return alone

    def _shared(
        self, groups: np.ndarray, e: Array, alpha: float, rows: np.ndarray, alone: np.ndarray
    ) -> Array | float:
        """Return the mean over each component of what its left-out models predict, at rows `alone`.

        Their dual coefficients are those of targets minus left-out residuals. The other arguments
        are those of `unknown_constants`.
        """
        K, roots, found = self.spectrum.kernel_rows(alone), self.spectrum.roots, []
        if K is None:
            return 0.0
        labels = groups[rows] if len(rows) == len(groups) else np.zeros(len(rows), dtype=int)
        of_alone = labels[np.searchsorted(rows, alone)]
        for label in np.unique(of_alone):
            own = np.flatnonzero(labels == label)
            change = adjoint(self.spectrum.rows(rows[own])) @ take(e, own)
            dual = self.spectrum.E @ (
                self.b * self._gains(alpha, self.b) * (self.projected - change)
            )
            dual = dual if roots is None else roots * dual
            at = np.flatnonzero(of_alone == label)
            found.append((at, take(K, at) @ dual))
        order = np.argsort(np.concatenate([at for at, _ in found]))
        values = take(concatenated([A for _, A in found]), order)
        positions = self.slots.positions[alone]
        w = np.ones(len(alone)) if roots is None else host(take(roots, alone))[:, 0] ** 2
        same = (positions[:, None] == positions) * w
        return like(same / same.sum(axis=1, keepdims=True), values) @ values


class LazyParts(Sequence[Part]):
    """A sequence of parts that are computed when accessed, and stored if `keep` is true."""

    def __init__(self, makers: Sequence[Callable[[], Part]], keep: bool):
        self.makers, self.keep = makers, keep
        self.made: dict[int, Part] = {}

    def __len__(self) -> int:
        return len(self.makers)

    def __getitem__(self, i: Any) -> Any:
        if i in self.made:
            return self.made[i]
        made = self.makers[i]()
        if self.keep:
            self.made[i] = made
        return made
