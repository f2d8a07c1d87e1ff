"""Dates as a trend and positions in the year, the week and the day."""

import numpy as np
import pandas as pd
import pytest

from mercer import AutoDependency
from mercer.auto.calendar import calendar_features, calendar_names, periods_with_variation
from mercer.auto.inputs import Inputs
from mercer.auto.tables.frames import as_table

DAYS = np.arange(18_000.0, 18_400.0)


@pytest.mark.parametrize(
    ("days", "periods"),
    [
        (DAYS, ["year", "week"]),
        (DAYS[:30], ["week"]),
        (DAYS[::7], ["year"]),
        (DAYS[:20] + 0.25 * (np.arange(20) % 4), ["week", "day"]),
        (np.full(3, np.nan), []),
    ],
)
def test_periods_are_those_that_the_dates_show(days, periods):
    assert periods_with_variation(days) == periods


def test_features_repeat_with_their_period():
    A = calendar_features(np.array([0.0, 7.0, 7.5, np.nan]), ["week"])
    assert A.shape[1] == len(calendar_names("day", ["week"])) == 5
    np.testing.assert_allclose(A[0, 1:], A[1, 1:], atol=1e-12)
    np.testing.assert_allclose(A[1, 1:], A[2, 1:], atol=1e-12)  # the same weekday
    assert np.isnan(A[3]).all()


def test_an_empty_date_is_marked_once():
    when = pd.Series(pd.date_range("2024-01-01", periods=40)).mask(np.arange(40) % 5 == 0)
    table = as_table(pd.DataFrame({"when": when, "x": range(40)}))
    inputs = Inputs().fit(table)
    assert inputs.feature_names().count("when is empty") == 1
    assert sum(name.endswith("is empty") for name in inputs.feature_names()) == 1
    assert inputs.transform(table).shape == (40, len(inputs.feature_names()))
    assert np.isfinite(inputs.transform(table)).all()


def test_a_duration_is_a_number():
    frame = pd.DataFrame({"took": pd.to_timedelta(np.arange(40.0), "h")})
    frame["cost"] = np.arange(40.0) ** 2
    model = AutoDependency(output="cost", random_state=0).fit(frame)
    assert model.inputs_.feature_names() == ["took"]
    assert model.found_["took"] == "0 to 1.625 days"
    assert not any("took" in note for note in model.notes_)
