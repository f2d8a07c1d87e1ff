"""Operator-valued kernels that are no scalar kernel times an operator."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._base.arrays import Array, like, namespace, put, take
from .._base.memory import GIB, SHARE, available
from ..embedding import PointMap
from ..operators import BlockGram, OperatorKernel
from ..operators.separable import fitted
from ..problem import Problem, Want
from .block_conjugate_gradient import BlockConjugateGradient
from .factorization import Cache, Factorization, Outputs, Solution
from .inputs import Reduction
from .left_out import Part
from .slotted import GramInputs
from .spectral import Spectral, part_coefficients
from .weights import CoupledMap, factored

DENSE_SQUARES = 4.0
"""Peak memory of a dense fit in matrices over all slots."""
PRODUCT_SQUARES = 3.0
"""Peak memory of a fit by products in matrices over the examples."""
WRITTEN_OUT = 2000
"""Slots up to which a matrix over all of them is the shortest way."""


def coupled_refusal(problem: Problem, want: Want) -> str | None:
    """Why no solver of coupled kernels takes a problem: low rank, or a robust loss."""
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
    A = reduction.reduced(K)
    ridge = factored(A + 0.0 if A is K else A, alpha)
    return reduction.weighted(reduction.back(ridge.solve(reduction.inside(T))))


class Coupled(Factorization):
    """A fitted kernel that couples output components, and what maps are made of."""

    costs = "spectral"

    def __init__(self, problem: Problem, kernel: OperatorKernel, outputs: Outputs):
        self.problem, self.kernel, self.outputs = problem, kernel, outputs

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """A kernel that does not separate, exact, with the square loss."""
        return coupled_refusal(problem, want)

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Fit the kernel; the rest waits for α."""
        outputs = cache.outputs(problem)
        return cls(problem, fitted_kernel(problem, outputs), outputs)

    def _points(self, gram: BlockGram, coef: Array) -> PointMap:
        """The map of coefficients, with what the mean of the outputs has over that of the fit."""
        V, offset = self.outputs, None
        if V.mean is not None:
            rest = gram.rows.split(V.unweighted(V.rows) - gram @ coef)
            means = gram.rows.means(rest, self._slot_weights(gram))
            offset = V.mean + namespace(means).reshape(means, (-1,))
        map = CoupledMap(self.kernel, self.problem.inputs.items, coef)
        return self._point_map(map, offset)

    def _slot_weights(self, gram: BlockGram) -> np.ndarray | None:
        w = self.problem.weights
        return None if w is None else w[gram.rows.owners]

    def _gram(self) -> BlockGram:
        return self.kernel.gram(self.problem.inputs.items)


class Products(Coupled):
    """Any coupled kernel, by products alone: block conjugate gradients, anew for every α."""

    name = "cg"

    def __init__(
        self,
        problem: Problem,
        kernel: OperatorKernel,
        outputs: Outputs,
        method: BlockConjugateGradient | None = None,
    ):
        require_products(problem.n)
        super().__init__(problem, kernel, outputs)
        self.method = method or BlockConjugateGradient()

    @classmethod
    def accepts(cls, problem: Problem, want: Want) -> str | None:
        """One ridge, nothing left out."""
        reason = coupled_refusal(problem, want)
        if reason is None and not want.single:
            return (
                "conjugate gradients give no left-out predictions: choose alpha and length scales "
                "on a part of the examples"
            )
        return reason

    @classmethod
    def factor(cls, problem: Problem, want: Want, cache: Cache) -> Factorization:
        """Nothing is factored."""
        outputs, method = cache.outputs(problem), want.solver
        method = method if isinstance(method, BlockConjugateGradient) else None
        return cls(problem, fitted_kernel(problem, outputs), outputs, method)

    def solve(self, alpha: float) -> Solution:
        """The map g at one α."""
        gram = self._gram()
        V = self.outputs.unweighted(self.outputs.rows)
        found = self.method.solve(gram, alpha, V, self.problem.intercept, self.problem.weights)
        points = self._points(gram, found.coef)
        return Solution(points, self.kernel, None, found.n_iter, found.residual)


class Dense(Coupled, Spectral):
    """Any coupled kernel as one Gram matrix over the slots of all examples.

    The slots of an example are left out together.
    """

    name = "dense"
    Q, order = None, None

    @cached_property
    def parts(self) -> list[Part]:  # type: ignore[override]
        """The spectrum over slots, made when more than a solution is needed."""
        gram, problem, V = self._gram(), self.problem, self.outputs
        require_written_out(gram.rows.size)
        w = self._slot_weights(gram)
        inputs = GramInputs(self.kernel, problem.inputs.items, gram, w, problem.intercept)
        T = gram.rows.split(V.unweighted(V.rows))
        T = inputs.reduction.without(inputs.reduction.weighted(T))
        constants = None
        if problem.intercept:
            constants = gram.rows.means(gram.rows.split(V.coordinates), w)
        xp = namespace(T)
        inside = xp.matrix_transpose(inputs.E) @ T
        b = xp.ones_like(T[0, :])
        return [Part(inputs, b, T, inside, slots=gram.rows, constants=constants)]

    def solve(self, alpha: float) -> Solution:
        """By Cholesky for each part of slots, or by the spectrum where that is known or needed."""
        gram = self._gram()
        coef = (self._spectral if "parts" in vars(self) else self._direct)(gram, alpha)
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
        (whole,) = self.parts
        C = whole.inputs.E @ part_coefficients(whole, alpha)
        return gram.rows.join(whole.inputs.reduction.weighted(C))


def by_slots(
    problem: Problem, kernel: OperatorKernel, outputs: Outputs, want: Want
) -> Factorization:
    """Written out where that is short or left-out predictions are wanted, else by products."""
    if want.single:
        gram = kernel.gram(problem.inputs.items)
        if gram.rows.size > WRITTEN_OUT and not gram.direct:
            return Products(problem, kernel, outputs)
    return Dense(problem, kernel, outputs)


def require_products(n: int) -> None:
    """Refuse examples whose scalar Gram matrices have no room, which products need."""
    needed, free = 8.0 * PRODUCT_SQUARES * n * n, SHARE * available()
    if needed > free:
        raise MemoryError(
            f"the Gram matrices of {n} examples need about {needed / GIB:.1f} GiB of "
            f"{free / GIB:.1f} GiB free. For a kernel of x - x' fit with "
            "features=mercer.features.RandomOperatorFourier(rank=1000), which needs none; else fit "
            "fewer examples."
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
