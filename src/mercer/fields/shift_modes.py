"""A scalar kernel between fields and all shifted fields, as Fourier modes of the shifts.

The Gram matrix of all shifted training inputs is block-circulant, so that each Fourier mode of the
shifts is a separate n × n problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from .._base.arrays import Array, Items, blocks, count, namespace, sliced
from ..kernels import Kernel
from .fourier_basis import FourierBasis, fourier
from .shifts import Shifts, Steps

DIAGONAL_ITEMS = 16
"""Kernel matrices of this many inputs are computed at once where only diagonals are needed."""


def real_copy(A: Array) -> Array:
    """Return a contiguous copy of the real part of A."""
    return namespace(A).real(A) + 0.0  # a view would have strides


class ShiftedKernelModes:
    """Kernel values between inputs and all shifted training inputs, as Fourier modes.

    The values of the last inputs are stored, because all modes need them.
    """

    def __init__(self, kernel: Kernel, X: Items, shifts: Shifts, basis: FourierBasis):
        self.kernel, self.shifts, self.basis = kernel, shifts, basis
        self.X = kernel.check(X, "X")
        self.last_inputs: tuple[Any, Any, Any] = (None, None, None)

    def _every_shift(self, A: Items) -> Iterator[Items]:
        """Yield inputs A, moved by each shift."""
        return (self.shifts.of_inputs(A, steps) for steps in self.shifts)

    @cached_property
    def modes(self) -> Array:
        """The Fourier modes of the training Gram matrices over all shifts, (*modes, n, n).

        The Gram matrix of the inverse of a shift is the transpose of that of the shift.
        """
        grams: dict[Steps, Array] = {}
        for steps, moved in zip(self.shifts, self._every_shift(self.X), strict=True):
            back = self.shifts.inverse(steps)
            known = back in grams
            grams[steps] = grams[back].T if known else self.kernel._gram(self.X, moved)
        return self._to_modes(list(grams.values()))

    def _to_modes(self, values: list[Array]) -> Array:
        """Return the Fourier transform over the shifts of matrices, given one per shift."""
        xp = namespace(*values)
        K = xp.stack(values)
        K = xp.reshape(K, (*self.basis.shape, *K.shape[1:]))
        return fourier(K, self.basis.axes) / self.basis.number

    def kernel_values(self, A: Items) -> Array:
        """Return the Fourier modes of kernel values of new inputs A, (*modes, inputs, n)."""
        if self.last_inputs[0] is not A:
            new = self.kernel.check(A, "X")
            values = [self.kernel._gram(new, moved) for moved in self._every_shift(self.X)]
            self.last_inputs = (A, self._to_modes(values), None)
        return self.last_inputs[1]

    def prior_variances(self, A: Items) -> Array:
        """Return the Fourier modes of k(a, shifted a) over the shifts of a, (*modes, inputs)."""
        if self.last_inputs[0] is not A or self.last_inputs[2] is None:
            new, found = self.kernel.check(A, "X"), []
            for moved in self._every_shift(new):
                grams = [
                    self.kernel._gram(sliced(new, rows), sliced(moved, rows))
                    for rows in blocks(count(A), DIAGONAL_ITEMS)
                ]
                xp = namespace(*grams)
                found.append(xp.concat([xp.linalg.diagonal(K) for K in grams]))
            self.last_inputs = (A, self.kernel_values(A), self._to_modes(found))
        return self.last_inputs[2]


@dataclass(frozen=True)
class ModeKernel:
    """One Fourier mode of a kernel over shifts, with the methods that `InputGram` calls.

    Attributes
    ----------
    values
        The kernel values of all modes, shared by all `ModeKernel` objects.
    mode
        The index of the mode.
    """

    values: ShiftedKernelModes
    mode: Steps

    features: ClassVar[None] = None

    def _this_mode(self, A: Array) -> Array:
        """Select this mode from an array over all modes; return a real array for a real mode."""
        real = self.values.basis.is_real(self.mode)
        one = A[(*self.mode, ...)]
        return real_copy(one) if real else one

    def __call__(self, A: Items, X: Items) -> Array:
        """Return this mode of the kernel values between new inputs A and training inputs."""
        return self._this_mode(self.values.kernel_values(A))

    def checked_gram(self, X: Items) -> Array:
        """Return this mode of the Gram matrix of the training inputs."""
        return self._this_mode(self.values.modes)

    def diag(self, A: Items) -> Array:
        """Return this mode of k(a, shifted a) for every new input a in A, as real numbers."""
        return real_copy(self.values.prior_variances(A)[(*self.mode, ...)])
