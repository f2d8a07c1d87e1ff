"""Jackknife+: radii from the models that each leave one group of the training pairs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, host
from .._base.errors import NotSupported
from .._base.from_file import Reducible
from ..embedding import Embedding
from ..estimators.fitted import Fitted
from ..estimators.ridge import RidgeEstimator
from ..solvers.left_out import solve_diagonal_blocks
from .lists import CandidateScore
from .scales import ResidualScale
from .scores import AroundScore, Score
from .weights import weighted_quantile

Moves = Iterator[tuple[slice, Array]]
"""Differences of left-out models from the model, (inputs, rows, q), block by block of inputs."""
Units = Callable[[slice], np.ndarray]
"""From a slice of inputs to units (inputs, rows), for bands (inputs, rows, locations)."""


@dataclass(frozen=True)
class LeftOutScale:
    """Scale of radii: standard deviations of a new output under all left-out models.

    Each of these models leaves one group G out. In units of the noise, the variance is
    v₋G(x) = v(x) + w_G(x) (I - H_GG)⁻¹ w_G(x)ᵀ along each direction of the operator: w are the
    weights of the training outputs in g(x), H those at the training inputs.
    It depends on inputs alone, so that jackknife+ with scores in these units is proven.

    Attributes
    ----------
    fitted
        The model, prepared by `with_groups`.
    by_location
        Whether deviations are needed at each location of an output, rather than in total.
    """

    fitted: Fitted
    by_location: bool
    unproven: ClassVar[str] = ""

    def at(self, X: Items) -> Units:
        """Return a function from slices of X to standard deviations under all left-out models."""
        posterior = self.fitted.posterior()
        parts, alpha = posterior.factorization, self.fitted.alpha
        problem = self.fitted.problem
        if parts.coupled or problem.symmetry is not None:
            reason = f"{problem.kernel} couples all output components"
            raise NotSupported(
                f"{reason if parts.coupled else 'the model has symmetries'}: left-out models have "
                'no standard deviations then. Use calibration="split", or scale="flat".'
            )
        hats = parts.weights_along(problem.inputs.items, alpha)
        weights = parts.weights_along(X, alpha)
        added = [self._added_variance(*pair) for pair in zip(hats, weights, strict=True)]
        variances = host(parts.variance(X, alpha))
        share = posterior.to_outputs() ** 2 if self.by_location else None

        def units(rows: slice) -> np.ndarray:
            """Return standard deviations for a slice of inputs, (inputs, left-out models, …)."""
            own = np.stack([variance[rows] for variance in added], axis=-1)
            total = 1.0 + variances[rows][:, None, :] + own
            return np.sqrt(total.sum(axis=-1) if share is None else total @ share)

        return units

    def _added_variance(self, H: Array, W: Array) -> np.ndarray:
        """Return the variance added by leaving out each example's group, (inputs, examples).

        `H` and `W` have the weights of examples in predictions at training and at new inputs.
        """
        H, W, labels = host(H), host(W), self.fitted.problem.groups
        added = W * solve_diagonal_blocks(np.eye(len(H)) - H, W.T, labels).T
        return added if labels is None else added @ (labels[:, None] == labels[None, :])

    def at_training_inputs(self) -> np.ndarray:
        """Return the standard deviation at each training input if its group is left out."""
        units = self.at(self.fitted.problem.inputs.items)
        n = len(self.fitted.problem.left_out_labels)
        return np.stack([units(slice(i, i + 1))[0, i] for i in range(n)])


@dataclass(frozen=True)
class JackknifeRadii(Reducible):
    """Radii of sets around the predictions that contain the jackknife+ prediction sets.

    Attributes
    ----------
    model, fitted
        The model, and its solution prepared for leaving groups out.
    score, scale
        The score, and the scale of its units; None for ones.
    scores, weights
        The scores of the left-out training outputs, and their weights.
    level
        The coverage.
    """

    model: Any
    fitted: Fitted
    score: Score
    scale: LeftOutScale | ResidualScale | None
    scores: np.ndarray
    weights: np.ndarray
    level: float

    def without_training_data(self) -> JackknifeRadii:
        """Return a copy to be saved, without the training inputs in their original container."""
        problem = replace(self.fitted.problem, given=None)
        return replace(self, fitted=replace(self.fitted, problem=problem))

    def at(self, X: Items) -> np.ndarray:
        """Return one radius for each input, or a row with one for each candidate or location."""
        checked = self.model._check_inputs(self.model.input_kernel_, X, reset=False)
        points, moves = self.fitted.embed(checked), self.fitted.moves(checked)
        if isinstance(self.score, CandidateScore):
            return self._radii_of_lists(self.score, points, moves)
        assert isinstance(self.score, AroundScore)
        units = self._units(X, checked)
        sizes = ((rows, self.score.move_sizes(host(move), points)) for rows, move in moves)
        return np.concatenate([self._half_widths(size, units(rows)) for rows, size in sizes])

    def _units(self, X: Items, checked: Items) -> Callable[[slice], Any]:
        """Return a function from slices of X to the units of scores under all left-out models."""
        if isinstance(self.scale, LeftOutScale):
            return self.scale.at(checked)
        if self.scale is None:
            return lambda rows: None
        return self.scale.at(X)[:, None].__getitem__

    def _half_widths(self, sizes: np.ndarray, unit: np.ndarray | None) -> np.ndarray:
        """Return for each input the half-width of a set that contains its jackknife+ set.

        By the triangle inequality, applied to each location of a band: an output of the jackknife+
        set is within score · unit + ‖change of the prediction‖ of the prediction for more than
        1 - level of the left-out models, the same ones at all locations. The half-width is an upper
        bound, not the smallest possible one.
        """
        joint = sizes.ndim == 3 and self.scores.ndim == 1  # one score for all locations
        scores = self.scores[:, None] if joint else self.scores
        half = sizes + (scores if unit is None else scores * unit)
        radii = weighted_quantile(np.moveaxis(half, 1, -1), self.weights, self.level)
        return radii.max(axis=1) if joint and unit is None else radii  # one width at all locations

    def _radii_of_lists(self, score: CandidateScore, points: Embedding, moves: Moves) -> np.ndarray:
        """Return the radius of each candidate: ∞ if it is in the jackknife+ set, else -∞."""
        E, distances = host(points.frame.evaluate(score.outputs)), score.relative_distances(points)
        radii = np.full(distances.shape, -np.inf)
        for rows, move in moves:
            for t, by_group in zip(range(rows.start, rows.stop), host(move), strict=True):
                moved = distances[t] + 2.0 * by_group @ E.T  # (rows of calibration, candidates)
                if score.excluded is not None:  # models without its group never saw the candidate
                    moved[score.excluded] = np.inf
                moved -= moved.min(axis=1, keepdims=True)
                above = self.weights @ (self.scores[:, None] < moved)
                radii[t, above < self.level - 1e-12] = np.inf
                radii[t, np.argmin(distances[t])] = np.inf
        return radii


def left_out_points(model: RidgeEstimator) -> Embedding:
    """Return the left-out points of a model; refuse one without closed-form left-out models."""
    fitted = model.fitted_
    try:
        if fitted.want.left_out_method != "closed":
            raise NotSupported(f"loss={model.loss_} is judged by refits")
        next(fitted.moves(fitted.problem.inputs.items))
        return fitted.left_out_points()
    except NotSupported as error:
        raise ValueError(
            f'calibration="jackknife+" has no closed form for {model.kernel_} with '
            f'loss={model.loss_}: use calibration="split".'
        ) from error
