import numpy as np
import pytest
from rich.console import Console

from experiments import cmudict
from mercer.datasets import DataNotFound


def test_sizes_share_their_test_words():
    (small, held), (large, same) = (
        cmudict.train_and_test_words(100, size, 10) for size in (20, 60)
    )
    assert list(held) == list(same)
    assert set(small) < set(large)
    assert not np.intersect1d(large, held).size


def test_quick_run_reports_both_kinds_of_phones(tmp_path):
    try:
        report = cmudict.run(tmp_path, Console(quiet=True), quick=True)
    except DataNotFound as missing:
        pytest.skip(str(missing))
    assert [row.metric for row in report.rows] == ["word accuracy", "phone error rate"] * 4
    assert report.rows[0].mean > max(0.1, report.rows[2].mean)
    assert report.rows[1].mean < 0.4
