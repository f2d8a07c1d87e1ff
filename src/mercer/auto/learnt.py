"""The methods of a model that was fitted on a table: predictions, sets, errors, a report."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Items
from .._base.reducible import Reducible
from ..estimators.probabilities import offers_probabilities
from ..estimators.scoring import ClassProbabilities, FixedPredictions, scikit_learn_score
from ..sets import LeftOutSets, RecordSets, SupportsSets
from ..sets.views import ModelView
from .baselines import baseline_scores
from .importance import importances
from .inputs import Inputs
from .kinds.base import Kind
from .letters import Letters
from .measures import error_tables, metrics_by_name, scorer_of
from .pairs import Pairs
from .tables.bad_table import BadTable
from .tables.frames import as_table, frame_like
from .tables.table import Table


class Training(NamedTuple):
    """The training data of a fitted model, which is not saved with it."""

    table: Table
    pairs: Pairs
    groups: np.ndarray | None
    like: Any
    """A frame of the library that was used, without columns; None for other tables."""


@dataclass(frozen=True)
class TableReader:
    """Converter of tables to the inputs and outputs of a fitted model."""

    inputs: Inputs
    outputs: Kind

    def transform(self, X: Items) -> Items:
        """Return the model inputs for the rows of a table."""
        return self.inputs.transform(as_table(X))

    def read(self, y: Any) -> Items:
        """Return the outputs in a table; columns of other names are matched by order."""
        table = as_table(y, "y")
        if not set(self.outputs.columns_) <= set(table.columns):
            cells = dict(zip(self.outputs.columns_, table.columns.values(), strict=True))
            table = replace(table, columns=cells)
        return self.outputs.read(table)


class LearntFromTable(SupportsSets, Reducible, BaseEstimator):
    """Base class of `AutoDependency`, with the methods of the fitted model."""

    dropped: ClassVar[dict[str, str]] = {"training_": "the training rows"}
    id: Hashable | None
    scoring: Any
    coverage: float | None
    inputs_: Inputs
    outputs_: Kind
    best_estimator_: Any
    board_: list[dict[str, Any]]
    training_: Training
    used_rows_: np.ndarray | None
    named_: bool
    flat_: bool

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """A table of every candidate with its left-out score, best first."""
        return pd.DataFrame(self.board_)

    @property
    def baselines_(self) -> dict[str, float]:
        """The score of simple models on rows left out in five folds, by name.

        They are fitted on first use, and their scores are saved with the model from then on. A
        model that was saved before does not have them.
        """
        check_is_fitted(self)
        if "baseline_scores_" not in vars(self) and self.has_training_rows_:
            pairs = self.training_.pairs
            kernel = self.outputs_.kernel(pairs.y, pairs.weights)
            self.baseline_scores_ = baseline_scores(
                self.inputs_, self.outputs_, kernel, pairs, self._metric, self.board_
            )
        return vars(self).get("baseline_scores_", {})

    @property
    def importances_(self) -> pd.Series:
        """The fall of the metric when an input column is shuffled, for each column, largest first.

        The chosen model is fitted on a part of the training rows, and columns are shuffled among
        the others. This is computed on first use, and saved with the model from then on.
        """
        check_is_fitted(self)
        if isinstance(self.best_estimator_, Letters):
            raise ValueError("a model letter by letter has a single input column.")
        if "fall_by_column_" not in vars(self):
            pairs = self.training_.pairs
            self.fall_by_column_ = importances(
                self.best_estimator_, self.inputs_, pairs, self._metric
            )
        return pd.Series(self.fall_by_column_, name=f"fall of {self.metric_name_}", dtype=float)

    @property
    def metric_name_(self) -> str:
        """The name of the metric that `score` returns."""
        return self.outputs_.metric_name if self.scoring is None else "score"

    def _metric(
        self,
        truth: Items,
        predicted: Items,
        class_probabilities: ClassProbabilities | None = None,
        weights: np.ndarray | None = None,
    ) -> float:
        """Return the score of predictions by `scoring`, or by the default metric of the outputs.

        `class_probabilities` is a function that returns classes and their probabilities, for
        scorers that need them; `weights` are the sample weights.
        """
        if self.scoring is None:
            return self.outputs_.metric(truth, predicted, weights)
        truth, predicted = self.outputs_.for_scorers(truth, predicted)
        stub = FixedPredictions(
            predicted, class_probabilities if self.outputs_.is_classification else None
        )
        return scikit_learn_score(stub, scorer_of(self.scoring), truth, weights=weights)

    def _read_inputs(self, X: Items) -> tuple[Table, Items]:
        """Return X as a `Table`, and its rows as inputs of the fitted model."""
        check_is_fitted(self)
        table = as_table(X)
        if not len(table):
            raise BadTable(f"{table.source} has 0 rows: at least 1 is needed to predict")
        return table, self.inputs_.transform(table)

    def _format_output(self, item: Any) -> Any:
        """Convert one output of the chosen model to the form in which `predict` returns it."""
        return self.outputs_.format_one(item, self.named_, self.flat_)

    def predict(self, X: Items) -> Items:
        """Predict the outputs of new rows, in the form of the training outputs.

        A frame comes back as a frame of the same library, with the index and the ids of X and the
        names of the training outputs; where `y` was an array, an array comes back.

        Parameters
        ----------
        X : table
            Rows with the input columns, in any form that `fit` takes.
        """
        table, rows = self._read_inputs(X)
        predicted = self.best_estimator_.predict(rows)
        if not self.named_:
            return self.outputs_.array_of(predicted, self.flat_)
        return frame_like(self._id_column(table) | self.outputs_.write(predicted), X)

    def _id_column(self, table: Table) -> dict[Any, Any]:
        """Return the id column as {name: cells}; an empty dictionary if there is none."""
        return {self.id: table.columns[self.id]} if self.id in table.columns else {}

    def predict_top(self, X: Items, k: int = 5) -> list[list[tuple[Any, float]]]:
        """Return the best `k` outputs of each row with their scores, best first.

        Outputs have the form of `predict`: a cell, or a dictionary of cells where the output has
        several columns.

        Parameters
        ----------
        X : table
            Rows with the input columns, in any form that `fit` takes.
        k : int, default=5
            The number of outputs for each row.
        """
        rows = self._read_inputs(X)[1]
        if self.outputs_.is_array:
            raise ValueError(
                f"an output of kind {self.outputs_.kind_!r} has one best value, not a ranked list: "
                "use predict_set, or mercer predict --coverage 0.9, for intervals."
            )
        if not self.best_estimator_.decoder_.has_ranked_lists:
            raise ValueError(
                "this model sorts labels by their mean rank, which gives one ranking for each row, "
                "not a ranked list: use predict_set, or mercer predict --coverage 0.9."
            )
        ranked = self.best_estimator_.predict_top(rows, k=k)
        return [
            [(self._format_output(item), float(score)) for item, score in best] for best in ranked
        ]

    @property
    def has_training_rows_(self) -> bool:
        """Whether the model has its training rows, which are not saved with it."""
        return "training_" in vars(self)

    @property
    def ranks_outputs_(self) -> bool:
        """Whether `predict_top` returns ranked lists, because outputs are compared one by one."""
        return not self.outputs_.is_array and bool(self.best_estimator_.decoder_.has_ranked_lists)

    @property
    def classes_(self) -> np.ndarray:
        """The classes or labels that the columns of `predict_proba` stand for."""
        classes = self.best_estimator_.classes_
        has_columns = len(self.outputs_.columns_) > 1  # columns of 0 and 1, under the labels' names
        return np.array([self.outputs_.columns_[j] for j in classes]) if has_columns else classes

    @available_if(lambda self: offers_probabilities(vars(self).get("best_estimator_", self)))
    def predict_proba(self, X: Items) -> np.ndarray:
        """Predict the probability of each class, or of each label independently.

        Parameters
        ----------
        X : table
            Rows with the input columns, in any form that `fit` takes.

        Returns
        -------
        One row for each row of X, one column for each of `classes_`. Rows of classes sum to one.
        """
        return self.best_estimator_.predict_proba(self._read_inputs(X)[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if "outputs_" in vars(self) and self.outputs_.is_classification:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    def explain(self, X: Items, k: int = 5) -> list[list[tuple[int, float, Any]]]:
        """Return the `k` training rows with the largest weights in each prediction.

        They are tuples (row, weight, output).

        Parameters
        ----------
        X : table
            Rows with the input columns, in any form that `fit` takes.
        k : int, default=5
            The number of training rows for each prediction.
        """
        rows = self._read_inputs(X)[1]
        return [
            [(self._training_row(i), weight, self._format_output(item)) for i, weight, item in best]
            for best in self.best_estimator_.explain(rows, k=k)
        ]

    def _training_row(self, i: int) -> int:
        """Return the row of the training table that the model saw as its row `i`.

        Rows without an output and rows of weight zero are left out of what the model sees.
        """
        return int(i if self.used_rows_ is None else self.used_rows_[i])

    def predict_set(self, X: Items, coverage: float | None = None, joint: bool = True) -> Items:
        """Predict sets that contain the true output with a probability of about `coverage`.

        Rows must be exchangeable with those of training. The size of the sets follows from the
        left-out errors of a model that was chosen by them, so that they cover a little less than
        requested where rows are few; `ConformalSets` around this estimator prove their level.

        Parameters
        ----------
        X : table
            Rows with the input columns, in any form that `fit` takes.
        coverage : float, default=None
            The probability; None for the parameter `coverage` of the estimator.
        joint : bool, default=True
            Whether all values of a row are in their intervals at once with this probability, or,
            for columns of numbers and columns of different kinds, each column by itself.

        Returns
        -------
        A table of the kind of X, with its index. Numbers, curves and images have a column
        ``lower ...`` and a column ``upper ...`` for each output column; label sets the labels that
        are ``surely ...`` and ``possibly ...`` there; other outputs a ``set of ...``, a list for
        each row, nearest first. Where `y` was an array: a pair of arrays, the lower and the upper
        ends, for numbers, curves and images, and a list of outputs for each row otherwise.
        """
        table, rows = self._read_inputs(X)
        probability = self.coverage if coverage is None else coverage
        if probability is None:
            raise ValueError("give coverage=, such as 0.9, to predict sets.")
        sets = self._predict_sets(rows, probability, joint)
        if self.named_:
            return frame_like(self._id_column(table) | self.outputs_.columns_of_sets(sets), X)
        if self.outputs_.is_record:
            return list(self.outputs_.columns_of_sets(sets).values())
        if self.outputs_.is_array:
            return tuple(self.outputs_.array_of(ends, self.flat_) for ends in sets)
        return [[self._format_output(item) for item in items] for items in sets]

    def _predict_sets(self, rows: Items, coverage: float, joint: bool) -> Any:
        """Return prediction sets for inputs of the model: (lower, upper), or lists of outputs.

        `coverage` and `joint` are those of `predict_set`.
        """
        if isinstance(self.best_estimator_, Letters):
            raise ValueError(
                "texts that are made letter by letter have no sets: use predict_top, or "
                "mercer predict --top 5."
            )
        if "sets_" not in vars(self) and not self.has_training_rows_:
            raise ValueError(
                "this model was saved without prediction sets, because it has many rows and no "
                "coverage was given. Fit it again with AutoDependency(coverage=0.9), or with "
                "mercer fit --coverage 0.9."
            )
        sets = vars(self).get("sets_") or self._calibrated_sets(self.training_.pairs)
        if not joint and not (self.outputs_.is_record or self.outputs_.has_column_intervals):
            kind = self.outputs_.kind_
            raise ValueError(f"joint=False must be used with columns of numbers, got {kind!r}.")
        return self.outputs_.bands(sets.predict(rows, coverage, joint), len(rows))

    def _calibrated_sets(self, pairs: Pairs) -> LeftOutSets | RecordSets:
        """Return prediction sets calibrated on left-out predictions of the chosen model."""
        if self.outputs_.is_record:
            return RecordSets.of(self.best_estimator_, pairs.groups)
        intervals = self.outputs_.has_column_intervals
        return LeftOutSets.of(self.best_estimator_, pairs.groups, intervals=intervals)

    def as_points(self) -> ModelView:
        """Return a view of the chosen model that reads tables, for `ConformalSets`."""
        reader = TableReader(self.inputs_, self.outputs_)
        return ModelView(self.best_estimator_, reader, reader)

    def loo_predict(self) -> Any:
        """Return the left-out prediction of every training row, in the form of `predict`."""
        check_is_fitted(self)
        predicted = self.best_estimator_.loo_predict()
        if not self.named_:
            return self.outputs_.array_of(predicted, self.flat_)
        training = vars(self).get("training_")
        like = None if training is None else training.like
        return frame_like(self.outputs_.write(predicted), like)

    def score(self, X: Items, y: Items = None) -> float:
        """Return the metric of predictions; the true outputs are columns of X, or `y`.

        Parameters
        ----------
        X : table
            Rows with the input columns, in any form that `fit` takes.
        y : table, default=None
            The true outputs, if they are not columns of X.
        """
        known = self._true_and_predicted(X, y)
        return self._metric(*known, lambda: (self.classes_, self.predict_proba(X)))

    def evaluate(self, X: Items, y: Items = None) -> dict[str, float]:
        """Return several metrics by name; the true outputs are columns of X, or `y`.

        Parameters
        ----------
        X : table
            Rows with the input columns, in any form that `fit` takes.
        y : table, default=None
            The true outputs, if they are not columns of X.

        Returns
        -------
        The metrics. With the parameter `coverage`, numbers also have "coverage of rows", how often
        all values of a row are in their intervals at once, and "coverage of values", how often
        a value is in its own interval: the intervals of the first are wider.
        """
        truth, predicted = self._true_and_predicted(X, y)
        found = metrics_by_name(self.outputs_, truth, predicted)
        if self.coverage is not None and self.outputs_.kind_ == "number":
            found |= self._coverages(self._read_inputs(X)[1], truth, self.coverage)
        return found

    def _coverages(self, rows: Items, truth: Items, coverage: float) -> dict[str, float]:
        """Return how often the sets of checked inputs hold all values, and single values.

        Values that are missing are not counted.
        """
        values = np.asarray(truth, dtype=float).reshape(len(rows), -1)
        known, inside = ~np.isnan(values), []
        for joint in (True, False):
            lower, upper = self._predict_sets(rows, coverage, joint)
            inside.append((lower <= values) & (values <= upper))
        return {
            "coverage of rows": float((inside[0] | ~known).all(axis=1).mean()),
            "coverage of values": float(inside[1][known].mean()),
        }

    def _true_and_predicted(self, X: Items, y: Any) -> tuple[Items, Items]:
        """Return the true and the predicted outputs of the rows X."""
        table, rows = self._read_inputs(X)
        reader = TableReader(self.inputs_, self.outputs_)
        truth = self.outputs_.read(table) if y is None else reader.read(y)
        return truth, self.best_estimator_.predict(rows)

    def diagnose(self) -> dict[str, list[dict[str, Any]]]:
        """Return tables that show where left-out predictions have large errors.

        Returns
        -------
        Tables, lists of dictionaries: "groups" and "regions" of the inputs by mean error, the
        largest first; "labels" with what was predicted of each (for numbers, each column); "worst",
        the rows with the largest errors. Errors of numbers are in units of their standard
        deviation; others are one minus the metric of the row.
        """
        check_is_fitted(self)
        _, pairs, groups, _ = self.training_
        left_out = self.best_estimator_.loo_predict()
        tables = error_tables(self.inputs_, self.outputs_, pairs.X, pairs.y, left_out, groups)
        worst = [{**row, "row": self._training_row(row["row"])} for row in tables["worst"]]
        return {**tables, "worst": worst}

    def report(self, path: str | Path) -> Path:
        """Write a report on data, candidates and errors to one HTML file; return its path.

        Parameters
        ----------
        path : str or Path
            The file to write.
        """
        from .report import write_report

        check_is_fitted(self)
        return write_report(self, Path(path))
