"""The coverage experiment: splits that are fair, and sizes that mean what they say."""

import numpy as np
import pytest
from rich.console import Console

from experiments import coverage
from experiments.coverage import Task, trial
from mercer import KernelDependencyCV
from mercer.kernels import RBF


@pytest.fixture
def task(rng):
    X = rng.normal(size=(120, 2))
    Y = np.sin(X) + 0.1 * rng.normal(size=(120, 2))
    who = np.repeat(np.arange(40), 3)
    return Task("made", X, Y, KernelDependencyCV(RBF(1.0), alphas=[0.1]), 30, 10, who)


def test_splits_share_no_group_and_test_all_alike(task):
    tested = np.zeros(40)
    for seed in range(8):
        train, test = task.split(seed)
        assert not set(task.groups[train]) & set(task.groups[test])
        assert len(np.unique(task.groups[train])) == 30
        assert len(np.unique(task.groups[test])) == 10
        tested[np.unique(task.groups[test])] += 1
    assert (tested == 2).all()


@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_no_smaller_sets_cover_as_much(task, calibration):
    covered, size, least = trial(task, calibration, 0)
    assert 0 <= covered <= 1
    assert (size >= least) == (covered >= 0.9) or calibration == "jackknife+"


def test_quick(tmp_path, monkeypatch, rng, task):
    monkeypatch.setattr(coverage, "rankings", lambda: task)
    monkeypatch.setattr(coverage, "curves", lambda: [task])
    report = coverage.run(tmp_path, Console(quiet=True), quick=True)
    assert {row.metric for row in report.rows} == {"coverage", "mean size", "smallest mean size"}
