"""Burgers' equation: the initial velocity on a circle to the velocity at time 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batches import by_batches, like, namespace

POINTS, FINE = 128, 512
VISCOSITY, STEPS = 0.1, 2000
BATCH = 1000


def burgers(n: int, seed: int = 0, device: str | None = None) -> tuple[Any, Any]:
    """Return n initial values and solutions at time 1, on 128 points of the circle of length 1.

    u_t + u u_x = u_xx / 10. The initial values have the law N(0, 625 (-Δ + 25)⁻²). The solution is
    computed on 512 points; every fourth one is returned.
    """
    draws = np.random.default_rng(seed).normal(size=(n, 2 * (POINTS // 2) + 1))
    stride = FINE // POINTS
    X = by_batches(initial_values, draws, BATCH, device)

    def solve(rows: Any) -> Any:
        """Return the solutions on the coarse grid."""
        return velocity(initial_values(rows))[:, ::stride]

    return X[:, ::stride], by_batches(solve, draws, BATCH, device)


def initial_values(draws: Any) -> Any:
    """Return the Fourier series with the given standard normal coefficients, on the fine grid."""
    waves = np.arange(1, POINTS // 2 + 1)
    scale = 25.0 / ((2 * np.pi * waves) ** 2 + 25.0)
    phase = 2 * np.pi * np.outer(waves, np.arange(FINE) / FINE)
    modes = (
        np.sqrt(2.0)
        * scale[:, None]
        * np.concatenate([np.cos(phase), np.sin(phase)]).reshape(2, len(waves), FINE)
    )
    series = np.concatenate([np.ones((1, FINE)), modes.reshape(-1, FINE)])
    return draws @ like(series, draws)


def velocity(start: Any, steps: int = STEPS) -> Any:
    """Return the velocity at time 1, by Runge–Kutta steps with an integrating factor."""
    xp = namespace(start)
    waves = 2 * np.pi * np.fft.rfftfreq(FINE, 1.0 / FINE)
    step = 1.0 / steps
    half = like(np.exp(-VISCOSITY * waves**2 * step / 2), start)
    slope = like(-0.5j * waves * (waves < 2 * np.pi * FINE / 3), start)

    def change(u: Any) -> Any:
        """Return -(u²/2)_x in Fourier modes."""
        return slope * xp.fft.rfft(xp.fft.irfft(u, n=FINE) ** 2)

    u = xp.fft.rfft(start)
    for _ in range(steps):
        first = change(u)
        second = change(half * (u + 0.5 * step * first))
        third = change(half * u + 0.5 * step * second)
        fourth = change(half * (half * u + step * third))
        u = half * half * (u + step / 6 * first)
        u = u + step / 6 * (2 * half * (second + third) + fourth)
    return xp.fft.irfft(u, n=FINE)
