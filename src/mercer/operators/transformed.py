from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from functools import cached_property

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, blocks, count, like, namespace, take
from .._parameters import parameters
from ..kernels import Kernel, as_kernel
from .block_gram import BlockGram
from .coupled import CoupledKernel
from .slots import Slots

KEPT = 2**26
"""Entries of a Gram matrix that are kept between products; larger ones are made again."""
ROWS = 512
"""Rows of a Gram matrix that are made at once where it is not kept."""

Transform = Callable[[Items], Items] | Array


@parameters
class Transformed(CoupledKernel):
    """K(x, x')_pq = k(S_p x, S_q x'): output p sees the input through a transform of its own.

    Parameters
    ----------
    kernel
        The scalar kernel k, over what the transforms give.
    transforms
        One for each output component: a matrix S, applied to vectors as S x, or a function of a
        batch that returns as many items.
    inputs_kernel
        The kernel that checks inputs, where those are other things than k compares; None is k.

    Notes
    -----
    With Φ the feature map of k the value at (p, q) is ⟨Φ(S_p x), Φ(S_q x')⟩, a Gram matrix over
    all pairs (item, component), which is why it is positive.

    References
    ----------
    Caponnetto, Micheli, Pontil, Ying (2008), example 2.

    Examples
    --------
    Two sensors that see the same signal, the second half a turn later:

    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Transformed
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> Y = np.hstack([np.sin(X), np.sin(X + np.pi)])
    >>> kernel = Transformed(RBF(1.0), [lambda A: A, lambda A: A + np.pi])
    >>> KernelDependency(kernel, alpha=1e-4).fit(X, Y).predict([[1.0]]).round(2)
    array([[ 0.84, -0.84]])
    """

    kernel: Kernel
    transforms: Sequence[Transform]
    inputs_kernel: Kernel | None = None

    def _input_kernel(self) -> Kernel:
        return as_kernel(self.kernel if self.inputs_kernel is None else self.inputs_kernel)

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> Transformed:
        """Settle k on everything that the transforms give."""
        super().fit(X, V)
        given = len(self.transforms) if isinstance(self.transforms, Sized) else self.transforms
        if given != self.width_:
            raise ValueError(
                f"Transformed needs one transform for each of the {self.width_} output "
                f"components, got {given}."
            )
        self.kernel_ = clone(as_kernel(self.kernel)).fit(self._stacked(X))
        return self

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Of k, over all pairs of an item and a component."""
        left = self._stacked(A)
        right = left if B is None else self._stacked(B)
        return StackedGram(self.kernel_, left, right, self.width_)

    def _stacked(self, A: Items) -> Items:
        """Every item as every component sees it: S_1 a_1, S_2 a_1, …, S_1 a_2 and so on."""
        n = count(A)
        seen = [self._seen(A, p) for p in range(self.width_)]
        kernel = as_kernel(self.kernel)
        parts = [kernel.check(part, f"what transforms[{p}] made") for p, part in enumerate(seen)]
        widths = [int(part.shape[1]) for part in parts] if kernel.on_vectors else []
        if len(set(widths)) > 1:
            raise ValueError(
                f"{kernel} compares vectors of one length, but the transforms made vectors of "
                f"lengths {widths}: give them as many rows."
            )
        order = np.arange(self.width_ * n).reshape(self.width_, n).T.reshape(-1)
        return take(namespace(*parts).concat(parts, axis=0), order)

    def _seen(self, A: Items, p: int) -> Items:
        transform = self.transforms[p]
        if callable(transform):
            seen = transform(A)
            made = count(seen) if isinstance(seen, Sized) else type(seen).__name__
            if made != count(A):
                raise ValueError(
                    f"transforms[{p}] made {made} items of {count(A)}: it must return one for each."
                )
            return seen
        S = like(transform, A)
        if S.ndim != 2 or S.shape[1] != A.shape[1]:
            raise ValueError(
                f"transforms[{p}] must be a matrix of {A.shape[1]} columns, one for each input "
                f"feature, or a function of a batch; got shape {tuple(S.shape)}."
            )
        return A @ S.T


class StackedGram(BlockGram):
    """A scalar kernel over items that are slots, made again for every product where it is large."""

    def __init__(self, kernel: Kernel, left: Items, right: Items, width: int):
        self.kernel, self.left, self.right = kernel, left, right
        self.rows, self.columns = (Slots(count(A) // width, width) for A in (left, right))

    @cached_property
    def _kept(self) -> Array:
        return self.kernel(self.left, self.right)

    def apply(self, D: Array) -> Array:
        """The product, the matrix kept or made row by row."""
        if self.rows.size * self.columns.size <= KEPT:
            return self._kept @ D
        every = np.arange(self.rows.size)
        parts = [
            self.kernel(take(self.left, every[rows]), self.right) @ D
            for rows in blocks(len(every), ROWS)
        ]
        return namespace(D).concat(parts)

    def matrix(self) -> Array:
        """The Gram matrix."""
        return self.kernel(self.left, self.right)

    def some_columns(self, index: np.ndarray) -> Array:
        """Kernel values against some items."""
        return self.kernel(self.left, take(self.right, index))
