"""The places of fields: coordinates, quadrature, slopes, and values between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, namespace

ON_GRID = 1e-9
"""A distance from a grid point, in units of the spacing, that is rounding."""


@dataclass(frozen=True)
class Grid:
    """The places of a field, and how values lie between them.

    Attributes
    ----------
    axes, shape, channels
        The names and lengths of the axes; a scattered field has one axis of places.
    periodic
        Whether each axis closes to a circle.
    origin, spacing
        The first coordinate and the distance of neighbours along each axis.
    mask
        Which places count, flat; None for all.
    points
        The coordinates of scattered places; None for a grid.
    """

    axes: tuple[str, ...]
    shape: tuple[int, ...]
    channels: int
    periodic: tuple[bool, ...]
    origin: tuple[float, ...]
    spacing: tuple[float, ...]
    mask: np.ndarray | None = None
    points: np.ndarray | None = None

    @property
    def size(self) -> int:
        """The number of places, masked ones included."""
        return int(np.prod(self.shape))

    @cached_property
    def live(self) -> np.ndarray:
        """The places that count, as positions among all."""
        return np.arange(self.size) if self.mask is None else np.flatnonzero(self.mask)

    @cached_property
    def places(self) -> np.ndarray:
        """The coordinates of all places, (size, dimensions)."""
        if self.points is not None:
            return self.points
        lines = [
            o + h * np.arange(n)
            for o, h, n in zip(self.origin, self.spacing, self.shape, strict=True)
        ]
        return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(self.size, -1)

    @property
    def periods(self) -> np.ndarray:
        """The length of each axis that closes to a circle, else infinity."""
        if self.points is not None:
            return np.full(len(self.axes), np.inf)
        length = np.array(self.spacing) * np.array(self.shape)
        return np.where(self.periodic, length, np.inf)

    @cached_property
    def quadrature(self) -> np.ndarray:
        """The weight of every place in ∫: trapezoids, all alike on a circle; masked ones none."""
        if self.points is not None:
            weights = np.full(self.size, 1.0 / self.size)
        else:
            weights = np.ones(())
            for n, h, closed in zip(self.shape, self.spacing, self.periodic, strict=True):
                line = np.full(n, h)
                if not closed and n > 1:
                    line[[0, -1]] = 0.5 * h
                weights = np.multiply.outer(weights, line)
        weights = weights.reshape(-1)
        return weights if self.mask is None else np.where(self.mask, weights, 0.0)

    def slopes(self) -> list[np.ndarray]:
        """The matrices of ∂/∂axis by differences of neighbours, (size, size) each."""
        if self.points is not None:
            raise ValueError("scattered points have no differences of neighbours: use FieldL2.")
        found = []
        for axis, (n, h, closed) in enumerate(
            zip(self.shape, self.spacing, self.periodic, strict=True)
        ):
            eye = np.eye(n)
            D = (np.roll(eye, -1, axis=0) - np.roll(eye, 1, axis=0)) / (2 * h)
            if not closed and n > 1:
                D[0], D[-1] = (eye[1] - eye[0]) / h, (eye[-1] - eye[-2]) / h
            whole: Any = np.ones((1, 1))
            for other, m in enumerate(self.shape):
                whole = np.kron(whole, D if other == axis else np.eye(m))
            found.append(whole)
        return found

    def split(self, A: Array) -> Array:
        """Arrays (n, *shape[, channels]) as (n, size, channels)."""
        return namespace(A).reshape(A, (A.shape[0], self.size, self.channels))

    def between(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How the values at some points, (…, dimensions), follow from those at the places.

        Positions of places and their weights, (…, corners) each: multilinear on a grid, the
        nearest places by inverse distance among scattered ones. Points outside, and those that a
        masked place has a part in, have weight zero.
        """
        index, weight = self._scattered(at) if self.points is not None else self._corners(at)
        if self.mask is not None:
            seen = (self.mask[index] | (weight == 0)).all(axis=-1, keepdims=True)
            weight = np.where(seen, weight, 0.0)
        return np.where(weight > 0, index, 0), weight

    def _corners(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        index = np.zeros((*at.shape[:-1], 1), dtype=np.int64)
        weight = np.ones((*at.shape[:-1], 1))
        for axis, n in enumerate(self.shape):
            t = (at[..., axis] - self.origin[axis]) / self.spacing[axis]
            near = np.round(t)
            t = np.where(np.abs(t - near) < ON_GRID * max(n, 1), near, t)
            low = np.floor(t).astype(np.int64)
            part = t - low
            ends = np.stack([low, low + 1], axis=-1)
            shares = np.stack([1.0 - part, part], axis=-1)
            if self.periodic[axis]:
                ends = ends % n
            else:
                # Between the last place and the end of its cell the value is that of the place.
                inside = (t >= -0.5) & (t <= n - 0.5)
                shares = np.where(inside[..., None], shares, 0.0)
                ends = np.clip(ends, 0, n - 1)
            if not (part > 0).any():
                ends, shares = ends[..., :1], shares[..., :1]
            index = (index[..., :, None] * n + ends[..., None, :]).reshape(*at.shape[:-1], -1)
            weight = (weight[..., :, None] * shares[..., None, :]).reshape(*at.shape[:-1], -1)
        return index, weight

    def _scattered(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.spatial import cKDTree

        assert self.points is not None
        k = min(len(self.axes) + 1, self.size)
        distance, index = cKDTree(self.points).query(at.reshape(-1, at.shape[-1]), k=k)
        distance, index = distance.reshape(-1, k), index.reshape(-1, k)
        weight = 1.0 / np.maximum(distance, ON_GRID * self.step)
        weight = weight / weight.sum(axis=1, keepdims=True)
        weight = np.where(weight < 1e-6, 0.0, weight)
        weight[distance[:, 0] > 1.5 * self.step] = 0.0
        return index.reshape(*at.shape[:-1], k), weight.reshape(*at.shape[:-1], k)

    @cached_property
    def step(self) -> float:
        """The typical distance of scattered places from their nearest neighbour."""
        from scipy.spatial import cKDTree

        if self.points is None or len(self.points) < 2:
            return 1.0
        return float(np.median(cKDTree(self.points).query(self.points, k=2)[0][:, 1])) or 1.0
