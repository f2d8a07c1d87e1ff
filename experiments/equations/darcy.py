"""Darcy's equation: a permeability of two values to the pressure."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from .batches import batches, on_device
from .random_fields import cosine_fields, smallest_waves

POINTS, FINE = 29, 225
"""Points of the returned fields, and of the grid that the equation is solved on."""
MODES, SHIFT = 1000, 9.0
HIGH, LOW = 12.0, 3.0
BATCH = 20
"""Fields that are solved at once; more of them are divided among all cores."""


def darcy(n: int, seed: int = 0, device: str | None = None) -> tuple[Any, Any]:
    """Return n permeabilities a and pressures u, on 29 × 29 points of [0, 1]².

    -∇·(a∇u) = 1, with u = 0 on the border. a is 12 where a Gaussian field of law N(0, (-Δ + 9)⁻²)
    is positive, and 3 elsewhere. The equation is solved by finite volumes on 225 × 225 points.
    """
    draws = np.random.default_rng(seed).normal(size=(n, MODES))
    chunks = [draws[rows] for rows in batches(n, BATCH)]
    solved = Parallel(n_jobs=1 if n <= BATCH else -1)(delayed(_solve)(chunk) for chunk in chunks)
    X, Y = (np.concatenate(side) for side in zip(*solved, strict=True))
    return on_device(X, device), on_device(Y, device)


def _solve(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return permeabilities and pressures of normal numbers on the coarse grid."""
    waves, points = smallest_waves(MODES), np.linspace(0.0, 1.0, FINE)
    stride = (FINE - 1) // (POINTS - 1)
    a = np.where(cosine_fields(draws, waves, points, SHIFT) > 0, HIGH, LOW)
    u = np.stack([pressure(one)[::stride, ::stride] for one in a])
    return a[:, ::stride, ::stride], u


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
