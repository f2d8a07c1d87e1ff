"""Operator-valued kernels that do not couple some output directions: one `Part` per scalar kernel.

Kernels of output components (`Patchwise`, `Pointwise`) are diagonal in these components. For a sum
Σ_t k_t B_t whose operators B_t have common eigenvectors Q, direction j has the scalar kernel
K_j = Σ_t b_tj K_t, and the ridge equation is (K_j + αI) c_j = (VQ)_j, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, blocks, count, host, like, namespace, sliced, take_columns
from .._base.memory import KEPT_FRACTION, available
from .._base.symmetric import full
from ..operators import BlockGram, OperatorKernel
from ..problem import Problem, Want
from .coupled import coupled_refusal, factor_slots, fitted_kernel
from .exact_spectrum import ExactSpectrum, InputGram
from .factorization import Factorization
from .input_spectrum import DIAGONAL_ITEMS
from .outputs import Basis, Cache
from .part import LazyParts, Part
from .parts import Parts
from .weights import CoupledMap

PART_SQUARES = 2.0
"""The memory of a part for leave-one-out, in n × n matrices."""
SEPARATE_EXAMPLES = 3000
"""The largest number of examples for one fit by parts; conjugate gradients are faster beyond."""
COMMUTES = 1e-10
"""Matrices commute if off-diagonal entries in the eigenbasis are below this, relatively."""


@dataclass(frozen=True)
class DirectionKernel:
    """The scalar kernel along a set of output directions, with the methods that `InputGram` calls.

    Attributes
    ----------
    columns
        The numbers of the directions, all of which have this scalar kernel.
    kernel
        The fitted operator-valued kernel.
    eigenvalues
        For a sum of scalar kernels times operators, the eigenvalue of each operator along these
        directions; None for a kernel with a scalar kernel for each output component.
    training_values
        The operator-valued kernel between the training inputs, shared by all directions; not saved.
    """

    columns: np.ndarray
    kernel: OperatorKernel
    eigenvalues: list[float] | None = None
    training_values: Any = field(default=None, repr=False)

    features: ClassVar[None] = None

    def __getstate__(self) -> dict:
        return self.__dict__ | {"training_values": None}

    def __call__(self, A: Items, B: Items) -> Array:
        """Return the scalar kernel matrix between the inputs A and B."""
        return self._scalar_values(self._operator_values(A, B))

    def _operator_values(self, A: Items, B: Items | None = None) -> Any:
        """Return the values of the operator-valued kernel between A and B (A and A without B)."""
        kernel = self.kernel
        return kernel.by_component(A, B) if self.eigenvalues is None else kernel.gram(A, B)

    def _scalar_values(self, values: Any) -> Array:
        """Convert values of the operator-valued kernel to scalar values along these directions."""
        if self.eigenvalues is None:
            return values.scalar(int(values.labels[self.columns[0]]))
        return sum(b * K for b, (K, _) in zip(self.eigenvalues, values.terms, strict=True))

    def checked_gram(self, X: Items) -> Array:
        """Return the scalar Gram matrix of the training inputs X."""
        return self._scalar_values(
            self._operator_values(X) if self.training_values is None else self.training_values
        )

    def diag(self, A: Items) -> Array:
        """Return the scalar kernel value k(a, a) of every input a in A."""
        batches = [sliced(A, rows) for rows in blocks(count(A), DIAGONAL_ITEMS)]
        grams = [self(batch, batch) for batch in batches]
        xp = namespace(*grams)
        return xp.concat([xp.linalg.diagonal(K) for K in grams])


def directions_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why `by_direction` cannot solve a problem; None if it may be able to."""
    reason = coupled_refusal(problem, want)
    many = want.single and problem.n > SEPARATE_EXAMPLES
    if reason is None and many and not problem.kernel.componentwise:
        return f"beyond {SEPARATE_EXAMPLES} examples products are shorter"
    return reason


