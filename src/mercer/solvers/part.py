"""Linear smoothers of output directions that share one input spectrum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.arrays import Array, blocks, host, is_foreign, like, namespace, put, take
from .._base.linalg import adjoint, congruences, exceeds_rounding, unit_columns
from .._base.memory import ENTRIES
from ..operators.slots import Slots
from ..problem import Problem
from .exact_spectrum import REFINED
from .input_spectrum import InputSpectrum, ProjectedInputs

CANCELLED_FRACTION = 1e-6
"""Differences of ones below this have lost digits that a projection keeps."""


@dataclass(eq=False)
class Part:
    """The linear smoother of a set of output directions that share one input spectrum.

    H_j = E diag(s b_j / (s b_j + α)) Eᵀ + NNᵀ for each output direction j.

    Parameters
    ----------
    spectrum
        E, s and N: the inputs, factored.
    b
        The eigenvalues of the operator, one per direction.
    targets
        T: outputs in the eigenbasis of the operator, rows times the roots of their weights, means
        subtracted if there is an intercept; or a function that returns them. None for outputs
        without coordinates, whose targets are the rows of (I - NNᵀ) √w.
    known_projection
        EᵀT, or a function that returns it, where it is known otherwise; of a sample of a stream it
        comes from the moments of all pairs.
    columns
        Which directions of all outputs these are; None for all.
    stream_totals
        Of a sample of a stream, the number of all pairs and their squared lengths along each
        direction; None where the rows are those of all pairs.
    component_means
        With slots and an intercept, the mean output of each component, (width, directions).
    multiplicity
        How many real directions each column stands for: 2 for a complex Fourier mode.

    Notes
    -----
    With d_pj = α / (s_p b_j + α) the residuals and one minus the leverages are

        R = (T - EEᵀT) + E [(EᵀT) ∘ d],    1 - H_ij = (1 - N_i² - Σ_p E_ip²) + Σ_p E_ip² d_pj.

    Where E and N are a complete basis both brackets are zero and are left out.
    """

    spectrum: InputSpectrum
    b: Array
    targets: Array | Callable[[], Array] | None
    known_projection: Array | Callable[[], Array] | None = None
    columns: np.ndarray | None = None
    stream_totals: tuple[float, Array] | None = None
    component_means: Array | None = None
    multiplicity: int = 1
    _at_ridge: dict[float, Part] = field(default_factory=dict, init=False, repr=False)

    def at_ridge(self, alpha: float) -> Part:
        """Return a copy whose inputs are factored for one alpha, if that is faster."""
        if alpha not in self._at_ridge:
            made = (
                self.spectrum.at_ridge(self.b, alpha) if self.equal_eigenvalues else self.spectrum
            )
            same = made is self.spectrum
            self._at_ridge = {
                alpha: self if same else replace(self, spectrum=made, known_projection=None)
            }
        return self._at_ridge[alpha]

    # -- outputs -------------------------------------------------------------------------------

    @cached_property
    def T(self) -> Array:
        """The targets: outputs along the directions, weighted and centred, one row per example."""
        if self.targets is None:
            return self.target_rows(np.arange(self.spectrum.size))
        return self.targets() if callable(self.targets) else self.targets

    def target_rows(self, own: np.ndarray) -> Array:
        """Return the rows `own` of the targets T."""
        if self.targets is not None:
            return take(self.T, own)
        unit = unit_columns(self.spectrum.size, own, self.spectrum.E)
        return self._to_outputs(adjoint(self._project_out(unit, False)))

    def _to_outputs(self, A: Array) -> Array:
        """Multiply the columns of A, one per example, by the square roots of the sample weights."""
        roots = self.spectrum.roots
        return A if roots is None else A * adjoint(roots)

    @cached_property
    def projected(self) -> Array:
        """The targets in the input eigenbasis, EᵀT."""
        if self.known_projection is not None:
            return (
                self.known_projection()
                if callable(self.known_projection)
                else self.known_projection
            )
        if self.targets is None:
            return self._to_outputs(adjoint(self.spectrum.E))
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
    def slots(self) -> Slots | None:
        """The example and the output component of each row; None for one row per example."""
        return self.spectrum.slots

    @cached_property
    def sqlengths(self) -> Array:
        """The sum of squared outputs along each direction."""
        if self.stream_totals is not None:
            return self.stream_totals[1]
        return namespace(self.T).sum(abs(self.T) ** 2, axis=0)

    @property
    def free_rows(self) -> float:
        """The number of training rows minus the number of fitted constants."""
        rows = self.shape[0] if self.stream_totals is None else self.stream_totals[0]
        return rows - self.spectrum.constant_count

    def group_labels(self, problem: Problem) -> np.ndarray | None:
        """Return the group label of each row; None where each row is left out alone."""
        if self.slots is None:
            return problem.groups
        return problem.left_out_labels[self.slots.owners]

    def rows_of_examples(self, examples: np.ndarray) -> np.ndarray:
        """Return the row numbers that belong to the given examples."""
        return examples if self.slots is None else self.slots.of_items(examples)

    def by_example(self, A: Array) -> Array:
        """Reshape values A of the rows to one row per example."""
        return A if self.slots is None else self.slots.join(A)

    def sum_log_weights(self, weights: np.ndarray | None) -> float:
        """Return the sum of the logarithms of the sample weights over all rows."""
        if weights is None:
            return 0.0
        return float(np.log(weights if self.slots is None else weights[self.slots.owners]).sum())

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
        """Return s_p b_j, input times operator eigenvalues; one column if all b_j are equal."""
        return (
            self.spectrum.s[:, None] * (self.b[:1] if self.equal_eigenvalues else self.b)[None, :]
        )

    def shrinkage(self, alpha: float) -> Array:
        """Return α / (s_p b_j + α), the unfitted fraction of eigenvector p in direction j."""
        return alpha / (self._eigenvalues() + alpha)

    def _residual_factors(self, alpha: float) -> Array:
        """Return the factors d of the eigenvectors E in I - H = C + E diag(d) Eᵀ.

        C = I - EEᵀ - NNᵀ for an orthonormal basis E; for a sample of rows C = I - NNᵀ.

        The rows of a sample are not orthonormal: their own products must not be subtracted.
        """
        if self.spectrum.complete or self.spectrum.orthonormal:
            return self.shrinkage(alpha)
        eigenvalues = self._eigenvalues()
        return -eigenvalues / (eigenvalues + alpha)

    def smooth(self, T: Array, alpha: float) -> Array:
        """Return the fitted values H T of other targets T, with H the smoother at `alpha`."""
        E, eigenvalues = self.spectrum.E, self._eigenvalues()
        fitted = E @ ((adjoint(E) @ T) * (eigenvalues / (eigenvalues + alpha)))
        N = self.spectrum.N
        return fitted if N is None else fitted + N @ (adjoint(N) @ T)

    def coefficients(self, alpha: float, Q: Array | None = None) -> Array:
        """Return coefficients D, with which g(x) = z(x) D for projected inputs z(x).

        D_pj = b_j (EᵀT)_pj / (b_j s_p + α) for eigenvector p and direction j; D Qᵀ if Q is given.

        At ridges so small that the rounding of E and s shows, though not lost in it, one step of
        iterative refinement with the Gram matrix itself makes up for it.
        """
        s, b = self.spectrum.s, self.b[None, :]
        D = s[:, None] * b
        refined = (
            self.spectrum.has_gram and 0 not in D.shape
        )  # one pair under an intercept has no row
        largest = float(namespace(D).max(D)) if refined else 0.0
        small = alpha < REFINED * largest and exceeds_rounding(alpha, int(s.shape[0]), largest)
        D = D + alpha
        C = self.projected / D
        if small:
            E = self.spectrum.E
            dual = E @ C
            rest = self.T - self.spectrum.gram_times(dual) * b - alpha * dual
            C = C + (adjoint(E) @ rest) / D
        C = C * b
        return C if Q is None else C @ adjoint(Q)

    def misfit(self, alpha: float) -> float:
        """Return ⟨T, (I - H) T⟩, the minimum of the ridge objective for the targets T.

        It is α Σ (EᵀT)² / (s b + α), plus the squared length of T outside the basis.
        """
        xp, eigenvalues = namespace(self.b), self._eigenvalues()
        squares = abs(self.projected) ** 2
        if not (self.spectrum.complete or self.spectrum.orthonormal):
            explained = float(xp.sum(squares * (eigenvalues / (eigenvalues + alpha))))
            return max(0.0, float(xp.sum(self.sqlengths)) - explained)
        unfitted = 0.0 if self.spectrum.complete else float(xp.sum(self.unfitted**2))
        return float(xp.sum(squares * (alpha / (eigenvalues + alpha)))) + unfitted

    # -- what the basis misses -----------------------------------------------------------------

    @cached_property
    def unfitted(self) -> Array | float:
        """The targets T minus their projection on E and N; T itself if E is not orthonormal."""
        if self.spectrum.complete:
            return 0.0
        if self.targets is None:
            return self._unfitted_rows(np.arange(self.spectrum.size))
        if not self.spectrum.orthonormal:
            return self.T
        rest, E = self.T - self.spectrum.E @ self.projected, self.spectrum.E
        return rest - E @ (adjoint(E) @ rest)  # what cancelled the first time

    def _unfitted_rows(self, own: np.ndarray) -> Array | float:
        """Return the rows `own` of `unfitted`."""
        if self.targets is None and not self.spectrum.complete:
            if not self.spectrum.orthonormal:
                return self.target_rows(own)
            return self._to_outputs(adjoint(self.complement_columns(own)))
        return self.unfitted if self.spectrum.complete else take(self.unfitted, own)

    @cached_property
    def squared_basis(self) -> Array:
        """The entrywise squares |E|² of the input eigenvectors."""
        E = self.spectrum.E
        return E * E if not namespace(E).isdtype(E.dtype, "complex floating") else abs(E) ** 2

    @cached_property
    def complement_diagonal(self) -> Array | float:
        """The diagonal of I - NNᵀ - EEᵀ as a column; of I - NNᵀ if E is not orthonormal."""
        if self.spectrum.complete:
            return 0.0
        xp = namespace(self.squared_basis)
        rest = 1.0 + 0.0 * xp.sum(self.squared_basis, axis=1)
        rest = rest - self.spectrum.squared_constants(slice(None))
        if not self.spectrum.orthonormal:
            return rest[:, None]
        rest = rest - xp.sum(self.squared_basis, axis=1)
        lost = np.flatnonzero(host(rest < CANCELLED_FRACTION))
        if len(lost):
            rest = put(
                rest[:, None], lost, xp.sum(self.complement_columns(lost) ** 2, axis=0)[:, None]
            )[:, 0]
        return xp.where(rest > 0, rest, xp.zeros_like(rest))[:, None]

    def complement_columns(self, rows: np.ndarray) -> Array:
        """Return the columns `rows` of I - EEᵀ - NNᵀ, the projector on what E and N do not span."""
        return self._project_out(unit_columns(self.spectrum.size, rows, self.spectrum.E), True)

    def _project_out(self, A: Array, spanned: bool) -> Array:
        """Return A minus its projection on the constants N, and on E if `spanned`."""
        for basis in ((self.spectrum.E if spanned else None), self.spectrum.N) * 2:
            A = A if basis is None else A - basis @ (adjoint(basis) @ A)
        return A

    # -- residuals and leverages ---------------------------------------------------------------

    def residual_path(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """Yield the residuals T - HT and the diagonal of I - H for each alpha.

        Those of many ridges are one product where directions shrink alike.
        """
        if not self.spectrum.in_memory:
            yield from self._residual_path_in_blocks(alphas)
            return
        E, xp, (n, q) = self.spectrum.E, namespace(self.b), self.shape
        together = max(1, ENTRIES // max(1, n * q)) if self.equal_eigenvalues else 1
        for some in blocks(len(alphas), together):
            D = [self._residual_factors(alpha) for alpha in alphas[some]]
            R = E @ xp.concat([self.projected * d for d in D], axis=1)
            rest = self.squared_basis @ xp.concat(D, axis=1) + self.complement_diagonal
            width = D[0].shape[1]
            for i in range(len(D)):
                own = R[:, i * q : (i + 1) * q] + self.unfitted
                yield own, rest[:, i * width : (i + 1) * width]

    def _residual_path_in_blocks(self, alphas: Sequence[float]) -> Iterator[tuple[Array, Array]]:
        """Yield what `residual_path` yields, with rows of E computed in blocks."""
        D, T, xp = [self._residual_factors(alpha) for alpha in alphas], self.T, namespace(self.T)
        found: list[list[tuple[Array, Array]]] = [[] for _ in alphas]
        for rows in blocks(T.shape[0], max(1, ENTRIES // max(1, self.spectrum.s.shape[0]))):
            E = self.spectrum.rows(np.arange(rows.start, rows.stop))
            free = 1.0 + 0.0 * xp.sum(E, axis=1) - self.spectrum.squared_constants(rows)
            for own, d in zip(found, D, strict=True):
                own.append((T[rows, :] + E @ (self.projected * d), free[:, None] + (E * E) @ d))
        for own in found:
            residuals, rests = zip(*own, strict=True)
            yield xp.concat(residuals), xp.concat(rests)

    def residual_leverages(self, alpha: float) -> Array:
        """Return one minus the leverages, the diagonal of I - H, (n, 1) or (n, directions)."""
        return self.squared_basis @ self._residual_factors(alpha) + self.complement_diagonal

    def residual_rows(self, own: np.ndarray, alphas: Sequence[float], E: Array) -> list[Array]:
        """Return the rows `own` of the residuals T - HT for each alpha, given those rows of E."""
        outside = self._unfitted_rows(own)
        return [E @ (self.projected * self._residual_factors(alpha)) + outside for alpha in alphas]

    def residual_blocks(self, alphas: Sequence[float], members: np.ndarray, E: Array) -> Array:
        """Return the diagonal blocks of I - H of groups, (groups, alphas, directions, size, size).

        H is the hat matrix, `members` are the training rows of each group, (groups, size), and E
        holds these rows of the basis. There is one direction if all have the same eigenvalue.
        """
        xp, (groups, size) = namespace(self.b), members.shape
        d = xp.concat([self._residual_factors(alpha) for alpha in alphas], axis=1)
        E = xp.reshape(E, (groups, size, -1))
        H = xp.reshape(congruences(E, d), (groups, len(alphas), -1, size, size))
        extra = self.complement_blocks(E, members)
        return H if extra is None else H + extra[:, None, None, :, :]

    def complement_blocks(self, E: Array, members: np.ndarray) -> Array | None:
        """Return the blocks over groups of I - H without its term E diag(d) Eᵀ; None if zero.

        A constant whose rows are all in the group cannot be fitted without the group.
        """
        constants = self.spectrum.constant_blocks(members)
        if self.spectrum.complete:
            return None if constants is None else constants[1]
        rest = self._orthogonal_blocks(E, members, constants)
        return rest if constants is None else rest + constants[1]

    def _orthogonal_blocks(
        self, E: Array, members: np.ndarray, constants: tuple[Array, Array] | None
    ) -> Array:
        """Return the blocks over groups of I - NNᵀ - EEᵀ, given the rows E of the basis."""
        xp = namespace(E)
        rest = like(np.tile(np.eye(members.shape[1]), (len(members), 1, 1)), E)
        if constants is not None:
            rest = rest - constants[0]
        if not self.spectrum.orthonormal:
            return rest
        rest = rest - E @ adjoint(E)
        smallest = host(xp.min(xp.linalg.diagonal(rest), axis=-1))
        for g in np.flatnonzero(smallest < CANCELLED_FRACTION):
            own = self.complement_columns(members[g])
            rest[int(g), :, :] = adjoint(own) @ own
        return rest

    # -- left-out models at new inputs ---------------------------------------------------------

    def weights(
        self, Z: Array, alpha: float, direction: int, rows: np.ndarray | None = None
    ) -> Array:
        """Return the weights of the targets (or of some rows) in g_j(x), with j = `direction`.

        Z are the projected inputs z(x), one row each.
        """
        b = self.b[direction]
        E = self.spectrum.E if rows is None else take(self.spectrum.E, rows)
        W = (Z * (b / (self.spectrum.s * b + alpha))) @ adjoint(E)
        N = self.spectrum.N
        if N is None:
            return W
        N = N if rows is None else take(N, rows)
        return W + self.spectrum.new_constant_entry * N[:, 0]

    def prediction_change(
        self, at: ProjectedInputs, own: np.ndarray, e: Array, alpha: float
    ) -> Array:
        """Return Σ_i w_i(x) e_i over the rows i in `own`, the change of g(x) due to residuals e.

        w_i(x) is the weight of target i in g(x).
        """
        b = self.b[:1] if self.equal_eigenvalues else self.b
        pull = (b / (self.spectrum.s[:, None] * b + alpha)) * (adjoint(self.spectrum.rows(own)) @ e)
        return at.by_input(at.Z @ pull + self.spectrum.intercept_change(at, own, e))

    # -- constants that only one group knows ---------------------------------------------------

    def unknown_constants(self, groups: np.ndarray, own: np.ndarray | None = None) -> Array | float:
        """Return √w times the constants of output components that occur in one group only.

        A model without that group has zero for such a constant. With `own`, the rows of one group,
        the result is for these rows only.
        """
        if self.component_means is None or self.slots is None:
            return 0.0
        places, known = self.slots.places, np.zeros(self.slots.width, dtype=bool)
        if own is None:
            own, first = np.arange(len(places)), np.full(self.slots.width, -1)
            first[places[::-1]] = groups[::-1]
            known[places[groups != first[places]]] = True
        else:
            known[np.delete(places, own)] = True
        if known[places[own]].all():
            return 0.0
        found = take(
            self.component_means * like(~known[:, None], self.component_means), places[own]
        )
        return found if self.spectrum.roots is None else found * take(self.spectrum.roots, own)


class LazyParts(Sequence[Part]):
    """Parts that are computed when they are accessed, and kept if `keep` is true."""

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
