"""Selection among trials by left-out risk, score or likelihood, and warnings about it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from .._base.arrays import Items, count, dense, host, is_array
from .._base.errors import warn
from .._base.parameters import fingerprint
from .._base.statistics import exceeds_standard_error
from ..decoders import Decoder
from ..embedding import Embedding
from ..kernels import Standardized
from ..operators import OperatorKernel
from ..problem import Problem
from ..solvers import Factorization
from ..solvers.weights import with_training_weights
from ..spaces import LabelSets
from .choices import AUTO_SCORING, LIKELIHOODS, Candidate, Choices, absolute_ridges, scores_decoded
from .scoring import decoded_score

LINEAR_MARGIN = {"each": 0.03, "common": 0.1}
"""A linear default kernel is chosen unless the risk of another is smaller by more than this
fraction (larger for curves) and by more than the standard error of the difference."""
GRID = 4
"""The smallest number of values of a grid for a warning about its edge."""
SMALLEST_GAIN = 0.02
"""Warn if the edge is better than its neighbour by this fraction of the variance of outputs."""
MOST_COPIES = 0.2
"""The fraction of pairs with a copy in another group above which left-out risks mislead."""
FEWEST_PAIRS, MOST_PAIRS = 20, 20_000
"""The numbers of pairs between which copies are searched for."""
SCORE_DIGITS = 12
"""The number of decimal places of scores that are compared."""
OTHER_CHOICES = ("kernel", "output_kernel", "decoder")


@dataclass(frozen=True)
class Trial:
    """One combination of kernels, decoder and ridge, with its scores.

    Attributes
    ----------
    factorization, decoder
        What was tried: the factorisation of a problem.
    row
        What is reported of it: both kernels and decoder as text, "alpha", the left-out
        "risk", the "score" if there is scoring, and the log "evidence", or with
        criterion="density" the log density of left-out outputs.
    """

    factorization: Factorization
    decoder: Decoder
    row: dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """Search for the best combination of kernels, decoder and ridge.

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
        words = [kernels | {"decoder": str(d)} for d in decoders]
        scored, averaged = self._scores_decoded(problem), self.model.criterion == "gcv"
        likelihoods = {"evidence": factorization.evidence, "density": factorization.density}
        likelihood = likelihoods.get(self.model.criterion)
        encoded = [d.encoded(problem.outputs.items) if d.calibrates else None for d in decoders]
        path: Iterable[Any] = [None] * len(alphas)
        if scored or risks is None:
            path = factorization.left_out(alphas, averaged)
        for i, (alpha, left_out) in enumerate(zip(alphas, path, strict=True)):
            risk = left_out.risk(problem.weights) if risks is None else float(risks[i])
            likely = np.nan if likelihood is None else likelihood(alpha)
            points = with_training_weights(left_out.embed(), problem, alpha) if scored else None
            for decoder, names, y in zip(decoders, words, encoded, strict=True):
                score = np.nan if points is None else self._score_of(decoder, points, problem, y)
                found = {"alpha": alpha, "risk": risk, "score": score, "evidence": likely}
                yield Trial(factorization, decoder, names | found)

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

    def _score_of(
        self, decoder: Decoder, points: Embedding, problem: Problem, encoded: Items
    ) -> float:
        """Return the score of the outputs that a decoder finds for left-out points.

        `encoded` are the training outputs as the decoder calibrates on them.
        """
        outputs, weights, model = problem.outputs, problem.weights, self.model
        decoder = copy.copy(decoder)  # decoding leaves traces
        if decoder.calibrates:
            decoder = decoder.calibrate(points, encoded)
        known = vars(decoder).get("calibration_")
        if model.scoring == AUTO_SCORING and known is not None:
            return float(known)
        truth, predicted, X = outputs.items, decoder.decode(points), problem.inputs.items
        if model.scoring != AUTO_SCORING:
            truth, predicted = model._restored(truth), model._restored(predicted)
        return decoded_score(model.scoring, outputs.kernel, truth, predicted, X, weights)

    def best(self, candidates: Iterable[Candidate]) -> tuple[Trial, list[dict]]:
        """Return the best trial (the first of equals), and a row of results for each trial.

        Among the default kernels a linear one is preferred to others that are better by no more
        than one standard error.
        """
        best, largest, plain, rows = None, (np.nan, np.nan), None, []
        trials = (trial for candidate in candidates for trial in self._trials(candidate))
        steps = self.model._steps
        for trial in trials if steps is None else steps(trials, "trial"):
            rows.append(trial.row)
            linear = trial.factorization.problem.inputs.kernel.features is not None
            if self.model.kernel is None and linear:
                lower = plain is None or trial.row["risk"] < plain.row["risk"]
                plain = trial if lower else plain
            own = self._sort_key(trial)
            if best is None or own > largest or np.isnan(largest[0]):
                best, largest = trial, own
        assert best is not None
        if np.isnan(largest[0]):
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
        """Return the criterion to maximise, and the negative risk to decide between equals.

        Scores are equal if they differ by rounding alone.
        """
        row = trial.row
        if self.model.criterion in LIKELIHOODS:
            return row["evidence"], 0.0
        scored = self.model.scoring not in (None, AUTO_SCORING) or not np.isnan(row["score"])
        return (round(row["score"], SCORE_DIGITS) if scored else -row["risk"]), -row["risk"]


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


