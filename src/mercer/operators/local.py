"""Operators between fields in which an output grid point depends on the input near it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._base.arrays import Array, Items, count, like, namespace, take, take_columns
from .._base.parameters import parameters
from .._base.statistics import repeat_by_weight
from ..kernels import RBF, Kernel, as_kernel
from ..kernels.fields import FieldL2
from ..kernels.gradients import ParameterGradient, Values, add_values, total
from ..spaces import Fields
from ..spaces.fields import Grid
from .components import ComponentGram, ComponentKernel
from .grids import field_grids, proximity, sqdistances

SAMPLED_NEIGHBOURHOODS = 16
"""The number of neighbourhoods that length scales are determined on."""


class Boxes(BaseEstimator):
    """Windows that tile a field: boxes of one size that overlap their neighbours.

    Parameters
    ----------
    size : int or sequence of int, default=10
        The number of grid points along each axis, or one number for all.
    overlap : int or sequence of int, default=5
        The grid points that neighbouring boxes share. The last box ends at the border, and may
        share more.
    """

    def __init__(self, size: int | Sequence[int] = 10, overlap: int | Sequence[int] = 5):
        self.size = size
        self.overlap = overlap

    def lay_out(self, inputs: Grid, outputs: Grid) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the input grid points in each box, and which boxes contain each output grid point.

        Output grid points are scaled to the input grid before. Boxes contain the whole of an input
        axis that outputs do not have.
        """
        number = len(inputs.shape)
        size, overlap = (
            per_axis(self.size, "size", number),
            per_axis(self.overlap, "overlap", number),
        )
        begins, lengths = [], []
        for axis, (name, n) in enumerate(zip(inputs.axes, inputs.shape, strict=True)):
            known = name in outputs.axes
            begins.append(patch_starts(n, size[axis], overlap[axis]) if known else [0])
            lengths.append(size[axis] if known else n)
        corners = np.array(list(product(*begins)))
        points = np.arange(inputs.size).reshape(inputs.shape)
        boxes = [
            points[tuple(map(slice, corner, corner + lengths))].reshape(-1) for corner in corners
        ]
        member = np.ones((outputs.size, len(corners)), dtype=bool)
        lines = zip(outputs.axes, outputs.shape, np.indices(outputs.shape), strict=True)
        for name, n, at in lines:
            if name in inputs.axes:
                axis = inputs.axes.index(name)
                scaled, begin = (at.reshape(-1, 1) + 0.5) * inputs.shape[axis] / n, corners[:, axis]
                member &= (scaled > begin) & (scaled < begin + lengths[axis])
        return boxes, member


