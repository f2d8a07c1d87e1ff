"""Selection among trials by left-out risk, score or likelihood; nested cross-validation."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, count, host
from .._base.folds import fold_numbers, fold_rows
from .._base.parameters import is_integer
from ..decoders import Decoder
from ..embedding import Embedding
from ..kernels import Standardized
from ..losses import tau_risk
from ..problem import Problem
from ..solvers import Factorization, LeftOut
from ..solvers.weights import with_training_weights
from .choice import LIKELIHOODS, Candidate, Choices, absolute_ridges, calibrated, parameter_list
from .pairs import group_labels, rows_of
from .scoring import (
    AUTO_SCORING,
    FixedPredictions,
    exceeds_standard_error,
    scikit_learn_score,
    scores_decoded,
    space_score,
)

LINEAR_MARGIN = {"each": 0.03, "common": 0.1}
"""A linear default kernel is chosen unless the risk of another is smaller by more than this
fraction (larger for curves) and by more than the standard error of the difference."""


@dataclass(frozen=True)
class Trial:
    """One combination of kernels, decoder, loss and ridge, with its scores.

    Attributes
    ----------
    factorization, decoder
        What was tried: the factorisation of a problem.
    row
        What is reported of it: both kernels, decoder and loss as text, "alpha", the left-out
        "risk", the "score" if there is scoring, and the log "evidence", or with
        criterion="density" the log density of left-out outputs.
    """

    factorization: Factorization
    decoder: Decoder
    row: dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """Search for the best combination of kernels, decoder, loss and ridge.

    Attributes
    ----------
    model
        The `KernelDependencyCV` that chooses, whose scoring and criterion decide.
    choices
        What it chooses from.
    """

    model: Any
    choices: Choices

    def _trials(self, candidate: Candidate) -> Iterator[Trial]:
        """Yield a trial for every ridge and decoder of one factored problem."""
        factorization, decoders, risks = candidate
        problem = factorization.problem
        alphas = absolute_ridges(factorization, self.choices.want)
        kernels = {"kernel": str(problem.kernel), "output_kernel": str(problem.outputs.kernel)}
        words = [kernels | {"decoder": str(d), "loss": str(problem.loss)} for d in decoders]
        scored, averaged = self._scores_decoded(problem), self.model.criterion == "gcv"
        path: Iterable[Any] = [None] * len(alphas)
        if scored or risks is None:
            path = factorization.left_out(alphas, averaged)
        for i, (alpha, left_out) in enumerate(zip(alphas, path, strict=True)):
            risk = self._risk(left_out, problem) if risks is None else float(risks[i])
            likely = self._likelihood(factorization, alpha)
            points = with_training_weights(left_out.embed(), problem, alpha) if scored else None
            for decoder, names in zip(decoders, words, strict=True):
                score = np.nan if points is None else self._score_of(decoder, points, problem)
                found = {"alpha": alpha, "risk": risk, "score": score, "evidence": likely}
                yield Trial(factorization, decoder, names | found)

    def _likelihood(self, factorization: Factorization, alpha: float) -> float:
        """Return the log evidence or density at a ridge if that is the criterion, else NaN."""
        if self.model.criterion not in LIKELIHOODS:
            return np.nan
        if self.model.criterion == "evidence":
            return factorization.evidence(alpha)
        return factorization.density(alpha)

    def _scores_decoded(self, problem: Problem) -> bool:
        """Return whether trials are scored by decoded predictions, not by squared errors.

        With scoring="auto", the result is False for streams and for any criterion but "loo".
        """
        scoring = self.model.scoring
        if scoring == AUTO_SCORING and (
            problem.gathered is not None or self.model.criterion != "loo"
        ):
            return False
        return scores_decoded(scoring, problem.outputs.kernel, len(self.choices.decoders))

    def _risk(self, left_out: LeftOut, problem: Problem) -> float:
        """Return the mean squared left-out error; a robust estimate if a loss is robust."""
        if self.choices.robust:
            return tau_risk(left_out.sqlengths, problem.weights)
        return left_out.risk(problem.weights)

    def _score_of(self, decoder: Decoder, points: Embedding, problem: Problem) -> float:
        """Return the score of left-out points that a decoder has decoded."""
        outputs, weights, model = problem.outputs, problem.weights, self.model
        decoder = calibrated(copy.copy(decoder), points, outputs.items)  # decoding leaves traces
        known = vars(decoder).get("calibration_")
        if model.scoring == AUTO_SCORING and weights is None and known is not None:
            return float(known)
        pair = outputs.items, decoder.decode(points)
        if model.scoring == AUTO_SCORING:
            return space_score(outputs.kernel, *pair, weights)
        truth, predicted = (model._restored(items) for items in pair)
        return scikit_learn_score(
            FixedPredictions(predicted), model.scoring, truth, problem.inputs.items, weights
        )

    def best(self, candidates: Iterable[Candidate]) -> tuple[Trial, list[dict]]:
        """Return the best trial (the first of equals), and a row of results for each trial.

        Among the default kernels a linear one is preferred to others that are better by no more
        than one standard error.
        """
        best, plain, rows = None, None, []
        trials = (trial for candidate in candidates for trial in self._trials(candidate))
        steps = self.model._steps
        for trial in trials if steps is None else steps(trials, "trial"):
            rows.append(trial.row)
            linear = trial.factorization.problem.inputs.kernel.features is not None
            if self.model.kernel is None and linear:
                lower = plain is None or trial.row["risk"] < plain.row["risk"]
                plain = trial if lower else plain
            worth = self._sort_key(trial)
            if best is None or worth > self._sort_key(best) or np.isnan(self._sort_key(best)[0]):
                best = trial
        assert best is not None
        if np.isnan(self._sort_key(best)[0]):
            if np.isnan(best.row["risk"]):
                raise ValueError(
                    "the squared errors of every choice overflow: the outputs are too large. "
                    "Rescale y, as in y / abs(y).max()."
                )
            raise ValueError("scoring gave NaN for every choice: check the metric and its inputs.")
        if (
            plain is not None
            and np.isnan(best.row["score"])
            and _within_standard_error(plain, best)
        ):
            best = plain
        return best, rows

    def _sort_key(self, trial: Trial) -> tuple[float, float]:
        """Return the criterion to maximise, and the negative risk to decide between equals."""
        row = trial.row
        if self.model.criterion in LIKELIHOODS:
            return row["evidence"], 0.0
        scored = self.model.scoring not in (None, AUTO_SCORING) or not np.isnan(row["score"])
        return (row["score"] if scored else -row["risk"]), -row["risk"]


def _within_standard_error(one: Trial, best: Trial) -> bool:
    """Return whether the risk of a trial is within one standard error of the best risk."""
    problem = one.factorization.problem
    kernel = problem.inputs.kernel
    units = kernel.units if isinstance(kernel, Standardized) else ""
    share = LINEAR_MARGIN.get(units, 0.0) if isinstance(units, str) else 0.0
    if one is best or not one.row["risk"] <= (1.0 + share) * best.row["risk"]:
        return one is best
    lost = [
        host(next(iter(trial.factorization.left_out([trial.row["alpha"]]))).sqlengths)
        for trial in (one, best)
    ]
    return not exceeds_standard_error(lost[0] - lost[1], problem.weights)


def nested_score(
    model: Any, X: Items, y: Items, groups: Items | None, weights: Any, folds: int
) -> tuple[float, float]:
    """Return risk and score on outer folds, with parameters chosen within each training part.

    Parameters
    ----------
    model
        A `KernelDependencyCV`, cloned for every fold.
    X, y, groups, weights
        What it is fitted on, as in `fit`.
    folds
        The number of folds; pairs of one group are in one fold.

    Returns
    -------
    risk, score
        The mean squared distance in feature space, and the mean of `scoring` over the folds,
        each fold by its size; NaN without scoring.
    """
    labels = group_labels(groups, count(y))
    number = int(labels.max()) + 1
    if not is_integer(folds) or not 2 <= folds <= number:
        raise ValueError(f"nested must be a number of folds from 2 to {number}, got {folds!r}.")
    w = None if weights is None else np.asarray(weights, dtype=float)
    risks, scores, sizes = [], [], []
    for rest, rows in fold_rows(fold_numbers(labels, folds)):
        inner = clone(model).set_params(nested=None, verbose=False)
        own = None if groups is None else labels[rest]
        seen, new = (None, None) if w is None else (w[rest], w[rows])
        inner.fit(rows_of(X, rest), rows_of(y, rest), groups=own, sample_weight=seen)
        X_new, y_new = rows_of(X, rows), rows_of(y, rows)
        errors = host(inner.embed(X_new).sqdistances_to(y_new))
        risks.append(float(np.average(errors, weights=new)))
        scores.append(_decoded_score(inner, X_new, y_new, new))
        sizes.append(len(rows) if new is None else new.sum())
    return float(np.average(risks, weights=sizes)), float(np.average(scores, weights=sizes))


def _decoded_score(model: Any, X: Items, y: Items, weights: np.ndarray | None) -> float:
    """Return the score of decoded predictions of X against y; NaN without scoring."""
    decoders = len(parameter_list(model, "decoder"))
    if not scores_decoded(model.scoring, model.output_kernel_, decoders):
        return float("nan")
    predicted = model.predict(X)
    if model.scoring == AUTO_SCORING:
        return space_score(model.output_kernel_, y, predicted, weights)
    return scikit_learn_score(FixedPredictions(predicted), model.scoring, y, X, weights)
