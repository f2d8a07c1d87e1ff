"""Kernels of vector fields that are gradients, or that are free of divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Array, Items, blocks, dense, like, namespace, take, take_columns
from ..kernels import RBF, Kernel, as_kernel
from ..kernels.distances import squared_distances, typical_row
from .block_gram import BlockGram
from .coupled import CoupledKernel
from .slots import Slots


class FieldKernel(CoupledKernel):
    """Base class of kernels of vector fields, by second derivatives of a kernel φ(‖x - x'‖²).

    Inputs are points and outputs vectors at them, both of dimension d.
    """

    potential_: Any
    scale_: float

    def __init__(self, length_scale: float | str = "median", kernel: Kernel | str | None = None):
        self.length_scale = length_scale
        self.kernel = kernel

    def _input_kernel(self) -> Kernel:
        """Return the scalar kernel of the potential of the field."""
        return RBF(self.length_scale) if self.kernel is None else as_kernel(self.kernel)

    depends_on_data = property(lambda self: self._input_kernel().depends_on_data)

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> FieldKernel:
        """Fit the scalar kernel; check that outputs are vectors of the dimension of the points."""
        potential = self._input_kernel()
        if potential.radial is None or potential.radial.curvature is None:
            raise ValueError(
                f"{type(self).__name__} takes second derivatives of its kernel, and {potential} "
                "is not smooth enough at zero: use RBF, or Matern with nu=2.5 or inf."
            )
        super().fit(X, V, weights)
        self._check_dimensions(int(X.shape[1]))
        self.potential_ = self.inputs_
        self.scale_ = 1.0
        isotropic, outer = self._coefficients(like([[0.0]], dense(X)))
        isotropic = isotropic * outer if isinstance(isotropic, float) else isotropic
        self.scale_ = 1.0 / float(isotropic[0, 0])
        return self

    def _check_dimensions(self, d: int) -> None:
        """Raise an error if the number d of output dimensions is not that of the points."""
        if d != self.width_:
            raise ValueError(
                f"{type(self).__name__} learns vectors at points of the same space: X has {d} "
                f"dimensions, y has {self.width_}."
            )

    def _coefficients(self, D2: Array) -> tuple[Array | float, Array]:
        """Return the coefficients of I and of δδᵀ in K(x, x'), δ = x - x', given D2 = ‖δ‖².

        If the first coefficient is a constant multiple of the second, it is given by this number.
        """
        raise NotImplementedError

    def gram(self, A: Items, B: Items | None = None) -> FieldGram:
        """Return the Gram matrix as the coefficients of I and of δδᵀ for all pairs of points."""
        A = dense(A)
        B = A if B is None else dense(B)
        shift = typical_row(B)  # far from the mean where one row is far from all others
        right = B - shift
        left = right if A is B else A - shift
        return FieldGram(left, right, *self._coefficients(squared_distances(left, right)))


class CurlFree(FieldKernel):
    r"""Kernel of vector fields that are gradients.

    :math:`K(x, x') = \ell^2 (-\nabla\nabla^\top \varphi)(x - x')`; for an RBF
    :math:`K = \varphi (I - \delta\delta^\top / \ell^2)` with :math:`\delta = x - x'`.

    Parameters
    ----------
    length_scale : float or str, default="median"
        The length scale :math:`\ell` of the RBF potential, a number or "median".
    kernel : Kernel, str or None, default=None
        The potential's kernel, in place of the RBF: twice differentiable, such as
        ``Matern(2.0, nu=2.5)``; its own length scale then counts.

    Notes
    -----
    With :math:`\varphi` a function of :math:`s = \lVert \delta \rVert^2`, the second
    derivatives are :math:`-\nabla\nabla^\top \varphi = -2\varphi' I - 4\varphi''
    \delta\delta^\top`. A function whose potential :math:`f` has the kernel :math:`\varphi` is
    :math:`g = \nabla f`, so every :math:`K(\cdot, x') c` is a gradient and has no curl. Values are
    scaled so that :math:`K(x, x) = I`: the ridge means the same for every length scale.

    References
    ----------
    Fuselier (2006); Macêdo and Castro (2010); Micheli and Glaunès (2014).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.operators import CurlFree
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(80, 2))
    >>> model = KernelDependency(CurlFree(1.0), alpha=1e-4).fit(X, 2 * X)  # the gradient of ‖x‖²
    >>> model.predict([[0.5, -0.25]]).round(2)
    array([[ 1. , -0.5]])
    """

    def _coefficients(self, D2: Array) -> tuple[Array | float, Array]:
        """Return the coefficients of I and of δδᵀ in minus the Hessian of φ, given D2 = ‖δ‖²."""
        radial = self.potential_.radial
        if radial.bending is not None:  # both are multiples of φ
            outer = radial.slope(D2)
            outer *= -4.0 * radial.bending() * self.scale_
            return -0.5 / radial.bending(), outer
        return radial.slope(D2) * (2.0 * self.scale_), radial.curvature(D2) * (-4.0 * self.scale_)


class DivergenceFree(FieldKernel):
    r"""Kernel of divergence-free vector fields, such as flows of water.

    :math:`K(x, x') \propto ((\nabla\nabla^\top - I \nabla^2) \varphi)(x - x')`; for an RBF :math:`K
    = \varphi (\delta\delta^\top / \ell^2 + (d - 1 - \lVert \delta \rVert^2 / \ell^2) I) / (d - 1)`
    with :math:`\delta = x - x'`. In one dimension it is zero, and refused.

    Parameters
    ----------
    length_scale : float or str, default="median"
        As in `CurlFree`.
    kernel : Kernel, str or None, default=None
        As in `CurlFree`.

    Notes
    -----
    In the letters of `CurlFree` the Laplacian of :math:`\varphi` is :math:`2d\varphi' +
    4s\varphi''`, so that :math:`(\nabla\nabla^\top - I \nabla^2) \varphi = (-2(d - 1)\varphi' -
    4s\varphi'') I + 4\varphi'' \delta\delta^\top`, whose columns have divergence zero. Values are
    scaled so that :math:`K(x, x) = I`.

    References
    ----------
    Narcowich and Ward (1994); Macêdo and Castro (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.operators import DivergenceFree
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(80, 2))
    >>> Y = np.stack([-X[:, 1], X[:, 0]], axis=1)  # a rotation
    >>> model = KernelDependency(DivergenceFree(1.0), alpha=1e-4).fit(X, Y)
    >>> model.predict([[0.5, -0.25]]).round(2)
    array([[0.25, 0.5 ]])
    """

    def _check_dimensions(self, d: int) -> None:
        """Raise an error for one dimension, or if points have another number of dimensions."""
        super()._check_dimensions(d)
        if d == 1:
            raise ValueError(
                "DivergenceFree is zero in one dimension, where only constants have no "
                "divergence: use a scalar kernel such as RBF()."
            )

    def _coefficients(self, D2: Array) -> tuple[Array | float, Array]:
        """Return the coefficients of I and of δδᵀ in the Hessian minus the Laplacian of φ."""
        radial = self.potential_.radial
        slope = radial.slope(D2)
        outer = radial.curvature(D2) if radial.bending is None else slope * radial.bending()
        outer *= 4.0 * self.scale_
        slope *= 2.0 * (self.width_ - 1) * self.scale_
        slope -= D2 * outer
        return slope, outer


CACHED_ROWS = 128
"""Rows of the n × n products that are computed at once: they should stay in the cache."""
EXPANDED_UP_TO = 6
"""Dimensions up to which one product with d² + 2d + 1 columns is faster than two with d."""


class FieldGram(BlockGram):
    """Block Gram matrix of vector fields, K(a_i, b_j) = isotropic_ij I + outer_ij δδᵀ.

    δ is the difference a_i - b_j of two points.

    Parameters
    ----------
    A, B : array
        The points, moved so that the mean of B is zero: only differences count.
    isotropic : array of shape (n, m) or float
        The factor of I; a number is that multiple of `outer`.
    outer : array of shape (n, m)
        The factor of δδᵀ.

    Notes
    -----
    With s_j = ⟨b_j, c_j⟩ and T = outer ∘ (A Cᵀ - 1sᵀ) the product is

        Σ_j K(a_i, b_j) c_j = (isotropic C)_i + (T 1)_i a_i - (T B)_i,

    O(n m d) for n and m points in d dimensions, where the matrix written out has n m d² entries.
    In few dimensions T is expanded, and all of it is one product with the columns of
    C, s, s ∘ B and C ⊗ B, which reads `outer` once.
    """

    def __init__(self, A: Array, B: Array, isotropic: Array | float, outer: Array):
        self.A, self.B, self.isotropic, self.outer = A, B, isotropic, outer
        width = int(A.shape[1])
        self.rows, self.columns = Slots(int(A.shape[0]), width), Slots(int(B.shape[0]), width)

    def apply(self, D: Array) -> Array:
        """Return the Gram matrix times D, computed column by column."""
        xp = namespace(D)
        shape = (self.columns.n, self.columns.width)
        product = (
            self._apply_expanded
            if self.columns.width <= EXPANDED_UP_TO
            else self._apply_by_row_blocks
        )
        results = [product(xp.reshape(D[:, r], shape)) for r in range(D.shape[1])]
        return xp.stack([xp.reshape(result, (-1,)) for result in results], axis=1)

    def _apply_expanded(self, C: Array) -> Array:
        """Return the Gram matrix times vectors C by one wide product; fast in few dimensions."""
        xp, (m, d), A = namespace(C), C.shape, self.A
        s = xp.sum(self.B * C, axis=1)[:, None]
        pairs = xp.reshape(self.B[:, :, None] * C[:, None, :], (m, d * d))
        M = self.outer @ xp.concat([C, s, s * self.B, pairs], axis=1)
        weighted, scaled_by_s = M[:, :d], M[:, d + 1 : 2 * d + 1]
        quadratic = xp.reshape(M[:, 2 * d + 1 :], (-1, d, d)) @ A[:, :, None]
        along = xp.sum(A * weighted, axis=1)[:, None] - M[:, d : d + 1]
        return self._isotropic_times(C, weighted) + along * A + scaled_by_s - quadratic[:, :, 0]

    def _apply_by_row_blocks(self, C: Array) -> Array:
        """Return the Gram matrix times vectors C by blocks of rows; fast in many dimensions."""
        xp = namespace(C)
        s, Ct = xp.sum(self.B * C, axis=1), C.T
        out = []
        for rows in blocks(self.rows.n, CACHED_ROWS):
            A = self.A[rows, :]
            T = A @ Ct
            T -= s
            T *= self.outer[rows, :]
            out.append(xp.sum(T, axis=1)[:, None] * A - T @ self.B)
        return self._isotropic_times(C, None) + xp.concat(out)

    def _isotropic_times(self, C: Array, weighted: Array | None) -> Array:
        """Return the part of the product with C that comes from multiples of the identity.

        If `isotropic` is a number, it stands for the matrix isotropic · outer. `weighted` is
        `outer` times C if that is already computed, else None.
        """
        if not isinstance(self.isotropic, float):
            return self.isotropic @ C
        return self.isotropic * (self.outer @ C if weighted is None else weighted)

    def matrix(self) -> Array:
        """Return the dense Gram matrix, filled one pair of dimensions at a time."""
        n, m, d = self.rows.n, self.columns.n, self.rows.width
        G = like(np.empty((n, d, m, d)), self.outer)
        for p in range(d):
            weighted = self.outer * self._differences(p)
            for r in range(p, d):
                G[:, p, :, r] = weighted * self._differences(r)
                G[:, r, :, p] = G[:, p, :, r]
            G[:, p, :, p] += (
                self.isotropic * self.outer if isinstance(self.isotropic, float) else self.isotropic
            )
        return namespace(G).reshape(G, (n * d, m * d))

    def _differences(self, p: int) -> Array:
        """Return the differences of all pairs of points along dimension p."""
        return self.A[:, p][:, None] - self.B[:, p][None, :]

    def landmarks(self, number: int) -> np.ndarray:
        """Return the indices of `number` points far from each other, chosen one after the other."""
        xp, chosen = namespace(self.outer), [0]
        nearest = xp.abs(self.outer[0, :])
        while len(chosen) < number:
            chosen.append(int(xp.argmin(nearest)))
            nearest = xp.maximum(nearest, xp.abs(self.outer[chosen[-1], :]))
        return np.unique(chosen)

    def some_columns(self, index: np.ndarray) -> Array:
        """Return the columns `index` of the Gram matrix."""
        d = self.columns.width
        points, number = np.unique(np.asarray(index) // d, return_inverse=True)
        isotropic = (
            self.isotropic
            if isinstance(self.isotropic, float)
            else take_columns(self.isotropic, points)
        )
        chosen = FieldGram(
            self.A, take(self.B, points), isotropic, take_columns(self.outer, points)
        )
        G = chosen.matrix()
        wanted = number * d + np.asarray(index) % d
        return G if np.array_equal(wanted, np.arange(G.shape[1])) else take_columns(G, wanted)
