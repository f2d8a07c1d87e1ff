"""Operator-valued kernels that are diagonal in the components of the outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from .._base.arrays import Array, Items, count, namespace, take
from .block_gram import BlockGram
from .coupled import CoupledKernel
from .slots import Slots


class ComponentGram(BlockGram):
    """Gram matrix of blocks diag(k_1, …, k_q): a scalar kernel for each output component.

    The block of items a_i and b_j is diag(k_1(a_i, b_j), …, k_q(a_i, b_j)).
    Components that share a scalar kernel have the same label, and its matrix is computed once;
    the dense matrix of n · q rows is never in memory.

    Parameters
    ----------
    labels : array
        For each of the q components the number of its scalar kernel, 0, 1, …
    scalar : callable
        A function that returns the matrix of the scalar kernel of a number, (n, m).
    n, m : int
        The sizes of the two batches.
    """

    def __init__(self, labels: np.ndarray, scalar: Callable[[int], Array], n: int, m: int):
        self.labels, self.scalar = labels, scalar
        self.rows, self.columns = Slots(n, len(labels)), Slots(m, len(labels))

    @property
    def number(self) -> int:
        """The number of scalar kernels."""
        return int(self.labels.max()) + 1

    def by_scalar(self) -> Iterator[tuple[np.ndarray, Array]]:
        """Yield for each scalar kernel the output components that use it, and its Gram matrix."""
        for label in range(self.number):
            yield np.flatnonzero(self.labels == label), self.scalar(label)

    def diagonal_blocks(self) -> Iterator[tuple[np.ndarray, Array]]:
        """Yield the numbers of the rows (slots) and the Gram matrix of each output component."""
        for components, K in self.by_scalar():
            for component in components:
                # A copy: it is factored in place, and others share it.
                yield np.arange(self.rows.n) * self.rows.width + component, K + 0.0

    def apply(self, D: Array) -> Array:
        """Return the Gram matrix times D; each component is multiplied by its own scalar kernel."""
        xp, q = namespace(D), len(self.labels)
        by_component = xp.permute_dims(xp.reshape(D, (self.columns.n, q, -1)), (1, 0, 2))
        done, order = [], []
        for components, K in self.by_scalar():
            done.append(K @ take(by_component, components))
            order.append(components)
        out = take(xp.concat(done), np.argsort(np.concatenate(order)))
        return xp.reshape(xp.permute_dims(out, (1, 0, 2)), (self.rows.n * q, -1))

    @cached_property
    def scalars(self) -> Array:
        """The stacked Gram matrices of all scalar kernels, (m, n, number of kernels)."""
        xp = namespace(self.scalar(0))
        return xp.permute_dims(xp.stack([K for _, K in self.by_scalar()]), (2, 1, 0))

    def column(self, j: int, d: Array) -> Array:
        """Return the vectors K(a_i, b_j) d for item number j, a vector d and every item a_i."""
        xp = namespace(d)
        return xp.take(self.scalars[j, :, :], xp.asarray(self.labels), axis=1) * d

    def joint(self, V: Array) -> Array:
        """Return the Gram matrix of the joint kernel, for all pairs of an item and a row of V.

        The entry [i, c, j, d] is ⟨K(a_i, b_j) v_d, v_c⟩.
        """
        xp, m = namespace(V), int(V.shape[0])
        own = [take(V.T, columns) for columns, _ in self.by_scalar()]
        S = xp.stack([part.T @ part for part in own])
        J = xp.reshape(self.scalars, (-1, len(own))) @ xp.reshape(S, (len(own), -1))
        J = xp.reshape(J, (self.columns.n, self.rows.n, m, m))  # [j, i, d, c], or [j, i, c, d]
        return xp.permute_dims(J, (1, 3, 0, 2))

    def pairings(self, V: Array, W: Array) -> Array:
        """Return ⟨K(a_i, b_j) w_j, v_i⟩ for all items a_i, b_j and rows v_i of V, w_j of W.

        The shape of the result is (n, m).
        """
        total: Array = 0.0
        for components, K in self.by_scalar():
            total = total + K * (take(V.T, components).T @ take(W.T, components))
        return total

    def scaled(self, factor: float) -> ComponentGram:
        """Return a copy with all Gram matrices multiplied by `factor`."""
        n, m = self.rows.n, self.columns.n
        return ComponentGram(self.labels, lambda label: factor * self.scalar(label), n, m)

    def __add__(self, other: ComponentGram) -> ComponentGram:
        """Return the sum; components that share a kernel in both terms still do."""
        both = np.stack([self.labels, other.labels])
        kinds, labels = np.unique(both, axis=1, return_inverse=True)

        def scalar(label: int) -> Array:
            """Return the sum of the scalar Gram matrices that a label stands for."""
            left, right = kinds[:, label]
            return self.scalar(int(left)) + other.scalar(int(right))

        return ComponentGram(labels.reshape(-1), scalar, self.rows.n, self.columns.n)


class ComponentKernel(CoupledKernel):
    """Base class of kernels diagonal in output components, each a separate ridge regression.

    A custom kernel implements `by_component` (and `fit`).

    Examples
    --------
    Output component c is predicted from input column c alone:

    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import ComponentGram, ComponentKernel
    >>> class ByColumn(ComponentKernel):
    ...     def by_component(self, A, B=None):
    ...         B = A if B is None else B
    ...         def scalar(c):
    ...             return RBF(1.0)(A[:, [c]], B[:, [c]])
    ...         return ComponentGram(np.arange(A.shape[1]), scalar, len(A), len(B))
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(80, 2))
    >>> model = KernelDependency(ByColumn(), alpha=1e-4).fit(X, np.sin(X))
    >>> bool(np.abs(model.predict([[0.5, 1.0]]) - np.sin([[0.5, 1.0]])).max() < 0.01)
    True
    """

    componentwise = True

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the block Gram matrix of two batches, which is diagonal in output components."""
        return self.by_component(A, B)


