"""Posterior standard deviations under the models that leave one group out each, without refits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Items, host
from .fitted import Fitted
from .posterior import Posterior

Scales = Callable[[slice], np.ndarray]
"""(inputs, training examples) for balls, (inputs, training examples, places) for bands."""


class LeftOutScales:
    """The standard deviation of a new output at x for the model that leaves a group G out.

    In units of the noise, v₋G(x) = v(x) + w_G(x) (I - H_GG)⁻¹ w_G(x)ᵀ along each direction of the
    operator: w are the weights of the training outputs in g(x), H those at the training inputs.
    It depends on inputs alone, so that jackknife+ with scores in these units is proven.

    Parameters
    ----------
    fitted
        The model, prepared by `leaving_out`.
    band
        Whether deviations are asked for at each place of an output, rather than in all.
    """

    def __init__(self, fitted: Fitted, band: bool):
        self.fitted, self.band = fitted, band
        items = fitted.problem.inputs.items
        posterior = Posterior(fitted, items)
        self.parts, self.alpha = posterior.parts, fitted.alpha
        self.labels = fitted.problem.left_out_labels
        self.share = posterior._to_outputs() ** 2 if band else None
        self.inverses = [self._inverse(H) for H in self._weights(items)]

    def _weights(self, X: Items) -> list[np.ndarray]:
        """The weights of training outputs in g(x), one array a direction of the operator."""
        projections = [part.inputs.project(X) for part in self.parts.parts]
        return [host(W) for W in self.parts.weights_along(projections, self.alpha)]

    def _inverse(self, H: np.ndarray) -> np.ndarray:
        """(I - H_GG)⁻¹ of every group, zero between groups; one number a row without groups."""
        if self.fitted.problem.groups is None:
            return 1.0 / (1.0 - np.diag(H))
        inverse = np.zeros_like(H)
        for label in np.unique(self.labels):
            own = np.ix_(*[np.flatnonzero(self.labels == label)] * 2)
            inverse[own] = np.linalg.inv(np.eye(len(own[0])) - H[own])
        return inverse

    def at(self, X: Items) -> Scales:
        """A function of a slice of the inputs: their deviations for every left-out model."""
        W, V = self._weights(X), host(self.parts.variance(X, self.alpha))

        def scales(rows: slice) -> np.ndarray:
            added = [self._added(w[rows], M) for w, M in zip(W, self.inverses, strict=True)]
            total = 1.0 + V[rows][:, None, :] + np.stack(added, axis=-1)
            return np.sqrt(total.sum(axis=-1) if self.share is None else total @ self.share)

        return scales

    def _added(self, W: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """What leaving out the group of each training example adds to the variance."""
        if inverse.ndim == 1:
            return W * W * inverse
        by_row = (W @ inverse) * W
        return by_row @ (self.labels[:, None] == self.labels[None, :])

    def own(self, shape: Any) -> np.ndarray:
        """The deviation at every training input for the model that leaves its own group out."""
        scales = self.at(self.fitted.problem.inputs.items)
        rows = [scales(slice(i, i + 1))[0, i] for i in range(len(self.labels))]
        return np.reshape(np.stack(rows), (len(rows), *shape))