def warn_at_edges(
    rows: list[dict[str, Any]], chosen: dict[str, Any], kernels: Sequence[OperatorKernel]
) -> None:
    """Warn if the chosen ridge or length scale is at the edge of its grid and still improving.

    Parameters
    ----------
    rows, chosen
        The trials as reported, and the one that was chosen.
    kernels
        The kernels whose length scales were given.
    """
    variance = max(row["risk"] for row in rows)  # about that of the mean, at the largest ridge
    path = [r for r in rows if all(r[k] == chosen[k] for k in OTHER_CHOICES)]
    _warn_at_end([(r["alpha"], r["risk"]) for r in path], chosen["alpha"], variance, "alphas")
    scales = {str(kernel): _length_scale(kernel) for kernel in kernels}
    form, own = scales.get(chosen["kernel"]) or ("", 0.0)
    least: dict[float, float] = {}  # the least risk at each length scale
    for row in rows:
        other, scale = scales.get(row["kernel"]) or ("", 0.0)
        if form and other == form and all(row[k] == chosen[k] for k in OTHER_CHOICES[1:]):
            least[scale] = min(row["risk"], least.get(scale, np.inf))
    _warn_at_end([*least.items()], own, variance, "length scales of kernel")


def _warn_at_end(
    grid: Sequence[tuple[float, float]], chosen: float, variance: float, name: str
) -> None:
    """Warn if the chosen value is an end of the (value, risk) grid and the risk still falls.

    A fall counts if it is a small fraction of `variance` or more. `name` is that of the values.
    """
    grid = sorted(grid)
    values = [value for value, _ in grid]
    if len(grid) < GRID or chosen not in (values[0], values[-1]):
        return
    end, next_to = (0, 1) if chosen == values[0] else (-1, -2)
    if grid[next_to][1] - grid[end][1] > SMALLEST_GAIN * variance:
        way = "smaller" if end == 0 else "larger"
        warn(
            f"the choice is at the edge of the {name}, {chosen:.3g}, and was still getting better "
            f"there: give {way} ones too."
        )


def _length_scale(kernel: OperatorKernel) -> tuple[str, float] | None:
    """Return a key common to kernels that differ only in length scale, and the length scale."""
    for name, value in kernel.get_params().items():
        if name.rpartition("__")[2] == "length_scale" and isinstance(value, Real):
            return fingerprint(clone(kernel).set_params(**{name: 1.0})), float(value)
    return None


def notes_on_data(problem: Problem) -> Iterator[str]:
    """Yield a message for labels that never occur, and for equal pairs in several groups."""
    space, y = problem.outputs.kernel.space, problem.outputs.items
    if isinstance(space, LabelSets) and is_array(y) and y.ndim == 2:
        absent = np.flatnonzero(~(host(dense(y)) > 0).any(axis=0))
        if len(absent):
            some = ", ".join(map(str, absent[:5]))
            yield (
                f"{len(absent)} of the labels never occur in y and will not be predicted (columns "
                f"{some}): leave them out, or give examples."
            )
    wide = any(issparse(side.items) for side in (problem.inputs, problem.outputs))
    if FEWEST_PAIRS <= count(y) <= MOST_PAIRS and not (wide or problem.inputs.kernel.pairwise):
        fraction = _fraction_of_copies(problem)
        if fraction > MOST_COPIES:
            yield (
                f"{fraction:.0%} of the pairs repeat in another group that is left out alone, so "
                "that left-out scores are too good: remove copies, or give them one label in "
                "groups=."
            )


def _fraction_of_copies(problem: Problem) -> float:
    """Return the fraction of pairs with an equal pair in another group."""
    inputs, outputs = problem.inputs, problem.outputs
    numbers = [side.kernel.space.unique(side.items)[1] for side in (inputs, outputs)]
    pair = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)[1].ravel()
    both = np.unique(np.column_stack([pair, problem.left_out_labels]), axis=0)
    groups = np.bincount(both[:, 0])  # groups that each distinct pair is in
    return float((groups[pair] > 1).mean())
