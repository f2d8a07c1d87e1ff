"""Gatherings: moments of pairs in the coordinates of two feature maps, summed block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, count, dense, is_foreign, like, namespace, sliced, take
from .._base.threads import rows_at_once
from ..features import FeatureMap
from ..features.landmarks import CENTRING_ITEMS, split_last_matrix
from ..operators import Moments
from ..operators.moments import moments_of_rows
from .base import Source
from .blocks import Expected

FOREIGN_ROWS = 16384
"""The number of pairs in a batch on a device; large batches are faster there."""
PROBE = 16
"""The number of pairs whose coordinates identify a gathering."""


@dataclass(frozen=True)
class Gathering:
    r"""A gathering: sums of moments of pairs in the coordinates of two fitted feature maps.

    Attributes
    ----------
    inputs, outputs
        The fitted feature maps of inputs and outputs.
    center
        Whether the model has an intercept. Moments are then computed about the mean of some pairs,
        which is near that of all pairs, so that digits are not lost when the mean is subtracted.
    precision
        The precision of products within a block, "float64" or "float32"; sums are float64.
    bare, weights
        The input map without the matrix that it applies last, and this matrix; None if every
        block is multiplied by it.
    origin
        The input and output coordinates that are subtracted from all rows; None for zero.
    probe
        The coordinates of a few pairs and their mean, which identify a run.
    raw
        The moments so far, of kernel values minus the origin; None before the first pair.

    Notes
    -----
    If the input map ends in a matrix W (`FeatureMap.unweighted`), the moments of the kernel values
    :math:`k = k(x, Z)` are summed, and are multiplied by W once at the end. For m landmarks this
    saves :math:`2m^2` of the :math:`3m^2` multiplications for each pair, but it magnifies rounding
    errors: with machine precision :math:`\varepsilon` and the second moment C of the summed rows,
    the moment of :math:`u = W^\top k` has an error of about
    :math:`\varepsilon \lVert C \rVert \lVert W \rVert^2`. With the mean subtracted, C is the
    covariance of kernel values. It is small if all values are nearly equal, which is the case in
    which :math:`\lVert W \rVert` is large. If :math:`\lVert C \rVert \lVert W \rVert^2` still
    exceeds `STEADY`, every block is multiplied by W.
    """

    inputs: FeatureMap
    outputs: FeatureMap
    center: bool
    precision: str
    bare: FeatureMap
    weights: Array | None
    origin: tuple[Any, Any] | None
    probe: tuple[Any, Any]
    raw: Moments | None = None

    @classmethod
    def of(
        cls,
        inputs: FeatureMap,
        outputs: FeatureMap,
        X: Items,
        y: Items,
        center: bool = False,
        precision: str = "float64",
    ) -> Gathering:
        """Return empty sums for two fitted feature maps, set up by representative pairs X, y."""
        few = np.arange(min(CENTRING_ITEMS, count(y)))
        X, V = take(X, few), dense(outputs.transform(take(y, few)))
        bare, weights, U = split_last_matrix(inputs, X)
        a, b = (namespace(A).mean(A, axis=0) for A in (U, V))
        origin = None if weights is None and not center else (a, b if center else 0.0 * b)
        probe = _append_row(U[:PROBE, :], a), _append_row(V[:PROBE, :], b)
        return cls(inputs, outputs, center, precision, bare, weights, origin, probe)

    @property
    def widths(self) -> tuple[int, int]:
        """The numbers of output coordinates, and of input coordinates without the last matrix."""
        return int(self.probe[1].shape[1]), int(self.probe[0].shape[1])

    @property
    def n(self) -> float:
        """The number of pairs added so far, or the sum of their weights."""
        return 0 if self.raw is None else self.raw.n

    def for_worker(self) -> Gathering:
        """Return a copy for a worker: without the sums, and without the last matrix of the map."""
        return replace(self, inputs=self.bare, weights=None, raw=None)

    def plus(self, raw: Moments) -> Gathering:
        """Return a copy to which the moments `raw` of further pairs are added."""
        return replace(self, raw=raw if self.raw is None else self.raw + raw)

    def moments_of(self, X: Items, y: Items, w: np.ndarray | None = None) -> Moments:
        """Return the moments of checked pairs X, y with sample weights w, without adding them."""
        foreign = is_foreign(self.probe[0])
        kernel = getattr(self.bare, "kernel_", None)  # third-party maps may have no kernel
        threads = kernel is not None and kernel.on_vectors and not foreign

        def rows(chosen: slice) -> tuple[Array, Array, Array]:
            """Return input and output coordinates of some pairs, and roots of their weights."""
            U = dense(self.bare.transform(sliced(X, chosen)))
            V = dense(self.outputs.transform(sliced(y, chosen)))
            if self.origin is not None:
                U, V = U - self.origin[0], V - self.origin[1]
            if w is None:
                return U, V, 1.0
            roots = like(np.sqrt(w[chosen])[:, None], U)
            return roots * U, roots * V, roots

        step = FOREIGN_ROWS if foreign else rows_at_once(sum(self.widths))
        found = moments_of_rows(rows, count(y), step, threads, True, self.precision)
        return found if w is None else replace(found, n=float(w.sum()))

    @property
    def moments(self) -> Moments:
        """The moments of all coordinates, about `origins` if `center` is set, else about 0."""
        assert self.raw is not None
        found = self.raw if self.weights is None else self.raw.mapped(self.weights)
        if self.center or self.origin is None:
            return found
        a, b = self.origins
        return found.about(-a, -b)

    @property
    def origins(self) -> tuple[Array, Array]:
        """The input and output coordinates that were subtracted before moments were summed."""
        assert self.origin is not None
        a, b = self.origin
        return (a if self.weights is None else a @ self.weights), b


def sum_moments(source: Source, expected: Expected, gatherings: list[Gathering]) -> list[Gathering]:
    """Read all pairs of a source once, and return the gatherings with their moments added."""
    step = partial(_moments_of_block, [gathering.for_worker() for gathering in gatherings])
    found = source.map_reduce(expected, step, _add_moments, gatherings)
    if found is None:
        return gatherings
    return [gathering.plus(raw) for gathering, raw in zip(gatherings, found, strict=True)]


def _moments_of_block(
    gatherings: list[Gathering], start: int, X: Items, y: Items, w: np.ndarray | None
) -> list[Moments]:
    """Return the moments of a block for each gathering; `start` is ignored."""
    return [gathering.moments_of(X, y, w) for gathering in gatherings]


def _add_moments(left: list[Moments], right: list[Moments]) -> list[Moments]:
    """Return the sums left[i] + right[i] of two lists of moments."""
    return [a + b for a, b in zip(left, right, strict=True)]


def _append_row(A: Array, row: Array) -> Array:
    """Return the matrix A with one more row at its end."""
    return namespace(A).concat([A, row[None, :]], axis=0)
