"""Gaussian random fields as sums of cosines, and as Fourier series."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batches import like, namespace


def smallest_waves(number: int, largest: int = 40) -> np.ndarray:
    """Return the pairs (l₁, l₂) ≠ (0, 0) of non-negative integers with smallest l₁² + l₂².

    Pairs of equal length are in lexicographic order.
    """
    pairs = [(i, j) for i in range(largest) for j in range(largest) if i or j]
    return np.array(sorted(pairs, key=lambda pair: (pair[0] ** 2 + pair[1] ** 2, pair))[:number])


def cosine_modes(waves: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the orthonormal cosines of [0, 1]² on a grid, of shape (waves, grid, grid)."""
    first, second = (np.cos(np.pi * np.outer(waves[:, axis], points)) for axis in (0, 1))
    norms = np.where((waves == 0).any(axis=1), np.sqrt(2.0), 2.0)
    return norms[:, None, None] * first[:, :, None] * second[:, None, :]


def cosine_fields(draws: Any, waves: np.ndarray, points: np.ndarray, shift: float) -> Any:
    """Return fields of law N(0, (-Δ + shift)⁻²) on [0, 1]² with zero normal derivatives.

    `draws` are standard normal numbers of shape (n, waves).
    """
    xp = namespace(draws)
    scale = np.where((waves == 0).any(axis=1), np.sqrt(2.0), 2.0)
    scale = scale / (np.pi**2 * (waves**2).sum(axis=1) + shift)
    # A table of coefficients by first and second wave number, and one product for each axis.
    size = int(waves.max()) + 1
    to_table = np.zeros((len(waves), size * size))
    to_table[np.arange(len(waves)), waves[:, 0] * size + waves[:, 1]] = scale
    cosines = np.cos(np.pi * np.outer(np.arange(size), points))
    table, cosines = (like(values, draws) for values in (to_table, cosines))
    coefficients = xp.reshape(draws @ table, (-1, size, size))
    return xp.matrix_transpose(cosines) @ coefficients @ cosines
