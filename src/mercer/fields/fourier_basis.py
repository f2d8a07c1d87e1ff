"""The basis of Fourier modes of shifts of fields."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.fft

from .._base.arrays import Array, is_foreign, namespace, take
from .._base.checks import Limits
from .._base.threads import cores
from ..solvers import Basis
from .shifts import check_orbits


class FourierBasis(Basis):
    """The basis of output directions that are Fourier modes of shifts along output axes.

    Parameters
    ----------
    orbits
        The index of the output entry for each orbit of the shifts and each shift, (orbits,
        *shifts).
    """

    couples = True

    def __init__(self, orbits: np.ndarray):
        self.orbits = orbits

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the orbits have every entry once."""
        check_orbits(self.orbits, "orbits")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of shifts along each axis."""
        return self.orbits.shape[1:]

    @property
    def n_orbits(self) -> int:
        """The number of orbits of the shifts."""
        return len(self.orbits)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of the shifts, in arrays that have them first."""
        return tuple(range(len(self.shape)))

    @property
    def number(self) -> int:
        """The number of shifts."""
        return int(np.prod(self.shape))

    @property
    def by_shift(self) -> np.ndarray:
        """The orbits with the shifts first, (*shifts, orbits)."""
        return np.moveaxis(self.orbits, 0, -1)

    @property
    def half(self) -> tuple[int, ...]:
        """The number of stored modes along each axis; others are their complex conjugates."""
        return (*self.shape[:-1], self.shape[-1] // 2 + 1)

    def multiplicity_of(self, mode: tuple[int, ...]) -> int:
        """Return the number of real directions of a mode: 2 if its conjugate is not stored."""
        return 1 if mode[-1] == 0 or 2 * mode[-1] == self.shape[-1] else 2

    def is_real(self, mode: tuple[int, ...]) -> bool:
        """Return whether a mode is its own complex conjugate."""
        return all(2 * k % m == 0 for k, m in zip(mode, self.shape, strict=True))

    def to_modes(self, V: Array) -> Array:
        """Return the unitary Fourier transform of output rows V, (*modes, n, orbits)."""
        xp = namespace(V)
        rows = take(xp.matrix_transpose(V), self.by_shift.reshape(-1))
        shaped = xp.matrix_transpose(xp.reshape(rows, (*self.by_shift.shape, V.shape[0])))
        return fourier(shaped, self.axes) / self.number**0.5

    def to_real(self, C: Array) -> Array:
        """Return output rows from Fourier modes C (n, modes · orbits); inverse of `to_modes`."""
        xp, n = namespace(C), C.shape[0]
        modes = xp.reshape(xp.astype(C, xp.complex128), (n, *self.half, self.n_orbits))
        stacked = xp.moveaxis(modes, 0, -2)
        values = xp.fft.irfftn(stacked, s=self.shape, axes=self.axes) * self.number**0.5
        rows = xp.reshape(xp.matrix_transpose(values), (-1, n))
        return xp.matrix_transpose(take(rows, np.argsort(self.by_shift.reshape(-1))))

    def repeat_over_shifts(self, values: Array) -> Array:
        """Return an output whose entries have the value of their orbit, given one per orbit."""
        every = namespace(values).concat([values] * self.number)
        return take(every, np.argsort(self.by_shift.reshape(-1)))

    def to_coordinates(self, C: Array) -> Array:
        """Return C unchanged: the result of `to_real` is already in output coordinates."""
        return C

    @cached_property
    def _multiplicities(self) -> np.ndarray:
        """The number of real directions of each stored Fourier column."""
        return np.repeat(
            [self.multiplicity_of(mode) for mode in np.ndindex(*self.half)], self.n_orbits
        )

    def per_direction(self, values: Array) -> Array:
        """Return values per real direction, given one column per stored Fourier mode."""
        xp = namespace(values)
        index = np.repeat(np.arange(len(self._multiplicities)), self._multiplicities)
        return xp.matrix_transpose(take(xp.matrix_transpose(values), index))

    def noise_per_direction(self, noises: np.ndarray) -> np.ndarray:
        """Return the noise variance per direction, averaged over the modes.

        By symmetry, output entries that shifts exchange have the same noise.
        """
        copies = self._multiplicities.reshape(-1, self.n_orbits)
        mean = (copies * noises.reshape(copies.shape)).sum(axis=0) / self.number
        return self.per_direction(np.tile(mean, len(copies))[None, :])[0, :]

    @cached_property
    def Q(self) -> Array:  # type: ignore[override]
        """The cosine and sine vectors of all modes, as columns in output coordinates."""
        units = np.zeros(
            (int(self._multiplicities.sum()), len(self._multiplicities)), dtype=complex
        )
        column = np.repeat(np.arange(len(self._multiplicities)), self._multiplicities)
        first = np.append(True, column[1:] != column[:-1])
        units[np.arange(len(column)), column] = np.where(first & ~self._is_sine[column], 1.0, 1.0j)
        rows = self.to_real(units)
        return (rows / np.linalg.norm(rows, axis=1)[:, None]).T

    @cached_property
    def _is_sine(self) -> np.ndarray:
        """Whether each stored column is a sine, whose conjugate mode is the cosine."""
        found = []
        for mode in np.ndindex(*self.half):
            conjugate = tuple(-k % m for k, m in zip(mode, self.shape, strict=True))
            found.append(self.multiplicity_of(mode) == 1 and conjugate < mode)
        return np.repeat(found, self.n_orbits)


def fourier(A: Array, axes: tuple[int, ...]) -> Array:
    """Return the discrete Fourier transform of a real array along `axes`."""
    if is_foreign(A):
        return namespace(A).fft.rfftn(A, axes=axes)
    return scipy.fft.rfftn(A, axes=axes, workers=cores())
