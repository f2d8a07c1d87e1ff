"""The experiments on label sets and rankings, small; each skips where its data is absent."""

import numpy as np
import pytest
from rich.console import Console

from experiments import bibtex, emotions, label_ranking
from mercer.datasets import DataNotFound

QUIET = Console(quiet=True)


def rows(experiment, folder):
    try:
        return experiment.run(folder, QUIET, quick=True).rows
    except DataNotFound as absent:
        pytest.skip(str(absent))


def test_bibtex(tmp_path):
    f1, *_ = rows(bibtex, tmp_path)
    assert f1.metric == "f1"
    assert f1.mean > 38  # with 800 of the 4880 training texts


def test_emotions(tmp_path):
    f1, *_ = rows(emotions, tmp_path)
    assert f1.mean > 68


def test_label_ranking(tmp_path):
    found = rows(label_ranking, tmp_path)
    ours = {row.setting: row.mean for row in found if row.method == "Kendall, Kemeny"}
    assert list(ours) == ["iris", "wine", "glass"]
    theirs = [row for row in found if row.method.startswith("scikit-learn")]
    assert len(theirs) == 9 and all(0 < row.mean < ours[row.setting] + 0.03 for row in theirs)


@pytest.mark.parametrize(("name", "wanted"), [("iris", 0.95), ("wine", 0.945), ("glass", 0.90)])
def test_label_ranking_is_as_good_as_published(name, wanted):
    try:
        values = label_ranking.taus(name, folds=10)
    except DataNotFound as absent:
        pytest.skip(str(absent))
    assert np.mean(values) >= wanted
