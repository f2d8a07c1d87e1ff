from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._arrays import Items
from .._parameters import parameters
from ..cells import BadTable, Table
from ..cells.table import Name
from ..estimators.base import warn_if_constant
from ..estimators.doubts import doubts_of
from ..estimators.left_out_sets import LeftOutSets
from ..estimators.pairs import group_labels, sample_weights
from ..kernels import Kernel
from .baselines import baselines
from .describe import described_inputs, described_outputs, notes_on, rounded
from .frames import as_table, named, outputs_table
from .inputs import Inputs
from .learnt import LearntFromTable, Training
from .letters import Letters
from .measures import scorer_of
from .outputs import Outputs
from .progress import Clock
from .search import Pairs, Search

SETS = 4000
"""Rows up to which a model keeps what prediction sets need, asked for or not."""


@parameters
class AutoDependency(LearntFromTable):
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
        scikit-learn's, or the name of one or of a function of `mercer.metrics`.
    coverage
        The share of new outputs that `predict_set` is to cover; None for no sets.
    time_limit
        Seconds that fitting may take; None for as long as it takes.
    random_state
        What forests and samples are drawn by.
    verbose
        Whether to write lines on standard error that tell how far the fit is and how long it will
        take. A terminal shows a bar instead, asked for or not.

    Attributes
    ----------
    spaces_
        What was found in each column.
    found_, notes_
        What cells were like, by column, and decisions that one may want to undo.
    leaderboard_
        Every candidate with its left-out score, best first.
    baselines_
        The score of simple models on rows left out in five folds, by name.
    loo_score_
        The left-out score of what was chosen; a little optimistic, for it was chosen by it.
    best_estimator_, chosen_
        What was chosen, which takes rows as `inputs_` reads them; and how to call it.

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

    inputs: Any = None
    output: Any = None
    groups: Hashable | None = None
    id: Hashable | None = None
    scoring: Any = None
    coverage: float | None = None
    time_limit: float | None = None
    random_state: Any = None
    verbose: bool = False

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
        scorer_of(self.scoring)  # refuse one that is not there before anything is fitted
        table = as_table(X)
        known = table if y is None else outputs_table(y)
        if len(known) != len(table):
            got = len(known)
            raise ValueError(f"X and y must have the same length: got {len(table)} and {got}.")
        if len(table) < 4:
            rows = f"{len(table)} row{'s' * (len(table) != 1)}"
            raise BadTable(f"{table.source} has {rows}: at least 4 are needed to learn from.")
        if self.groups is not None:
            (name,) = table.names([self.groups])
            groups = table.columns[name]
        weights = sample_weights(sample_weight, len(table))
        if weights is not None and not weights.all():  # rows of weight zero count for nothing
            kept = np.flatnonzero(weights)
            table, known = table.rows(kept), known.rows(kept)
            groups = None if groups is None else [groups[i] for i in kept]
            weights = weights[kept]
        outputs = self._output_names(table) if y is None else list(known.columns)
        kinds = self.inputs if isinstance(self.inputs, dict) else None
        given = set(self.output.values()) if isinstance(self.output, dict) else set()
        self.outputs_ = Outputs(given.pop() if given else None)
        read = self.outputs_.fit(known, outputs)
        names = self._input_names(table, outputs if y is None else [])
        self.inputs_ = Inputs(names, kinds).fit(table)
        self.named_, self.flat_ = y is None or named(y), _is_flat(y)
        self.spaces_ = {**self.inputs_.kinds_, **dict.fromkeys(outputs, self.outputs_.kind_)}
        self.missing_ = tuple(table.missing)
        self.found_ = described_inputs(table, self.inputs_)
        self.found_ |= described_outputs(known, self.outputs_, read)
        self.notes_ = notes_on(table, known, self.inputs_, self.outputs_)
        labels = None if groups is None else group_labels(groups, len(table))
        pairs = Pairs(self.inputs_.transform(table), read, labels, weights)
        called = None if groups is None else np.array([str(group) for group in groups])
        self.training_ = Training(table, pairs, called)
        self._search(pairs, clock)

    def _search(self, pairs: Pairs, clock: Clock) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kernel = self.outputs_.kernel(pairs.y, pairs.weights)
        warn_if_constant(clone(kernel).fit(pairs.y), pairs.y)
        compared = partial(
            baselines, self.inputs_, self.outputs_, kernel, pairs, self._metric, clock, seed
        )
        if Letters.suited(self.inputs_, self.outputs_, pairs.X, pairs.y):
            self._by_letters(pairs)
            self.baselines_ = compared()
        else:
            self._by_kernels(kernel, pairs, clock, seed, compared)
        self.n_rows_ = pairs.n
        self.seconds_ = clock.spent

    def _by_kernels(
        self, kernel: Kernel, pairs: Pairs, clock: Clock, seed: int, compared: Callable
    ) -> None:
        search = Search(self.inputs_, self.outputs_, kernel, self._metric, clock, seed)
        with clock.telling(search.planned(pairs), lines=self.verbose):
            self.best_estimator_ = search.run(pairs)
            self.baselines_ = compared()
        self.leaderboard_ = sorted(search.board, key=lambda row: -row["score"])
        best = next(f for f, model in search.models.items() if model is self.best_estimator_)
        self.loo_score_ = search.score_of(best)
        self.chosen_ = _called(best, self.best_estimator_, search)
        self.notes_ += _doubts(search)
        if self.coverage is not None or pairs.n <= SETS:
            self.sets_ = LeftOutSets.of(self.best_estimator_, pairs.groups)
        if self.coverage is not None:
            self.sets_.check(self.coverage)

    def _by_letters(self, pairs: Pairs) -> None:
        model = Letters(str(self.inputs_.texts[0])).fit(pairs.X, pairs.y, pairs.groups)
        accuracy = model.transducer_.left_out_accuracy_
        self.best_estimator_, self.chosen_ = model, "SequenceTransducer, letter by letter"
        self.loo_score_ = float("nan") if accuracy is None else float(accuracy)
        row = {"family": "letters", "model": "SequenceTransducer", "rows": pairs.n}
        self.leaderboard_ = [row | {"score": self.loo_score_}]

    def _output_names(self, table: Table) -> list[Name]:
        if self.output is None:
            special = {self.groups, self.id}
            return [name for name in table.columns if name not in special][-1:]
        return table.names(_several(self.output))

    def _input_names(self, table: Table, outputs: list[Name]) -> list[Name]:
        other = {*outputs, self.groups, self.id}
        if self.inputs is None or isinstance(self.inputs, dict):
            table.names(list(self.inputs or ()))  # refuse one that is not there
            return [name for name in table.columns if name not in other]
        names = table.names(_several(self.inputs))
        both = [name for name in names if name in outputs]
        if both:
            raise BadTable(f"{table.source}: {both[0]!r} cannot be both input and output.")
        return names


def _called(best: str, model: Any, search: Search) -> str:
    """What was chosen in words: the models of a blend with their weights."""
    models = {family: rounded(row["model"]) for family, row in search.rows.items()}
    if best != "blend":
        return models[best]
    weights = dict(zip((f for f in search.models if f != "blend"), model.weights_, strict=True))
    order = sorted(weights, key=lambda family: -weights[family])
    parts = [f"{weights[f]:.2f} {models[f]}" for f in order if weights[f] > 0.005]
    return " + ".join(parts) or "the mean of the outputs"


def _doubts(search: Search) -> list[str]:
    """What is odd about the data: labels that never occur, rows that come again."""
    model = next((m for m in search.models.values() if "fitted_" in vars(m)), None)
    return [] if model is None else list(doubts_of(model.fitted_.problem))


def _several(names: Any) -> list[Name]:
    return list(names) if isinstance(names, list | tuple | dict) else [names]


def _is_flat(y: Any) -> bool:
    if y is None or named(y):
        return False
    first = y[0] if isinstance(y, Sequence) and len(y) else y
    return getattr(y, "ndim", 1 if np.isscalar(first) else 2) == 1
