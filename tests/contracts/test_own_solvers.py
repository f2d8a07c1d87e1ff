"""Kernels that bring their solver solve the ridge equation, with all that a fit may be given."""

import numpy as np
import pytest

from mercer.fields import Shared, ShiftEquivariant
from mercer.kernels import RBF, Laplacian, Linear
from mercer.operators import CurlFree
from mercer.spaces import Fields
from mercer.testing import check_solver

RNG = np.random.default_rng(0)
LINES, SQUARES = RNG.normal(size=(8, 5)), RNG.normal(size=(7, 3, 4))
RING = Fields(periodic=("x",))
TWO = Fields(periodic=("x",), channels=2)
BROUGHT = {
    "shifts": (ShiftEquivariant(RBF(3.0)), LINES, LINES**2, 1e-9),
    "shifts of two axes": (ShiftEquivariant(Laplacian(3.0), ("x", "y")), SQUARES, SQUARES**2, 1e-9),
    "shifts of one axis": (ShiftEquivariant(Linear(), "y"), SQUARES, np.cos(SQUARES), 1e-9),
    "shared": (
        Shared(RBF(2.0), None, 1.0, 0.1, radius=1, rank=200, fields=RING, output_fields=RING),
        LINES, LINES**2, 1e-5,
    ),
    "shared, positions and channels": (
        Shared(RBF(2.0), RBF(2.0), 1.0, 0.1, radius=1, rank=200, fields=RING, output_fields=TWO),
        LINES, np.stack([LINES**2, np.cos(LINES)], axis=-1), 1e-5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROUGHT)
def test_a_solver_that_a_kernel_brings(name):
    check_solver(*BROUGHT[name])


def test_a_broken_promise_is_named():
    with pytest.raises(AssertionError, match="brings no solver"):
        check_solver(CurlFree(1.0), LINES[:, :2], LINES[:, 2:4])
    with pytest.raises(AssertionError, match="do not solve|off by"):
        check_solver(Wrong(RBF(3.0)), LINES, LINES**2)


class Wrong(ShiftEquivariant):
    """A kernel whose values are not those that its solver solves."""

    def gram(self, A, B=None):
        return (2.0 * ShiftEquivariant(RBF(3.0))).fit(LINES, LINES).gram(A, B)
