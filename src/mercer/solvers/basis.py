"""The directions of an operator, in which a ridge problem falls apart."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.fft

from .._base.arrays import Array, is_foreign, namespace, take
from .._base.linalg import adjoint
from .._base.threads import cores


class Basis:
    """Orthonormal directions as columns in output coordinates.

    Parameters
    ----------
    Q
        The columns; None where the directions are the output coordinates.
    """

    Q: Array | None

    def __init__(self, Q: Array | None = None):
        self.Q = Q

    def real(self, C: Array) -> Array:
        """Return columns of the parts as real rows of the same lengths."""
        return C

    def back(self, C: Array) -> Array:
        """Return real rows in output coordinates."""
        return C if self.Q is None else C @ adjoint(self.Q)

    def each(self, values: Array) -> Array:
        """Return one value per column of the parts as one per real direction."""
        return values

    def pooled(self, noises: np.ndarray) -> np.ndarray:
        """Return the noise of each column of the parts as that of each direction."""
        return noises


class FourierBasis(Basis):
    """Fourier modes of shifts along some axes.

    Parameters
    ----------
    orbits
        The output entries by orbit and shift, (others, *shifts).
    """

    def __init__(self, orbits: np.ndarray):
        self.shape, self.others = orbits.shape[1:], len(orbits)
        self.axes = tuple(range(len(self.shape)))
        self.number = int(np.prod(self.shape))
        self.by_shift = np.moveaxis(orbits, 0, -1)  # (*shifts, others)
        self.half = (*self.shape[:-1], self.shape[-1] // 2 + 1)

    def times(self, mode: tuple[int, ...]) -> int:
        """Return 2 for a mode that also stands for its conjugate."""
        return 1 if mode[-1] == 0 or 2 * mode[-1] == self.shape[-1] else 2

    def is_real(self, mode: tuple[int, ...]) -> bool:
        """Return whether a mode is its own conjugate."""
        return all(2 * k % m == 0 for k, m in zip(mode, self.shape, strict=True))

    def forth(self, V: Array) -> Array:
        """Return rows of outputs as Fourier modes, lengths kept, (*modes, n, others)."""
        xp = namespace(V)
        rows = take(xp.matrix_transpose(V), self.by_shift.reshape(-1))
        shaped = xp.matrix_transpose(xp.reshape(rows, (*self.by_shift.shape, V.shape[0])))
        return fourier(shaped, self.axes) / self.number**0.5

    def real(self, C: Array) -> Array:
        """Return modes (n, modes · others) as rows of outputs: the inverse of `forth`."""
        xp, n = namespace(C), C.shape[0]
        modes = xp.reshape(xp.astype(C, xp.complex128), (n, *self.half, self.others))
        stacked = xp.moveaxis(modes, 0, -2)
        values = xp.fft.irfftn(stacked, s=self.shape, axes=self.axes) * self.number**0.5
        rows = xp.reshape(xp.matrix_transpose(values), (-1, n))
        return xp.matrix_transpose(take(rows, np.argsort(self.by_shift.reshape(-1))))

    def back(self, C: Array) -> Array:
        """Return real rows unchanged: they are in output coordinates already."""
        return C

    @cached_property
    def _copies(self) -> np.ndarray:
        """How many real directions each column of the parts stands for."""
        return np.repeat([self.times(mode) for mode in np.ndindex(*self.half)], self.others)

    def each(self, values: Array) -> Array:
        """Return one value per column of the parts as one per real direction."""
        xp = namespace(values)
        index = np.repeat(np.arange(len(self._copies)), self._copies)
        return xp.matrix_transpose(take(xp.matrix_transpose(values), index))

    def pooled(self, noises: np.ndarray) -> np.ndarray:
        """Return the mean over modes: entries that shifts exchange are equally noisy."""
        copies = self._copies.reshape(-1, self.others)
        mean = (copies * noises.reshape(copies.shape)).sum(axis=0) / self.number
        return self.each(np.tile(mean, len(copies))[None, :])[0, :]

    @cached_property
    def Q(self) -> Array:  # type: ignore[override]
        """The cosines and sines of all modes as columns."""
        units = np.zeros((int(self._copies.sum()), len(self._copies)), dtype=complex)
        column = np.repeat(np.arange(len(self._copies)), self._copies)
        first = np.append(True, column[1:] != column[:-1])
        units[np.arange(len(column)), column] = np.where(first & ~self._sines[column], 1.0, 1.0j)
        rows = self.real(units)
        return (rows / np.linalg.norm(rows, axis=1)[:, None]).T

    @cached_property
    def _sines(self) -> np.ndarray:
        """Whether a column stands for the sine alone, its conjugate mode for the cosine."""
        found = []
        for mode in np.ndindex(*self.half):
            conjugate = tuple(-k % m for k, m in zip(mode, self.shape, strict=True))
            found.append(self.times(mode) == 1 and conjugate < mode)
        return np.repeat(found, self.others)


def fourier(A: Array, axes: tuple[int, ...]) -> Array:
    """Return the discrete Fourier transform of real numbers, computed on all cores."""
    if is_foreign(A):
        return namespace(A).fft.rfftn(A, axes=axes)
    return scipy.fft.rfftn(A, axes=axes, workers=cores())
