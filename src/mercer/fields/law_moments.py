"""Ridge regression for the coefficients of a local law, from moments of the windows of fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple

import numpy as np

from .._base.arrays import Array, blocks, host, like, namespace, take
from .._base.folds import fold_rows
from .._base.linalg import PositiveDefinite, add_ridge
from ..features import FeatureMap
from ..operators import Moments
from .stencil import Stencil, fields_at_once, law_coefficients

DAMPED = 0.02
"""The ratio of the damping to the squared violation of the law by left-out fields."""


class Law(NamedTuple):
    """A fitted local law: weights of the window features, and one constant per grid point."""

    weights: Array
    constants: Array


class LawRegression:
    """Ridge regression of each output value on its neighbours, with coefficients linear in windows.

    A regression row holds the features of the input window of a grid point times each regressor of
    `Stencil`. With an intercept there is a column for each grid point, which is not penalised.

    Parameters
    ----------
    stencil, features
        The neighbourhoods that the law relates, and the feature map of a window.
    X, Y
        Inputs, and outputs (n, size).
    folds
        The fold of each field; fields of one fold are left out together.
    intercept
        Whether each grid point has a constant.
    """

    def __init__(
        self,
        stencil: Stencil,
        features: FeatureMap,
        X: Array,
        Y: Array,
        folds: np.ndarray,
        intercept: bool,
    ):
        self.stencil, self.features, self.intercept = stencil, features, intercept
        self.X, self.Y, self.folds = X, Y, folds
        regressors, target = stencil.regressors_and_target(Y)
        xp = namespace(regressors)
        self.scales = xp.sqrt(xp.mean(regressors**2, axis=0)) + 1e-300
        self.scale = float(xp.sqrt(xp.mean(target**2))) or 1.0

    def moments(self, fields: np.ndarray) -> Moments:
        """Return the moments of the regression rows of the given fields."""
        steps = blocks(len(fields), fields_at_once(self.stencil, self.X))
        return reduce(add, (self._moments_in_memory(fields[step]) for step in steps))

    def _moments_in_memory(self, fields: np.ndarray) -> Moments:
        """Return the moments of the regression rows of fields that are in memory at once."""
        X, Y = take(self.X, fields), take(self.Y, fields)
        U = self.features.transform(self.stencil.windows(X))
        xp, n = namespace(U), U.shape[0]
        regressors, target = self.stencil.regressors_and_target(Y)
        D = xp.reshape((regressors / self.scales)[:, :, None] * U[:, None, :], (n, -1))
        if self.intercept:
            one = like(np.eye(self.stencil.points), D)
            D = xp.concat([D, xp.concat([one] * int(X.shape[0]))], axis=1)
        return Moments.of(D, target[:, None] / self.scale)

    def fit_law(self, moments: Moments, alpha: float) -> Law:
        """Solve the ridge regression given by `moments`; return its coefficients as a `Law`.

        The weights are NaN if alpha is lost in rounding.
        """
        xp, points = namespace(moments.uu), self.stencil.points
        width = moments.uu.shape[0] - (points if self.intercept else 0)
        ridge = like(np.where(np.arange(moments.uu.shape[0]) < width, alpha, 0.0), moments.uu)
        try:
            system = PositiveDefinite.of(add_ridge(moments.uu + 0.0, ridge))
            coef = system.solve(xp.matrix_transpose(moments.vu))[:, 0]
        except np.linalg.LinAlgError:
            coef = moments.vu[0, :] * np.nan
        weights = xp.reshape(coef[:width], (self.scales.shape[0], -1))
        weights = xp.matrix_transpose(weights * (self.scale / self.scales)[:, None])
        constants = coef[width:] * self.scale if self.intercept else like(np.zeros(points), coef)
        return Law(weights, constants)

    @cached_property
    def fold_moments(self) -> list[Moments]:
        """The moments of the regression rows of each fold."""
        return [self.moments(out) for _, out in fold_rows(self.folds)]

    def left_out_errors(
        self, fields: np.ndarray, alphas: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return errors and violations (fields, alphas) by laws fitted without the field's fold."""
        found = []
        for fold in np.unique(self.folds[fields]):
            others = reduce(add, [m for i, m in enumerate(self.fold_moments) if i != fold])
            laws = [self.fit_law(others, alpha) for alpha in alphas]
            found.append(self.evaluate(fields[self.folds[fields] == fold], laws))
        errors, violations = zip(*found, strict=True)
        return np.concatenate(errors), np.concatenate(violations)

    def evaluate(self, fields: np.ndarray, laws: Sequence[Law]) -> tuple[np.ndarray, np.ndarray]:
        """Return the prediction errors of laws on fields, and how much true outputs violate them.

        Both have one row per field and one column per law. Errors are relative to the norm of the
        output, and infinite without a solution.
        """
        X, Y = take(self.X, fields), take(self.Y, fields)
        U = self.features.transform(self.stencil.windows(X))
        C = [law_coefficients(U @ law.weights, law.constants) for law in laws]
        violations = np.stack([self.stencil.violations(one, Y) for one in C], axis=1)
        damping = zip(C, damping_of(violations), strict=True)
        errors = [
            _relative_errors(self.stencil.solve(one, level), host(Y)) for one, level in damping
        ]
        return np.stack(errors, axis=1), violations


def _relative_errors(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return ‖predicted - truth‖ / ‖truth‖ for each row; infinite if `predicted` is not finite."""
    lengths = np.maximum(np.linalg.norm(truth, axis=1), np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # too large to be squared is infinite
        errors = np.linalg.norm(predicted - truth, axis=1) / lengths
    return np.where(np.isfinite(errors), errors, np.inf)


def damping_of(violations: np.ndarray) -> np.ndarray:
    """Return the damping of each law (column), given the violations by true outputs (rows).

    The damping is proportional to the squared median violation, as in a Gaussian model in which an
    output of typical norm is as likely as a violation of this size.
    """
    return DAMPED * np.median(violations, axis=0) ** 2