class Pointwise(ComponentKernel):
    r"""Kernel that predicts component c of the output from component c of the input.

    :math:`K(x, x') = \text{scale} \cdot \operatorname{diag}(x \circ x')`.

    The paper's diagonal regularisation is ``(1 - t) * k * Identity() + t * Pointwise()``, with
    inputs and outputs of one length: it prefers maps that change each pixel by a factor.

    Parameters
    ----------
    scale : float, default=1.0
        A number ≥ 0; ``0.3 * Pointwise()`` sets it.

    References
    ----------
    Kadri et al. (2013), Section 4.2; Weston et al. (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.operators import Pointwise
    >>> X = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]])
    >>> model = KernelDependency(Pointwise(), alpha=1e-9).fit(X, X * [2.0, -1.0])
    >>> model.predict([[5.0, 5.0]]).round(3)
    array([[10., -5.]])
    """

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    depends_on_data = False

    def scaled(self, factor: float) -> Pointwise:
        """Return a copy with the scale multiplied by `factor`."""
        return Pointwise(factor * self.scale)

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> Pointwise:
        """Store the number of components, which inputs and outputs must have in common."""
        if not self.scale >= 0:
            raise ValueError(f"Pointwise is scaled by a number ≥ 0, got {self.scale!r}.")
        if X.shape[1] != V.shape[1]:
            raise ValueError(
                f"Pointwise pairs component with component, so inputs and outputs need the same "
                f"number of them: got {X.shape[1]} input and {V.shape[1]} output components. "
                "Resize one side, or use a kernel times Identity()."
            )
        super().fit(X, V, weights)
        return self

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Return the Gram matrix scale * outer(A[:, c], B[:, c]) for each component c."""
        A = self.inputs.check(A, "A")
        B = A if B is None else self.inputs.check(B, "B")

        def scalar(c: int) -> Array:
            """Return scale times the outer product of component c of all A and all B."""
            return self.scale * A[:, c, None] * B[None, :, c]

        return ComponentGram(np.arange(self.width_), scalar, count(A), count(B))
