"""Left-out predictions of a ridge equation in finite operator-valued features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .._arrays import Array, like, namespace, put, take
from .._linalg import eigh
from .leave_one_out import LeftOut, _batches, _members


class FeatureLeaveOneOut(LeftOut):
    """What the model would predict for each example, had it not seen it (or its group).

    Parameters
    ----------
    features
        A function of positions that gives Ψ of those examples, (m, q, D), centred where
        `intercept`.
    N, right
        Σ_i Ψ_iΨ_iᵀ, destroyed, and Σ_i Ψ_i v_i.
    V
        Outputs, (n, q), centred where `intercept`.
    labels
        The group of each example; groups are left out together.
    intercept
        Whether every component has a constant of its own.

    Notes
    -----
    With N = E diag(e) Eᵀ and Z_g = Ψ_gᵀE for the rows of a group the residuals of the fit are
    R_g = V_g - Z_g (Eᵀright / (e + α)), and H_gg = Z_g diag(1 / (e + α)) Z_gᵀ, which gains 1/n
    between equal components for an intercept. Z is made once, some groups at a time.
    """

    def __init__(
        self,
        features: Callable[[np.ndarray], Array],
        N: Array,
        right: Array,
        V: Array,
        labels: np.ndarray,
        intercept: bool = False,
    ):
        self.e, self.E = eigh(N, "moment of the features", drop=False)
        self.right = namespace(V).matrix_transpose(self.E) @ right
        self.features, self.V, self.intercept = features, V, intercept
        self.members = _members(labels)
        self.known: dict[float, Array] = {}

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Outputs minus their left-out predictions, for every α in turn."""
        missing = [alpha for alpha in alphas if alpha not in self.known]
        for alpha in missing:
            self.known[alpha] = self.V + 0.0
        for members in _batches(self.members, self.V.shape[1] * self.e.shape[0]):
            Z = self._rotated(members)
            for alpha in missing:
                found = self._residuals(Z, members, alpha)
                self.known[alpha] = put(self.known[alpha], members.reshape(-1), found)
        return (self.known[alpha] for alpha in alphas)

    def _rotated(self, members: np.ndarray) -> Array:
        """Z of groups of one size, (groups, members · q, D)."""
        Z = self.features(members.reshape(-1)) @ self.E
        return namespace(Z).reshape(Z, (len(members), -1, self.e.shape[0]))

    def _residuals(self, Z: Array, members: np.ndarray, alpha: float) -> Array:
        xp, q = namespace(Z), self.V.shape[1]
        shrunk = Z / (self.e + alpha)
        V = xp.reshape(take(self.V, members.reshape(-1)), (len(members), -1))
        R = V - shrunk @ self.right
        H = shrunk @ xp.matrix_transpose(Z)
        size = members.shape[1]
        means = np.kron(np.full((size, size), self.intercept / self.V.shape[0]), np.eye(q))
        rest = like(np.eye(size * q) - means, R) - H
        return xp.reshape(xp.linalg.solve(rest, R[:, :, None]), (-1, q))

    def averaged_residuals(self, alpha: float) -> Array:
        """The residuals of generalised cross-validation: leverages averaged over everything."""
        xp, (n, q) = namespace(self.V), self.V.shape
        fitted = self.V + 0.0
        for members in _batches(self.members, q * self.e.shape[0]):
            Z = self._rotated(members)
            values = xp.reshape(Z @ (self.right / (self.e + alpha)), (-1, q))
            fitted = put(fitted, members.reshape(-1), values)
        used = float(xp.sum(self.e / (self.e + alpha))) + q * self.intercept
        return (self.V - fitted) / (1.0 - used / (n * q))

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in the components of the outputs (centred where V was)."""
        return self.V - residuals
