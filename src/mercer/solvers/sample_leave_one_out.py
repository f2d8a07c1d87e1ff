from __future__ import annotations

from functools import cached_property

from .._arrays import Array, namespace
from .leave_one_out import LeaveOneOut
from .spectral import Spectra


class SampleLeaveOneOut(LeaveOneOut):
    """Left-out predictions of some of the examples, by a model that was fitted on many more.

    Parameters
    ----------
    spectra
        The factored ridge equation of all examples.
    U, V
        Coordinates of the examples that are left out, one at a time; centred where `intercept`.
    n
        The number of all examples.
    intercept
        Whether the mean of all was taken off.

    Notes
    -----
    Residual and leverage of an example need its own coordinates and the spectra, nothing of the
    other examples: ÛᵀVQ = diag(s)^{-1/2} (Qᵀ S_vu P)ᵀ is known from the moments.
    """

    def __init__(self, spectra: Spectra, U: Array, V: Array, n: int, intercept: bool = False):
        super().__init__(spectra, U, V, intercept)
        xp = namespace(spectra.s)
        keep = spectra.s > 0
        root = xp.sqrt(xp.where(keep, spectra.s, xp.ones_like(spectra.s)))
        inverse = xp.where(keep, 1.0 / root, xp.zeros_like(root))
        self.inside = xp.matrix_transpose(spectra.C * inverse)
        self.n, self.full = n, False

    @cached_property
    def free(self) -> Array | float:
        """1 - Σ_p Û_ip², less 1/n for an intercept: leverage that no α can take."""
        xp = namespace(self.squares)
        rest = 1.0 - xp.sum(self.squares, axis=1) - self.intercept / self.n
        return xp.where(rest > 0, rest, xp.zeros_like(rest))[:, None]
