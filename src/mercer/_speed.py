"""How fast this machine is at what fits are made of."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ._threads import in_passes

SIDE = 1000
"""Of the matrix that is decomposed; a product comes to its full speed at half as much again."""
PASSES = 3.0
"""A kernel value, in exponentials: distances and their repair are passes over it too."""


class Speed(NamedTuple):
    """Seconds for one of each.

    Attributes
    ----------
    product
        A multiplication of a matrix product.
    value
        A kernel value: its exponential and the passes over it.
    spectrum
        An eigendecomposition of n rows, over n³.
    """

    product: float
    value: float
    spectrum: float


@cache
def speed() -> Speed:
    """Measured once a process, in about a second."""
    import scipy.linalg  # not needed where nobody asks

    A = np.random.default_rng(0).normal(size=(SIDE, SIDE))
    A += A.T

    def exponentials() -> None:
        values = A.copy()
        in_passes(lambda rows: np.exp(values[rows], out=values[rows]), *values.shape)

    B = np.tile(A, (2, 2))[: SIDE * 3 // 2, : SIDE * 3 // 2]
    product = _best(lambda: B @ B, 3) / len(B) ** 3
    spectrum = _best(lambda: scipy.linalg.eigh(A, driver="evd"), 2) / SIDE**3
    return Speed(product, PASSES * _best(exponentials) / A.size, spectrum)


def _best(run: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several runs: others may use the machine as well."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
