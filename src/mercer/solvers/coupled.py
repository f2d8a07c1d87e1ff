"""Operator-valued kernels that are no scalar kernel times an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, host, like, namespace, part, put, take
from .._memory import GIB, SHARE, available
from .._plan import Route, Sizes
from ..embedding import PointMap
from ..operators import BlockGram, OperatorKernel
from ..operators.separable import fitted
from ..problem import Problem, Want
from .base import Cache, Solver
from .block_conjugate_gradient import BlockConjugateGradient
from .factorization import Factorization, LeftOut, Solution, _Points
from .inputs import InputSpectrum, Reduction, weighted_mean
from .left_out import LeaveOneOut, Part
from .outputs import Outputs
from .spectral import Parts, part_coefficients
from .weights import CoupledMap, LeastWeights, factored

DENSE_SQUARES = 4.0
"""Peak memory of a dense fit in matrices over all slots."""
PRODUCT_SQUARES = 3.0
"""Peak memory of a fit by products in matrices over the examples."""
PART_SQUARES = 2.0
"""Matrices over all examples that a part keeps for leave-one-out."""
WRITTEN_OUT = 2000
"""Slots up to which a matrix over all of them is the shortest way."""
BY_DIRECTION = 3000
"""Examples up to which a fit factors directions one by one; beyond, products are shorter."""
COMMUTES = 1e-10
"""Entries off the diagonal, relative to the largest on it, that are rounding."""
DIAGONAL = 64
"""Inputs whose values against each other are made where only k(x, x) is wanted."""
KEPT = 0.125
"""The share of free memory that the spectra of parts may keep."""


class CoupledSolver(Solver):
    """What the solvers of coupled kernels do alike."""

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """A kernel that does not separate, exact, with the square loss."""
        if problem.inputs.features is not None and problem.kernel.componentwise:
            return (
                f"features= is for a scalar kernel times an operator; {problem.kernel} has a "
                "scalar kernel for each component. Leave features at None"
            )
        if problem.inputs.features is not None:
            return (
                f"features={problem.inputs.features} is of scalar kernels, and {problem.kernel} "
                "does not separate: use features=RandomOperatorFourier(rank) for a kernel of "
                "x - x', or None"
            )
        if problem.loss is not None or want.judge != "closed":
            return (
                f"loss={problem.loss} needs a scalar kernel times an operator, which "
                f"{problem.kernel} is not: use loss=None"
            )
        return None

    def cost(self, sizes: Sizes) -> Route:
        """An estimate from the number of examples and output components."""
        slots = float(sizes.n * (sizes.q or 1))
        return Route(self.name, 8 * DENSE_SQUARES * slots * slots, slots**3, None, sizes.free)


# -- one part for each set of output directions that the kernel does not couple ----------------


@dataclass(frozen=True)
class DirectionGram:
    """The scalar Gram matrix that some output directions share.

    Attributes
    ----------
    columns
        The directions.
    matrix
        A function that returns the matrix over the training inputs.
    between
        A function of two batches of inputs that returns kernel values.
    X
        The training inputs.
    """

    columns: np.ndarray
    matrix: Callable[[], Array]
    between: Callable[[Items, Items], Array]
    X: Items

    def against(self, A: Items) -> Array:
        """Kernel values of inputs against the training inputs."""
        return self.between(A, self.X)


class GramInputs(InputSpectrum):
    """The spectrum of a Gram matrix that is given."""

    def __init__(self, gram: DirectionGram, problem: Problem):
        K, w = gram.matrix(), problem.weights
        self.gram, self.total = gram, problem.total
        self.means = None
        if problem.intercept:
            share = np.full(problem.n, 1.0 / problem.n) if w is None else w / w.sum()
            self.level = like(share, K)
            self.means = self.level @ K
        self.reduction = Reduction.of(w, problem.intercept, K)
        self.roots, self.N = self.reduction.roots, self.reduction.N
        self.s, self.E = self.reduction.spectrum(K + 0.0)

    def project(self, X: Items) -> Array:
        """(√w ∘ k_x) E."""
        K = self.gram.against(X)
        K = K if self.means is None else K - self.means
        return (K if self.roots is None else K * self.roots.T) @ self.E

    def prior(self, X: Items) -> Array:
        """k(x, x), centred where there is an intercept."""
        xp, own = namespace(self.E), []
        for rows in blocks(count(X), DIAGONAL):
            some = part(X, rows)
            own.append(xp.linalg.diagonal(self.gram.between(some, some)))
        diagonal = xp.concat(own)
        if self.means is None:
            return diagonal
        return diagonal - 2.0 * (self.gram.against(X) @ self.level) + self.means @ self.level

    def dual(self, D: Array) -> tuple[Array, Array]:
        """Dual coefficients √w ∘ (E D), and the mean of what they explain."""
        coef = self.reduction.weighted(self.E @ D)
        return coef, 0.0 * coef[0, :] if self.means is None else self.means @ coef


class LazyParts:
    """Parts that are made when they are iterated over, and kept where there is room."""

    def __init__(
        self, make: Callable[[DirectionGram], Part], grams: list[DirectionGram], keep: bool
    ):
        self.make, self.grams, self.keep = make, grams, keep
        self.made: list[Part] = []

    def __len__(self) -> int:
        return len(self.grams)

    def __getitem__(self, i: int) -> Part:
        return next(islice(self, i, None))

    def __iter__(self) -> Iterator[Part]:
        yield from self.made
        for gram in self.grams[len(self.made) :]:
            made = self.make(gram)
            if self.keep:
                self.made.append(made)
            yield made


class ByDirection(CoupledSolver):
    """Kernels diagonal in some output directions: one n × n problem for each set of directions.

    Those of components (`Patchwise`, `Pointwise`) are diagonal in the components of the outputs.
    A sum Σ_t k_t B_t whose operators have common eigenvectors Q falls apart into
    K_j = Σ_t b_tj K_t, and the ridge equation into (K_j + αI) c_j = (VQ)_j, exactly.
    """

    name = "by direction"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """A kernel whose directions are not coupled; told for sure once it is fitted."""
        reason = super().accepts(problem, want)
        if reason is not None:
            return reason
        if not problem.kernel.componentwise and want.single and problem.n > BY_DIRECTION:
            return f"beyond {BY_DIRECTION} examples products are shorter"
        return None

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Find the directions; a kernel that couples them is written out or solved by products."""
        outputs = cache.outputs(problem)
        kernel = fitted_kernel(problem, outputs)
        found = directions(kernel, problem.inputs.items)
        if found is None:
            return by_slots(problem, kernel, outputs, want)
        Q, grams = found
        return Directions(problem, kernel, outputs, Q, grams)


