"""The posterior variance of the fitted map g as a function of inputs, which models save."""

from __future__ import annotations

from dataclasses import dataclass, field

from .._base.arrays import Array, Items
from .input_spectrum import InputSpectrum
from .outputs import Basis


@dataclass(frozen=True)
class UnitVariances:
    """Posterior variance of g as a function of inputs, for one ridge and unit noise.

    Attributes
    ----------
    spectra, eigenvalues
        The input spectrum and the operator eigenvalues of each part of a factorisation.
    alpha
        The ridge parameter.
    basis
        The output directions of all parts.
    """

    spectra: list[InputSpectrum]
    eigenvalues: list[Array]
    alpha: float
    basis: Basis = field(default_factory=Basis)

    def __call__(self, X: Items) -> Array:
        """Return the variances at inputs X, one column per output direction."""
        parts = zip(self.spectra, self.eigenvalues, strict=True)
        found = [spectrum.unit_variance(b, X, self.alpha) for spectrum, b in parts]
        return self.basis.per_direction(self.basis.join(found))
