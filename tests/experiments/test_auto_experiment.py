"""The comparison of AutoDependency with scikit-learn, on one small set."""

import numpy as np
import pytest

from experiments.auto import AUTO, measured
from experiments.auto_sets import load
from mercer.datasets import DataNotFound


def test_auto_is_ahead_on_slump():
    try:
        data = load("slump")
    except DataNotFound as absent:
        pytest.skip(str(absent))
    scores = {name: np.mean(values) for name, values in measured(data, quick=True).items()}
    assert len(scores) == 7
    assert scores.pop(AUTO) < min(scores.values())
