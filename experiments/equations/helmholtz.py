"""Helmholtz's equation: the wave speed of a medium to the excited wave."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batches import by_batches, like, namespace
from .random_fields import cosine_fields, smallest_waves

CELLS = 100
FREQUENCY = 1000.0
MODES, SHIFT = 100, 9.0
BATCH = {None: 8, "gpu": 500}
"""Problems solved at once; each takes 16 MB, for the blocks of its factorisation."""
GAUSS = 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3.0)
"""Points of the Gauss rule on [0, 1] that is exact for cubic polynomials."""
CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))


def helmholtz(n: int, seed: int = 0, device: str | None = None) -> tuple[Any, Any]:
    """Return n wave speeds c and waves u, on 101 × 101 points of [0, 1]².

    -Δu - (ω/c)² u = 0 with ω = 1,000. The normal derivative is 1 where |x - .5| ≤ .15 on the top
    side, and 0 elsewhere on the border. c = 20 + tanh(a) with a Gaussian field a. The elements are
    bilinear on 100 × 100 cells. The last axis of the arrays is x, and the last row is the top side.
    """
    draws = np.random.default_rng(seed).normal(size=(n, MODES))
    points = np.linspace(0.0, 1.0, CELLS + 1)
    waves = smallest_waves(MODES)

    def speeds(rows: Any) -> Any:
        """Return the wave speeds of normal numbers."""
        return 20.0 + namespace(rows).tanh(cosine_fields(rows, waves, points, SHIFT))

    def solve(rows: Any) -> Any:
        """Return the waves of normal numbers."""
        return waves_of(speeds(rows))

    size = BATCH[None if device is None else "gpu"]
    return by_batches(speeds, draws, 4096, device), by_batches(solve, draws, size, device)


def waves_of(c: Any) -> Any:
    """Return the waves for wave speeds c of shape (n, 101, 101), by block elimination.

    Rows of nodes are eliminated from the bottom to the top, where the excitation is. One step of
    iterative refinement corrects the elimination, which does not exchange rows.
    """
    xp = namespace(c)
    diagonal, above = stiffness_blocks(c)
    rows, factors = diagonal.shape[1], []
    below: Any = None
    for j in range(rows):
        # The Schur complement of row j, and its product with the coupling to row j + 1.
        block = diagonal[:, j, :, :]
        if below is not None:
            block = block - xp.matrix_transpose(above[:, j - 1, :, :]) @ below
        if j < rows - 1:
            below = xp.linalg.solve(block, above[:, j, :, :])
            factors.append(below)
    top = block

    def solve_top(right: Any) -> Any:
        """Return the solution for a load on the top row alone."""
        found = [xp.linalg.solve(top, right[:, :, None])[:, :, 0]]
        for factor in reversed(factors):
            found.append(-(factor @ found[-1][:, :, None])[:, :, 0])
        return xp.stack(found[::-1], axis=1)

    load = xp.broadcast_to(like(top_load(), c), (c.shape[0], rows))
    u = solve_top(load)
    return u + solve_top(load - top_residual(diagonal, above, u))


def top_residual(diagonal: Any, above: Any, u: Any) -> Any:
    """Return the top row of A u, where rounding errors of the elimination collect."""
    xp = namespace(u)
    last = (diagonal[:, -1, :, :] @ u[:, -1, :, None])[:, :, 0]
    return last + (xp.matrix_transpose(above[:, -1, :, :]) @ u[:, -2, :, None])[:, :, 0]


def top_load() -> np.ndarray:
    """Return the integrals of the nodal functions over the excited part of the top side."""
    step, load = 1.0 / CELLS, np.zeros(CELLS + 1)
    cells = np.arange(CELLS)
    excited = np.abs((cells + 0.5) * step - 0.5) < 0.15
    np.add.at(load, cells[excited], 0.5 * step)
    np.add.at(load, cells[excited] + 1, 0.5 * step)
    return load


def stiffness_blocks(c: Any) -> tuple[Any, Any]:
    """Return the diagonal blocks and the blocks above them, of shape (n, rows, 101, 101)."""
    xp = namespace(c)
    entries = cell_matrices(c)
    n, size = c.shape[0], CELLS + 1
    diagonal = xp.zeros((n, size, size, size), dtype=c.dtype, device=array_device(c))
    above = xp.zeros((n, CELLS, size, size), dtype=c.dtype, device=array_device(c))
    cells = xp.arange(CELLS, device=array_device(c))
    for a, (row_a, column_a) in enumerate(CORNERS):
        for b, (row_b, column_b) in enumerate(CORNERS):
            value = entries[a][b]  # (n, rows of cells, columns of cells)
            left, right = cells + column_a, cells + column_b
            if row_a == row_b:
                diagonal[:, row_a : row_a + CELLS, left, right] += value
            elif row_a < row_b:
                above[:, :, left, right] += value
    return diagonal, above


def cell_matrices(c: Any) -> list[list[Any]]:
    """Return the 4 × 4 matrices of all cells, each entry of shape (n, cells, cells)."""
    step = 1.0 / CELLS
    stiffness = [[gradient_integral(a, b) for b in range(4)] for a in range(4)]
    found = [[0.0 * c[:, :-1, :-1] + stiffness[a][b] for b in range(4)] for a in range(4)]
    at = [c[:, i : i + CELLS, j : j + CELLS] for i, j in CORNERS]
    for y in GAUSS:
        for x in GAUSS:
            values = [(y if i else 1 - y) * (x if j else 1 - x) for i, j in CORNERS]
            speed = sum(value * corner for value, corner in zip(values, at, strict=True))
            weight = (FREQUENCY / speed) ** 2 * (step * step / 4.0)
            for a in range(4):
                for b in range(4):
                    found[a][b] = found[a][b] - weight * (values[a] * values[b])
    return found


def gradient_integral(a: int, b: int) -> float:
    """Return ∫∇φ_a·∇φ_b over a cell; it does not depend on the size of a square cell."""
    same = [CORNERS[a][axis] == CORNERS[b][axis] for axis in (0, 1)]
    mass = [1 / 3 if equal else 1 / 6 for equal in same]
    slope = [1.0 if equal else -1.0 for equal in same]
    return slope[0] * mass[1] + mass[0] * slope[1]


def array_device(values: Any) -> Any:
    """Return the device of an array, as the array namespaces name it."""
    return "cpu" if isinstance(values, np.ndarray) else values.device
