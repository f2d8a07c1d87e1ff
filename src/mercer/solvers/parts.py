"""A ridge problem in parts, from whose spectra all results are derived in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import log, pi
from typing import Any, ClassVar, final

import numpy as np

from .._base.arrays import (
    Array,
    Items,
    blocks,
    concatenated,
    count,
    namespace,
    put,
    sliced,
    take,
    take_columns,
)
from .._base.errors import NotSupported
from .._base.memory import ENTRIES
from .._base.threads import map_in_threads, one_thread_each
from ..embedding import Embedding, PointMap
from ..operators import OperatorKernel
from ..problem import Problem
from .factorization import Factorization, LeftOutModels, Solution
from .input_spectrum import FittedMap, ProjectedInputs
from .left_out import LeaveOneOut, noise_and_log_dets
from .outputs import Basis, OutputRows
from .part import LazyParts, Part
from .variances import UnitVariances
from .weights import DualWeights, LeastWeights, NoWeights


@final
@dataclass(eq=False)
class Parts(Factorization):
    """A factored ridge problem, from which solutions for any ridge parameter are derived.

    There is one `Part` for each set of output directions that share input eigenvectors E and
    eigenvalues s. Problems differ only in how their parts are computed.

    Parameters
    ----------
    problem
        The problem.
    kernel
        The fitted operator-valued kernel.
    output_rows
        The training outputs in coordinates, centred and weighted.
    parts
        The parts. A lazy sequence may compute them when they are accessed.
    basis
        The output directions of all parts, in output coordinates.
    join
        A function that combines the fitted maps of several parts into one; None for a single part.

    Notes
    -----
    With √w K √w = E diag(s) Eᵀ and B = Q diag(b) Qᵀ the ridge equation B W S_uu + αW = S_vu is
    diagonal: the dual coefficients along direction j are E (b_j s + α)⁻¹ Eᵀ (VQ)_j, and
    g(x) = B Σ_i k(x, x_i) c_i. Once factored, every further α costs a matrix product.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> found = model.fitted_.factorization
    >>> [len(list(found.left_out([alpha]))) for alpha in (0.1, 1.0)]
    [1, 1]
    >>> found.solve(0.1).points(X).coordinates.shape
    (3, 1)
    """

    problem: Problem
    kernel: OperatorKernel
    output_rows: OutputRows
    parts: Sequence[Part]
    basis: Basis = field(default_factory=Basis)
    join: Callable[[list[FittedMap]], FittedMap] | None = None
    has_closed_forms: ClassVar[bool] = True

    # -- parts and directions ----------------------------------------------------------------------

    def _parts_at(self, ridge: float | None) -> Iterator[Part]:
        """Yield the parts, factored for this ridge alone if that is faster; None for all ridges."""
        for part in self.parts:
            yield part if ridge is None else part.at_ridge(ridge)

    def _join_along_directions(self, arrays: list[Array]) -> Array:
        """Join one array per part (columns: its directions) into one over all directions."""
        return self.basis.to_real(self.basis.join(arrays))

    def _join_in_coordinates(self, arrays: list[Array]) -> Array:
        """Join one array per part (columns: its directions) and convert to output coordinates."""
        return self.basis.to_coordinates(self._join_along_directions(arrays))

    # -- solve ---------------------------------------------------------------------------------

    def solve(self, alpha: float) -> Solution:
        """Return the fitted map g for the ridge parameter `alpha`."""
        weights = training_weights(self.problem, self.output_rows, alpha)
        mean = self.output_rows.mean
        if self.join is None:
            (part,) = self.parts
            map, explained = part.spectrum.solve(part, alpha, self.basis.Q)
        else:
            map, explained = self.join([part.spectrum.solve(part, alpha) for part in self.parts])
        offset = None if mean is None else mean - explained
        return Solution(PointMap(map, offset, self.output_rows.frame, weights), self.kernel)

    # -- left out ------------------------------------------------------------------------------

    def residuals(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[Array]:
        """Yield outputs minus left-out predictions for each alpha, as arrays (n, directions).

        The parameters are those of `left_out`.
        """
        if averaged:
            yield from map(self._averaged_residuals, alphas)
            return
        for columns in zip(*self._residual_paths(alphas), strict=True):
            yield self.output_rows.unweighted(self._join_along_directions(list(columns)))

    def _residual_paths(self, ridges: Sequence[float]) -> list[Any]:
        """Return the left-out residuals of each part for all ridges, computed in parallel."""

        def work(i: int) -> Any:
            """Return the residuals of part i, one row per example."""
            part = self.parts[i]
            part = part.at_ridge(ridges[0]) if len(ridges) == 1 else part
            path = map(part.slots.join, self._left_out_errors(part, ridges))
            return path if len(self.parts) == 1 else list(path)

        if len(self.parts) == 1 or self.parts[0].foreign:
            return [work(i) for i in range(len(self.parts))]
        with one_thread_each():
            return map_in_threads(work, range(len(self.parts)))

    def _left_out_errors(self, part: Part, ridges: Sequence[float]) -> Iterator[Array]:
        """Yield the left-out residuals of all rows of one part for each ridge."""
        groups = part.group_labels(self.problem)
        path = LeaveOneOut(part, groups).path(ridges)
        if groups is None or part.component_means is None:
            return path
        return (
            E + part.unknown_constants(groups, E, ridge)
            for E, ridge in zip(path, ridges, strict=True)
        )

    def _averaged_residuals(self, ridge: float) -> Array:
        """Return the residuals over the mean of 1 - leverage (generalised cross-validation)."""
        residuals, degrees, entries = [], 0.0, 0
        for part in self._parts_at(ridge):
            R, rest = next(part.residual_path([ridge]))
            residuals.append(part.slots.join(R))
            size = part.multiplicity * R.shape[1] * part.counted_rows
            entries, degrees = entries + size, degrees + size * part.mean_residual_leverage(rest)
        E = self.output_rows.unweighted(self._join_along_directions(residuals))
        return E / (degrees / entries)

    # -- left-out models at new inputs ---------------------------------------------------------

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Yield the changes of the predictions at X when each example's group is left out.

        Each item is a slice of the inputs and an array (inputs, n, q) in output coordinates. The
        change for the group G of an example is Σ_{i∈G} w_i(x) e_i, with weights w and left-out
        residuals e. The model without G predicts g(x) minus this change.
        """
        n, parts = self.problem.n, list(self._parts_at(alpha))
        errors = [next(self._left_out_errors(part, [alpha])) for part in parts]
        labels = self.problem.left_out_labels
        group_numbers = np.unique(labels, return_inverse=True)[1].reshape(-1)
        for rows in blocks(count(X), max(1, ENTRIES // (n * self.output_rows.rows.shape[1]))):
            projected = [part.spectrum.project_inputs(sliced(X, rows)) for part in parts]
            changes = [
                self._changes_of_part(part, Z, e, alpha)
                for part, Z, e in zip(parts, projected, errors, strict=True)
            ]
            D = self._join_blocks_in_coordinates(changes)
            yield rows, take_columns(D, group_numbers)

    def weights_along(self, X: Items, alpha: float) -> list[Array]:
        """Return the weights of training outputs in g(x), an array (inputs, n) per direction."""
        found: list[Array] = []
        for part in self._parts_at(alpha):
            Z, number = part.spectrum.project_inputs(X).Z, part.shape[1]
            if part.equal_eigenvalues:
                found += [part.weights(Z, alpha, 0)] * number
            else:
                found += [part.weights(Z, alpha, j) for j in range(number)]
        order = self.basis.order
        return found if order is None else [found[j] for j in order]

    def _changes_of_part(
        self, part: Part, projected: ProjectedInputs, e: Array, alpha: float
    ) -> Array:
        """Return the changes of g(x) along the directions of one part when each group is left out.

        The shape is (inputs, groups, directions); e holds the left-out residuals, as in `moves`.
        """
        xp, labels = namespace(e), self.problem.left_out_labels
        if part.has_weights and self.problem.groups is None:
            directions = range(1 if part.equal_eigenvalues else e.shape[1])
            W = xp.stack([part.weights(projected.Z, alpha, j) for j in directions], axis=-1)
            return W * e[None, :, :]
        owners = labels[part.slots.owners]
        members = [np.flatnonzero(owners == label) for label in np.unique(labels)]
        return xp.stack(
            [part.prediction_change(projected, rows, take(e, rows), alpha) for rows in members],
            axis=1,
        )

    def _join_blocks_in_coordinates(self, arrays: list[Array]) -> Array:
        """Join arrays (inputs, groups, directions), one per part, and convert to coordinates."""
        xp, shape = namespace(arrays[0]), arrays[0].shape[:2]
        flat = [xp.reshape(A, (-1, A.shape[2])) for A in arrays]
        return xp.reshape(self._join_in_coordinates(flat), (*shape, -1))

    def without(self, alpha: float) -> LeftOutModels:
        """Return a function that predicts each input by the model without given training examples.

        The function takes inputs and one set of training examples per input. With smoother H and
        weights w(x) of g(x) on the training outputs T, the model without the set S predicts
        g(x) - w_S(x) (I - H_SS)⁻¹ (T - HT)_S: one small linear system for each distinct set.
        """
        parts, map = list(self._parts_at(alpha)), self.solve(alpha).points

        def points(X: Items, sets: Sequence[np.ndarray]) -> Embedding:
            """Return the predictions at X, each without its set of training examples."""
            G, some = map(X).coordinates, np.flatnonzero([len(examples) for examples in sets])
            if not len(some):
                return Embedding(G, map.frame)
            removed = self._join_in_coordinates(
                [self._removed_contributions(part, X, sets, some, alpha) for part in parts]
            )
            return Embedding(put(G + 0.0, some, take(G, some) - removed), map.frame)

        return points

    def _removed_contributions(
        self, part: Part, X: Items, sets: Sequence[np.ndarray], some: np.ndarray, alpha: float
    ) -> Array:
        """Return the contributions of left-out examples to the predictions at `some` inputs X."""
        projected = part.spectrum.project_inputs(X).select(some)
        found, order = [], []
        for examples, inputs in distinct_sets([sets[int(t)] for t in some]):
            rows = part.slots.of_items(examples)
            e = LeaveOneOut(part).solve_groups(None, [alpha], rows[None, :])[0, :, :]
            e = e + part.unknown_constants(part.slots.owners, e, alpha, rows)
            found.append(part.prediction_change(projected.select(inputs), rows, e, alpha))
            order.append(inputs)
        return take(concatenated(found), np.argsort(np.concatenate(order)))

    # -- the Gaussian process ------------------------------------------------------------------

    def variance(self, X: Items, alpha: float) -> Array:
        """Return the posterior variance of g at X along each output direction, for unit noise.

        Parts are processed one after the other, because together they may exceed the memory.
        """
        found = [part.spectrum.unit_variance(part.b, X, alpha) for part in self._parts_at(alpha)]
        return self.basis.per_direction(self.basis.join(found))

    def variance_function(self, alpha: float) -> UnitVariances:
        """Return a function of inputs that computes `variance` at this alpha and can be saved."""
        parts = list(self._parts_at(alpha))
        spectra, b = [part.spectrum.without_training_rows() for part in parts], [p.b for p in parts]
        return UnitVariances(spectra, b, alpha, self.basis)

    def noise(self, alpha: float) -> float:
        """Return the noise variance that maximises the evidence (REML with an intercept).

        A pair counts as often as its sample weight says.
        """
        misfit = number = 0.0
        for part in self._parts_at(alpha):
            misfit += part.multiplicity * part.misfit(alpha)
            number += part.multiplicity * self._free_rows(part) * part.shape[1]
        return misfit / number

    def _free_rows(self, part: Part) -> float:
        """Return the number of free rows of a part; refuse weights that count as too few rows."""
        if part.free_rows > 0:
            return part.free_rows
        raise NotSupported(
            f"variances and likelihoods count each pair as often as its sample_weight says, and "
            f"the weights sum to {self.problem.total:.3g}, too few to estimate the noise: multiply "
            "them by a constant, so that they count pairs."
        )

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """Return the noise variance of each output direction, estimated from left-out residuals."""
        if self.problem.gathered is not None:
            raise NotSupported('noise="left out" needs all pairs, and a stream keeps a sample.')
        found = []
        for part in self._parts_at(alpha):
            noise = noise_and_log_dets(part, self.problem, alpha)[0]
            found.append(np.tile(noise, part.slots.width)[None, :])
        return self.basis.noise_per_direction(self.basis.join(found)[0])

    def evidence(self, alpha: float) -> float:
        """Return the log evidence (log marginal likelihood) at the best noise variance.

        It is −½[N log(Σ c²/(bs + α)/N) + Σ log(bs + α)] with c = EᵀT the targets in the
        eigenbasis, s and b the eigenvalues of inputs and operator, and N the number of values; over
        n - 1 rows with an intercept. A pair counts as often as its sample weight says: Σw - n
        values more, whose eigenvalues are α.

        It is not supported for outputs without finite features, because their number of directions
        is arbitrary.
        """
        self._require_likelihood("evidence")
        misfit = log_dets = number = 0.0
        for part in self._parts_at(alpha):
            r, q = part.projected.shape
            misfit += part.multiplicity * part.misfit(alpha) / alpha
            # directions outside the span of the inputs have eigenvalue α
            rows = self._free_rows(part)
            log_det = part.spectrum.log_det(part.b, alpha) + (rows - r) * q * log(alpha)
            log_dets += part.multiplicity * log_det
            number += part.multiplicity * rows * q
        misfit = max(misfit / number, np.finfo(float).tiny)  # zero where outputs are constant
        return -0.5 * (number * log(misfit) + log_dets)

    def density(self, alpha: float) -> float:
        """Return the sum of the log densities of each training output given all others.

        With the smoother H and one noise variance σ_j² for each of finitely many directions, it is
        −½ Σ_j [n log(2πσ_j²) + n - Σ_g log det(I - H_gg)], where groups g are left out together.
        A pair counts as often as its sample weight says, and n is Σw.

        References
        ----------
        Rasmussen, Williams: Gaussian processes for machine learning (2006), section 5.4.2.
        """
        self._require_likelihood("density")
        if self.problem.gathered is not None:
            raise NotSupported(
                "the density of left-out outputs needs all pairs, and a stream keeps a sample."
            )
        total = 0.0
        for part in self._parts_at(alpha):
            noise, logs = noise_and_log_dets(part, self.problem, alpha)
            n, noise = part.counted_rows, np.maximum(noise, np.finfo(float).tiny)
            density = -0.5 * float((n * (np.log(noise) + log(2 * pi) + 1.0) - logs).sum())
            total += part.multiplicity * density
        return total

    # -- properties ----------------------------------------------------------------------------

    @property
    def coupled(self) -> bool:  # type: ignore[override]
        """Whether directions have no weights on examples of their own."""
        return self.basis.couples or not self.parts[0].has_weights

    @property
    def scale(self) -> float:
        """The unit of relative ridge parameters, (tr K_x / n) · tr(B S_vv) / tr S_vv.

        K_x is the input Gram matrix, B the operator and S_vv the covariance of the outputs.
        """
        scaled = lengths_sum = 0.0
        for part in self.parts:
            level = part.spectrum.mean_diagonal
            xp, lengths = namespace(part.b), part.sqlengths
            scaled += part.multiplicity * level * float(xp.sum(part.b * lengths))
            lengths_sum += part.multiplicity * float(xp.sum(lengths))
        return scaled / lengths_sum if scaled > 0 and lengths_sum > 0 else 1.0

    @property
    def nbytes(self) -> float:
        """The size in bytes of eigenvectors and outputs, 8 (n² + nq) for an exact fit."""
        parts = self.parts.made.values() if isinstance(self.parts, LazyParts) else self.parts
        n, q = self.output_rows.rows.shape
        return 8.0 * int(n) * int(q) + sum(part.spectrum.nbytes for part in parts)


def distinct_sets(sets: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each distinct set of examples with the positions where it occurs in `sets`."""
    positions: dict[bytes, list[int]] = {}
    for t, examples in enumerate(sets):
        positions.setdefault(np.asarray(examples, dtype=np.intp).tobytes(), []).append(t)
    for key, rows in positions.items():
        yield np.frombuffer(key, dtype=np.intp), np.array(rows)


def training_weights(problem: Problem, output_rows: OutputRows, alpha: float) -> Any:
    """Return the object that computes the weights of predictions on the training outputs."""
    if problem.gathered is not None:
        return NoWeights()
    exact = problem.inputs.features is None
    if problem.kernel.separable and exact and problem.kernel.operator.uniform:
        return DualWeights.of(problem, alpha)
    return LeastWeights(output_rows.frame, problem.outputs.items, problem.weights)
