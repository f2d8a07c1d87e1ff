"""The ridge problem that solvers get: inputs, outputs, kernel and weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ._base.arrays import Array, Items, count, is_foreign, sliceable, take
from ._base.checks import Limits, must
from ._base.plan import GRANTED_BYTES, require_exact, require_low_rank
from .features import FeatureMap
from .kernels import Kernel
from .operators import Moments, OperatorKernel
from .spaces import Rows

__all__ = ["Moments", "Problem", "Side", "Want", "positive_alpha"]


@dataclass(frozen=True)
class Side:
    """The inputs or the outputs of a problem: kernel, checked items and feature map.

    Attributes
    ----------
    kernel, items
        The fitted kernel, and the items as its `check` returned them.
    features
        The unfitted feature map; None for an exact fit.
    sample
        The indices of the items that the feature map is fitted on; None for all.
    fitted
        A feature map that was fitted before; None to fit a clone of `features`.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> side = model.fitted_.problem.inputs
    >>> side.kernel, side.entries
    (RBF(length_scale=1.0), 1)
    """

    kernel: Kernel
    items: Items
    features: FeatureMap | None = None
    sample: np.ndarray | None = None
    fitted: FeatureMap | None = None

    @cached_property
    def map(self) -> FeatureMap:
        """The feature map of the items, fitted when it is first used."""
        if self.fitted is not None:
            return self.fitted
        if self.sample is None:
            return self.coordinates[0]
        return clone(self.features).fit(self.kernel, take(self.items, self.sample))

    @cached_property
    def coordinates(self) -> tuple[FeatureMap, Array]:
        """The fitted feature map, and the coordinates of the items."""
        if self.sample is None and self.fitted is None:
            map = clone(self.features)
            return map, map.fit_transform(self.kernel, self.items)
        require_low_rank(count(self.items), self.map.transform(take(self.items, [0])).shape[1])
        return self.map, self.map.transform(self.items)

    @property
    def fitted_map(self) -> FeatureMap | None:
        """The fitted feature map; None for an exact fit."""
        return None if self.features is None else self.map

    @property
    def entries(self) -> int:
        """The number of entries of one item; 1 if items are not arrays."""
        if not self.kernel.on_vectors or self.kernel.pairwise:
            return 1
        return math.prod(int(size) for size in self.items.shape[1:])

    @cached_property
    def width(self) -> int | None:
        """The number of finite features of the kernel; None if it has no finite features."""
        features = self.kernel.features
        return None if features is None else int(features.transform(take(self.items, [0])).shape[1])

    def is_spanned(self, n: int) -> bool:
        """Return whether predicted points are represented by weights on the n training outputs.

        This is so if there is no feature map, and the kernel has no finite features, or is on items
        such as strings and has more than n features.
        """
        few = self.width is not None and (self.kernel.on_vectors or self.width <= n)
        return self.features is None and not few


@dataclass(frozen=True)
class Problem:
    """A ridge problem: minimise Σ w_i‖g(x_i) - Φ(y_i)‖² + α‖g‖² over g, for any ridge α.

    Attributes
    ----------
    inputs, outputs
        The two sides. The kernel of the inputs is the scalar kernel of a separable problem.
    kernel
        The operator-valued kernel, a `Separable` where it separates.
    intercept
        Whether a constant, which is not penalised, is added to g.
    labels
        The number of each example's group; groups are left out together.
    weights
        The sample weights, all positive; None for ones.
    given
        The inputs as the user gave them, for decoders that need them.
    gathered
        The moments of a stream (`Gathering`), whose sample is in `inputs` and `outputs`; else None.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> problem = model.fitted_.problem
    >>> problem.n, problem.total, problem.intercept
    (3, 3.0, True)
    """

    inputs: Side
    outputs: Side
    kernel: OperatorKernel
    intercept: bool = False
    labels: np.ndarray | None = None
    weights: np.ndarray | None = None
    given: Items = None
    gathered: Any = None

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless there is a label and a weight for each pair."""
        for name, values in (("labels", self.labels), ("weights", self.weights)):
            must(values is None or values.shape == (self.n,), f"{name} are not one for each pair")

    @property
    def n(self) -> int:
        """The number of training pairs in memory."""
        return count(self.outputs.items)

    @property
    def total(self) -> float:
        """The sum of the sample weights."""
        return float(self.n) if self.weights is None else float(self.weights.sum())

    @property
    def operator_scale(self) -> float:
        """The factor c if the operator is c·I with c > 0, else 1."""
        return self.kernel.operator.uniform or 1.0

    @property
    def groups(self) -> np.ndarray | None:
        """The group number of each example; None if every group has one example."""
        if self.labels is None or int(self.labels.max()) + 1 == len(self.labels):
            return None
        return self.labels

    @property
    def left_out_labels(self) -> np.ndarray:
        """The group number of each example; without groups, the number of the example."""
        return np.arange(self.n) if self.labels is None else self.labels

    def subset(self, rows: np.ndarray) -> Problem:
        """Return the problem restricted to the pairs `rows`, with new group numbers."""
        inputs, outputs = (
            replace(side, items=take(side.items, rows), sample=None)
            for side in (self.inputs, self.outputs)
        )
        labels = np.unique(self.left_out_labels[rows], return_inverse=True)[1]
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self, inputs=inputs, outputs=outputs, labels=labels, weights=weights, given=None
        )

    def require_memory(self, squares: float) -> None:
        """Raise MemoryError if `squares` matrices of shape (n, n) exceed the free memory."""
        if 8.0 * squares * self.n**2 > GRANTED_BYTES:
            X = self.inputs.items
            where = X if is_foreign(X) else None
            require_exact(self.n, squares, where=where)

    @cached_property
    def decoder_inputs(self) -> Items:
        """The inputs for decoders, in a container that is indexed by rows; None if not needed."""
        if isinstance(self.inputs.kernel.space, Rows):
            return self.inputs.items
        return None if self.given is None else sliceable(self.given)

    @cached_property
    def spanned(self) -> bool:
        """Whether predicted points are represented by weights on the training outputs."""
        return self.outputs.is_spanned(self.n)


