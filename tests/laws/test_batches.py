"""A prediction does not depend on the other rows of its batch, whatever the container."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import issparse

from laws.every_model import CASES, NAMES, answered, answers, fitted
from laws.same import assert_same
from mercer import AutoDependency

pytestmark = pytest.mark.filterwarnings("ignore")
TOLERANCE, OF_SEARCHES = 1e-9, 1e-6
"""Products of one row and of many are rounded differently; a search stops somewhat earlier then."""


def rows(items, index):
    """The items at some positions, in a container of the same type."""
    if isinstance(items, pd.DataFrame | pd.Series):
        return items.iloc[index]
    if isinstance(items, np.ndarray | pl.DataFrame) or issparse(items):
        return items[index]
    return list(items) if isinstance(index, slice) else [items[i] for i in index]


def unlike(items):
    """The positions of items in the order of a batch in which all have other neighbours."""
    n = items.shape[0] if hasattr(items, "shape") else len(items)
    return [*range(n - 1, -1, -1), 0, 0]


@pytest.mark.parametrize("number", range(len(CASES)), ids=NAMES)
def test_a_prediction_does_not_depend_on_its_batch(number):
    model, X = fitted(number), CASES[number][2]
    order, tolerance = unlike(X), OF_SEARCHES if NAMES[number].endswith("Gradient") else TOLERANCE
    of_rows = {name: value for name, value in answered(number).items() if name != "loo_predict"}
    for some in (order, [0], [order[0]]):
        found = answers(model, rows(X, some), of_rows)
        for name, whole in of_rows.items():
            assert_same(rows(found[name], slice(None)), rows(whole, some), tolerance)


MIXED = [
    {"size": size, "count": count, "word": word, "day": day, "tags": tags, "open": is_open}
    for size, count, word, day, tags, is_open in zip(
        [0.5, 2.0, None, 3.5, 1e6, -1.0] * 6,
        [1, 2, 3, None, 2**40, 0] * 6,
        ["red", None, "1", "blue", "red", ""] * 6,
        ["2024-03-05", "2024-12-31", "2023-01-01", None, "2024-02-29", "2024-03-05"] * 6,
        [["a"], ["a", "b"], [], ["b"], ["c"], None] * 6,
        [True, False, True, None, False, True] * 6,
        strict=True,
    )
]
"""Rows whose types depend on the rows next to them: pandas reads integers as floats, and so on."""
CONTAINERS = {
    "dictionaries": lambda rows: rows,
    "columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
    "pandas": pd.DataFrame,
    "polars": lambda rows: pl.DataFrame(rows, strict=False),
}


@pytest.fixture(scope="module")
def tables(few_trees):
    """A model of tables, for each container one that was fitted to it."""
    y = [f"{len(row['tags'] or [])}" for row in MIXED]
    frames = {name: made([{**row, "y": v} for row, v in zip(MIXED, y, strict=True)])
              for name, made in CONTAINERS.items()}  # fmt: skip
    return {
        name: AutoDependency(output="y", random_state=0).fit(frame)
        for name, frame in frames.items()
    }


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_row_of_a_table_is_read_alone_as_among_others(name, tables):
    made, model = CONTAINERS[name], tables[name]
    whole = model.predict_proba(made(MIXED[:6]))
    assert np.ptp(whole, axis=0).max() > 0.1
    for i, row in enumerate(MIXED[:6]):
        np.testing.assert_allclose(model.predict_proba(made([row]))[0], whole[i], atol=TOLERANCE)
