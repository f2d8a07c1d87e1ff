"""Joint kernels over pairs (input, output), and the operator-valued kernels that define them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._base.arrays import Array, Items, as_items, count, object_array, take
from mercer._base.checks import Limits, bounded
from mercer.features import Explicit, FeatureMap
from mercer.features.triangular import Triangular
from mercer.kernels import Kernel, Linear, as_kernel
from mercer.kernels.base import fit_weighted
from mercer.operators import (
    BlockGram,
    CoupledKernel,
    DenseGram,
    OperatorKernel,
    Slots,
    as_operator_kernel,
)

BILINEAR = 1e-8
"""Largest deviation of a joint kernel from linearity in outputs, relative to its values."""


class JointKernel(Kernel):
    r"""Kernel over pairs, :math:`J((x, y), (x', y')) = \langle K(x, x') \Phi(y), \Phi(y') \rangle`.

    Items are pairs (x, y). The function `joint` returns such a kernel.

    Parameters
    ----------
    kernel : OperatorKernel or Kernel
        The operator-valued kernel K.
    output_kernel : Kernel, str or None, default=None
        The kernel l with feature map Φ.

    Notes
    -----
    An output kernel with finite features is taken in those. Without, a multiple of the identity
    needs no coordinates, J = k l; other operators are made of the outputs that the kernel was
    fitted on, and see of another output its projection on their span.

    Examples
    --------
    >>> from mercer.kernels import RBF, Kendall
    >>> from experiments.peers import JointKernel
    >>> from mercer.operators import Identity
    >>> joint = JointKernel(RBF(1.0) * Identity(), Kendall())
    >>> joint.output_kernel
    Kendall()
    """

    def __init__(self, kernel: OperatorKernel | Kernel, output_kernel: Kernel | str | None = None):
        self.kernel = kernel
        self.output_kernel = output_kernel

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check pairs; return a one-dimensional array of tuples."""
        items = list(as_items(A, name))
        if not all(isinstance(item, tuple | list) and len(item) == 2 for item in items):
            raise ValueError(f"{name} must hold pairs (input, output): use list(zip(X, y)).")
        return object_array([tuple(item) for item in items])

    def fit(self, A: Items) -> JointKernel:
        """Fit the operator-valued kernel and the output kernel on pairs (input, output)."""
        X, y = self._split(self.check(A, "A"), as_operator_kernel(self.kernel).inputs)
        self.output_kernel_ = clone(as_kernel(self.output_kernel or Linear())).fit(y)
        map: FeatureMap = Explicit()
        if self.output_kernel_.features is None:
            map = Triangular()
        V = map.fit_transform(self.output_kernel_, y)
        self.map_ = map
        self.kernel_ = clone(as_operator_kernel(self.kernel)).fit(X, V)
        return self

    def _split(self, pairs: np.ndarray, input_kernel: Kernel) -> tuple[Items, Items]:
        """Return the checked inputs and the checked outputs of an array of pairs."""
        X = input_kernel.check([x for x, _ in pairs], "inputs")
        return X, as_kernel(self.output_kernel or Linear()).as_outputs(
            [y for _, y in pairs], "outputs"
        )

    def _gram(self, A: np.ndarray, B: np.ndarray) -> Array:
        """Return ⟨K(x, x') Φ(y), Φ(y')⟩ for all pairs (x, y) in A and (x', y') in B."""
        (X, y), (Z, u) = (self._split(pairs, self.kernel_.inputs) for pairs in (A, B))
        V, W = self.map_.transform(y), self.map_.transform(u)
        return self.kernel_.pairings(X, V, Z, W, self.output_kernel_(y, u))


