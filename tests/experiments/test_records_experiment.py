"""The comparison of models with missing targets."""

import numpy as np
import pytest

from experiments import EXPERIMENTS, records
from mercer.datasets import DataNotFound


def test_a_row_counts_for_the_targets_that_it_has():
    assert "records" in EXPERIMENTS
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.1 * rng.normal(size=(60, 2))
    truth = Y[40:].copy()
    Y = np.where(rng.random(Y.shape) < 0.5, np.nan, Y)
    found = {name: fit(X[:40], Y[:40], X[40:]) for name, fit in records.METHODS.items()}
    errors = {name: ((truth - predicted) ** 2).mean() for name, predicted in found.items()}
    np.testing.assert_allclose(found["MissingTargets"], found["one model per target"])
    assert errors["MissingTargets"] < errors["mean in place of gaps"]


def test_the_mixed_table_has_two_numbers_and_a_class():
    try:
        frame, inputs, outputs = records.mixed_table()
    except DataNotFound as absent:
        pytest.skip(str(absent))
    rows = frame.iloc[::6]
    predicted = records.predict_records(rows, rows, inputs, outputs)
    assert (predicted["third"] == rows["third"]).mean() > 0.5
