"""Advection: a square wave on a circle to the wave at a later time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batches import on_device

POINTS, TIME = 40, 0.5


def advection(n: int, seed: int = 0, device: str | None = None) -> tuple[Any, Any]:
    """Return n square waves and the waves at time .5, on 40 points of the circle of length 1.

    u_t + u_x = 0. Centre, width and height of a wave are uniform on [.3, .7], [.3, .6] and [1, 2].
    """
    rng = np.random.default_rng(seed)
    ranges = ((0.3, 0.7), (0.3, 0.6), (1.0, 2.0))
    centre, width, height = (rng.uniform(low, high, n) for low, high in ranges)
    points = np.arange(POINTS) / POINTS

    def waves(x: np.ndarray) -> np.ndarray:
        """Return the initial waves at points of the circle."""
        distance = np.abs((x[None, :] - centre[:, None] + 0.5) % 1.0 - 0.5)
        return height[:, None] * (distance <= width[:, None] / 2)

    return on_device(waves(points), device), on_device(waves(points - TIME), device)
