"""Simulated maps from fields to fields, with the settings of published benchmarks.

Each function returns inputs and outputs, arrays of shape (n, *grid). The coefficients of the random
fields are drawn with numpy, so that a seed gives the same pairs on every device. The equations are
then solved in batches, in double precision, with numpy or (with `device`) with PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .advection import advection
from .burgers import burgers
from .darcy import darcy
from .helmholtz import helmholtz
from .navier_stokes import navier_stokes

__all__ = ["EQUATIONS", "advection", "burgers", "darcy", "helmholtz", "navier_stokes"]

EQUATIONS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "Helmholtz": helmholtz,
    "Navier–Stokes": navier_stokes,
    "Burgers": burgers,
    "Darcy": darcy,
    "advection": advection,
}
"""The function of each equation; its arguments are n, `seed` and `device`."""
