"""Fields to fields: Darcy's and Burgers' equation, two small sets of the neuraloperator library."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ._files import arrays

DARCY_HASH = "fcf3e5b79b9fc1ecb8cc29b5602bf75c5af0ff2f18b40210e100456e3f0f3d95"
BURGERS_HASH = "e04752179a1734ad20be19ec6f88055ab46b75dc8aeb85dff9d8bbaa7dbc0775"
ORIGIN = "a data set that ships with the neuraloperator library, as one npz"


def load_darcy(
    data_home: str | Path | None = None, *, fine: bool = False, sha256: str | None = DARCY_HASH
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients (0 or 1) and solutions of Darcy's equation, X, y, X_test and y_test.

    1,000 and 50 pairs on a grid of 16 × 16; with `fine` the test pairs on 32 × 32. Transposing is a
    symmetry; mirrors are not, since the grid leaves one border out.

    Examples
    --------
    >>> from mercer.datasets import load_darcy
    >>> X, y, X_test, y_test = load_darcy()  # doctest: +SKIP
    """
    z = arrays("pde/darcy.npz", data_home, sha256=sha256, origin=ORIGIN)
    test = "test32" if fine else "test"
    names = ("train_x", "train_y", f"{test}_x", f"{test}_y")
    X, y, X_test, y_test = (z[name].astype(float) for name in names)
    return X, y, X_test, y_test


def load_burgers(
    data_home: str | Path | None = None, *, sha256: str | None = BURGERS_HASH
) -> tuple[np.ndarray, np.ndarray]:
    """Initial states (800, 16) on a circle and solutions of Burgers' equation (800, 17, 16).

    The first of the 17 times is the initial state; the viscosity is 0.01.

    Examples
    --------
    >>> from mercer.datasets import load_burgers
    >>> X, y = load_burgers()  # doctest: +SKIP
    """
    z = arrays("pde/burgers.npz", data_home, sha256=sha256, origin=ORIGIN)
    return z["x"].astype(float), z["y"].astype(float)
