from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._arrays import Items
from .._from_file import FromFile
from ..estimators import KernelDependencyCV
from ..features import IncompleteCholesky
from ..operators import ConditionalCovariance, Covariance, Identity
from ..sequences import SequenceTransducer
from .guess import guess
from .spaces import SPACES, Space, Text
from .table import BadTable, Table

MANY = 3000
"""Rows from which on inputs are taken at low rank, and with the identity operator alone."""
RANK = 1000
WORD = 60
"""Letters up to which a text is learnt letter by letter."""
ALPHAS = tuple(np.logspace(-4, 1, 11))
OPERATORS = (Identity(), Covariance(), ConditionalCovariance(0.1))


class TableModel(FromFile, BaseEstimator):
    """Some columns of a table learnt from others, everything chosen by leave-one-out.

    Parameters
    ----------
    inputs, outputs
        Columns, by name or number.
    input_space, output_space
        Names of spaces (`SPACES`); None for a guess.
    drop_missing
        Whether rows with empty cells are left out.

    Attributes
    ----------
    input_space_, output_space_
        The spaces, which know how to read and write.
    estimator_
        What was fitted: a `SequenceTransducer` from text to text, else a `KernelDependencyCV`.
    missing_
        Text that meant an empty cell in training.
    left_out_
        How good left-out predictions of the training rows are, by measure.

    Examples
    --------
    >>> from mercer.tables import Table, TableModel
    >>> columns = {"text": ["sunny sea", "rainy hill"] * 6, "tag": ["sun", "rain"] * 6}
    >>> table = Table("a list", columns, lines=range(12))
    >>> model = TableModel(["text"], ["tag"]).fit(table)
    >>> model.output_space_.name
    'labels'
    >>> len(model.predict(table))
    12
    """

    def __init__(
        self,
        inputs: Sequence[str],
        outputs: Sequence[str],
        input_space: str | None = None,
        output_space: str | None = None,
        drop_missing: bool = False,
    ):
        self.inputs = inputs
        self.outputs = outputs
        self.input_space = input_space
        self.output_space = output_space
        self.drop_missing = drop_missing

    def fit(self, table: Table) -> TableModel:
        """Learn from the rows of a table."""
        inputs, outputs = table.names(self.inputs), table.names(self.outputs)
        both = [name for name in inputs if name in outputs]
        if both:
            raise BadTable(f"{table.source}: {both[0]!r} cannot be both input and output.")
        table = table.filled([*inputs, *outputs], self.drop_missing)
        if len(table) < 4:
            rows = f"{len(table)} usable row{'s' * (len(table) != 1)}"
            raise BadTable(f"{table.source} has {rows}: at least 4 are needed to learn from.")
        self.input_space_ = _space(self.input_space, table, inputs, output=False)
        self.output_space_ = _space(self.output_space, table, outputs, output=True)
        X = self.input_space_.learn(table, inputs)
        y = self.output_space_.learn(table, outputs)
        self.rows_ = len(table)
        self.missing_ = tuple(table.missing)
        if self._by_letter(X, y):
            self.estimator_: Any = SequenceTransducer(unalignable="skip").fit(X, y)
            self.left_out_ = {"exact match": float(self.estimator_.left_out_accuracy_)}
        else:
            self.estimator_ = self._choice(X, y).fit(X, y)
            self.left_out_ = self.output_space_.measures(y, self.estimator_.loo_predict())
        return self

    def _by_letter(self, X: Items, y: Items) -> bool:
        texts = (self.input_space_, self.output_space_)
        if not all(type(space) is Text for space in texts):
            return False
        short = max(map(len, X)) <= WORD and max(map(len, y)) <= WORD
        return short and len(set(y)) > 0.2 * len(y)

    def _choice(self, X: Items, y: Items) -> KernelDependencyCV:
        output_kernel, decoder = self.output_space_.output(y)
        kernels = self.input_space_.kernels(X)
        many = len(y) > MANY
        operators = OPERATORS[:1] if many else OPERATORS
        return KernelDependencyCV(
            [kernel * operator for kernel in kernels for operator in operators],
            output_kernel,
            alphas=ALPHAS,
            decoder=decoder,
            features=IncompleteCholesky(RANK) if many else None,
            fit_intercept=True,
        )

    def predict(self, table: Table) -> list[Any]:
        """One output for each row."""
        return list(self.estimator_.predict(self._read(table)))

    def predict_top(self, table: Table, k: int) -> list[list[tuple[Any, float]]]:
        """The best outputs of each row with their scores, best first."""
        return self.estimator_.predict_top(self._read(table), k=k)

    def evaluate(self, table: Table) -> dict[str, float]:
        """How good predictions are where the outputs are known, by measure."""
        table = table.filled(self._columns(table), self.drop_missing)
        truth = self.output_space_.parse(table)
        predicted = self.estimator_.predict(self.input_space_.parse(table))
        return self.output_space_.measures(truth, predicted)

    def _read(self, table: Table) -> Items:
        inputs = table.names(self.input_space_.columns_)
        return self.input_space_.parse(table.filled(inputs, drop=False))

    def _columns(self, table: Table) -> list[str]:
        return table.names([*self.input_space_.columns_, *self.output_space_.columns_])


def _space(name: str | None, table: Table, columns: list[str], output: bool) -> Space:
    return SPACES[name or guess(table, columns, output)]()
