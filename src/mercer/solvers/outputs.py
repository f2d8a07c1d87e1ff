"""Output coordinates, bases of output directions, and the cache that model selection shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.arrays import Array, dense, like, namespace, take_columns
from .._base.checks import Limits, permutation
from .._base.linalg import adjoint
from .._base.plan import OUTPUT_SQUARES
from ..embedding import Frame, OrthonormalFrame
from ..features import Explicit
from ..features.triangular import Triangular
from ..operators import Separable
from ..problem import Problem
from .reduction import weighted_mean

LARGEST_OUTPUT = 1e150
"""Squares of larger output coordinates overflow."""


@dataclass(frozen=True)
class OutputRows:
    """The training outputs in coordinates, centred and weighted: one row per output.

    Attributes
    ----------
    rows
        The coordinates minus their mean, times the roots of the sample weights. None for outputs
        without coordinates, where predicted points are weights on the training outputs.
    mean
        The weighted mean that was subtracted; None without an intercept.
    roots
        The square roots of the sample weights as a column; None for equal weights.
    frame
        The vectors that the coordinates refer to.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import Explicit
    >>> from mercer.embedding import OrthonormalFrame
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers import OutputRows
    >>> Y = np.array([[1.0], [3.0]])
    >>> frame = OrthonormalFrame(Explicit().fit(Linear().fit(Y), Y))
    >>> OutputRows.centred(Y, weights=None, intercept=True, frame=frame).rows
    array([[-1.],
           [ 1.]])
    """

    rows: Array
    mean: Array | None
    roots: Array | None
    frame: Frame

    @classmethod
    def centred(
        cls,
        V: Array,
        weights: np.ndarray | None,
        intercept: bool,
        frame: Frame,
        mean: Array | None = None,
    ) -> OutputRows:
        """Return coordinates V minus `mean`, times the roots of the weights.

        With an intercept, `mean` is the weighted mean of V unless it is given.
        """
        if 0 not in V.shape and float(namespace(V).max(abs(V))) > LARGEST_OUTPUT:
            raise ValueError(
                "the outputs in y are too large: their squares overflow. Divide them by a number, "
                "and multiply predictions by it."
            )
        if intercept and mean is None:
            mean = weighted_mean(V, weights)
        rows = V if mean is None else V - mean
        roots = None if weights is None else like(np.sqrt(weights)[:, None], V)
        return cls(rows if roots is None else roots * rows, mean, roots, frame)

    def unweighted(self, R: Array) -> Array:
        """Return R with its rows divided by the square roots of the sample weights."""
        return R if self.roots is None else R / self.roots

    @property
    def coordinates(self) -> Array:
        """The coordinates of the outputs, neither centred nor weighted."""
        V = self.unweighted(self.rows)
        return V if self.mean is None else V + self.mean


class Basis:
    """Orthonormal output directions Q, along which the parts of a factorisation predict.

    Parameters
    ----------
    Q
        The directions as columns in output coordinates; None if they are the coordinates.
    order
        The column of each direction in the concatenated parts; None if they are in order.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Basis
    >>> turned = Basis(np.array([[0.6, -0.8], [0.8, 0.6]]))
    >>> turned.to_coordinates(np.array([[1.0, 0.0]]))
    array([[0.6, 0.8]])
    """

    Q: Array | None
    order: np.ndarray | None = None
    couples = False
    """Whether parts couple real directions, those of a complex Fourier mode."""

    def __init__(self, Q: Array | None = None, order: np.ndarray | None = None):
        self.Q, self.order = Q, order

    def check_loaded(self, limits: Limits) -> None:
        """Check a loaded basis: every direction belongs to one part."""
        if self.order is not None:
            permutation(self.order, "order")

    def join(self, parts: list[Array]) -> Array:
        """Join arrays, one per part with a column for each of its directions, into one."""
        joined = parts[0] if len(parts) == 1 else namespace(*parts).concat(parts, axis=1)
        return joined if self.order is None else take_columns(joined, self.order)

    def to_real(self, C: Array) -> Array:
        """Convert values with one column per stored (perhaps complex) direction to real values."""
        return C

    def to_coordinates(self, C: Array) -> Array:
        """Convert values C along the directions to output coordinates."""
        return C if self.Q is None else C @ adjoint(self.Q)

    def per_direction(self, values: Array) -> Array:
        """Return values per real direction, given one column per stored direction."""
        return values

    def noise_per_direction(self, noises: np.ndarray) -> np.ndarray:
        """Return the noise variance per real direction, given one per stored direction."""
        return noises


@dataclass
class Cache:
    """Results that the trials of a model selection share: output rows and input spectra.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X, Y = [[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]
    >>> model = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y)
    >>> from mercer.solvers import Cache
    >>> Cache().output_rows(model.fitted_.problem).rows.shape
    (3, 1)
    """

    by_coordinates: dict[bool, OutputRows] = field(default_factory=dict)
    current: tuple[Any, Any] = (None, None)

    def output_rows(self, problem: Problem) -> OutputRows:
        """Return the outputs of a problem in coordinates, computed on the first call."""
        side, kernel = problem.outputs, problem.kernel
        components = (kernel.operator if isinstance(kernel, Separable) else kernel).own_coordinates
        if components in self.by_coordinates:
            return self.by_coordinates[components]
        if components and side.features is not None and not isinstance(side.features, Explicit):
            raise ValueError(
                f"{problem.kernel} refers to output components, which output_features="
                f"{side.features} replaces by other coordinates: leave output_features at None."
            )
        if side.features is not None:
            map, V = side.coordinates[0], dense(side.coordinates[1])
        else:
            if components and side.width is None:
                raise ValueError(
                    f"{problem.kernel} refers to output components, but {side.kernel} has no "
                    "finite features to be its components: use output_kernel=Linear()."
                )
            finite = components or (side.width is not None and side.width <= problem.n)
            if problem.inputs.features is not None and not finite:
                # Low-rank inputs need no n × n matrix, but such outputs do.
                problem.require_memory(OUTPUT_SQUARES)
            map = Explicit() if finite else Triangular()
            V = map.fit_transform(side.kernel, side.items)
        frame = OrthonormalFrame(map)
        made = OutputRows.centred(V, problem.weights, problem.intercept, frame)
        self.by_coordinates[components] = made
        return made

    def spectrum(self, kernel: Any, make: Callable, *arguments: Any) -> Any:
        """Return the spectrum `make(*arguments)`, or that of the last call with this kernel."""
        if self.current[0] is not kernel:
            self.current = (None, None)  # free memory before the next one is computed
            self.current = (kernel, make(*arguments))
        return self.current[1]
