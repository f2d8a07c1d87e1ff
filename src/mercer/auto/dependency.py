"""The estimator `AutoDependency`: from a table to a model of some columns, given others."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_scalar
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._base.arrays import Array, Items
from .._base.parameters import parameters
from .._base.statistics import repeat_by_weight
from ..estimators import group_labels, sample_weights, warn_if_constant
from ..estimators.selection import notes_on_data
from ..kernels import Kernel
from ..sets.parameters import require_groups
from ..spaces._equality import equal, is_sequence
from .arguments import as_list, check_arguments, check_rows, check_scoring
from .describe import describe_inputs, input_notes, round_numbers
from .inputs import Inputs
from .learnt import LearntFromTable, Training
from .letters import Letters
from .outputs import fit_outputs, rows_without_output
from .pairs import Pairs
from .presets import PRESETS
from .progress import Clock
from .search import ModelSearch
from .tables.bad_table import BadTable
from .tables.frames import as_table, empty_like, is_flat, is_named, outputs_table
from .tables.table import Name, Table

ROWS_WITH_SETS = 4000
"""With at most this many rows, models of all kinds can predict sets, requested in `fit` or not."""


@parameters
class AutoDependency(LearntFromTable):
    """Estimator that learns output columns of a table from others by a blend of searched models.

    The kind of each column is guessed from its cells. Ridge models of every kernel family and
    forests are fitted and blended; what predicts left-out rows best, under the metric of the
    outputs, is kept. Numbers are standardised, so that their units do not matter.

    Parameters
    ----------
    inputs : str, list of str or dict, default=None
        Input columns, by name; a dictionary from names to "number", "category", "text", "labels"
        or "nothing" overrides the guess; None for all other columns.
    output : str, list of str or dict, default=None
        The output column or columns; a dictionary from names to one of "number", "curve",
        "labels", "class", "ranking", "text", "smiles" overrides the guess. Several columns may
        differ in kind: each row of them is a record, whose fields are predicted and scored one by
        one. None for the last column, or for `y` where that is given.
    groups, id : str, default=None
        Columns: rows of one group are left out together; ids are returned next to predictions.
    scoring : str or callable, default=None
        None for the metric of the outputs (mean R² of numbers, R² of curves, F1 by example of label
        sets, accuracy of classes, Kendall's tau of rankings, else exact matches), or a scorer of
        scikit-learn, or the name of one or of a function of `mercer.metrics`.
    coverage : float, default=None
        The fraction of new outputs that `predict_set` covers by default; None for no sets.
    time_limit : float, default=None
        Seconds that fitting may take; None for no limit.
    preset : {"fast", "default", "best"}, default="default"
        How much is tried: "fast" often takes half of the time of "default", and "best" up to
        three times as long.
    random_state : int, RandomState or None, default=None
        The seed of forests and samples.
    verbose : bool, default=False
        Whether to write lines on standard error that show the progress of the fit and the time
        that is left. A terminal shows a bar instead, requested or not.

    Attributes
    ----------
    spaces_
        The kind of each column.
    found_, notes_
        What the cells are like, by column, and decisions that one may want to undo.
    leaderboard_
        A DataFrame of all candidates with their left-out scores, best first.
    importances_
        A Series: by how much the metric falls when an input column is shuffled among left-out rows.
    loo_score_
        The left-out score of the model that was chosen; a little optimistic, because it was used
        for the choice.
    best_estimator_, chosen_
        The model that was chosen, which takes rows as `inputs_` reads them; and its name.

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

    inputs: Hashable | Sequence[Hashable] | Mapping[Hashable, str] | None = None
    output: Hashable | Sequence[Hashable] | Mapping[Hashable, str] | None = None
    groups: Hashable | None = None
    id: Hashable | None = None
    scoring: str | Callable[..., float] | None = None
    coverage: float | None = None
    time_limit: float | None = None
    preset: str = "default"
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    # -- fit ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Items,
        y: Items = None,
        groups: Items | None = None,
        sample_weight: Array | None = None,
    ) -> AutoDependency:
        """Determine the kinds of the columns, and fit, compare and blend the candidates.

        Parameters
        ----------
        X : table
            A frame of pandas, polars, pyarrow or Dask, a dictionary of columns, a list of
            dictionaries, an array or a list.
        y : table, default=None
            The outputs, if they are not columns of X.
        groups : sequence, default=None
            A label for each row, if that is not a column of X.
        sample_weight : array, default=None
            The weight of each row.
        """
        fresh = copy.copy(self)
        for name in vars(self):
            if name.endswith("_"):
                delattr(fresh, name)
        fresh._fit(X, y, groups, sample_weight)
        self.__dict__ = fresh.__dict__
        return self

    def _fit(self, X: Any, y: Any, groups: Items | None, sample_weight: Any) -> None:
        """Read the training table, and fit the models to its rows."""
        clock = Clock(self.time_limit)
        kind = check_arguments(self)
        table = as_table(X)
        output_table = table if y is None else outputs_table(y)
        check_rows(table, output_table)
        if self.id is not None:
            table.names([self.id])  # refuse one that is not there
        if self.groups is not None:
            (name,) = table.names([self.groups])
            groups = table.columns[name]
        weights, kept = sample_weights(sample_weight, len(table)), None
        outputs = self._output_names(table) if y is None else list(output_table.columns)
        names = self._input_names(
            table, outputs if y is None else _columns_equal_to_outputs(table, output_table)
        )
        used = np.ones(len(table), bool) if weights is None else weights > 0
        unknown = rows_without_output(kind, output_table, outputs)
        used[unknown] = False
        if not used.all():  # rows of weight zero and rows without an output count for nothing
            kept = np.flatnonzero(used)
            table, output_table = table.rows(kept), output_table.rows(kept)
            check_rows(table, output_table)
            groups = None if groups is None else [groups[i] for i in kept]
            weights = None if weights is None else weights[kept]
        labels = None if groups is None else group_labels(groups, len(table))
        if self.coverage is not None:
            require_groups(self.coverage, len(table if labels is None else np.unique(labels)))
        self.outputs_, output_items = fit_outputs(kind, output_table, outputs)
        check_scoring(self.scoring, self.outputs_)
        counted = table if weights is None else table.rows(repeat_by_weight(weights))
        kinds = self.inputs if isinstance(self.inputs, dict) else None
        self.inputs_ = Inputs(names, kinds).fit(counted)
        self.named_, self.flat_ = y is None or is_named(y), is_flat(y)
        self._describe_columns(table, output_table, output_items)
        if unknown:
            self.notes_.append(f"{len(unknown)} rows without an output are left out.")
        pairs = Pairs(self.inputs_.transform(table), output_items, labels, weights)
        group_names = None if groups is None else np.array([str(group) for group in groups])
        self.training_ = Training(table, pairs, group_names, empty_like(X, kept))
        self.used_rows_ = kept
        self._fit_models(pairs, clock)

    def _describe_columns(self, table: Table, output_table: Table, output_items: Items) -> None:
        """Store the kind and a description of each column, and notes on how columns are used."""
        self.spaces_ = {**self.inputs_.kinds_, **self.outputs_.kinds_}
        self.missing_ = tuple(table.missing)
        self.found_ = describe_inputs(table, self.inputs_)
        self.found_ |= self.outputs_.describe(output_table, output_items)
        self.notes_ = self.outputs_.notes(output_table, output_items)
        self.notes_ += input_notes(table, self.inputs_)

    def _fit_models(self, pairs: Pairs, clock: Clock) -> None:
        """Fit a `SequenceTransducer` for short texts in both columns, else search for a model."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kernel = self.outputs_.kernel(pairs.y, pairs.weights)
        warn_if_constant(clone(kernel).fit(pairs.complete), pairs.complete)
        plain = pairs.weights is None  # a transducer has no sample weights
        if plain and Letters.is_suited(self.inputs_, self.outputs_, pairs.X, pairs.y):
            self._fit_transducer(pairs)
        else:
            self._fit_candidates(kernel, pairs, clock, seed)
        self.n_rows_ = pairs.n
        self.seconds_ = clock.spent

    def _fit_candidates(self, kernel: Kernel, pairs: Pairs, clock: Clock, seed: int) -> None:
        """Search for the best model, and store it with the leaderboard."""
        preset = PRESETS[self.preset]
        search = ModelSearch(self.inputs_, self.outputs_, kernel, self._metric, clock, seed, preset)
        with clock.reporting(search.planned_steps(pairs), verbose=self.verbose):
            self.best_estimator_ = search.run(pairs)
        self.board_ = sorted(search.board, key=lambda row: -row["score"])
        best = next(f for f, model in search.models.items() if model is self.best_estimator_)
        self.loo_score_ = search.score_of(best)
        self.chosen_ = _describe_choice(best, self.best_estimator_, search)
        self.notes_ += _notes_on_data(search)
        quick = self.outputs_.has_quick_sets
        if self.coverage is not None or quick or pairs.n <= ROWS_WITH_SETS:
            self.sets_ = self._calibrated_sets(pairs)

    def _fit_transducer(self, pairs: Pairs) -> None:
        """Fit a `SequenceTransducer`, and store its left-out accuracy."""
        model = Letters(str(self.inputs_.non_numeric[0])).fit(pairs.X, pairs.y, pairs.groups)
        accuracy = model.transducer_.left_out_accuracy_
        self.best_estimator_, self.chosen_ = model, "SequenceTransducer, letter by letter"
        self.loo_score_ = float("nan") if accuracy is None else float(accuracy)
        row = {"family": "letters", "model": "SequenceTransducer", "rows": pairs.n}
        self.board_ = [row | {"score": self.loo_score_}]

    def _output_names(self, table: Table) -> list[Name]:
        """Return the names of the output columns: those given, or the last column."""
        names = [name for name in table.columns if name not in (self.groups, self.id)][-1:]
        if self.output is not None:
            names = table.names(as_list(self.output))
        if not names:
            raise BadTable(f"{table.source} has no column to predict", "name it in output")
        return names

    def _input_names(self, table: Table, outputs: list[Name]) -> list[Name]:
        """Return the names of the input columns, none of which is an output."""
        other = {*outputs, self.groups, self.id}
        if self.inputs is None or isinstance(self.inputs, dict):
            table.names(list(self.inputs or ()))  # refuse one that is not there
            return [name for name in table.columns if name not in other]
        names = table.names(as_list(self.inputs))
        both = [name for name in names if name in outputs]
        if both:
            raise BadTable(
                f"{table.source}: {both[0]!r} cannot be both input and output", "name it once"
            )
        return names


def _columns_equal_to_outputs(table: Table, output_table: Table) -> list[Name]:
    """Return the names of the input columns that are also in the outputs, with a warning.

    If all input columns are outputs too, as in autoencoders, none is returned.
    """
    shared = [name for name in output_table.columns if name in table.columns]
    copies = [
        name for name in shared if _are_equal(table.columns[name], output_table.columns[name])
    ]
    if not copies or len(copies) == len(table.columns):
        return []
    shown = ", ".join(f"{name!r:.60}" for name in copies[:5])
    warnings.warn(f"columns of X that are also in y are not used as inputs: {shown}.", stacklevel=5)
    return copies


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two columns, or two cells, have equal content; empty cells are equal."""
    if one is other:
        return True
    if is_scalar(one) and is_scalar(other):
        empty = pd.isna(one), pd.isna(other)
        return all(empty) if any(empty) else bool(one == other)
    if _is_array_of_numbers(one) and _is_array_of_numbers(other):
        return np.array_equal(one, other) or np.array_equal(one, other, equal_nan=True)
    if is_sequence(one) and is_sequence(other):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    alike = is_scalar(one) == is_scalar(other) and is_sequence(one) == is_sequence(other)
    return alike and equal(one, other)


def _is_array_of_numbers(value: Any) -> bool:
    """Return whether a value is an array of numbers, dates or durations."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "biufmM"


def _describe_choice(best: str, model: Any, search: ModelSearch) -> str:
    """Return a text that names the model of the family `best`, or the models of a blend."""
    models = {family: round_numbers(row["model"]) for family, row in search.rows.items()}
    if best != "blend":
        return models[best]
    weights = dict(zip((f for f in search.models if f != "blend"), model.weights_, strict=True))
    order = sorted(weights, key=lambda family: -weights[family])
    parts = [f"{weights[f]:.2f} {models[f]}" for f in order if weights[f] > 0.005]
    return " + ".join(parts) or "the mean of the outputs"


def _notes_on_data(search: ModelSearch) -> list[str]:
    """Return notes on unusual data, such as labels that never occur or rows that repeat."""
    model = next((m for m in search.models.values() if "fitted_" in vars(m)), None)
    return [] if model is None else list(notes_on_data(model.fitted_.problem))
