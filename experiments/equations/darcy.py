"""Darcy's equation: a permeability of two values to the pressure."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from .batches import on_device
from .random_fields import cosine_fields, smallest_waves

POINTS, FINE = 29, 225
"""Points of the returned fields, and of the grid that the equation is solved on."""
MODES, SHIFT = 1000, 9.0
HIGH, LOW = 12.0, 3.0


def darcy(n: int, seed: int = 0, device: str | None = None) -> tuple[Any, Any]:
    """Return n permeabilities a and pressures u, on 29 × 29 points of [0, 1]².

    -∇·(a∇u) = 1, with u = 0 on the border. a is 12 where a Gaussian field of law N(0, (-Δ + 9)⁻²)
    is positive, and 3 elsewhere. The equation is solved by finite volumes on 225 × 225 points.
    """
    draws = np.random.default_rng(seed).normal(size=(n, MODES))
    waves, points = smallest_waves(MODES), np.linspace(0.0, 1.0, FINE)
    stride = (FINE - 1) // (POINTS - 1)
    X, Y = np.empty((n, POINTS, POINTS)), np.zeros((n, POINTS, POINTS))
    for i in range(n):
        field = cosine_fields(draws[i : i + 1], waves, points, SHIFT)[0]
        a = np.where(field > 0, HIGH, LOW)
        X[i], Y[i] = a[::stride, ::stride], pressure(a)[::stride, ::stride]
    return on_device(X, device), on_device(Y, device)


def pressure(a: np.ndarray) -> np.ndarray:
    """Return the pressure of one permeability, by finite volumes with harmonic means."""
    size, step = len(a), 1.0 / (len(a) - 1)
    number = np.full((size, size), -1)
    number[1:-1, 1:-1] = np.arange((size - 2) ** 2).reshape(size - 2, size - 2)
    rows, columns, values = [], [], []
    diagonal = np.zeros((size - 2) ** 2)
    for axis in (0, 1):
        first = [slice(None, -1) if i == axis else slice(1, -1) for i in (0, 1)]
        second = [slice(1, None) if i == axis else slice(1, -1) for i in (0, 1)]
        left, right = number[tuple(first)].ravel(), number[tuple(second)].ravel()
        flow = (2 / (1 / a[tuple(first)] + 1 / a[tuple(second)])).ravel() / step**2
        for here, there in ((left, right), (right, left)):
            np.add.at(diagonal, here[here >= 0], flow[here >= 0])
            inside = (here >= 0) & (there >= 0)
            rows.append(here[inside])
            columns.append(there[inside])
            values.append(-flow[inside])
    every = np.arange(len(diagonal))
    matrix = csc_matrix(
        (
            np.concatenate([*values, diagonal]),
            (np.concatenate([*rows, every]), np.concatenate([*columns, every])),
        )
    )
    u = np.zeros((size, size))
    u[1:-1, 1:-1] = splu(matrix).solve(np.ones(len(diagonal))).reshape(size - 2, size - 2)
    return u
