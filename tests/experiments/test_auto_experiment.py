"""The comparison of AutoDependency with scikit-learn, on one small set."""

import numpy as np
import pytest

from experiments.auto_sets import load
from experiments.defaults import AUTO, Task, table, tasks
from mercer.datasets import DataNotFound

PEERS = ("mean", "RidgeCV", "ExtraTrees", "kNN")


def test_auto_is_ahead_on_slump():
    try:
        load("slump")
    except DataNotFound as absent:
        pytest.skip(str(absent))
    wanted = [task for task in tasks(["slump"], (AUTO, *PEERS), shuffles=1) if task.split < 2]
    rows = [Task.run(task, quick=True) for task in wanted]
    scores = {m: np.mean([r["score"] for r in rows if r["method"] == m]) for m in (AUTO, *PEERS)}
    assert scores.pop(AUTO) < min(scores.values())
    assert "ahead of" in table(rows)
