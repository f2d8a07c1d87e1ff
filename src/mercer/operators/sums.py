"""Sums and multiples of operator-valued kernels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .._base.arrays import Array, Items
from .._base.parameters import same
from ..kernels import Kernel, as_kernel
from ..spaces import Fields
from .block_gram import BlockGram, SumGram
from .components import ComponentGram
from .kernel import OperatorKernel
from .separable import Separable, fit_clone


class OperatorSum(OperatorKernel):
    """Sum of two operator-valued kernels, K = left + right.

    Parameters
    ----------
    left, right : OperatorKernel
        The terms.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> from mercer.operators import Covariance, Identity
    >>> RBF(1.0) * Identity() + Linear() * Covariance()
    OperatorSum(left=Separable(operator=Identity(), scalar=RBF(length_scale=1.0)),
                right=Separable(operator=Covariance(), scalar=Linear()))
    """

    scale = 1.0
    """The factor of the whole sum."""
    terms_: tuple[OperatorKernel, ...] | None = None

    def __init__(self, left: OperatorKernel, right: OperatorKernel):
        self.left = left
        self.right = right

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    @property
    def _unfitted_terms(self) -> tuple[OperatorKernel, ...]:
        """The kernels of the sum, not fitted."""
        return self.left, self.right

    @property
    def terms(self) -> tuple[OperatorKernel, ...]:
        """The kernels of the sum; the fitted ones after `fit`."""
        return self.terms_ or self._unfitted_terms

    def _as_separable(self) -> Separable | None:
        """Return the sum as a scalar kernel times an operator; None if the terms share neither."""
        if not all(term.separable for term in self._unfitted_terms):
            return None
        left, right = (term.separated() for term in self._unfitted_terms)
        if same(left.scalar, right.scalar):
            return Separable(left.scalar, left.operator + right.operator)
        if same(left.operator, right.operator):
            return Separable(as_kernel(left.scalar) + as_kernel(right.scalar), left.operator)
        return None

    separable = property(lambda self: self._as_separable() is not None)

    def separated(self) -> Separable:
        """Return the sum as a scalar kernel times an operator; refuse terms that share neither."""
        common = self._as_separable()
        if common is None:
            raise ValueError(f"{self}: the terms share neither the scalar kernel nor the operator.")
        return common

    own_coordinates = property(
        lambda self: any(term.own_coordinates for term in self._unfitted_terms)
    )
    depends_on_data = property(
        lambda self: any(term.depends_on_data for term in self._unfitted_terms)
    )
    centred_outputs = property(
        lambda self: all(term.centred_outputs for term in self._unfitted_terms)
    )
    componentwise = property(lambda self: all(term.componentwise for term in self._unfitted_terms))

    def for_outputs(self, shape: tuple[int, ...]) -> OperatorKernel:
        """Return the sum of both terms for outputs of this shape."""
        return OperatorSum(self.left.for_outputs(shape), self.right.for_outputs(shape))

    def scaled(self, factor: float) -> OperatorKernel:
        """Return the sum with both terms multiplied by `factor`."""
        return self.left.scaled(factor) + self.right.scaled(factor)

    @property
    def inputs(self) -> Kernel:
        """The scalar kernel that checks inputs; the fitted one after `fit`.

        It is the scalar kernel that the terms share, else that of a term on fields, else the first.
        """
        if self.separable:
            return self.separated().inputs
        kernels = [term.inputs for term in self.terms]
        return _first_given(one for one in kernels if isinstance(one.space, Fields)) or kernels[0]

    def fit(
        self, X: Items, V: Array, weights: np.ndarray | None = None, centred: bool = False
    ) -> OperatorSum:
        """Fit the kernels of all terms on inputs X and output coordinates V.

        With `centred`, V are outputs minus their mean.
        """
        if not 0 < self.scale < float("inf"):
            raise ValueError(f"a kernel is scaled by a positive number, got {self.scale!r}.")
        self.terms_ = tuple(
            fit_clone(term, X, V, weights, centred) for term in self._unfitted_terms
        )
        return self

    def fit_centred(self, X: Items, V: Array, weights: np.ndarray | None = None) -> OperatorSum:
        """Fit the kernels of all terms on inputs X and outputs V minus their mean."""
        return self.fit(X, V, weights, centred=True)

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the scaled sum of the block Gram matrices of all terms."""
        return SumGram(*(term.gram(A, B) for term in self.terms), scale=self.scale)

    def pairings(self, A: Items, V: Array, B: Items, W: Array, L: Array) -> Array:
        """Return ⟨K(a_i, b_j) Φ(u_j), Φ(y_i)⟩, the joint kernel of pairs (a_i, y_i), (b_j, u_j)."""
        return self.scale * reduce(add, [term.pairings(A, V, B, W, L) for term in self.terms])

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Return the Gram matrix of each output component, summed over all terms."""
        total = reduce(add, [term.by_component(A, B) for term in self.terms])
        return total if self.scale == 1 else total.scaled(self.scale)


def _first_given(values: Iterable[Any]) -> Any:
    """Return the first value that is not None; None if there is none."""
    return next((value for value in values if value is not None), None)


class ScaledKernel(OperatorSum):
    """Operator-valued kernel times a number, a sum of one term, written ``0.5 * CurlFree()``."""

    def __init__(self, kernel: OperatorKernel, scale: float):
        self.kernel = kernel
        self.scale = scale

    def __str__(self) -> str:
        return f"{self.scale:g} * {self.kernel}"

    separable = False
    _unfitted_terms = property(lambda self: (self.kernel,))

    def for_outputs(self, shape: tuple[int, ...]) -> ScaledKernel:
        """Return the scaled kernel for outputs of this shape."""
        return ScaledKernel(self.kernel.for_outputs(shape), self.scale)

    def scaled(self, factor: float) -> ScaledKernel:
        """Return the kernel with its scale multiplied by `factor`."""
        return ScaledKernel(self.kernel, factor * self.scale)
