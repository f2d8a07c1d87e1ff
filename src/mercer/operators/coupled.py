"""Operator-valued kernels that are not a scalar kernel times an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, count
from .._base.linalg import INDEFINITE
from ..kernels import Kernel, Linear
from ..kernels.base import fit_weighted
from .block_gram import BlockGram, DenseGram
from .kernel import OperatorKernel
from .slots import Slots


class CoupledKernel(OperatorKernel):
    """Base class of operator-valued kernels over the components of the outputs.

    Components are the finite features of the output kernel: the entries of vectors, the pixels of
    images, the letters at the positions of a word. A custom kernel implements `fit` (which
    calls that of this class first) and `gram`; `mercer.testing.check_operator_kernel` checks it.

    Attributes
    ----------
    width_
        The number of output components.

    Examples
    --------
    >>> from mercer.operators import CoupledKernel, CurlFree
    >>> isinstance(CurlFree(1.0), CoupledKernel)
    True
    """

    own_coordinates = True
    width_ = 0
    inputs_: Any = None

    def _input_kernel(self) -> Kernel:
        """Return an unfitted scalar kernel that checks inputs; by default `Linear`, for vectors."""
        return Linear()

    @property
    def inputs(self) -> Kernel:
        """The scalar kernel that checks inputs; the fitted one after `fit`."""
        return self.inputs_ or self._input_kernel()

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> CoupledKernel:
        """Store the number of output components, and fit the kernel that checks inputs."""
        self.width_ = int(V.shape[1])
        self.inputs_ = fit_weighted(self._input_kernel(), X, weights)
        return self


class Blocks(CoupledKernel):
    """Operator-valued kernel whose blocks K(a_i, b_j) a function computes.

    Parameters
    ----------
    function : callable
        A function of two batches that returns the values, (n, m, q, q).
    kernel : Kernel or None, default=None
        The kernel that checks inputs; None is `Linear`, for vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.operators import Blocks
    >>> def rotating(A, B):
    ...     k = np.exp(-(A[:, None, 0] - B[None, :, 0]) ** 2)
    ...     turn = A[:, None, 0] - B[None, :, 0]
    ...     R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    ...     return k[:, :, None, None] * R.transpose(2, 3, 0, 1)
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> Y = np.hstack([np.cos(X), np.sin(X)])
    >>> KernelDependency(Blocks(rotating), alpha=1e-3).fit(X, Y).predict([[1.0]]).round(2)
    array([[0.54, 0.84]])
    """

    def __init__(self, function: Callable[[Any, Any], Array], kernel: Kernel | None = None):
        self.function = function
        self.kernel = kernel

    depends_on_data = False  # inputs are checked by the kernel, and values are the function's

    def _input_kernel(self) -> Kernel:
        """Return the given kernel that checks inputs, by default `Linear`."""
        return self.kernel or Linear()

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the blocks that the function computes as a dense Gram matrix."""
        alone, B = B is None, A if B is None else B
        q, n, m = self.width_, count(A), count(B)
        values = np.asarray(self.function(A, B))
        if values.shape != (n, m, q, q):
            raise ValueError(
                f"the function of Blocks must return shape {(n, m, q, q)}, a {q} × {q} matrix for "
                f"each of {n} × {m} pairs; got {values.shape}."
            )
        if not np.isfinite(values).all():
            raise ValueError("the function of Blocks returned NaN or infinity.")
        G = values.transpose(0, 2, 1, 3).reshape(n * q, m * q)
        if alone and not np.allclose(G, G.T, rtol=0, atol=INDEFINITE * float(np.abs(G).max())):
            raise ValueError(
                "the function of Blocks is not a kernel: K(a, b) must be the transpose of K(b, a), "
                f"and they differ by up to {np.abs(G - G.T).max():.3g}."
            )
        return DenseGram(G, Slots(n, q), Slots(m, q))