@dataclass(frozen=True)
class Want:
    """What a fit requests of a solver: ridge parameters, left-out predictions, and the method.

    Attributes
    ----------
    alphas
        The ridges: one to solve at, or several to choose from.
    left_out
        Whether left-out predictions are needed.
    solver
        The requested solver: a name, "auto", or a `BlockConjugateGradient`.
    relative
        Whether the ridges are in units of `Factorization.scale`.
    moves
        Whether left-out models are needed at new inputs too, which takes output coordinates.

    Examples
    --------
    >>> from mercer.problem import Want
    >>> Want([0.1]).single, Want([0.1], left_out=True).single
    (True, False)
    """

    alphas: Sequence[float] = ()
    left_out: bool = False
    solver: Any = "auto"
    relative: bool = False
    moves: bool = False

    @property
    def single(self) -> bool:
        """Whether only the solution for one ridge parameter is requested."""
        return len(self.alphas) == 1 and not self.left_out


def positive_alpha(alpha: Any) -> float:
    """Return `alpha` as a float; raise ValueError unless it is positive and finite.

    Examples
    --------
    >>> from mercer.problem import positive_alpha
    >>> positive_alpha(1)
    1.0
    """
    if isinstance(alpha, bool) or not isinstance(alpha, Real):
        raise ValueError(f"alpha must be a positive number, got {alpha!r}.")
    try:
        value = float(alpha)
    except OverflowError:
        value = np.inf
    if not 0 < value < np.inf:
        raise ValueError(
            f"alpha must be positive and finite, got {value!r}: without a ridge the "
            "solution is not unique. Try alpha=1e-6."
        )
    return value
