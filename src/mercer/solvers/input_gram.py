"""Kernel values on the training inputs, and the maps made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Array, Items, namespace, take
from ..features import FeatureMap
from ..features.centered import CenteredFeatures
from ..features.landmarks import Spanned
from .reduction import Reduction, weighted_mean


@dataclass
class InputGram:
    """Kernel values on the training inputs, and the maps made of them.

    With an intercept they are centred as far as that matters: what is constant over the training
    inputs is left to the reduction. A kernel with finite features on vectors is centred in those:
    far from the origin its Gram matrix would lose the digits that matter.
    """

    kernel: Any
    X: Items
    weights: np.ndarray | None
    intercept: bool
    width: int | None = None
    """The number of finite features on vectors, which bounds the rank; None if not finite."""
    F: Array | None = None
    """Centred finite features of the training inputs."""
    mean: Any = None
    """The mean of the finite features."""
    means: Any = None
    """The mean kernel value of each training input, where there is an intercept."""
    reduction: Any = field(default=None, init=False)
    """What weights and the intercept make of the matrix; files from before it lack it."""
    scale: float = 0.0
    """The largest entry of √w K √w, to which rounding is relative."""

    held: Any = field(default=None, init=False, repr=False)
    """The reduced matrix, where it was made before it is needed; not saved."""

    def __getstate__(self) -> dict:
        return self.__dict__ | {"held": None}

    def reduced(self, keep: bool = False) -> Array:
        """Return the Gram matrix after weights and intercept are eliminated.

        The caller may overwrite it. With `keep` the caller must not change it, because it is stored
        for the next call.
        """
        K, self.held = self.held, None
        if K is None:
            K = self._centred_gram()
            self.reduction = Reduction.of(self.weights, self.intercept, K)
            A = self.reduction.reduced(K)
            K = K + 0.0 if A is K else A  # the kernel may keep its own
        self.held = K if keep else None
        return K

    def _centred_gram(self) -> Array:
        """Return the Gram matrix, of centred features where there are finite ones."""
        kernel, features = self.kernel, self.kernel.features
        if features is not None and kernel.space.on_vectors and not issparse(self.X):
            F = features(kernel.check(self.X if self.intercept else take(self.X, [0]), "X"))
            self.width = int(F.shape[1])
            if self.intercept:
                self.mean = weighted_mean(F, self.weights)
                self.F = F - self.mean
        if self.F is not None:
            K = kernel.finite_values(self.F @ namespace(self.F).matrix_transpose(self.F))
        else:
            K = kernel.checked_gram(self.X)
            self.means = weighted_mean(K, self.weights) if self.intercept else None
        xp = namespace(K)
        self.scale = float(xp.max(xp.linalg.diagonal(K)))
        self.scale *= 1.0 if self.weights is None else float(self.weights.max())
        return K

    def against(self, A: Items) -> Array:
        """Return kernel values of new inputs, up to a constant for each if centred."""
        if self.F is not None:
            return self._centred(A) @ namespace(self.F).matrix_transpose(self.F)
        return self.kernel(A, self.X) - self.means if self.intercept else self.kernel(A, self.X)

    def _centred(self, A: Items) -> Array:
        return CenteredFeatures(self.kernel, self.mean).transform(A)

    def map(self, coef: Array) -> tuple[FeatureMap, Array | float]:
        """Return the map of dual coefficients √w ∘ coef (of sum zero if centred), and its mean."""
        coef = coef if self.reduction.roots is None else self.reduction.roots * coef
        if self.F is not None:
            primal = namespace(coef).matrix_transpose(self.F) @ coef
            return CenteredFeatures(self.kernel, self.mean, primal, coef), 0.0
        return Spanned(self.kernel, self.X, coef), self.means @ coef if self.intercept else 0.0

    def times(self, A: Array) -> Array:
        """Return K A, less its mean where there is an intercept."""
        if self.F is not None:
            return self.F @ (namespace(A).matrix_transpose(self.F) @ A)
        KA = self.kernel.checked_gram(self.X) @ A
        return KA - weighted_mean(KA, self.weights) if self.intercept else KA

    def between(self, A: Items) -> Array:
        """Return k(a, a') between new inputs, centred as in `prior`."""
        if self.F is not None:
            F = self._centred(A)
            return F @ namespace(F).matrix_transpose(F)
        K = self.kernel(A, A)
        if not self.intercept:
            return K
        turn = namespace(K).matrix_transpose
        rows = weighted_mean(turn(self.kernel(A, self.X)), self.weights)
        level = float(weighted_mean(self.means[:, None], self.weights)[0])
        return K - rows[:, None] - rows[None, :] + level

    def prior(self, A: Items, against: Array) -> Array:
        """Return k(a, a), or ‖Φ(a) - mean‖² with an intercept, given the values of `against`."""
        if self.F is not None:
            F = self._centred(A)
            return namespace(F).sum(F * F, axis=1)
        if not self.intercept:
            return self.kernel.diag(A)
        rows = weighted_mean(namespace(against).matrix_transpose(against), self.weights)
        level = float(weighted_mean(self.means[:, None], self.weights)[0])
        return self.kernel.diag(A) - 2.0 * rows - level
