"""Ellipsoids: prediction sets of several numbers at once, whose shape depends on the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .shapes import Bands, as_shape

Key = Any
"""The position of an output value, or its name."""


@dataclass(frozen=True)
class Ellipsoid:
    r"""All outputs y with :math:`\lVert L^{-1} (y - c) \rVert \le r`, an ellipsoid around c.

    Attributes
    ----------
    center
        The prediction c, in the shape of an output.
    root
        L, lower triangular: :math:`L L^\top` is the shape matrix.
    radius
        r; negative where the ellipsoid is empty.
    names
        The names of the values of an output, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sets import Ellipsoid
    >>> some = Ellipsoid(np.zeros(2), np.diag([3.0, 1.0]), 1.0)
    >>> [2.0, 0.5] in some, [0.5, 2.0] in some, round(some.volume, 2)
    (True, False, 9.42)
    >>> some.given({0: 2.4}).box                  # where the other value is
    (array([-0.6]), array([0.6]))
    """

    center: np.ndarray
    root: np.ndarray
    radius: float
    names: tuple[Any, ...] | None = None

    def __contains__(self, y: Any) -> bool:
        return bool(self.distance(y) <= self.radius)

    def distance(self, y: Any) -> float:
        """Return the Mahalanobis distance of an output from the centre, the radius that reaches it.

        Parameters
        ----------
        y
            An output in the shape of the centre.
        """
        difference = as_shape(y, np.shape(self.center)) - np.asarray(self.center)
        return float(mahalanobis(self.root, np.reshape(difference, -1)))

    @property
    def shape_matrix(self) -> np.ndarray:
        """The matrix that the ellipsoid has its shape from, a covariance matrix."""
        return self.root @ self.root.T

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume; -inf where the ellipsoid is empty."""
        if self.radius <= 0:
            return -np.inf
        p = len(self.root)
        return log_unit_ball(p) + p * log(self.radius) + float(log_determinant(self.root))

    @property
    def volume(self) -> float:
        """The volume, in the product of the units of the outputs."""
        return float(np.exp(self.log_volume))

    @property
    def size(self) -> float:
        """The radius of the ball of the same volume."""
        p = len(self.root)
        return float(np.exp((self.log_volume - log_unit_ball(p)) / p))

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper ends of the smallest box that contains the ellipsoid."""
        half = self.radius * np.sqrt((self.root**2).sum(axis=1))
        half = half.reshape(np.shape(self.center))
        return self.center - half, self.center + half

    def projection(self, *outputs: Key) -> Ellipsoid:
        """Return the projection on some values of an output, which is an ellipsoid too.

        Parameters
        ----------
        outputs
            The positions of the values in a flat output, or their names.
        """
        kept = [self._position(output) for output in outputs]
        root = lower_root(self.root[kept])
        return Ellipsoid(np.reshape(self.center, -1)[kept], root, self.radius, self._named(kept))

    def given(self, values: Mapping[Key, float]) -> Ellipsoid:
        """Return the set of the other values of an output where some are known.

        It is empty (its radius is negative) if no output of the ellipsoid has the known values.

        Parameters
        ----------
        values
            The known values by position in a flat output, or by name.
        """
        known = [self._position(output) for output in values]
        rest = [j for j in range(len(self.root)) if j not in known]
        if not known or not rest:
            raise ValueError(
                f"values must be those of some outputs, not of all, got {len(known)} of "
                f"{len(self.root)}."
            )
        center, number = np.reshape(self.center, -1), len(known)
        L = lower_root(self.root[known + rest])
        found = np.array([float(value) for value in values.values()]) - center[known]
        along = solve_triangular(L[:number, :number], found, lower=True)
        squared = self.radius**2 - float(along @ along)
        radius = float(np.sqrt(squared)) if squared >= 0 and self.radius >= 0 else -1.0
        middle = center[rest] + L[number:, :number] @ along
        return Ellipsoid(middle, L[number:, number:], radius, self._named(rest))

    def outline(self, first: Key = 0, second: Key = 1, points: int = 200) -> np.ndarray:
        """Return points on the boundary of the projection on two values, (points, 2).

        Parameters
        ----------
        first, second
            The two values, by position in a flat output or by name.
        points
            The number of points.
        """
        shadow = self.projection(first, second)
        angles = np.linspace(0.0, 2.0 * pi, points)
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        return shadow.center + max(shadow.radius, 0.0) * circle @ shadow.root.T

    def _position(self, output: Key) -> int:
        """Return the position of an output value, given it or its name."""
        if self.names is not None and output in self.names:
            return self.names.index(output)
        if isinstance(output, int | np.integer) and 0 <= output < len(self.root):
            return int(output)
        known = f"the names {list(self.names)}" if self.names else f"0 to {len(self.root) - 1}"
        raise ValueError(f"{output!r} is not a value of an output: there are {known}.")

    def _named(self, kept: list[int]) -> tuple[Any, ...] | None:
        """Return the names of some values; None if the values have no names."""
        return None if self.names is None else tuple(self.names[j] for j in kept)


@dataclass(frozen=True)
class Ellipsoids(Sequence):
    """The ellipsoids of several inputs; ``ellipsoids[i]`` is the `Ellipsoid` of one input.

    Attributes
    ----------
    each
        The ellipsoids.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.sets import Ellipsoid, Ellipsoids
    >>> names = ("food", "rent")
    >>> pair = Ellipsoids([Ellipsoid(np.zeros(2), np.eye(2), r, names) for r in (1.0, 2.0)])
    >>> pair.volumes.round(2)
    array([ 3.14, 12.57])
    >>> pair.given({"food": 1.5}).volumes.round(2)       # the first has no such output
    array([0.  , 2.65])
    """

    each: Sequence[Ellipsoid]

    def __len__(self) -> int:
        return len(self.each)

    def __getitem__(self, which: Any) -> Any:
        return Ellipsoids(self.each[which]) if isinstance(which, slice) else self.each[which]

    @property
    def volumes(self) -> np.ndarray:
        """The volume of each ellipsoid."""
        return np.array([one.volume for one in self.each])

    @property
    def boxes(self) -> Bands:
        """The smallest box around each ellipsoid."""
        lower, upper = zip(*(one.box for one in self.each), strict=True)
        return Bands(np.stack(lower), np.stack(upper))

    def given(self, values: Mapping[Key, Any]) -> Ellipsoids:
        """Return the sets of the other values of each output where some are known.

        Parameters
        ----------
        values
            The known values by position or by name: one number for all inputs, or one for each.
        """
        columns = [np.broadcast_to(np.asarray(v, dtype=float), len(self)) for v in values.values()]
        rows = zip(self.each, *columns, strict=True)
        return Ellipsoids([one.given(dict(zip(values, row, strict=True))) for one, *row in rows])

    def projection(self, *outputs: Key) -> Ellipsoids:
        """Return the projections on some values of an output.

        Parameters
        ----------
        outputs
            The positions of the values in a flat output, or their names.
        """
        return Ellipsoids([one.projection(*outputs) for one in self.each])


def lower_root(rows: np.ndarray) -> np.ndarray:
    """Return the lower triangular root of RRᵀ for rows R, without computing the product."""
    root: np.ndarray = np.asarray(np.linalg.qr(rows.T, mode="r")).T
    return root * np.where(np.diagonal(root) < 0, -1.0, 1.0)


def mahalanobis(roots: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """Return ‖L⁻¹d‖ for lower triangular roots L (…, p, p) and differences d (…, p)."""
    if roots.ndim == 2:
        scaled = solve_triangular(roots, differences.T, lower=True)
        return np.sqrt((scaled * scaled).sum(axis=0))
    scaled = np.linalg.solve(roots, differences[..., None])[..., 0]
    return np.sqrt((scaled * scaled).sum(axis=-1))


def log_determinant(roots: np.ndarray) -> np.ndarray:
    """Return the logarithms of the determinants of lower triangular roots (…, p, p)."""
    return np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1)


def log_unit_ball(p: int) -> float:
    """Return the logarithm of the volume of the unit ball of p dimensions."""
    return 0.5 * p * log(pi) - lgamma(0.5 * p + 1.0)
