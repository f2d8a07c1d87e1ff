"""Outputs in coordinates, directions in these, and what the trials of a choice share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._base.arrays import Array, dense, like
from .._base.linalg import adjoint
from .._base.plan import OUTPUT_SQUARES
from ..embedding import Embedding, Frame, OrthonormalFrame
from ..features import Explicit
from ..features.triangular import Triangular
from ..operators import Separable
from ..problem import Problem
from .reduction import weighted_mean


@dataclass(frozen=True)
class OutputRows:
    """Outputs in coordinates.

    Attributes
    ----------
    rows
        One row per output: its coordinates less the mean, times the root of its weight. None for
        outputs without coordinates, whose points are weights on the outputs.
    mean
        The weighted mean that was subtracted; None without an intercept.
    roots
        The roots of the weights as a column; None for equal weights.
    frame
        The vectors that the coordinates refer to.
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
        """Return coordinates less their mean, or a given one, times the roots of weights."""
        if intercept and mean is None:
            mean = weighted_mean(V, weights)
        rows = V if mean is None else V - mean
        roots = None if weights is None else like(np.sqrt(weights)[:, None], V)
        return cls(rows if roots is None else roots * rows, mean, roots, frame)

    def points(self, G: Array, problem: Problem) -> Embedding:
        """Return left-out points of coordinates G, with the groups that did not see them."""
        labels = problem.left_out_labels
        return Embedding(G, self.frame, left_out=labels, inputs=problem.given)

    def unweighted(self, R: Array) -> Array:
        """Return rows without the roots of their weights."""
        return R if self.roots is None else R / self.roots

    @property
    def coordinates(self) -> Array:
        """The coordinates of the outputs, neither centred nor weighted."""
        V = self.unweighted(self.rows)
        return V if self.mean is None else V + self.mean


class Basis:
    """Orthonormal directions as columns in output coordinates.

    Parameters
    ----------
    Q
        The columns; None where the directions are the output coordinates.
    """

    Q: Array | None

    def __init__(self, Q: Array | None = None):
        self.Q = Q

    def real(self, C: Array) -> Array:
        """Return columns of the parts as real rows of the same lengths."""
        return C

    def back(self, C: Array) -> Array:
        """Return real rows in output coordinates."""
        return C if self.Q is None else C @ adjoint(self.Q)

    def each(self, values: Array) -> Array:
        """Return one value per column of the parts as one per real direction."""
        return values

    def pooled(self, noises: np.ndarray) -> np.ndarray:
        """Return the noise of each column of the parts as that of each direction."""
        return noises


@dataclass
class Cache:
    """What trials of a choice share: the outputs, and the inputs of one scalar kernel at a time."""

    made: dict[bool, OutputRows] = field(default_factory=dict)
    held: tuple[Any, Any] = (None, None)

    def outputs(self, problem: Problem) -> OutputRows:
        """Return the outputs in the coordinates that a problem needs, made once."""
        side, kernel = problem.outputs, problem.kernel
        own = (kernel.operator if isinstance(kernel, Separable) else kernel).own_coordinates
        if own in self.made:
            return self.made[own]
        if side.features is not None:
            map, V = side.coordinates[0], dense(side.coordinates[1])
        else:
            if own and side.width is None:
                raise ValueError(
                    f"{problem.kernel} speaks of output components, but {side.kernel} has no "
                    "finite features to be its components: use output_kernel=Linear()."
                )
            finite = own or (side.width is not None and side.width <= problem.n)
            if problem.inputs.features is not None and not finite:
                # Inputs of low rank alone leave n² for outputs.
                problem.require_room(OUTPUT_SQUARES)
            map = Explicit() if finite else Triangular()
            V = map.fit_transform(side.kernel, side.items)
        frame = OrthonormalFrame(map)
        made = OutputRows.centred(V, problem.weights, problem.intercept, frame)
        self.made[own] = made
        return made

    def inputs(self, kernel: Any, make: Callable, *parts: Any) -> Any:
        """Return make(*parts) of a scalar kernel, made once; those of another are released."""
        if self.held[0] is not kernel:
            self.held = (None, None)  # before the next are made
            self.held = (kernel, make(*parts))
        return self.held[1]
