from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._arrays import Items
from .._from_file import FromFile
from ..estimators.any_model import Piped
from ..estimators.choice import Told
from ..estimators.left_out_sets import LeftOutSets
from ..estimators.prediction_sets import Bands
from ..problem import group_labels, sample_weights
from .baselines import baselines
from .frames import Columns, columns_of, in_kind, named
from .inputs import Inputs
from .outputs import Outputs, columns_named
from .reader import TableReader
from .search import Clock, Pairs, Search


class AutoDependency(FromFile, BaseEstimator):
    """From a table to a model: spaces, kernels, operators, ridges, forests and their blend.

    What each column holds is read off its cells. Ridge models of every kernel family and forests
    are fitted and blended; what predicts left-out rows best, under the metric of the outputs, is
    kept. Numbers are in units of their spread, so that units never matter.

    Parameters
    ----------
    inputs
        Input columns, by name; a dictionary from names to "number", "category", "text", "labels"
        or "nothing" overrides the guess; None for all columns that are nothing else.
    output
        The output column or columns; a dictionary from names to one of "number", "curve",
        "labels", "class", "ranking", "text", "smiles" overrides the guess. None for the last
        column, or for `y` where that is given.
    groups, id
        Columns: rows of one group are left out together; ids come back beside predictions.
    scoring
        None for the metric of the outputs (mean R² of numbers, R² of curves, F1 by example of label
        sets, accuracy of classes, Kendall's tau of rankings, else exact matches), or a scorer of
        scikit-learn's.
    coverage
        The share of new outputs that `predict_set` is to cover; None for no sets.
    time_limit
        Seconds that fitting may take; None for as long as it takes.
    random_state
        What forests and samples are drawn by.

    Attributes
    ----------
    spaces_
        What was found in each column.
    leaderboard_
        Every candidate with its left-out score, best first.
    baselines_
        The score of simple models on rows left out in five folds, by name.
    loo_score_
        The left-out score of what was chosen; a little optimistic, for it was chosen by it.
    best_estimator_
        What was chosen; it takes rows as `inputs_` reads them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoDependency
    >>> rng = np.random.default_rng(0)
    >>> table = {"height": rng.normal(size=60), "city": ["Rome", "Oslo", "Lima"] * 20}
    >>> table["warm"] = np.where(np.array(table["city"]) == "Oslo", "no", "yes")
    >>> model = AutoDependency(output="warm", random_state=0).fit(table)
    >>> model.spaces_
    {'height': 'number', 'city': 'category', 'warm': 'class'}
    >>> model.predict({"height": [0.0, 1.0], "city": ["Oslo", "Rome"]})["warm"]
    array(['no', 'yes'], dtype='<U3')
    """

    def __init__(
        self,
        inputs: Any = None,
        output: Any = None,
        groups: Hashable | None = None,
        id: Hashable | None = None,
        scoring: Any = None,
        coverage: float | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.inputs = inputs
        self.output = output
        self.groups = groups
        self.id = id
        self.scoring = scoring
        self.coverage = coverage
        self.time_limit = time_limit
        self.random_state = random_state

    # -- fit ----------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, groups: Items | None = None, sample_weight: Any = None
    ) -> AutoDependency:
        """Find out what the columns hold, and learn.

        Parameters
        ----------
        X
            A table: a DataFrame of pandas or polars, a pyarrow table, a dictionary of columns, a
            list of dictionaries, an array or a list.
        y
            The outputs, where they are no columns of X.
        groups
            A label for each row, where that is no column of X.
        sample_weight
            How much each row counts.
        """
        fresh = copy.copy(self)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(fresh, name)
        fresh._fit(X, y, groups, sample_weight)
        self.__dict__ = fresh.__dict__
        return self

    def _fit(self, X: Any, y: Any, groups: Items | None, sample_weight: Any) -> None:
        clock = Clock(self.time_limit)
        columns = columns_of(X, "X")
        n = len(next(iter(columns.values())))
        outputs = self._output_columns(columns, X, y)
        if len(next(iter(outputs.values()))) != n:
            got = len(next(iter(outputs.values())))
            raise ValueError(f"X and y must have the same length: got {n} and {got}.")
        if n < 4:
            raise ValueError(f"AutoDependency needs at least 4 rows to learn from, got {n}.")
        if self.groups is not None:
            (name,) = columns_named(columns, self.groups)
            groups = columns[name]
        names = self._input_names(columns, outputs if y is None else {})
        kinds = self.inputs if isinstance(self.inputs, dict) else None
        self.inputs_ = Inputs(names, kinds).fit(columns)
        given = set(self.output.values()) if isinstance(self.output, dict) else set()
        self.outputs_ = Outputs(given.pop() if given else None).fit(outputs)
        self.named_, self.flat_ = y is None or named(y), _is_flat(y)
        self.spaces_ = {**self.inputs_.kinds_, **dict.fromkeys(outputs, self.outputs_.kind_)}
        labels = None if groups is None else group_labels(groups, n)
        pairs = Pairs(
            self.inputs_.transform(columns),
            self.outputs_.read(outputs),
            labels,
            sample_weights(sample_weight, n),
        )
        self._search(pairs, clock)

    def _search(self, pairs: Pairs, clock: Clock) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        search = Search(self.inputs_, self.outputs_, self._metric, clock, seed)
        self.best_estimator_ = search.run(pairs)
        board = sorted(search.board, key=lambda row: -row["score"])
        self.leaderboard_ = board
        best = next(f for f, model in search.models.items() if model is self.best_estimator_)
        self.loo_score_ = search._score_of(best)
        self.baselines_ = baselines(self.inputs_, self.outputs_, pairs, self._metric, clock, seed)
        if self.coverage is not None:
            self.sets_ = LeftOutSets.of(self.best_estimator_, pairs.groups)
            self.sets_.check(self.coverage)
        self.n_rows_ = pairs.n
        self.seconds_ = clock.spent

    def _output_columns(self, columns: Columns, X: Any, y: Any) -> Columns:
        if y is not None:
            found = columns_of(y, "y")
            named_series = not named(y) and getattr(y, "name", None) is not None
            return {y.name: found[0]} if named_series else found
        if self.output is None:
            special = {self.groups, self.id}
            last = [name for name in columns if name not in special][-1]
            return {last: columns[last]}
        return {name: columns[name] for name in columns_named(columns, self.output)}

    def _input_names(self, columns: Columns, outputs: Columns) -> list[Hashable]:
        if self.inputs is not None and not isinstance(self.inputs, dict):
            return columns_named(columns, self.inputs)
        other = {*outputs, self.groups, self.id}
        return [name for name in columns if name not in other]

    def _metric(self, truth: Items, predicted: Items) -> float:
        if self.scoring is None:
            return self.outputs_.metric(truth, predicted)
        from sklearn.metrics import check_scoring

        told = Told(predicted)
        return float(check_scoring(told, scoring=self.scoring)(told, None, truth))

    # -- predict ------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """The outputs of new rows, in the form and under the names of the training outputs.

        Tables come back as tables of their kind, with the ids and the index that they had; where
        `y` was an array, an array comes back.
        """
        check_is_fitted(self)
        columns = columns_of(X, "X")
        predicted = self.best_estimator_.predict(self.inputs_.transform(columns))
        return self._returned(predicted, X, columns)

    def _returned(self, predicted: Items, X: Any, columns: Columns) -> Any:
        if not self.named_:
            return self.outputs_.array_of(predicted, self.flat_)
        ids = {self.id: columns[self.id]} if self.id is not None and self.id in columns else {}
        return in_kind({**ids, **self.outputs_.columns_of(predicted)}, X)

    def predict_top(self, X: Any, k: int = 5) -> list[list[tuple[Any, float]]]:
        """For each row the best `k` outputs with their scores, best first."""
        check_is_fitted(self)
        rows = self.inputs_.transform(columns_of(X, "X"))
        return self.best_estimator_.predict_top(rows, k=k)

    def predict_set(self, X: Any, coverage: float | None = None) -> Any:
        """Sets that hold the true output with a probability of about `coverage`.

        For numbers and curves a pair of arrays, the lower and the upper end of a band that holds
        all values of an output at once; for other outputs a list for each row, nearest first, of
        all outputs where they are few, else of those known from training. Rows must be
        exchangeable with those of training. How large sets are follows from the left-out errors of
        a model that was chosen by them, so that they cover a little less than asked for where rows
        are few; `ConformalSets` around this estimator prove their level.

        Parameters
        ----------
        X
            Rows.
        coverage
            The probability; None for the one given to the estimator. A model that was given one
            keeps what sets of every other coverage need when it is saved.
        """
        check_is_fitted(self)
        share = self.coverage if coverage is None else coverage
        if share is None:
            raise ValueError("give coverage=, such as 0.9, to predict sets.")
        rows = self.inputs_.transform(columns_of(X, "X"))
        sets = vars(self).get("sets_") or LeftOutSets.of(self.best_estimator_)
        found = sets.predict(rows, share)
        if not isinstance(found, Bands):
            return found
        return tuple(np.reshape(A, (len(A), -1)) for A in (found.lower, found.upper))

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
        return self.outputs_.columns_of(predicted)

    def score(self, X: Any, y: Any = None) -> float:
        """The metric on rows whose outputs are known: columns of X, or `y`."""
        check_is_fitted(self)
        columns = columns_of(X, "X")
        known = columns if y is None else columns_of(y, "y")
        if y is not None and not named(y):
            known = dict(zip(self.outputs_.columns_, known.values(), strict=True))
        truth = self.outputs_.read(known)
        predicted = self.best_estimator_.predict(self.inputs_.transform(columns))
        return self._metric(truth, predicted)

    def report(self, path: str | Path) -> Path:
        """Write what was found, tried and chosen to one HTML file."""
        from .report import write_report

        check_is_fitted(self)
        return write_report(self, Path(path))


def _is_flat(y: Any) -> bool:
    if y is None or named(y):
        return False
    first = y[0] if isinstance(y, Sequence) and len(y) else y
    return getattr(y, "ndim", 1 if np.isscalar(first) else 2) == 1