def by_direction(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Factor a problem in one `Part` per scalar kernel, or as `coupled` if there is none."""
    output_rows = cache.output_rows(problem)
    kernel = fitted_kernel(problem, output_rows)
    found = uncoupled_directions(kernel, problem.inputs.items)
    if found is None:
        return factor_slots(problem, kernel, output_rows, want)
    Q, grams = found
    T = output_rows.rows if Q is None else output_rows.rows @ Q
    keep = 8.0 * PART_SQUARES * problem.n**2 * len(grams) <= KEPT_FRACTION * available()
    parts = LazyParts([partial(_part_of_directions, problem, T, gram) for gram in grams], keep)
    basis = Basis(Q, np.argsort(np.concatenate([gram.columns for gram in grams])))

    join = partial(CoupledMap.of_directions, kernel, problem.inputs.items, basis)
    return Parts(problem, kernel, output_rows, parts, basis, join)


def _part_of_directions(problem: Problem, T: Array, kernel: DirectionKernel) -> Part:
    """Return the `Part` of the directions of `kernel`; T holds the outputs along all directions."""
    targets = take_columns(T, kernel.columns)
    gram = InputGram(kernel, problem.inputs.items, problem.weights, problem.intercept)
    spectrum = ExactSpectrum(gram)
    b = namespace(targets).ones_like(targets[0, :])
    return Part(spectrum, b, targets)


def uncoupled_directions(
    kernel: OperatorKernel, X: Items
) -> tuple[Array | None, list[DirectionKernel]] | None:
    """Return output directions Q that a kernel does not couple, and the scalar kernels along them.

    Q is None if the directions are the output components. Return None if the kernel couples all
    directions.
    """
    if kernel.componentwise:
        values = kernel.by_component(X)
        columns = [np.flatnonzero(values.labels == label) for label in range(values.number)]
        return None, [DirectionKernel(own, kernel, training_values=values) for own in columns]
    gram = kernel.gram(X)
    if gram.terms is None:
        return None
    return common_directions(kernel, gram)


def common_directions(
    kernel: OperatorKernel, gram: BlockGram
) -> tuple[Array | None, list[DirectionKernel]] | None:
    """Return the common eigenvectors of all operators in a sum, and the scalar kernels along them.

    Return None if the operators have no common eigenvectors; None instead of eigenvectors if all
    operators are diagonal.
    """
    assert gram.terms is not None
    Ks, Bs = zip(*gram.terms, strict=True)
    if all(B.ndim == 1 for B in Bs):
        Q, weights = None, np.stack([host(B) for B in Bs])
    else:
        found = _common_eigenvectors([host(full(B)) for B in Bs])
        if found is None:
            return None
        Q, weights = like(found[0], Ks[0]), found[1]

    return Q, [
        DirectionKernel(own, kernel, [float(w) for w in weights[:, own[0]]], gram)
        for own in _equal_columns(weights)
    ]


def _common_eigenvectors(Bs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the common eigenvectors of symmetric matrices, and all eigenvalues; else None.

    They are the eigenvectors of a weighted sum of the matrices. With generic weights, directions
    with different eigenvalues in one matrix also have different eigenvalues in the sum.
    """
    scales = [float(np.abs(B).max()) or 1.0 for B in Bs]
    generic = np.sqrt(np.arange(2.0, len(Bs) + 2.0))
    mixed = sum(w * B / s for w, B, s in zip(generic, Bs, scales, strict=True))
    Q = np.linalg.eigh(mixed)[1]
    rotated = [Q.T @ B @ Q for B in Bs]
    for B, scale in zip(rotated, scales, strict=True):
        if np.abs(B - np.diag(B.diagonal())).max() > COMMUTES * len(B) * scale:
            return None
    return Q, np.stack([np.maximum(B.diagonal(), 0.0) for B in rotated])


def _equal_columns(weights: np.ndarray) -> list[np.ndarray]:
    """Group the columns of `weights` that are equal up to rounding; return their numbers."""
    largest = weights.max(axis=1, keepdims=True)
    relative = weights / np.where(largest > 0, largest, 1.0)
    _, number = np.unique(relative.round(12), axis=1, return_inverse=True)
    number = number.reshape(-1)
    return [np.flatnonzero(number == g) for g in range(number.max() + 1)]
