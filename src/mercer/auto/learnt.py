"""What a model that was learnt from a table is asked: predictions, sets, errors, a report."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._arrays import Items
from .._from_file import FromFile, Lean
from ..cells import Table
from ..estimators.any_model import Piped
from ..estimators.choice import Made, Told, scored
from ..estimators.left_out_sets import LeftOutSets
from ..estimators.prediction_sets import Bands
from ..estimators.probabilities import has_classes
from .frames import TableReader, as_table, in_kind
from .inputs import Inputs
from .measures import diagnosis, measures, scorer_of
from .outputs import Outputs
from .search import Pairs


class Training(NamedTuple):
    """What a model was fitted on; it is not saved."""

    table: Table
    pairs: Pairs
    groups: np.ndarray | None


class LearntFromTable(FromFile, Lean, BaseEstimator):
    """A model of some columns of a table: the part of `AutoDependency` that comes after `fit`."""

    dropped: ClassVar[dict[str, str]] = {"training_": "the training rows"}
    id: Hashable | None
    scoring: Any
    coverage: float | None
    inputs_: Inputs
    outputs_: Outputs
    best_estimator_: Any
    training_: Training
    named_: bool
    flat_: bool

    @property
    def metric_name_(self) -> str:
        """What `score` returns."""
        return self.outputs_.metric_name if self.scoring is None else "score"

    def _metric(self, truth: Items, predicted: Items, made: Made | None = None) -> float:
        if self.scoring is None:
            return self.outputs_.metric(truth, predicted)
        if self.outputs_.kind_ == "labels" and np.asarray(truth).dtype.kind == "O":
            from sklearn.preprocessing import MultiLabelBinarizer

            binarizer = MultiLabelBinarizer().fit([*truth, *predicted])
            truth, predicted = binarizer.transform(truth), binarizer.transform(predicted)
        told = Told(predicted, made if self.outputs_.kind_ == "class" else None)
        return scored(told, scorer_of(self.scoring), truth)

    def _read(self, X: Any) -> tuple[Table, Items]:
        """A table, and its rows as models take them."""
        check_is_fitted(self)
        table = as_table(X)
        return table, self.inputs_.transform(table)

    def predict(self, X: Any) -> Any:
        """The outputs of new rows, in the form and under the names of the training outputs.

        Tables come back as tables of their kind, with the ids and the index that they had; where
        `y` was an array, an array comes back.
        """
        table, rows = self._read(X)
        predicted = self.best_estimator_.predict(rows)
        if not self.named_:
            return self.outputs_.array_of(predicted, self.flat_)
        ids = {self.id: table.columns[self.id]} if self.id in table.columns else {}
        return in_kind({**ids, **self.outputs_.space_.write(predicted)}, X)

    def predict_top(self, X: Any, k: int = 5) -> list[list[tuple[Any, float]]]:
        """For each row the best `k` outputs with their scores, best first."""
        return self.best_estimator_.predict_top(self._read(X)[1], k=k)

    @property
    def classes_(self) -> np.ndarray:
        """The classes, or the labels: the columns of `predict_proba`."""
        found = self.best_estimator_.classes_
        several = len(self.outputs_.columns_) > 1  # columns of 0 and 1, under the labels' names
        return np.array([self.outputs_.columns_[j] for j in found]) if several else found

    @available_if(lambda self: has_classes(self.best_estimator_))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every class, or of every label by itself, as left-out rows tell.

        Returns
        -------
        One row for each row of X, one column for each of `classes_`. Rows of classes sum to one.
        """
        return self.best_estimator_.predict_proba(self._read(X)[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if "outputs_" in vars(self) and self.outputs_.kind_ == "class":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def explain(self, X: Any, k: int = 5) -> list[list[tuple[int, float, Any]]]:
        """For each row the training rows behind its prediction: (row, weight, output)."""
        return self.best_estimator_.explain(self._read(X)[1], k=k)

    def predict_set(self, X: Any, coverage: float | None = None) -> Any:
        """Sets that hold the true output with a probability of about `coverage`.

        For numbers, curves and images a pair of arrays, the lower and the upper end of a band that
        holds all values of an output at once; for other outputs a list for each row, nearest first,
        of all outputs where they are few, else of those known from training. Rows must be
        exchangeable with those of training. How large sets are follows from the left-out errors of
        a model that was chosen by them, so that they cover a little less than asked for where rows
        are few; `ConformalSets` around this estimator prove their level.

        Parameters
        ----------
        X
            Rows.
        coverage
            The probability; None for the one given to the estimator.
        """
        _, rows = self._read(X)
        share = self.coverage if coverage is None else coverage
        if share is None:
            raise ValueError("give coverage=, such as 0.9, to predict sets.")
        if not hasattr(self.best_estimator_, "embed"):
            raise ValueError("texts that are made letter by letter have no sets: use predict_top.")
        sets = vars(self).get("sets_") or LeftOutSets.of(self.best_estimator_)
        found = sets.predict(rows, share)
        if not isinstance(found, Bands):
            return found
        own = self.outputs_.shape if self.outputs_.kind_ == "image" else (-1,)
        shape = (len(rows), *own)
        return tuple(np.reshape(A, shape) for A in (found.lower, found.upper))

    def as_points(self) -> Piped:
        """The chosen model behind the reading of tables, for `ConformalSets` around it."""
        reader = TableReader(self.inputs_, self.outputs_)
        return Piped(reader, self.best_estimator_, reader)

    def loo_predict(self) -> Any:
        """The left-out prediction of every training row."""
        check_is_fitted(self)
        predicted = self.best_estimator_.loo_predict()
        if not self.named_:
            return self.outputs_.array_of(predicted, self.flat_)
        return self.outputs_.space_.write(predicted)

    def score(self, X: Any, y: Any = None) -> float:
        """The metric on rows whose outputs are known: columns of X, or `y`."""
        known = self._known_and_predicted(X, y)
        return self._metric(*known, lambda: (self.classes_, self.predict_proba(X)))

    def evaluate(self, X: Any, y: Any = None) -> dict[str, float]:
        """Several measures on rows whose outputs are known, by name."""
        return measures(self.outputs_, *self._known_and_predicted(X, y))

    def _known_and_predicted(self, X: Any, y: Any) -> tuple[Items, Items]:
        table, rows = self._read(X)
        reader = TableReader(self.inputs_, self.outputs_)
        truth = self.outputs_.read(table) if y is None else reader.read(y)
        return truth, self.best_estimator_.predict(rows)

    def diagnose(self) -> dict[str, list[dict[str, Any]]]:
        """Where left-out predictions err.

        Returns
        -------
        Tables, lists of dictionaries: "groups" and "regions" of the inputs by mean error, the
        largest first; "labels" with what was predicted of each (for numbers, each column); "worst",
        the rows with the largest errors. Errors of numbers are in units of their spread; others are
        one less the metric of the row.
        """
        check_is_fitted(self)
        _, pairs, groups = self.training_
        left_out = self.best_estimator_.loo_predict()
        return diagnosis(self.inputs_, self.outputs_, pairs.X, pairs.y, left_out, groups)

    def report(self, path: str | Path) -> Path:
        """Write what was found, tried and chosen to one HTML file."""
        from .report import write_report

        check_is_fitted(self)
        return write_report(self, Path(path))