def joint(
    kernel: OperatorKernel | Kernel, output_kernel: Kernel | str | None = None
) -> JointKernel:
    """Return the joint kernel of an operator-valued kernel and an output kernel.

    Parameters
    ----------
    kernel : OperatorKernel or Kernel
        An operator-valued kernel; a scalar kernel k stands for k · identity, and gives the tensor
        product k(x, x') l(y, y').
    output_kernel : Kernel, str or None, default=None
        The kernel l on outputs; None is `Linear`.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from experiments.peers import joint
    >>> from mercer.operators import Identity, Pointwise
    >>> J = joint(0.5 * RBF(1.0) * Identity() + 0.5 * Pointwise())
    >>> pairs = [([1.0, 2.0], [3.0, 4.0]), ([1.0, 2.0], [1.0, 0.0])]
    >>> J.fit(pairs)(pairs)
    array([[49.,  3.],
           [ 3.,  1.]])
    """
    return JointKernel(as_operator_kernel(kernel), output_kernel)


class FromJoint(CoupledKernel):
    r"""The operator-valued kernel of a joint kernel that is linear in each output vector.

    :math:`K(x, x')_{ab} = J((x, e_a), (x', e_b))` with the unit vectors :math:`e_a`. This is the
    inverse of `joint`.

    Parameters
    ----------
    joint : Kernel or callable
        A kernel over pairs (x, y), or a function of two batches of pairs.
    kernel : Kernel or None, default=None
        The kernel that checks inputs; None is `Linear`, for vectors.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import Function
    >>> from experiments.peers import FromJoint
    >>> def agreement(a, b):
    ...     return (a[0] @ b[0]) * (a[1] @ b[1])
    >>> K = FromJoint(Function(agreement, of_items=True))
    >>> model = KernelDependency(K, alpha=1e-6).fit([[1.0], [2.0]], [[1.0, 0.0], [2.0, 0.0]])
    >>> model.predict([[3.0]]).round(3)
    array([[3., 0.]])
    """

    def __init__(self, joint: Kernel | Callable[..., Any], kernel: Kernel | None = None):
        self.joint = joint
        self.kernel = kernel

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded kernel: blocks, (width, width) for each pair, must not be too large."""
        bounded(self.width_, "width_", 0, int((limits.size // 16) ** 0.5))

    def _input_kernel(self) -> Kernel:
        """Return the given kernel that checks inputs, by default `Linear`."""
        return as_kernel(self.kernel or Linear())

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> FromJoint:
        """Fit the joint kernel on the pairs, and check that it is linear in outputs."""
        super().fit(X, V, weights)
        self.joint_ = fit_weighted(as_kernel(self.joint), _pairs(X, V), weights)
        self._refuse_nonlinear(X, np.asarray(V))
        return self

    def _refuse_nonlinear(self, X: Items, V: np.ndarray) -> None:
        """Raise an error if the joint kernel is not linear in the output vector of a pair."""
        x, first, last = take(X, [0]), V[:1], V[-1:]
        against = _pairs(X, V)
        both, one, other = (
            self.joint_(_pairs(x, v), against) for v in (first + 2.0 * last, first, last)
        )
        off = float(np.abs(both - one - 2.0 * other).max())
        if off > BILINEAR * max(float(np.abs(both).max()), 1e-300):
            raise ValueError(
                f"{self.joint} is not linear in the output vectors (off by {off:.3g}), so it has "
                "no operator-valued kernel on them. Use a joint kernel that is bilinear in y."
            )

    def gram(self, A: Items, B: Items | None = None) -> BlockGram:
        """Return the block Gram matrix of two batches, from values of the joint kernel.

        The entries of block (i, j) are J((A_i, e_a), (B_j, e_b)) for all unit vectors e_a and e_b.
        """
        B, eye = A if B is None else B, np.eye(self.width_)
        n, m, q = count(A), count(B), self.width_
        left, right = (
            _pairs(take(items, np.repeat(np.arange(count(items)), q)), np.tile(eye, (size, 1)))
            for items, size in ((A, n), (B, m))
        )
        return DenseGram(self.joint_(left, right), Slots(n, q), Slots(m, q))


def _pairs(X: Items, V: Array) -> np.ndarray:
    """Return the pairs of X[i] and V[i] as an array of tuples."""
    return object_array(list(zip(X, V, strict=True)))
