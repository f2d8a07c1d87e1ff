"""One Fourier mode of a problem that shifts leave alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from .._arrays import Array, is_foreign, namespace, take
from .._linalg import PositiveDefinite, adjoint, ridged
from .inputs import Reduction
from .left_out import by_groups, by_inverse


@dataclass(frozen=True)
class Mode:
    """One Fourier mode: a Hermitian matrix, its targets, and how often it counts.

    Attributes
    ----------
    K, T
        (n, n) and (n, others), rows times the roots of weights, means taken off where it has a
        constant.
    times
        1, or 2 where a real field has the conjugate mode too.
    reduction
        What an intercept takes out; only fields that shifts leave alone are constant.
    """

    K: Array
    T: Array
    times: float
    reduction: Reduction

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues, not below zero, and eigenvectors on what is not constant."""
        K = self.reduction.reduced(self.K)
        if is_foreign(K):
            s, E = namespace(K).linalg.eigh(K)
        else:
            s, E = scipy.linalg.eigh(K, driver="evd", check_finite=False)
        return s * (s > 0), self.reduction.back(E)

    @cached_property
    def inside(self) -> Array:
        """The targets in the eigenvectors."""
        return adjoint(self.spectrum[1]) @ self.T

    @cached_property
    def squares(self) -> Array:
        """|E|², entry by entry."""
        return abs(self.spectrum[1]) ** 2

    def _factored(self, alpha: float) -> PositiveDefinite | None:
        """K + αI on what is not constant, factored; None where the spectrum is there or needed."""
        if "spectrum" in self.__dict__:
            return None
        try:
            return PositiveDefinite.of(ridged(self.reduction.reduced(self.K) + 0.0, alpha))
        except np.linalg.LinAlgError:
            return None  # α is lost in rounding

    def dual(self, alpha: float) -> Array:
        """(K + αI)⁻¹ T on what is not constant."""
        factor = self._factored(alpha)
        if factor is not None:
            return self.reduction.back(factor.solve(self.reduction.inside(self.T)))
        s, E = self.spectrum
        return (E / (s + alpha)) @ self.inside

    def left_out(self, alpha: float, groups: np.ndarray | None, once: bool = False) -> Array:
        """(I - H_gg)⁻¹ R_g: what each example (or group) has over its left-out prediction.

        At one α for `once` the inverse does, in a sixth of a spectrum's time.
        """
        factor = self._factored(alpha) if once else None
        if factor is not None:
            A = adjoint(self.reduction.back(factor.inverse()))
            return by_inverse(self.reduction.back(A), self.T, groups)
        s, E = self.spectrum
        d = alpha / (s + alpha)
        R = E @ (d[:, None] * self.inside)
        if groups is None:
            rest = self.squares @ d
            return R / (rest + 1.0 * (rest <= 0))[:, None]

        def rest_of(members: np.ndarray) -> Array:
            own = namespace(E).reshape(take(E, members.reshape(-1)), (*members.shape, -1))
            return (own * d) @ adjoint(own)

        return by_groups(rest_of, R, groups)
