"""Operator-valued kernels that couple output components: one `Part`, whose rows are slots.

A slot is a pair of an example and an output component.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .._base.arrays import Array, is_array, like, namespace, take
from .._base.memory import GIB, PLANNED_FRACTION, available
from ..embedding import PointMap
from ..operators import BlockGram, OperatorKernel
from ..operators.separable import fit_about_means
from ..operators.slots import Slots
from ..problem import Problem, Want
from .block_conjugate_gradient import BlockConjugateGradient
from .exact_spectrum import ExactSpectrum
from .factorization import Factorization, Iterative, Solution
from .outputs import Cache, OutputRows
from .part import Part
from .parts import Parts
from .slot_gram import SlotGram, require_slot_gram_memory
from .weights import CoupledMap, LeastWeights

ITERATIVE_SQUARES = 3.0
"""The peak memory of conjugate gradients, in n × n matrices for n examples."""
DENSE_SLOTS = 2000
"""The largest number of slots for which a dense matrix is faster than conjugate gradients."""


def coupled_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why no solver of coupled kernels accepts a problem; None if one may."""
    if problem.inputs.features is not None and problem.kernel.componentwise:
        return (
            f"features= is for a scalar kernel times an operator; {problem.kernel} has a "
            "scalar kernel for each component. Leave features at None"
        )
    if problem.inputs.features is not None:
        return (
            f"features={problem.inputs.features} is of scalar kernels, and {problem.kernel} "
            "does not separate: leave features at None"
        )
    return None


def conjugate_gradient_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why conjugate gradients cannot solve a problem; None if they can."""
    reason = coupled_refusal(problem, want)
    if reason is None and not want.single:
        return (
            "conjugate gradients give no left-out predictions: choose alpha and length scales "
            "on a part of the examples"
        )
    return reason


def fitted_kernel(problem: Problem, output_rows: OutputRows) -> OperatorKernel:
    """Fit the operator-valued kernel of a problem on inputs and output coordinates; return it.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.operators import CurlFree
    >>> from mercer.solvers import Cache, fitted_kernel
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> problem = KernelDependency(CurlFree(1.0)).fit(X, X).fitted_.problem
    >>> fitted_kernel(problem, Cache().output_rows(problem)).width_
    2
    """
    if problem.kernel.centred_outputs:
        V = output_rows.unweighted(output_rows.rows)  # already centred, without rounding errors
    else:
        V = output_rows.frame.evaluate(problem.outputs.items)  # with exact zeros
    X, w = problem.inputs.items, problem.weights
    Y = problem.outputs.items
    shape = tuple(Y.shape[1:]) if is_array(Y) else ()
    return fit_about_means(problem.kernel.for_outputs(shape), X, V, w, problem.intercept)


def slot_targets(slots: Slots, output_rows: OutputRows, weights: np.ndarray | None) -> Array:
    """Return the centred and weighted outputs with one row per slot (example, output component)."""
    T = slots.split(output_rows.unweighted(output_rows.rows))
    T = T if output_rows.mean is None else T - take(slots.means(T, weights), slots.positions)
    return T if weights is None else like(np.sqrt(weights)[:, None], T) * T


def centred_by_slots(problem: Problem, slots: Slots, output_rows: OutputRows) -> OutputRows:
    """Return the outputs minus the mean of each component over the examples that have its slot."""
    if output_rows.mean is None or slots.live is None:
        return output_rows
    V, w = output_rows.coordinates, problem.weights
    means = slots.means(slots.split(V), None if w is None else w[slots.owners])
    mean = namespace(means).reshape(means, (-1,))
    return OutputRows.centred(V, w, True, output_rows.frame, mean)


def coupled(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem whose kernel couples output components, as `factor_slots` does."""
    output_rows = cache.output_rows(problem)
    return factor_slots(problem, fitted_kernel(problem, output_rows), output_rows, want)


def factor_slots(
    problem: Problem, kernel: OperatorKernel, output_rows: OutputRows, want: Want
) -> Factorization:
    """Factor a problem by its dense Gram matrix over all pairs of example and component.

    If conjugate gradients are requested, or if they are faster for a single solution and no solver
    is requested, nothing is factored: the factorisation then solves by them at each ridge.
    """
    X, requested = problem.inputs.items, want.solver
    output_rows = centred_by_slots(problem, kernel.gram(X).rows, output_rows)
    method = requested if isinstance(requested, BlockConjugateGradient) else None
    if requested == "cg" or (requested == "auto" and want.single and _is_large(kernel.gram(X))):
        method = BlockConjugateGradient()
    if method is not None:
        require_gram_memory(problem.n)
        solution = partial(solved_by_products, problem, kernel, output_rows, method)
        return Iterative(problem, kernel, output_rows, solution)
    slots = kernel.gram(X).rows
    require_slot_gram_memory(slots.size)
    w = None if problem.weights is None else problem.weights[slots.owners]
    gram = SlotGram(kernel, X, w, problem.intercept, slots)
    T = slot_targets(slots, output_rows, w)
    means = slots.means(slots.split(output_rows.coordinates), w) if problem.intercept else None
    part = Part(ExactSpectrum(gram), namespace(T).ones_like(T[0, :]), T, component_means=means)
    return Parts(problem, kernel, output_rows, [part])


def _is_large(gram: BlockGram) -> bool:
    """Return whether conjugate gradients are faster than a dense matrix for one solution."""
    return gram.rows.size > DENSE_SLOTS and not gram.direct


def solved_by_products(
    problem: Problem,
    kernel: OperatorKernel,
    output_rows: OutputRows,
    method: BlockConjugateGradient,
    alpha: float,
) -> Solution:
    """Solve a coupled problem by conjugate gradients at the ridge `alpha`; return the map g."""
    X, V = problem.inputs.items, output_rows.unweighted(output_rows.rows)
    gram = kernel.gram(X)
    found = method.solve(gram, alpha, V, problem.intercept, problem.weights)
    offset = None
    if output_rows.mean is not None:
        w = None if problem.weights is None else problem.weights[gram.rows.owners]
        means = gram.rows.means(gram.rows.split(V - gram @ found.coef), w)
        offset = output_rows.mean + namespace(means).reshape(means, (-1,))
    weights = LeastWeights(output_rows.frame, problem.outputs.items, problem.weights)
    points = PointMap(CoupledMap(kernel, X, found.coef), offset, output_rows.frame, weights)
    return Solution(points, kernel, found.n_iter, found.residual)


def require_gram_memory(n: int) -> None:
    """Raise MemoryError if the scalar Gram matrices of n examples do not fit into memory."""
    needed, free = 8.0 * ITERATIVE_SQUARES * n * n, PLANNED_FRACTION * available()
    if needed > free:
        raise MemoryError(
            f"the Gram matrices of {n} examples need about {needed / GIB:.1f} GiB of "
            f"{free / GIB:.1f} GiB free. Fit fewer examples."
        )