def fitted_kernel(problem: Problem, outputs: Outputs) -> OperatorKernel:
    """The operator-valued kernel, fitted on inputs and output coordinates.

    The outputs are centred where there is an intercept, unless the kernel asks for them as given.
    """
    V = outputs.coordinates
    if problem.kernel.centred_outputs:
        V = outputs.unweighted(outputs.rows)
    X, w, rows = problem.inputs.items, problem.weights, problem.inputs.sample
    if rows is not None:  # operator features, whose kernel is settled on the sample
        V, X, w = take(V, rows), take(X, rows), None if w is None else w[rows]
    shape = tuple(getattr(problem.outputs.items, "shape", (0,)))[1:]
    return fitted(problem.kernel.for_outputs(shape), X, V, w)


def directions(kernel: OperatorKernel, X: Items) -> tuple[Array | None, list[DirectionGram]] | None:
    """The directions that a fitted kernel does not couple, with their Gram matrices; else None."""
    if kernel.componentwise:
        parts = kernel.by_component(X)
        return None, [_component(kernel, parts, X, label) for label in range(parts.number)]
    gram = kernel.gram(X)
    if gram.terms is None:
        return None
    return common_directions(kernel, gram, X)


def _component(kernel: OperatorKernel, gram: Any, X: Items, label: int) -> DirectionGram:
    return DirectionGram(
        np.flatnonzero(gram.labels == label),
        lambda: gram.scalar(label),
        lambda A, B: kernel.by_component(A, B).scalar(label),
        X,
    )


