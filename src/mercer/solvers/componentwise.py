"""Kernels diagonal in output components: one ridge equation for each scalar kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._arrays import Array, like, namespace, take
from .._linalg import eigh
from ..operators import ComponentGram
from .cholesky import Cholesky
from .leave_one_out import LeaveOneOut, LeftOut
from .spectral import Spectra


class Componentwise:
    """The ridge equation (K_c + αI) c_c = v_c, component by component, at one α.

    Parameters
    ----------
    gram
        The kernel on the training inputs.
    intercept
        Whether the means of the outputs (taken off V already) and of the features of each scalar
        kernel are taken off.
    """

    def __init__(self, gram: ComponentGram, intercept: bool = False):
        self.gram, self.intercept = gram, intercept

    def solve(self, V: Array, alpha: float) -> tuple[Array, Array | None]:
        """The coefficients (n, q), and for an intercept what of the means they explain, (q,)."""
        xp = namespace(V)
        Vt = xp.matrix_transpose(V)
        coefs, means, order = [], [], []
        for own, K, mean in centred_parts(self.gram, self.intercept):
            coef = _solved(K, xp.matrix_transpose(take(Vt, own)), alpha)
            if self.intercept:
                coef = coef - xp.mean(coef, axis=0)  # zero but for rounding, which α magnifies
                means.append(mean @ coef)
            coefs.append(xp.matrix_transpose(coef))
            order.append(own)
        back = np.argsort(np.concatenate(order))
        explained = take(xp.concat(means), back) if self.intercept else None
        return xp.matrix_transpose(take(xp.concat(coefs), back)), explained


class ComponentLeaveOneOut(LeftOut):
    """Left-out predictions, each scalar kernel by its own spectrum.

    Parameters
    ----------
    gram
        The kernel on the training inputs.
    V
        Output components, (n, q), their means taken off where `intercept`.
    intercept
        As in `Componentwise`.
    groups
        A label for each example: examples of one label are left out together; None for each alone.
    """

    def __init__(
        self, gram: ComponentGram, V: Array, intercept: bool = False, groups: Array | None = None
    ):
        Vt = namespace(V).matrix_transpose(V)
        self.V = V
        self.parts, order = [], []
        for own, K, _ in centred_parts(gram, intercept):
            rows = namespace(V).matrix_transpose(take(Vt, own))
            self.parts.append(_left_out(K, rows, intercept, groups))
            order.append(own)
        self.back = np.argsort(np.concatenate(order))

    def _joined(self, columns: list[Array]) -> Array:
        xp = namespace(self.V)
        rows = xp.concat([xp.matrix_transpose(part) for part in columns])
        return xp.matrix_transpose(take(rows, self.back))

    def path(self, alphas: Sequence[float]) -> Iterator[Array]:
        """Outputs minus their left-out predictions, for every α in turn."""
        return (self._joined([part.residuals(alpha) for part in self.parts]) for alpha in alphas)

    def averaged_residuals(self, alpha: float) -> Array:
        """Leverages averaged over the examples, scalar kernel by scalar kernel."""
        return self._joined([part.averaged_residuals(alpha) for part in self.parts])

    def points(self, residuals: Array) -> Array:
        """Left-out predictions in the components of the outputs."""
        return self.V - residuals


def centred_parts(
    gram: ComponentGram, intercept: bool
) -> Iterator[tuple[np.ndarray, Array, Array | None]]:
    """Components, the matrix of their scalar kernel (centred for an intercept), what came off."""
    for own, K in gram.by_scalar():
        if not intercept:
            yield own, K + 0.0, None  # a copy: it is factored in place
            continue
        mean = namespace(K).mean(K, axis=0)
        centred = K - mean[None, :]
        yield own, centred - namespace(K).mean(centred, axis=1)[:, None], mean


def _solved(K: Array, V: Array, alpha: float) -> Array:
    """(K + αI)⁻¹ V, by Cholesky where α stands out of the rounding, else by the spectrum."""
    xp = namespace(K)
    scale = float(xp.max(xp.abs(K)))
    if Cholesky().accepts(K.shape[0], scale, alpha):
        return Cholesky().factor(K, alpha).solve(V)
    s, P = eigh(K, "Gram matrix", drop=False)
    return P @ ((xp.matrix_transpose(P) @ V) / (s + alpha)[:, None])


def _left_out(K: Array, V: Array, intercept: bool, groups: Array | None) -> LeaveOneOut:
    xp = namespace(K)
    s, P = eigh(K, "Gram matrix")
    U = (P if P is not None else K) * xp.sqrt(s)
    b = like(np.ones(V.shape[1]), V)
    return LeaveOneOut(
        Spectra(s, None, b, None, xp.matrix_transpose(V) @ U), U, V, intercept, groups
    )
