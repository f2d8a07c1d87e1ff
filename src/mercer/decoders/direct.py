"""Decoders in closed form: the inverse of the feature map, and projections onto the simplex."""

from __future__ import annotations

import numpy as np

from .._base.arrays import Array, Items, host, is_foreign, like, take
from ..embedding import Embedding
from ..kernels import L2, Hellinger, Kernel, Linear
from .base import Decoder, features, restore, unsuited_kernel


class Direct(Decoder):
    """A decoder that returns the predicted point itself, for output kernels such as `Linear`.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Direct
    >>> model = KernelDependency("linear", alpha=1e-9, decoder=Direct())
    >>> model.fit([[1.0], [2.0]], [[2.0, 0.0], [4.0, 0.0]]).predict([[3.0]]).round(4)
    array([[6., 0.]])
    """

    def fit(self, kernel: Kernel, y: Items) -> Direct:
        """Store one training output, whose shape predictions will have."""
        if kernel.features is None or kernel.features.inverse is None:
            raise unsuited_kernel(self, kernel, "whose features can be inverted, such as Linear()")
        self.kernel_ = kernel
        self.sample_ = take(y, [0])
        return self

    def decode(self, points: Embedding) -> Items:
        """Return the outputs whose features are the points."""
        F = points.frame.kernel_features(points.coordinates)
        outputs = self.kernel_.features.inverse(F)
        return restore(outputs, self.sample_) if self.kernel_.on_vectors else outputs


SUM_TOLERANCE = 1e-6
"""The largest allowed difference between one and the sum of a training output."""


class Simplex(Decoder):
    r"""A decoder into probability vectors: the exact projection of the point onto the simplex.

    For `Linear` outputs that is the Euclidean projection, :math:`y_j = \max(g_j - \tau, 0)` with
    :math:`\tau` such that :math:`\sum_j y_j = 1`. For `L2` outputs, densities on a grid, the same
    under the quadrature weights, :math:`\sum_j w_j y_j = 1`. For `Hellinger` outputs the features
    :math:`\sqrt{y_j}` lie on the unit sphere, and the best ones are the positive part of :math:`g`
    divided by its length.

    Notes
    -----
    The projection is exact: :math:`\tau` comes from one sort (Held, Wolfe and Crowder 1974).

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Simplex
    >>> model = KernelDependency("linear", alpha=1e-9, decoder=Simplex())
    >>> _ = model.fit([[0.0, 1.0], [1.0, 1.0]], [[0.1, 0.9], [0.6, 0.4]])
    >>> model.predict([[0.5, 1.0], [3.0, 1.0]]).round(4)
    array([[0.35, 0.65],
           [1.  , 0.  ]])
    """

    def fit(self, kernel: Kernel, y: Items) -> Simplex:
        """Check that the training outputs are probability vectors and store their shape."""
        inner = kernel.multiple.kernel
        if not (isinstance(inner, Linear | L2 | Hellinger) and inner.features.inverse is not None):
            raise unsuited_kernel(
                self, kernel, "on probabilities or densities: Linear(), L2(grid) or Hellinger()"
            )
        self.spherical_ = isinstance(inner, Hellinger)
        self.kernel_ = kernel
        self.sample_ = take(y, [0])
        rows = host(kernel.check(y, "y"))
        self.weights_ = inner.features(np.ones_like(rows[:1]))[0] ** 2
        _refuse_non_probabilities(rows, self.weights_)
        return self

    def decode(self, points: Embedding) -> Array:
        """Return the probability vector nearest to each point."""
        F = features(points, self.kernel_)
        if self.spherical_:
            P = onto_sphere(host(F)) ** 2
        else:
            P = onto_simplex(host(self.kernel_.multiple.kernel.features.inverse(F)), self.weights_)
        return restore(like(P, F) if is_foreign(F) else P, self.sample_)


def onto_simplex(V: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
    """Return the weighted projection of each row v of V onto the probability simplex.

    It minimises Σ_j w_j (y_j - v_j)² over y ≥ 0 with Σ_j w_j y_j = 1; all w_j are one by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decoders.direct import onto_simplex
    >>> onto_simplex(np.array([[0.9, 0.5, -1.0]]))
    array([[0.7, 0.3, 0. ]])
    """
    w = np.ones(V.shape[1]) if w is None else w
    # The shift does not change y, and 1 is not rounded away next to large entries.
    V = V - V.max(axis=1, keepdims=True)
    order = np.argsort(-V, axis=1, kind="stable")
    top = np.take_along_axis(V, order, axis=1)
    mass = np.cumsum(w[order], axis=1)
    # τ if the j largest entries stay positive; the right j is the last whose entry exceeds it.
    tau = (np.cumsum(w[order] * top, axis=1) - 1.0) / mass
    last = (top > tau).sum(axis=1) - 1
    return np.maximum(V - np.take_along_axis(tau, last[:, None], axis=1), 0.0)


def onto_sphere(F: np.ndarray) -> np.ndarray:
    """Return the non-negative unit vector nearest to each row f of F, argmax_s ⟨f, s⟩.

    Where no entry of f is positive, the result is one at the largest entry of f and zero elsewhere.
    """
    S = np.maximum(F, 0.0)
    none = ~(F > 0).any(axis=1)
    S[none, F[none].argmax(axis=1)] = 1.0
    S = S / S.max(axis=1, keepdims=True)  # squares of tiny entries would vanish
    return S / np.linalg.norm(S, axis=1, keepdims=True)


def _refuse_non_probabilities(rows: np.ndarray, w: np.ndarray) -> None:
    """Raise an error unless each row is non-negative and its sum with weights w is one."""
    totals = rows @ w
    bad = (rows < 0).any(axis=1) | (np.abs(totals - 1.0) > SUM_TOLERANCE)
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"output {i} of y is not a probability vector: its entries sum to {totals[i]:.6g}, and "
            f"the smallest is {rows[i].min():.3g}. Divide each output by its sum (a density by its "
            "integral), or use the decoder Direct()."
        )
