"""How leaving a group of examples out moves every prediction, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, Items, blocks, like, namespace
from ..embedding import Embedding
from .regression import Equation, Sides, factored

ENTRIES = 2**23
"""Numbers of the moves that are held at once."""


@dataclass(frozen=True)
class Jackknife:
    """The models that leave each group out, as moves away from the model that saw all.

    Notes
    -----
    A ridge regression without the examples of a group is the one in which their outputs are
    replaced by what it predicts for them: so g_{-G}(x) = g(x) - Σ_{i∈G} w_i(x) e_i, with e_i the
    left-out residuals and w_i(x) the weight of output i in g(x), direction by direction of B.

    Attributes
    ----------
    equation, alpha
        The ridge equation, factored, and its ridge.
    labels
        The group of each example, 0 to K - 1.
    """

    equation: Equation
    alpha: float
    labels: np.ndarray

    @classmethod
    def of(cls, model: Any, X: Items, y: Items, labels: np.ndarray) -> Jackknife:
        """Of a model that was fitted on X and y."""
        sides = Sides(
            model.input_kernel_,
            model.output_kernel_,
            X,
            y,
            model.features,
            model.output_features,
            model.fit_intercept,
        )
        equation = factored(sides, model.kernel_.separated().operator)
        return cls(equation, getattr(model, "alpha_", None) or model.alpha, labels)

    @cached_property
    def residuals(self) -> Array:
        """Outputs minus their left-out predictions, in the eigenbasis of B."""
        return self.equation.leave_one_out(self.labels).residuals(self.alpha)

    @property
    def points(self) -> Embedding:
        """The left-out points of the training examples."""
        loo = self.equation.leave_one_out(self.labels)
        return self.equation.left_out_points(loo, self.residuals, self.labels, None)

    def moves(self, X: Items) -> Iterator[tuple[slice, Array]]:
        """Σ_{i∈G} w_i(x) e_i in output coordinates, for the group G of each training example.

        (some inputs, n, q), block by block of inputs: what the model that leaves G out predicts
        is less by that.
        """
        U, spectra, residuals = self.equation.U, self.equation.spectra, self.residuals
        xp = namespace(U.rows)
        A, train = U.map.transform(X), U.rows
        if U.mean is not None:
            A = A - U.mean
        if spectra.P is not None:
            A, train = A @ spectra.P, train @ spectra.P
        constant = 0.0 if U.mean is None else 1.0 / train.shape[0]
        together = like(self.labels[:, None] == self.labels[None, :], A)
        single = self.labels.max() + 1 == len(self.labels)
        n, q = residuals.shape
        for rows in blocks(A.shape[0], max(1, ENTRIES // (n * q))):
            parts = []
            for j in range(q):
                b = spectra.b[j]
                w = (A[rows, :] * (b / (spectra.s * b + self.alpha))) @ xp.matrix_transpose(train)
                own = (w + constant) * residuals[:, j]
                parts.append(own if single else own @ together)
            D = xp.stack(parts, axis=-1)
            yield rows, D if spectra.Q is None else D @ xp.matrix_transpose(spectra.Q)
