"""Two-dimensional flow: the curl of a force to the vorticity at a later time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batches import by_batches, like, namespace
from .random_fields import smallest_waves

POINTS, VISCOSITY, TIME = 64, 1.0 / 40.0, 10.0
MODES = 50
STEPS = 200
BATCH = {None: 64, "gpu": 2000}
INITIAL_SEED = 2013
"""The seed of the initial vorticity, which is the same for all pairs."""


def navier_stokes(n: int, seed: int = 0, device: str | None = None) -> tuple[Any, Any]:
    """Return n curls of forces f and vorticities w at time 10, on 64 × 64 points of [0, 2π]².

    w_t + v·∇w = Δw / 40 + f with periodic boundaries. f and the initial vorticity have the law
    Σ (a_k cos(k·x) + b_k sin(k·x)) / (√2 π (9 + |k|²)²) over the 50 shortest wave vectors k of
    non-negative entries. Products are dealiased by the rule of two thirds. Time steps are of order
    four for the transport and exact for the diffusion.
    """
    draws = np.random.default_rng(seed).normal(size=(n, 2 * MODES))
    start = np.random.default_rng(INITIAL_SEED).normal(size=(1, 2 * MODES))

    def solve(rows: Any) -> Any:
        """Return the vorticities at the last time."""
        return vorticity(forces_of(rows), forces_of(like(start, rows))[0])

    size = BATCH[None if device is None else "gpu"]
    return by_batches(forces_of, draws, 8192, device), by_batches(solve, draws, size, device)


def forces_of(draws: Any) -> Any:
    """Return the fields with the given standard normal coefficients."""
    return namespace(draws).reshape(draws @ like(modes(), draws), (-1, POINTS, POINTS))


def modes() -> np.ndarray:
    """Return the scaled cosines and sines on the grid, of shape (100, 4096)."""
    k = smallest_waves(MODES)
    points = 2 * np.pi * np.arange(POINTS) / POINTS
    phase = k[:, :1, None] * points[:, None] + k[:, 1:, None] * points[None, :]
    scale = 1.0 / (np.sqrt(2.0) * np.pi * (9.0 + (k**2).sum(axis=1)) ** 2)
    both = np.concatenate([np.cos(phase), np.sin(phase)]) * np.tile(scale, 2)[:, None, None]
    return both.reshape(2 * MODES, -1)


def vorticity(force: Any, start: Any, steps: int = STEPS) -> Any:
    """Return the vorticity at time 10, by Runge–Kutta steps with an integrating factor."""
    xp = namespace(force)
    first = np.fft.fftfreq(POINTS, 1.0 / POINTS)[:, None]
    second = np.fft.rfftfreq(POINTS, 1.0 / POINTS)[None, :]
    square = first**2 + second**2
    kept = (np.abs(first) < POINTS / 3) & (np.abs(second) < POINTS / 3)
    # The streamfunction is w/|k|²; its derivatives are the velocity.
    inverse = np.where(square > 0, 1.0 / np.maximum(square, 1.0), 0.0)
    x_velocity, y_velocity, x_slope, y_slope = (
        like(1j * wave * factor, force)
        for wave, factor in ((second, inverse), (-first, inverse), (first, 1.0), (second, 1.0))
    )
    step = TIME / steps
    half, mask = like(np.exp(-VISCOSITY * square * step / 2), force), like(kept + 0.0, force)
    pushed = xp.fft.rfftn(force, axes=(1, 2))

    def change(w: Any) -> Any:
        """Return the force minus the transport of the vorticity, in Fourier modes."""
        u, v, w_x, w_y = (
            xp.fft.irfftn(w * factor, s=(POINTS, POINTS), axes=(1, 2))
            for factor in (x_velocity, y_velocity, x_slope, y_slope)
        )
        return pushed - mask * xp.fft.rfftn(u * w_x + v * w_y, axes=(1, 2))

    w = xp.fft.rfftn(start[None, :, :] + 0.0 * force, axes=(1, 2))
    for _ in range(steps):
        first_change = change(w)
        second_change = change(half * (w + 0.5 * step * first_change))
        third_change = change(half * w + 0.5 * step * second_change)
        fourth_change = change(half * (half * w + step * third_change))
        w = half * half * (w + step / 6 * first_change) + step / 6 * (
            2 * half * (second_change + third_change) + fourth_change
        )
    return xp.fft.irfftn(w, s=(POINTS, POINTS), axes=(1, 2))