@parameters
class Local(ComponentKernel):
    r"""Kernel of fields in which near input grid points count more than distant ones.

    :math:`K(x, x')_{cc} = k(\sqrt{\omega_c} \circ x, \sqrt{\omega_c} \circ x')` at output grid
    point :math:`c`, with the weights :math:`\omega_c = \exp(-d^2 / 2\,\text{width}^2) +
    \text{floor}` of input grid points at the distance :math:`d` from :math:`c`. Each output grid
    point is a separate, exact ridge regression, which its channels share. With `windows`, an output
    grid point depends on the boxes that contain it instead,
    :math:`K(x, x')_{cc} = \sum_{p \ni c} k(x_p, x'_p)`.

    Parameters
    ----------
    kernel : Kernel, str or None, default=None
        The kernel k; None is ``RBF("median")``.
    width : float or None, default=None
        The standard deviation of the weights around a grid point, in the units of the fields; None
        for equal weights.
    floor : float, default=0.0
        A number that is added to the weights of all input grid points.
    windows : Boxes or None, default=None
        `Boxes` in place of weights.
    fields, output_fields : Fields or None, default=None
        The grids of inputs and outputs; None for grids of spacing one. Axes match by name.
    output_shape : sequence of int or None, default=None
        The shape of an output array; None for that of the training outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Local
    >>> X = np.random.default_rng(0).normal(size=(60, 12))
    >>> model = KernelDependency(Local(RBF(3.0), width=1.0), alpha=1e-2).fit(X[:50], X[:50] ** 2)
    >>> whole = KernelDependency(RBF(3.0), alpha=1e-2).fit(X[:50], X[:50] ** 2)
    >>> model.score(X[50:], X[50:] ** 2) > whole.score(X[50:], X[50:] ** 2)
    True
    """

    kernel: Kernel | str | None = None
    width: float | None = None
    floor: float = 0.0
    windows: Boxes | None = None
    fields: Fields | None = None
    output_fields: Fields | None = None
    output_shape: Sequence[int] | None = None

    differentiable = True
    roots_ = None

    depends_on_data = property(lambda self: self._unfitted_inner().depends_on_data)

    def _input_kernel(self) -> Kernel:
        """Return the kernel that checks fields on the input grid."""
        return FieldL2(self.fields)

    def scaled(self, factor: float) -> Local:
        """Return a copy whose kernel on neighbourhoods is multiplied by `factor`."""
        copy: Local = clone(self)
        return copy.set_params(kernel=factor * self._unfitted_inner())

    def _unfitted_inner(self) -> Kernel:
        """Return an unfitted kernel on neighbourhoods; the default is ``RBF("median")``."""
        return RBF("median") if self.kernel is None else as_kernel(self.kernel)

    # -- fit ----------------------------------------------------------------------------------

    def fit(self, X: Items, V: Array, weights: Array | None = None) -> Local:
        """Determine the neighbourhood of each output grid point, and fit the kernel on them."""
        super().fit(X, V, weights)
        inputs, outputs = self._grids(X)
        windows = self._boxes()
        if windows is None:
            roots = np.sqrt(proximity(sqdistances(outputs, inputs), self.width, self.floor))
            if inputs.mask is not None:
                roots = roots * inputs.mask
            self.roots_, labels = np.unique(roots, axis=0, return_inverse=True)
            self.roots_ = np.repeat(self.roots_, inputs.channels, axis=1)
        else:
            boxes, member = windows.lay_out(inputs, outputs)
            self.patches_ = [_with_channels(box, inputs.channels) for box in boxes]
            self.members_, labels = np.unique(member, axis=0, return_inverse=True)
        self.labels_ = np.repeat(labels.reshape(-1), outputs.channels)
        flat = self._flat(X)
        counted = flat if weights is None else take(flat, repeat_by_weight(weights))
        self.kernel_ = clone(self._unfitted_inner()).fit(self._neighbourhoods_to_fit(counted))
        return self

    def _grids(self, X: Array) -> tuple[Grid, Grid]:
        """Return the grid of the inputs X and the grid of the outputs."""
        return field_grids(self, X.shape[1:], self.width_)

    def _boxes(self) -> Boxes | None:
        """Return the boxes that serve as neighbourhoods; None for weighted neighbourhoods."""
        return self.windows

    # -- values -------------------------------------------------------------------------------

    def _flat(self, X: Array) -> Array:
        """Flatten fields to vectors, one row for each field."""
        return namespace(X).reshape(X, (X.shape[0], -1))

    def _neighbourhood(self, X: Array, v: int) -> Array:
        """Return fields in neighbourhood v: the values in a box, or all values, weighted."""
        if self.roots_ is not None:
            return X * like(self.roots_[v], X)
        return take_columns(X, self.patches_[v])

    def _neighbourhoods_of(self, label: int) -> list[int]:
        """Return the numbers of the neighbourhoods of the grid points with a label."""
        return [label] if self.roots_ is not None else np.flatnonzero(self.members_[label]).tolist()

    def _neighbourhoods_to_fit(self, X: Array) -> Array:
        """Return the neighbourhoods that the kernel is fitted on, for all fields, as rows.

        These are all boxes, or some of the weighted neighbourhoods.
        """
        if self.roots_ is None:
            used = np.arange(len(self.patches_))
        else:
            number = len(self.roots_)
            used = np.linspace(0, number - 1, min(number, SAMPLED_NEIGHBOURHOODS)).astype(int)
        return namespace(X).concat([self._neighbourhood(X, int(v)) for v in used])

    def by_component(self, A: Items, B: Items | None = None) -> ComponentGram:
        """Return the Gram matrix of each component, by the kernel on its neighbourhood.

        A grid point in several boxes has the sum of their kernels.
        """
        A = self.inputs.check(A, "A")
        B = A if B is None else self.inputs.check(B, "B")
        left = self._flat(A)
        right = left if B is A else self._flat(B)

        def gram(v: int) -> Array:
            """Return the Gram matrix of the kernel on neighbourhood number v."""
            seen = self.kernel_.check(self._neighbourhood(left, v), "A")
            other = (
                seen if right is left else self.kernel_.check(self._neighbourhood(right, v), "B")
            )
            return self.kernel_._gram(seen, other)

        if self.roots_ is not None:
            return ComponentGram(self.labels_, gram, count(A), count(B))
        grams = [gram(v) for v in range(len(self.patches_))]

        def scalar(label: int) -> Array:
            """Return the sum of the Gram matrices of all boxes that contain a grid point."""
            return sum(grams[v] for v in self._neighbourhoods_of(label))

        return ComponentGram(self.labels_, scalar, count(A), count(B))

    # -- derivatives --------------------------------------------------------------------------

    @property
    def component_gradient(self) -> ParameterGradient:
        """Derivatives of the fitted kernel in `width`, `floor` and the parameters of `kernel`."""
        inner, own = self.kernel_.parameter_gradient.prefixed("kernel"), self._weight_parameters()

        def vjp(X: Array, label: int, C: Array) -> Values:
            """Return the vector-Jacobian product with C of one scalar kernel in all parameters."""
            flat = self._flat(X)
            every = [self._neighbourhood(flat, v) for v in self._neighbourhoods_of(label)]
            found = reduce(add_values, (inner.vjp(seen, seen, C) for seen in every))
            return found | self._weight_gradient(own, flat, label, C)

        return ParameterGradient(own | inner.values, vjp, most=inner.most)

    def _weight_parameters(self) -> Values:
        """Return the values of `width` and `floor` by name, if they are in use and positive."""
        if self.roots_ is None or self.width is None:
            return {}
        floor = {"floor": float(self.floor)} if self.floor > 0 else {}
        return {"width": float(self.width)} | floor

    def _weight_gradient(self, own: Values, flat: Array, label: int, C: Array) -> Values:
        """Return the vector-Jacobian product with C of a kernel in `width` and `floor`.

        It has the derivatives of Σ_ij C_ij k(x_i, x_j) by name, for the kernel k on neighbourhood
        number `label`: the chain rule through the items √ω ∘ x. `own` has the values of the
        parameters, and `flat` the fields as vectors.
        """
        if not own or self.roots_ is None:
            return {}
        items = self.kernel_.item_gradient
        if items is None:
            raise ValueError(
                f"{self.kernel_} has no derivatives in its items: use a smooth kernel."
            )
        seen = self._neighbourhood(flat, label)
        G = items.vjp(seen, seen, C + C.T) * flat
        roots = self.roots_[label]
        near = np.maximum(roots**2 - self.floor, 0.0)
        logs = np.log(np.where(near > 0, near, 1.0))
        half = 0.5 / np.where(roots > 0, roots, np.inf)
        slopes = {"width": half * near * (-2.0 * logs) / own["width"], "floor": half}
        return {name: total(G * like(slopes[name], G)) for name in own}


def _with_channels(points: np.ndarray, channels: int) -> np.ndarray:
    """Return the indices of all channels of some grid points in flattened fields."""
    return (points[:, None] * channels + np.arange(channels)).reshape(-1)


def patch_starts(length: int, size: int, overlap: int) -> list[int]:
    """Return the first index of each patch along an axis; the last patch ends at the border."""
    if not 0 < size <= length:
        raise ValueError(f"patches of size {size} do not fit into an image of {length} pixels.")
    if overlap < 0:
        raise ValueError(
            f"overlap={overlap} leaves {-overlap} pixels between patches: they do not cover the "
            "image. Use overlap ≥ 0."
        )
    if overlap >= size:
        raise ValueError(f"overlap must be less than the patches' size {size}, got {overlap}.")
    return [*range(0, length - size, size - overlap), length - size]


def per_axis(value: Any, name: str, number: int = 2) -> tuple[int, ...]:
    """Return one integer for each of `number` axes, given a single integer or a sequence."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,) * number
    whole = all(isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values)
    if len(values) != number or not whole:
        many = {1: "", 2: " or two of them", 3: " or three of them"}[number]
        raise ValueError(f"{name} must be an integer{many}, got {value!r}.")
    return tuple(int(v) for v in values)
