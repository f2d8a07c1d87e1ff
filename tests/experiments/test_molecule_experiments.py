import pytest
from rich.console import Console

from experiments import EXPERIMENTS, massbank, qm9
from mercer.datasets import DataNotFound


@pytest.mark.parametrize("experiment", [massbank, qm9], ids=lambda m: m.__name__)
def test_quick_runs_tell_a_table(experiment, tmp_path):
    name = experiment.__name__.split(".")[-1]
    assert name in EXPERIMENTS
    try:
        report = experiment.run(tmp_path, Console(quiet=True), quick=True)
    except DataNotFound as missing:
        pytest.skip(str(missing))
    values = {(row.method, row.metric): row.mean for row in report.rows}
    metric = "top-1" if name == "massbank" else "top-1 of a formula"
    assert values["chance", metric] < values["mercer", metric] <= 1
    assert report.markdown() and report.notes
