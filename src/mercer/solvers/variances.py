"""The posterior variance of g at one ridge, in the form in which it is saved."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._base.arrays import Array, Items
from .input_spectrum import InputSpectrum
from .outputs import Basis, join_in_order


@dataclass(frozen=True)
class UnitVariances:
    """A function of inputs: the posterior variance along each direction, for unit noise.

    Attributes
    ----------
    spectra, eigenvalues
        For each part of the output directions the inputs in their eigenbasis, and the eigenvalues
        of the operator.
    alpha
        The ridge.
    order
        The position of each direction in the concatenated parts; None for one part.
    basis
        What a column of a part is in the directions of the operator.
    """

    spectra: list[InputSpectrum]
    eigenvalues: list[Array]
    alpha: float
    order: np.ndarray | None = None
    basis: Basis = field(default_factory=Basis)

    def __call__(self, X: Items) -> Array:
        """Return one row per input, one column per direction."""
        parts = zip(self.spectra, self.eigenvalues, strict=True)
        found = [spectrum.unit_variance(b, X, self.alpha) for spectrum, b in parts]
        return self.basis.per_direction(join_in_order(found, self.order))
