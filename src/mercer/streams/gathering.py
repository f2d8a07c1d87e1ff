"""Moments of a stream, gathered block by block in place."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, count, dense, is_foreign, namespace, part, take
from .._linalg import add_square, spectral_norm
from ..features import FeatureMap
from ..operators import Moments
from .expected import naming

ROWS = 1024
"""Pairs whose coordinates are held at once: small enough to stay in the cache."""
FOREIGN_ROWS = 16384
"""The same for arrays on a device, which wants them by the thousand."""
PROBE = 16
"""Pairs by whose coordinates two gatherings are told apart."""
PARTS = ("uu", "vu", "vv", "u", "v")
"""The sums that add up."""
CENTRE = 256
"""Pairs whose mean is the origin that moments are taken about."""
STEADY = 1e3
"""How much W may magnify the rounding of bare moments: 1e3 ε ≈ 2e-13."""


class Gathering:
    """The moments of all that was added, in the coordinates of two fitted feature maps.

    Parameters
    ----------
    inputs, outputs
        Fitted maps.
    X, y
        Some pairs such as will be added: they tell the width and the kind of array.
    center
        Whether means matter: moments are then taken about the mean of `X` and `y`, which is near
        that of the stream, so that nothing cancels when the mean is taken off in the end.
    precision
        Of the products of a block, "float64" or "float32"; their sums are float64.

    Notes
    -----
    Where the input map ends in a matrix W (`FeatureMap.unweighted`), moments are gathered of the
    kernel values k = k(x, Z) alone and turned by W once, at the end: for m landmarks that saves
    2m² of the 3m² multiplications that a pair costs. The price is digits. The moments are summed
    to a relative ε, and W multiplies what is lost: the moment of u = Wᵀk, of length one at most,
    is off by ε‖C‖‖W‖², with C the second moment of what is summed. Summed about a mean, C is the
    covariance of kernel values, small where they are all alike, which is where ‖W‖ is large; the
    mean is turned by itself. Where ‖C‖‖W‖² is still above STEADY, every block is turned.
    """

    def __init__(
        self,
        inputs: FeatureMap,
        outputs: FeatureMap,
        X: Items,
        y: Items,
        center: bool = False,
        precision: str = "float64",
    ):
        self.inputs, self.outputs, self.center = inputs, outputs, center
        self.precision = precision
        few = np.arange(min(CENTRE, count(y)))
        X, V = take(X, few), dense(outputs.transform(take(y, few)))
        self.bare, self.weights = inputs.unweighted()
        U = dense(self.bare.transform(X))
        if self.weights is not None and not _steady(U, self.weights):
            self.bare, self.weights = inputs, None
            U = inputs.transform(X)
        self.probe = U[:PROBE, :], V[:PROBE, :]
        a, b = (namespace(A).mean(A, axis=0) for A in (U, V))
        self.origin: tuple[Any, Any] | None = (a, b if center else 0.0 * b)
        if self.weights is None and not center:
            self.origin = None
        self._clear(U, V)

    def _clear(self, U: Array, V: Array) -> None:
        Ut, Vt = (namespace(A).matrix_transpose(A[:0, :]) for A in (U, V))
        self.uu = Ut @ U[:0, :]
        self.vu, self.vv = Vt @ U[:0, :], Vt @ V[:0, :]
        self.u, self.v = namespace(U).sum(U[:0, :], axis=0), namespace(V).sum(V[:0, :], axis=0)
        self.n: float = 0

    def blank(self) -> Gathering:
        """The same maps, and nothing added yet."""
        fresh = copy.copy(self)
        fresh._clear(*self.probe)
        return fresh

    def for_worker(self) -> Gathering:
        """The same maps without what only the end needs, to be sent to where blocks lie."""
        fresh = self.blank()
        fresh.inputs, fresh.weights = self.bare, None
        return fresh

    def __getstate__(self) -> dict:
        """Without the moments where nothing was added: they are zeros, but as large as any."""
        return {k: v for k, v in vars(self).items() if self.n or k not in PARTS}

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state)
        if "uu" not in state:
            self._clear(*self.probe)

    def copy(self) -> Gathering:
        """The same, to be added to without changing this one."""
        fresh = copy.copy(self)
        if not is_foreign(self.uu):
            fresh.uu = self.uu.copy()  # the others are replaced, not changed
        return fresh

    def add(self, X: Items, y: Items) -> None:
        """Add a block of checked pairs; one that is refused half-way is half added: use a copy."""
        for rows in blocks(count(y), FOREIGN_ROWS if is_foreign(self.uu) else ROWS):
            self._add(part(X, rows), part(y, rows))

    def add_block(self, number: int, X: Items, y: Items) -> None:
        """Add a block, and name it where it is refused."""
        with naming(number):
            self.add(X, y)

    def _add(self, X: Items, y: Items) -> None:
        U, V = dense(self.bare.transform(X)), dense(self.outputs.transform(y))
        if self.origin is not None:
            U, V = U - self.origin[0], V - self.origin[1]
        xp = namespace(U, V)
        u, v = xp.sum(U, axis=0), xp.sum(V, axis=0)
        if not bool(xp.all(xp.isfinite(u))) or not bool(xp.all(xp.isfinite(v))):
            raise ValueError(
                "its kernel values or features are not finite: the items are too large for the "
                "kernel. Rescale them, or choose another kernel."
            )
        if self.precision == "float32":
            U, V = xp.astype(U, xp.float32), xp.astype(V, xp.float32)
        Vt = xp.matrix_transpose(V)
        self.uu = add_square(self.uu, U)
        self.vu = self.vu + xp.astype(Vt @ U, self.vu.dtype)
        self.vv = self.vv + xp.astype(Vt @ V, self.vv.dtype)
        self.u, self.v, self.n = self.u + u, self.v + v, self.n + int(U.shape[0])

    def merge(self, raw: Moments) -> None:
        """Add what was gathered elsewhere under the same maps."""
        self.uu = self.uu + raw.uu
        self.vu, self.vv = self.vu + raw.vu, self.vv + raw.vv
        self.u, self.v, self.n = self.u + raw.u, self.v + raw.v, self.n + raw.n

    @property
    def raw(self) -> Moments:
        """The moments as they are gathered, of bare kernel values about the origin."""
        return Moments(self.n, self.uu, self.vu, self.vv, self.u, self.v)

    @property
    def moments(self) -> Moments:
        """The moments of the coordinates, about the origin where means matter."""
        turned = self.raw if self.weights is None else self.raw.mapped(self.weights)
        if self.center or self.origin is None:
            return turned
        a, b = self.origins
        return turned.about(-a, -b)

    @property
    def origins(self) -> tuple[Array, Array]:
        """What the moments are taken about, in coordinates."""
        assert self.origin is not None
        a, b = self.origin
        return (a if self.weights is None else a @ self.weights), b


def _steady(K: Array, W: Array) -> bool:
    """Whether the weights magnify what is lost of the moments of these kernel values by little."""
    spread = spectral_norm(K - namespace(K).mean(K, axis=0)) ** 2 / K.shape[0]
    return spread * spectral_norm(W) ** 2 <= STEADY
