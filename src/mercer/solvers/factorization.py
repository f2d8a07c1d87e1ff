"""A ridge problem, factored once: everything that is derived from it, for every ridge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import log
from typing import Any, ClassVar, final

import numpy as np

from .._base.arrays import Array, Items, blocks, count, like, namespace, take, take_columns
from .._base.arrays import part as part_of
from .._base.errors import NotSupported
from .._base.memory import ENTRIES, array_bytes
from .._base.threads import map_in_threads, one_thread_each
from ..embedding import Embedding, PointMap
from ..losses import Loss
from ..operators import OperatorKernel
from ..problem import Problem
from .input_spectrum import FittedMap, ProjectedInputs
from .left_out import (
    LeaveOneOut,
    left_out_noise_variances,
    residuals_and_trace,
    summed_log_density,
)
from .outputs import Basis, OutputRows, join_in_order
from .part import Part
from .spanned import SpanMoments
from .variances import UnitVariances
from .weights import DualWeights, LeastWeights, NoWeights

LeftOutModels = Callable[[Items, Sequence[np.ndarray]], Embedding]
"""From inputs, and the training examples that each of them leaves out, to points."""


@dataclass(frozen=True)
class Solution:
    """The fitted map g for one ridge parameter, with the fitted kernel and loss.

    Attributes
    ----------
    points
        The map from inputs to points of the output feature space.
    kernel
        The operator-valued kernel, fitted.
    loss
        The loss with its threshold fitted; None for the square.
    n_iter, residual
        Rounds of conjugate gradients and the relative residual that they left; None where the
        equation was solved directly.
    """

    points: PointMap
    kernel: OperatorKernel
    loss: Loss | None = None
    n_iter: int | None = None
    residual: float | None = None


@dataclass(frozen=True)
class LeftOut:
    """Left-out predictions of all training examples for one ridge parameter.

    Attributes
    ----------
    alpha
        The ridge.
    sqlengths
        ‖Φ(y_i) - prediction‖², one per example.
    embed
        A function that returns the predicted points.
    """

    alpha: float
    sqlengths: Array
    embed: Callable[[], Embedding] = field(repr=False)

    def risk(self, weights: np.ndarray | None = None) -> float:
        """Return the (weighted) mean of the squared left-out errors."""
        xp = namespace(self.sqlengths)
        if weights is None:
            return float(xp.mean(self.sqlengths))
        return float(like(weights / weights.sum(), self.sqlengths) @ self.sqlengths)


class SolutionMethod:
    """Base class of solution methods without parts: conjugate gradients and refits."""

    leaves_out: ClassVar[bool] = False
    """Whether `residuals` gives left-out predictions."""
    folds: np.ndarray | None = None
    """The fold of each example, where left-out predictions leave folds out."""

    def solution(self, alpha: float) -> Solution | None:
        """Return the fitted map g for `alpha`; None if the parts must be used instead."""
        raise NotImplementedError

    def residuals(self, alphas: Sequence[float]) -> Iterator[Array] | None:
        """Yield the outputs minus left-out predictions for each alpha; None if not available."""
        return None

    def scale(self) -> float:
        """Return the value of alpha that counts as 1 when ridge parameters are relative."""
        raise NotImplementedError


@final
@dataclass(eq=False)
class Factorization:
    """A factored ridge problem, from which solutions for any ridge parameter are derived.

    The smoother falls apart into parts of output directions, one `Part` for each set of directions
    that share E and s. What differs between problems is how the parts are built.

    Parameters
    ----------
    problem
        The problem.
    kernel
        The operator-valued kernel, fitted.
    output_rows
        The outputs in coordinates.
    parts
        The parts, which may be made when they are iterated over.
    basis
        The directions in output coordinates.
    join
        How the maps of several parts become one; None for a single part.
    images
        The problem with the images of all pairs as further pairs, where there are symmetries.
    copies
        How many images each pair has, the pair itself included. The loss over all images of a pair
        is as many times that of the pair, for a map that keeps the symmetry: the ridge is
        multiplied by that number, so that it means the same.
    method
        How a problem without parts is solved.

    Notes
    -----
    With √w K √w = E diag(s) Eᵀ and B = Q diag(b) Qᵀ the ridge equation B W S_uu + αW = S_vu is
    diagonal: the dual coefficients along direction j are E (b_j s + α)⁻¹ Eᵀ (VQ)_j, and
    g(x) = B Σ_i k(x, x_i) c_i. Once factored, every further α costs a matrix product.

    References
    ----------
    Proposition 1 of Kadri et al. (2013) states the same solution by an n² × n² inverse.
    """

    problem: Problem
    kernel: OperatorKernel
    output_rows: OutputRows
    parts: Sequence[Part]
    basis: Basis = field(default_factory=Basis)
    join: Callable[[list[FittedMap]], FittedMap] | None = None
    images: Problem | None = None
    copies: int = 1
    method: SolutionMethod | None = None

    # -- what the parts are of -----------------------------------------------------------------

    @property
    def augmented(self) -> Problem:
        """The problem with all symmetric images as examples; the problem if there are none."""
        return self.problem if self.images is None else self.images

    def _parts_at(self, alphas: Sequence[float]) -> Iterator[Part]:
        """Yield the parts; if there is only one alpha, factored for it where that is faster."""
        if not len(self.parts):
            raise NotSupported(
                f"{self.problem.kernel} has no closed form for left-out models, variances and "
                "likelihoods: conjugate gradients, refits and streamed operator features give the "
                "solution alone."
            )
        for part in self.parts:
            yield part.at_ridge(alphas[0]) if len(alphas) == 1 else part

    @cached_property
    def direction_order(self) -> np.ndarray | None:
        """The column of each output direction in the joined parts; None if already in order."""
        columns = [part.columns for part in self.parts if part.columns is not None]
        return np.argsort(np.concatenate(columns)) if columns else None

    @property
    def Q(self) -> Array | None:
        """The output directions as columns in output coordinates; None for the coordinate axes."""
        return self.basis.Q

    def to_directions(self, V: Array) -> Array:
        """Return V Q, output coordinates V converted to values along the output directions Q."""
        return V if self.Q is None else V @ self.Q

    def _join_along_directions(self, found: list[Array]) -> Array:
        """Join one array per part (columns: its directions) into one over all output directions."""
        return self.basis.to_real(join_in_order(found, self.direction_order))

    def _join_in_coordinates(self, found: list[Array]) -> Array:
        """Join one array per part (columns: its directions) and convert to output coordinates."""
        return self.basis.to_coordinates(self._join_along_directions(found))

    # -- solve ---------------------------------------------------------------------------------

    def solve(self, alpha: float) -> Solution:
        """Return the fitted map g for the ridge parameter `alpha`."""
        solution = None if self.method is None else self.method.solution(alpha)
        if solution is not None:
            return solution
        ridge, mean, weights = self.copies * alpha, self.output_rows.mean, self._weights(alpha)
        if (
            self.output_rows.rows is None
            and isinstance(weights, DualWeights)
            and weights.is_accurate
        ):
            return Solution(PointMap(weights, None, self.output_rows.frame, weights), self.kernel)
        if self.join is None:
            (part,) = self.parts
            map, explained = part.spectrum.solve(part, ridge, self.basis.Q)
        else:
            map, explained = self.join([part.spectrum.solve(part, ridge) for part in self.parts])
        offset = None if mean is None else mean - explained
        return Solution(PointMap(map, offset, self.output_rows.frame, weights), self.kernel)

    def _weights(self, alpha: float) -> Any:
        """Return the object that writes predictions as weights on the training outputs."""
        problem = self.augmented
        if problem.gathered is not None:
            return NoWeights()
        plain = problem.kernel.separable and not (problem.loss or problem.inputs.features)
        if plain and problem.kernel.operator.uniform:
            return DualWeights.of(problem, self.copies * alpha)
        return LeastWeights(self.output_rows.frame, problem.outputs.items)

    # -- left out ------------------------------------------------------------------------------

    def left_out(
        self, alphas: Sequence[float], averaged: bool = False, shared: bool = False
    ) -> Iterator[LeftOut]:
        """Yield the left-out predictions of all training examples for each ridge parameter.

        Parameters
        ----------
        alphas
            The ridges.
        averaged
            Whether leverages are replaced by their mean, as in generalised cross-validation.
        shared
            Whether even a single ridge is judged by the spectra that all ridges share, which may
            be of a lower rank.
        """
        if self.output_rows.rows is None:
            yield from self._spanned_left_out(alphas, averaged)
            return
        for alpha, E in zip(alphas, self.residuals(alphas, averaged, shared), strict=True):
            lengths = namespace(E).sum(E * E, axis=1)
            yield LeftOut(alpha, lengths, partial(self._left_out_points, E))

    def residuals(
        self, alphas: Sequence[float], averaged: bool = False, shared: bool = False
    ) -> Iterator[Array]:
        """Yield the outputs minus left-out predictions for each alpha, (n, directions)."""
        if self.method is not None and not self.parts:
            found = self.method.residuals(alphas)
            if found is None:
                raise NotSupported(f"{self.problem.kernel} solved so has no left-out predictions.")
            yield from found
            return
        ridges = [self.copies * alpha for alpha in alphas]
        if averaged:
            yield from map(self._averaged_residuals, ridges)
            return
        for columns in zip(*self._residual_paths(ridges, shared), strict=True):
            E = self.output_rows.unweighted(self._join_along_directions(list(columns)))
            yield E[: self.problem.n, :]

    def _residual_paths(self, ridges: Sequence[float], shared: bool) -> list[Any]:
        """Return the left-out residuals of each part for all ridges, computed in parallel."""

        def work(i: int) -> Any:
            return self._residual_path(self.parts[i], ridges, shared)

        if len(self.parts) == 1 or self.parts[0].foreign:
            return [work(i) for i in range(len(self.parts))]
        with one_thread_each():
            return map_in_threads(work, range(len(self.parts)))

    def _residual_path(self, part: Part, ridges: Sequence[float], shared: bool) -> Any:
        """Return the left-out residuals of one part for each ridge, one row per example."""
        part = part.at_ridge(ridges[0]) if len(ridges) == 1 and not shared else part
        path = map(part.by_example, self._left_out_errors(part, ridges))
        return path if len(self.parts) == 1 else list(path)

    def _left_out_errors(self, part: Part, ridges: Sequence[float]) -> Iterator[Array]:
        """Yield the left-out residuals of one part for each ridge, one row per row of the part."""
        groups = part.group_labels(self.augmented)
        path = LeaveOneOut(part, groups).path(ridges)
        if groups is None or part.slots is None:
            return path
        unknown = part.unknown_constants(groups)
        return (E + unknown for E in path)

    def _averaged_residuals(self, ridge: float) -> Array:
        """Return the residuals over their mean of 1 - leverage (generalised cross-validation)."""
        joined, rest, cells = [], 0.0, 0.0
        for part in self._parts_at([ridge]):
            R, own = residuals_and_trace(part, ridge)
            joined.append(part.by_example(R))
            rest += part.multiplicity * float(own.sum())
            cells += part.multiplicity * R.shape[0] * R.shape[1]
        E = self.output_rows.unweighted(self._join_along_directions(joined)) / (rest / cells)
        return E[: self.problem.n, :]

    def _left_out_points(self, E: Array) -> Embedding:
        """Return the left-out predictions as points, given residuals E along the directions."""
        V = self.output_rows.coordinates[: self.problem.n, :]
        points = self.output_rows.points(V - self.basis.to_coordinates(E), self.problem)
        if self.method is None or self.method.folds is None:
            return points
        return Embedding(points.coordinates, points.frame, self.method.folds, points.inputs)

    def _spanned_left_out(self, alphas: Sequence[float], averaged: bool) -> Iterator[LeftOut]:
        """Yield the left-out predictions for each alpha if the outputs have no coordinates.

        Lengths come from moments, and points are weights on the training outputs.
        """
        (part,) = self._parts_at(alphas)
        moments = SpanMoments(part, self.problem)
        for alpha in alphas:
            yield LeftOut(alpha, moments.sqlengths(alpha, averaged), partial(moments.points, alpha))

    # -- left-out models at new inputs ---------------------------------------------------------

    def moves(self, X: Items, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Yield by how much leaving out each example's group changes the predictions at X.

        Each item is a slice of the inputs and an array (inputs, n, q) in output coordinates. For
        the group G of each example it is Σ_{i∈G} w_i(x) e_i, with weights w and left-out residuals
        e. The model without G predicts g(x) minus that.
        """
        ridge, n = self.copies * alpha, self.problem.n
        self._require_coordinates("left-out models at new inputs")
        parts = list(self._parts_at([ridge]))
        errors = [next(self._left_out_errors(part, [ridge])) for part in parts]
        labels = self.augmented.left_out_labels
        number = np.unique(labels, return_inverse=True)[1].reshape(-1)[:n]
        for rows in blocks(count(X), max(1, ENTRIES // (n * self.output_rows.rows.shape[1]))):
            at = [part.spectrum.project_inputs(part_of(X, rows)) for part in parts]
            found = [
                self._changes_of_part(part, one, e, ridge)
                for part, one, e in zip(parts, at, errors, strict=True)
            ]
            D = self._join_blocks_in_coordinates(found)
            yield rows, take_columns(D, number)

    def weights_along(self, X: Items, alpha: float) -> list[Array]:
        """Return one array (inputs, n) per direction: the weights of training outputs in g(x)."""
        found: dict[int, Array] = {}
        for part in self._parts_at([alpha]):
            own = np.arange(part.b.shape[0]) if part.columns is None else part.columns
            Z = part.spectrum.project_inputs(X).Z
            alike = part.weights(Z, alpha, 0) if part.equal_eigenvalues else None
            for j, column in enumerate(own):
                found[int(column)] = part.weights(Z, alpha, j) if alike is None else alike
        return [found[j] for j in range(len(found))]

    def _changes_of_part(self, part: Part, at: ProjectedInputs, e: Array, ridge: float) -> Array:
        """Return how leaving out each group changes g(x) along the directions of one part.

        The shape is (inputs, groups, directions); e are the left-out residuals (see `moves`).
        """
        xp, labels = namespace(e), self.augmented.left_out_labels
        if part.slots is None and self.augmented.groups is None:
            directions = range(1 if part.equal_eigenvalues else e.shape[1])
            W = xp.stack([part.weights(at.Z, ridge, j) for j in directions], axis=-1)
            return W * e[None, :, :]
        owners = labels if part.slots is None else labels[part.slots.owners]
        members = [np.flatnonzero(owners == label) for label in np.unique(labels)]
        return xp.stack(
            [part.prediction_change(at, own, take(e, own), ridge) for own in members], axis=1
        )

    def _join_blocks_in_coordinates(self, found: list[Array]) -> Array:
        """Join arrays (inputs, groups, directions), one per part, and convert to coordinates."""
        xp, shape = namespace(found[0]), found[0].shape[:2]
        flat = [xp.reshape(A, (-1, A.shape[2])) for A in found]
        return xp.reshape(self._join_in_coordinates(flat), (*shape, -1))

    def without(self, alpha: float) -> LeftOutModels:
        """Return a function that predicts each input without its own set of training examples.

        With H the smoother, w(x) the weights of g(x) on the training outputs T and I what is left
        out, g₋I(x) = g(x) - w_I(x) (I - H_II)⁻¹ (T - HT)_I: one small system for every distinct I.
        """
        ridge = self.copies * alpha
        parts, map = list(self._parts_at([ridge])), self.solve(alpha).points

        def points(X: Items, sets: Sequence[np.ndarray]) -> Embedding:
            less = self._join_in_coordinates(
                [self._removed_contributions(part, X, sets, ridge) for part in parts]
            )
            return Embedding(map(X).coordinates - less, map.frame)

        return points

    def _removed_contributions(
        self, part: Part, X: Items, sets: Sequence[np.ndarray], ridge: float
    ) -> Array:
        """Return the part of each prediction at X that is due to the examples in its set."""
        at = part.spectrum.project_inputs(X)
        found, order = [], []
        for examples, inputs in distinct_sets(sets):
            found.append(
                self._removed_contribution(part, at.select(inputs), examples, ridge, len(inputs))
            )
            order.append(inputs)
        xp = namespace(*found)
        return take(xp.concat(found), np.argsort(np.concatenate(order)))

    def _removed_contribution(
        self, part: Part, at: ProjectedInputs, examples: np.ndarray, ridge: float, number: int
    ) -> Array:
        """Return the part of `number` predictions that is due to one set of left-out examples."""
        if not len(examples):
            q = part.shape[1] * (1 if part.slots is None else part.slots.width)
            return like(np.zeros((number, q)), at.Z)
        n = self.problem.n
        own = part.rows_of_examples(np.concatenate([examples + n * i for i in range(self.copies)]))
        e = LeaveOneOut(part).solve_groups(None, [ridge], own[None, :])[0, :, :]
        if part.slots is not None:
            e = e + part.unknown_constants(part.slots.owners, own)
        return part.prediction_change(at, own, e, ridge)

    # -- the Gaussian process ------------------------------------------------------------------

    def variance(self, X: Items, alpha: float) -> Array:
        """Return the posterior variance of g at X along each direction, for noise of variance 1.

        Parts are processed one after the other, because together they may exceed the memory.
        """
        self._require_coordinates("variances")
        ridge = self.copies * alpha
        found = [part.spectrum.unit_variance(part.b, X, ridge) for part in self._parts_at([ridge])]
        return self.basis.per_direction(join_in_order(found, self.direction_order))

    def variance_function(self, alpha: float) -> UnitVariances:
        """Return a function of inputs that computes `variance` for this alpha and can be saved."""
        ridge = self.copies * alpha
        parts = list(self._parts_at([ridge]))
        spectra = [part.spectrum.without_training_rows() for part in parts]
        return UnitVariances(
            spectra, [part.b for part in parts], ridge, self.direction_order, self.basis
        )

    def noise(self, alpha: float) -> float:
        """Return the noise variance that maximises the evidence (REML with an intercept)."""
        ridge, misfit, number = self.copies * alpha, 0.0, 0.0
        for part in self._parts_at([ridge]):
            misfit += part.multiplicity * part.misfit(ridge)
            number += part.multiplicity * part.free_rows * part.shape[1]
        return misfit / number

    def left_out_noises(self, alpha: float) -> np.ndarray:
        """Return the noise variance of each output direction, estimated from left-out residuals."""
        if self.problem.gathered is not None:
            raise NotSupported('noise="left out" needs all pairs, and a stream keeps a sample.')
        ridge = self.copies * alpha
        noise = left_out_noise_variances(
            self._parts_at([ridge]), self.augmented, ridge, self.direction_order
        )
        return self.basis.noise_per_direction(noise)

    def evidence(self, alpha: float) -> float:
        """Return the log evidence (marginal likelihood) with the best noise variance.

        −½[N log(Σ c²/(bs + α)/N) + Σ log(bs + α)] with c = EᵀT the targets in the eigenbasis, s and
        b the eigenvalues of inputs and operator, N the number of values; over n - 1 rows with an
        intercept.

        Not supported where outputs have no finite features, because the number of directions is
        arbitrary then.
        """
        problem = self.problem
        self._require_likelihood("evidence")
        if problem.gathered is not None and problem.weights is not None:
            raise NotSupported("the evidence of weighted pairs is not known on a stream.")
        misfit = logs = number = extra = 0.0
        for part in self._parts_at([alpha]):
            r, q = part.projected.shape
            misfit += part.multiplicity * part.misfit(alpha) / alpha
            # directions that no feature reaches have eigenvalue α
            own = part.spectrum.log_det(part.b, alpha) + (part.free_rows - r) * q * log(alpha)
            logs += part.multiplicity * own
            number += part.multiplicity * part.free_rows * q
            extra += 0.5 * part.multiplicity * q * part.sum_log_weights(problem.weights)
        misfit = max(misfit / number, np.finfo(float).tiny)  # zero where outputs are constant
        return -0.5 * (number * log(misfit) + logs) + extra

    def left_out_log_density(self, alpha: float) -> float:
        """Return the summed log density of each training output given all others.

        −½ Σ_j [n log(2πσ_j²) + n - Σ_i log(1 - H_ii)] over directions j, with H the smoother.
        """
        self._require_likelihood("density")
        if self.problem.gathered is not None:
            raise NotSupported(
                "the density of left-out outputs needs all pairs, and a stream keeps a sample."
            )
        return summed_log_density(self._parts_at([alpha]), self.problem, alpha)

    def _require_coordinates(self, what: str) -> None:
        """Raise NotSupported, naming `what`, if the outputs have no coordinates."""
        if len(self.parts) and self.output_rows.rows is None:
            raise NotSupported(f"{what} need outputs in coordinates.")

    def _require_likelihood(self, name: str) -> None:
        """Raise NotSupported, naming the quantity, if the likelihood is not well defined."""
        outputs = self.problem.outputs
        if self.problem.symmetry is not None:
            raise NotSupported(f"the {name} would count images of a pair as pairs of their own.")
        if self.output_rows.rows is None or (
            outputs.kernel.features is None
            and outputs.features is None
            and self.problem.gathered is None
        ):
            raise NotSupported(
                f"{outputs.kernel} has infinitely many directions, over which the {name} is not "
                "defined: use finite output features."
            )

    # -- what it is ----------------------------------------------------------------------------

    @property
    def has_closed_forms(self) -> bool:
        """Whether left-out predictions, variances and likelihoods are available in closed form."""
        return len(self.parts) > 0 and self.output_rows.rows is not None

    @property
    def leaves_out(self) -> bool:
        """Whether left-out predictions are available, in closed form or by refits."""
        return len(self.parts) > 0 or (self.method is not None and self.method.leaves_out)

    @property
    def coupled(self) -> bool:
        """Whether rows are slots (pairs of example and output component), not examples."""
        return not self.parts or self.parts[0].slots is not None

    @property
    def scale(self) -> float:
        """The unit of relative ridge parameters, (tr K_x / n) · tr(B S_vv) / tr S_vv.

        K_x is the input Gram matrix, B the operator and S_vv the covariance of the outputs.
        """
        if self.method is not None and not self.parts:
            return self.method.scale()
        reached = sizes = 0.0
        for part in self.parts:
            level = part.spectrum.mean_diagonal
            if self.output_rows.rows is None:  # a multiple of the identity: any lengths do
                return level * float(part.b[0]) or 1.0
            xp, lengths = namespace(part.b), part.sqlengths
            reached += part.multiplicity * level * float(xp.sum(part.b * lengths))
            sizes += part.multiplicity * float(xp.sum(lengths))
        return reached / sizes if reached > 0 and sizes > 0 else 1.0

    @property
    def nbytes(self) -> float:
        """The bytes of all arrays in memory, not counting the training pairs and the kernels."""
        problem = self.problem
        sides = [(side.items, side.kernel) for side in (problem.inputs, problem.outputs)]
        return array_bytes(self, excluded=[sides, problem.given])


def distinct_sets(sets: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each distinct set of training examples with the positions where it occurs in `sets`."""
    inputs: dict[bytes, list[int]] = {}
    for t, own in enumerate(sets):
        inputs.setdefault(np.asarray(own, dtype=np.intp).tobytes(), []).append(t)
    for key, rows in inputs.items():
        yield np.frombuffer(key, dtype=np.intp), np.array(rows)