def common_directions(
    kernel: OperatorKernel, gram: BlockGram, X: Items
) -> tuple[Array | None, list[DirectionGram]] | None:
    """The common eigenvectors of the operators of a sum, where they have such."""
    assert gram.terms is not None
    Ks, Bs = zip(*gram.terms, strict=True)
    if all(B.diagonal is not None for B in Bs):
        Q, weights = None, np.stack([host(B.diagonal) for B in Bs])
    else:
        found = _eigenbasis([host(B.full) for B in Bs])
        if found is None:
            return None
        Q, weights = like(found[0], Ks[0]), found[1]

    def gram_of(columns: np.ndarray) -> DirectionGram:
        shares = [float(w) for w in weights[:, int(columns[0])]]

        def total(terms: Iterable[Array]) -> Array:
            return sum(w * K for w, K in zip(shares, terms, strict=True))

        def between(A: Items, B: Items) -> Array:
            return total([K for K, _ in kernel.gram(A, B).terms or ()])

        return DirectionGram(columns, lambda: total(Ks), between, X)

    return Q, [gram_of(columns) for columns in _alike(weights)]


def _eigenbasis(Bs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """Common eigenvectors, and the eigenvalues of every operator; None where there are none.

    A mixture with weights in general position has no eigenvalue twice that a term tells apart, so
    that its eigenvectors are those of every term.
    """
    scales = [float(np.abs(B).max()) or 1.0 for B in Bs]
    shares = np.sqrt(np.arange(2.0, len(Bs) + 2.0))
    mixed = sum(w * B / s for w, B, s in zip(shares, Bs, scales, strict=True))
    Q = np.linalg.eigh(mixed)[1]
    turned = [Q.T @ B @ Q for B in Bs]
    for B, scale in zip(turned, scales, strict=True):
        if np.abs(B - np.diag(B.diagonal())).max() > COMMUTES * len(B) * scale:
            return None
    return Q, np.stack([np.maximum(B.diagonal(), 0.0) for B in turned])


def _alike(weights: np.ndarray) -> list[np.ndarray]:
    """Directions of equal weights, which share their matrix."""
    largest = weights.max(axis=1, keepdims=True)
    relative = weights / np.where(largest > 0, largest, 1.0)
    _, number = np.unique(relative.round(12), axis=1, return_inverse=True)
    number = number.reshape(-1)
    return [np.flatnonzero(number == g) for g in range(number.max() + 1)]


class Directions(Parts):
    """A kernel whose output directions are not coupled, factored set by set of directions."""

    def __init__(
        self,
        problem: Problem,
        kernel: OperatorKernel,
        outputs: Outputs,
        Q: Array | None,
        grams: list[DirectionGram],
    ):
        self.problem, self.kernel, self.outputs, self.Q = problem, kernel, outputs, Q
        self.grams = grams
        self.order = np.argsort(np.concatenate([gram.columns for gram in grams]))
        T = outputs.rows if Q is None else outputs.rows @ Q
        self.T = T
        bytes_kept = 8.0 * PART_SQUARES * problem.n**2 * len(grams)
        keep = bytes_kept <= KEPT * available()
        self.parts = LazyParts(self._part, grams, keep)  # type: ignore[assignment]

    def _part(self, gram: DirectionGram) -> Part:
        T = _columns(self.T, gram.columns)
        inputs, xp = GramInputs(gram, self.problem), namespace(T)
        inside = xp.matrix_transpose(inputs.E) @ T
        return Part(inputs, xp.ones_like(T[0, :]), T, inside, gram.columns)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α: one Cholesky factorisation a set, or its spectrum at tiny α."""
        coefs, means = zip(*(self._dual(gram, alpha) for gram in self.grams), strict=True)
        coef = self._turned_back(self._in_order(list(coefs)))
        offset = None
        if self.outputs.mean is not None:
            explained = self._turned_back(self._in_order([mean[None, :] for mean in means]))
            offset = self.outputs.mean - explained[0, :]
        map = CoupledMap(self.kernel, self.problem.inputs.items, coef)
        frame = self.outputs.frame
        weigher = LeastWeights(frame, self.problem.outputs.items)
        return Solution(PointMap(map, offset, frame, weigher), self.kernel)

    def _dual(self, gram: DirectionGram, alpha: float) -> tuple[Array, Array]:
        """Dual coefficients of a set of directions, and the mean of what they explain."""
        T, K, w = _columns(self.T, gram.columns), gram.matrix(), self.problem.weights
        mean = weighted_mean(K, w)
        try:
            coef = ridge_solution(K, alpha, T, w, self.problem.intercept)
        except np.linalg.LinAlgError:
            found = self._part(gram)
            return found.inputs.dual(part_coefficients(found, alpha))  # type: ignore[attr-defined]
        return coef, mean @ coef


def ridge_solution(
    K: Array,
    alpha: float,
    T: Array,
    weights: np.ndarray | None,
    intercept: bool,
    places: np.ndarray | None = None,
) -> Array:
    """√w ∘ (√w K √w + αI)⁻¹ T on what is not constant; LinAlgError where α is lost in rounding."""
    reduction = Reduction.of(weights, intercept, K, places)
    ridge = factored(reduction.reduced(K + 0.0), alpha)
    return reduction.weighted(reduction.back(ridge.solve(reduction.inside(T))))


def _columns(V: Array, index: np.ndarray) -> Array:
    xp = namespace(V)
    return xp.matrix_transpose(take(xp.matrix_transpose(V), index))


# -- one matrix over all slots ------------------------------------------------------------------


class Dense(CoupledSolver):
    """Any coupled kernel, written out over the slots of all examples."""

    name = "dense"

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Refuse where the matrix has no room; else factored at the first solution."""
        outputs = cache.outputs(problem)
        return Slotted(problem, fitted_kernel(problem, outputs), outputs)


class Products(CoupledSolver):
    """Any coupled kernel, by products alone: block conjugate gradients."""

    name = "cg"

    def accepts(self, problem: Problem, want: Want) -> str | None:
        """One ridge, nothing left out."""
        reason = super().accepts(problem, want)
        if reason is None and not want.single:
            return (
                "conjugate gradients give no left-out predictions: choose alpha and length scales "
                "on a part of the examples"
            )
        return reason

    def factor(self, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Nothing is factored."""
        require_products(problem.n)
        outputs = cache.outputs(problem)
        solver = want.solver
        method = solver if isinstance(solver, BlockConjugateGradient) else BlockConjugateGradient()
        return Iterated(problem, fitted_kernel(problem, outputs), outputs, method)


def by_slots(
    problem: Problem, kernel: OperatorKernel, outputs: Outputs, want: Want
) -> Factorization:
    """Written out where that is short or left-out predictions are wanted, else by products."""
    if want.single:
        gram = kernel.gram(problem.inputs.items)
        if gram.rows.size > WRITTEN_OUT and not gram.direct:
            require_products(problem.n)
            return Iterated(problem, kernel, outputs, BlockConjugateGradient())
    return Slotted(problem, kernel, outputs)


class CoupledFactorization(Factorization):
    """A fitted kernel that couples output components, and what maps are made of."""

    def __init__(self, problem: Problem, kernel: OperatorKernel, outputs: Outputs):
        self.problem, self.kernel, self.outputs = problem, kernel, outputs

    def _points(self, gram: BlockGram, coef: Array) -> PointMap:
        """The map of coefficients, with what the mean of the outputs has over that of the fit."""
        V, frame = self.outputs, self.outputs.frame
        offset = None
        if V.mean is not None:
            rest = gram.rows.split(V.unweighted(V.rows) - gram @ coef)
            means = gram.rows.means(rest, self._slot_weights(gram))
            offset = V.mean + namespace(means).reshape(means, (-1,))
        map = CoupledMap(self.kernel, self.problem.inputs.items, coef)
        return PointMap(map, offset, frame, LeastWeights(frame, self.problem.outputs.items))

    def _slot_weights(self, gram: BlockGram) -> np.ndarray | None:
        w = self.problem.weights
        return None if w is None else w[gram.rows.owners]

    def _gram(self) -> BlockGram:
        return self.kernel.gram(self.problem.inputs.items)


class Iterated(CoupledFactorization):
    """Solved anew for every α by block conjugate gradients."""

    def __init__(
        self,
        problem: Problem,
        kernel: OperatorKernel,
        outputs: Outputs,
        method: BlockConjugateGradient,
    ):
        super().__init__(problem, kernel, outputs)
        self.method = method

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        gram = self._gram()
        V = self.outputs.unweighted(self.outputs.rows)
        found = self.method.solve(gram, alpha, V, self.problem.intercept, self.problem.weights)
        points = self._points(gram, found.coef)
        return Solution(points, self.kernel, None, found.n_iter, found.residual)


class Slotted(CoupledFactorization):
    """One Gram matrix over the slots of all examples; an example's slots are left out together."""

    _part: Part | None = None

    @property
    def part(self) -> Part:
        """The spectrum over slots, made when left-out predictions are first asked for."""
        if self._part is None:
            gram = self._gram()
            require_written_out(gram.rows.size)
            T = gram.rows.split(self.outputs.unweighted(self.outputs.rows))
            inputs = SlotInputs(gram, self._slot_weights(gram), self.problem.intercept)
            T = inputs.reduction.without(inputs.reduction.weighted(T))
            xp = namespace(T)
            inside = xp.matrix_transpose(inputs.E) @ T
            self._part = Part(inputs, xp.ones_like(T[0, :]), T, inside)
        return self._part

    def solve(self, alpha: float) -> Solution:
        """By Cholesky for each part of slots, or by the spectrum where that is known or needed."""
        gram = self._gram()
        coef = self._spectral(gram, alpha) if self._part is not None else self._direct(gram, alpha)
        return Solution(self._points(gram, coef), self.kernel)

    def _direct(self, gram: BlockGram, alpha: float) -> Array:
        require_written_out(gram.rows.size)
        w, intercept = self._slot_weights(gram), self.problem.intercept
        T = gram.rows.split(self.outputs.unweighted(self.outputs.rows))
        C = T + 0.0
        places = gram.rows.places
        try:
            for own, G in gram.parts():
                some = None if w is None else w[own]
                rows = take(T, own)
                rows = rows if some is None else like(np.sqrt(some)[:, None], T) * rows
                C = put(C, own, ridge_solution(G, alpha, rows, some, intercept, places[own]))
        except np.linalg.LinAlgError:
            return self._spectral(gram, alpha)
        return gram.rows.join(C)

    def _spectral(self, gram: BlockGram, alpha: float) -> Array:
        whole = self.part
        C = whole.inputs.E @ part_coefficients(whole, alpha)
        return gram.rows.join(whole.inputs.reduction.weighted(C))  # type: ignore[attr-defined]

    def left_out(self, alphas: Sequence[float], averaged: bool = False) -> Iterator[LeftOut]:
        """Left-out predictions, the slots of an example (or group) together."""
        slots, whole = self._gram().rows, self.part
        groups = self.problem.left_out_labels[slots.owners]
        loo = LeaveOneOut(whole, groups)
        path = map(loo.averaged, alphas) if averaged else loo.path(alphas)
        for alpha, E in zip(alphas, path, strict=True):
            roots = whole.inputs.roots
            E = slots.join(E if roots is None else E / roots)
            yield LeftOut(alpha, namespace(E).sum(E * E, axis=1), _Points(self, E))

    def left_out_points(self, E: Array) -> Any:
        """Points whose residuals are E."""
        return self.outputs.points(self.outputs.coordinates - E, self.problem)

    @property
    def scale(self) -> float:
        """The mean of the diagonal over slots."""
        s = self.part.inputs.s
        return float(namespace(s).sum(s)) / self.part.inputs.E.shape[0] or 1.0


class SlotInputs(InputSpectrum):
    """The spectrum of an operator-valued Gram matrix over slots, one constant for each place."""

    def __init__(self, gram: BlockGram, weights: np.ndarray | None, intercept: bool):
        G = gram.matrix()
        self.total = float(gram.rows.n)
        self.reduction = Reduction.of(weights, intercept, G, gram.rows.places)
        self.roots, self.N = self.reduction.roots, self.reduction.N
        self.s, self.E = self.reduction.spectrum(G + 0.0, "operator-valued Gram matrix")


def require_products(n: int) -> None:
    """Refuse examples whose scalar Gram matrices have no room, which products need."""
    needed, free = 8.0 * PRODUCT_SQUARES * n * n, SHARE * available()
    if needed > free:
        raise MemoryError(
            f"the Gram matrices of {n} examples need about {needed / GIB:.1f} GiB of "
            f"{free / GIB:.1f} GiB free. For a kernel of x - x' fit with "
            "features=mercer.features.RandomOperatorFourier(rank=1000), which needs none; or learn "
            "online, with mercer.estimators.OnlineKernelDependency."
        )


def require_written_out(size: int) -> None:
    """Refuse a matrix over all slots that has no room."""
    needed, free = 8.0 * DENSE_SQUARES * size * size, SHARE * available()
    if needed > free:
        raise MemoryError(
            f"this operator-valued kernel has {size} rows, examples times coupled components, and "
            f"its matrix written out needs about {needed / GIB:.1f} GiB of {free / GIB:.1f} GiB "
            "free. KernelDependency(…, solver='cg') needs products only; choose alpha and length "
            "scales with KernelDependencyCV on a part of the examples."
        )
