"""A prediction does not depend on the other rows of its batch, whatever the container."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import issparse

from laws.every_model import CASES, NAMES, answered, answers, fitted
from laws.same import assert_same

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
