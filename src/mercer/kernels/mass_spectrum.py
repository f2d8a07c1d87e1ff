from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._base.arrays import Array, Items, as_items, object_array
from .._base.checks import Limits, array, finite, must
from .._base.parameters import one_of, parameters, positive
from ..spaces import Spectra
from ..spaces.molecules import read_spectrum
from .base import Kernel
from .gradients import analytic_gradient

MASS_KINDS = ("peaks", "losses", "differences")
"""The values of `of`, the masses that are compared."""


class PeakArrays(NamedTuple):
    """The peaks of a batch of mass spectra, as arrays for the compiled loops.

    Attributes
    ----------
    start
        Spectrum i has the peaks start[i] to start[i + 1] - 1.
    mass, weight
        The mass of each peak, ascending in each spectrum, and its weight.
    """

    start: np.ndarray
    mass: np.ndarray
    weight: np.ndarray

    def as_type(self, kind: np.dtype) -> PeakArrays:
        """Return the peaks with weights of the given type."""
        return self._replace(weight=self.weight.astype(kind))


@parameters
class MassSpectrum(Kernel):
    r"""Overlap of mass spectra: pairs of peaks whose masses differ by less than a tolerance.

    :math:`k(a, b) = \sum_{pq} a_p^\gamma b_q^\gamma \max(0, 1 - \lvert m_p - m_q \rvert / w)` over
    the peaks of intensity :math:`a_p` at mass-to-charge ratio :math:`m_p`: each peak is a box of
    width :math:`w`, and the kernel is the product of the densities. An item is a tuple that begins
    with mz, intensity, precursor.

    Parameters
    ----------
    width : float, default=0.01
        The width w, in the unit of the masses; peaks further apart do not match.
    power : float, default=0.5
        The exponent :math:`\gamma`: 1 for intensities, 0 for the presence of peaks.
    of : str, default="peaks"
        The masses that are compared: "peaks"; "losses", the differences precursor - m; or
        "differences", m_p - m_q of two peaks, with weight (a_p a_q)^γ. Losses and differences must
        exceed max(w, 0.5). Before differences are computed, neighbouring peaks at most w/2 apart
        are merged into one, at their mean mass (weighted by intensity) and with the largest of
        their intensities.
    strongest : int, default=25
        The number of strongest peaks whose differences are compared.

    Notes
    -----
    The triangle is the autocorrelation of a box, so that the kernel is positive semidefinite. It
    has compact support, so that sorted peaks are matched in one pass. Normalise it with
    ``Normalized(MassSpectrum())``. The kernel of a spectrum without peaks (or losses) is 0.

    Examples
    --------
    >>> from mercer.kernels import MassSpectrum
    >>> water = ([19.02, 37.03], [1.0, 0.25], 37.03)
    >>> other = ([19.03], [1.0], 50.0)
    >>> MassSpectrum(width=0.02, power=0.5)([water], [water, other])
    array([[1.25, 0.5 ]])
    """

    width: float = 0.01
    power: float = 0.5
    of: str = "peaks"
    strongest: int = 25

    space = Spectra()

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """Check spectra; return `SortedSpectrum` objects, with peaks sorted by mass."""
        positive(self.width, "width")
        one_of(self.of, "of", MASS_KINDS)
        items = as_items(A, name)
        if all(isinstance(item, SortedSpectrum) for item in items):
            return items
        read = (read_spectrum(item, f"{name}[{i}]") for i, item in enumerate(items))
        return object_array([SortedSpectrum(*spectrum) for spectrum in read])

    def _gram(self, A: Items, B: Items) -> Array:
        """Return the overlap of all pairs of mass spectra."""
        from ._spectra import overlaps

        left = self._masses_and_weights(A)
        right = left if B is A else self._masses_and_weights(B)
        return overlaps(left, right, np.real(self.width), 1.0 / self.width, A is B)

    def _diag(self, A: Items) -> Array:
        """Return the overlap of each mass spectrum with itself."""
        from ._spectra import self_overlaps

        return self_overlaps(self._masses_and_weights(A), np.real(self.width), 1.0 / self.width)

    # The derivative with respect to the width is that for fixed pairs of matching peaks.
    parameter_gradient = property(lambda self: analytic_gradient(self, "width", "power"))

    def _masses_and_weights(self, A: Items) -> PeakArrays:
        """Return the masses of a batch that are compared, with their weights."""
        parts = [self._compared_masses(item) for item in A]
        starts = np.concatenate([[0], np.cumsum([len(m) for m, _ in parts])])
        masses = np.concatenate([m for m, _ in parts])
        return PeakArrays(starts, masses, np.concatenate([a for _, a in parts]) ** self.power)

    def _compared_masses(self, item: SortedSpectrum) -> tuple[np.ndarray, np.ndarray]:
        """Return the compared masses (of peaks, losses or differences) and their weights."""
        if self.of == "differences":
            return item.differences(np.real(self.width), self.strongest)
        return item.peaks if self.of == "peaks" else item.losses(np.real(self.width))


SMALLEST_LOSS = 0.5
"""The smallest loss or mass difference that is compared; no fragment is lighter."""


class SortedSpectrum:
    """A mass spectrum with its peaks sorted by mass."""

    __slots__ = ("intensity", "mz", "precursor")

    def __init__(self, mz: np.ndarray, intensity: np.ndarray, precursor: float):
        order = np.argsort(mz, kind="stable")
        self.mz, self.intensity, self.precursor = mz[order], intensity[order], precursor

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless masses are finite and sorted and intensities positive."""
        n = len(array(self.mz, "mz", np.float64, None))
        array(self.intensity, "intensity", np.float64, n)
        must(np.isfinite(self.mz).all() and (np.diff(self.mz) >= 0).all(), "mz is not in order")
        valid = np.isfinite(self.intensity) & (self.intensity > 0)
        must(valid.all(), "intensity has values that are not positive")
        finite(self.precursor, "precursor")

    @property
    def peaks(self) -> tuple[np.ndarray, np.ndarray]:
        """The masses and the intensities of the peaks, sorted by mass."""
        return self.mz, self.intensity

    def losses(self, width: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted neutral losses (precursor minus peak mass), and their intensities.

        Losses up to max(`width`, `SMALLEST_LOSS`) are left out, because they are peaks of the
        precursor itself.
        """
        losses = self.precursor - self.mz[::-1]
        kept = losses > max(width, SMALLEST_LOSS)
        return losses[kept], self.intensity[::-1][kept]

    def differences(self, width: float, strongest: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted mass differences of the `strongest` peaks, and their weights.

        Peaks nearer to each other than half of `width` are merged first.
        """
        if not len(self.mz):
            return self.peaks
        first = np.flatnonzero(np.diff(self.mz, prepend=-np.inf) > 0.5 * width)
        total = np.add.reduceat(self.intensity, first)
        m = np.add.reduceat(self.intensity * self.mz, first) / total
        a = np.maximum.reduceat(self.intensity, first)
        top = np.argsort(-a, kind="stable")[:strongest]
        d = m[top][:, None] - m[top][None, :]
        kept = d > max(width, SMALLEST_LOSS)
        d, weight = d[kept], (a[top][:, None] * a[top][None, :])[kept]
        order = np.argsort(d, kind="stable")
        return d[order], weight[order]
