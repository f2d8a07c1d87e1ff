"""The experiment on operator learning, on its smallest equation."""

import pytest
from rich.console import Console

from experiments import operators
from experiments.pictures import learning_curves


def test_one_call_recognises_a_shift(tmp_path, monkeypatch):
    monkeypatch.setattr(operators, "TASKS", operators.TASKS[-1:])
    report = operators.run(tmp_path, Console(quiet=True), quick=True)
    errors = {row.method: row.mean for row in report.rows}
    assert errors[operators.ONE_CALL] < 1e-6 < errors["scikit-learn: PCA and Ridge"]
    assert errors["FNO (published)"] == 0.0022
    assert any("bands at 90% hold" in note for note in report.notes)


def test_published_errors_are_of_the_stated_sizes():
    sizes = {task.name: task.large for task in operators.TASKS}
    assert sizes == {
        "Helmholtz": True, "Navier–Stokes": True, "Burgers": False, "Darcy": False,
        "advection": False,
    }  # fmt: skip
    for task in operators.TASKS:
        assert set(task.published) >= {"DeepONet", "FNO", "kernel"}


def test_learning_curves_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    points = {"one": [(100, 0.1), (1000, 0.01)], "two": [(1000, 0.02), (100, 0.2)]}
    learning_curves(tmp_path / "curves.png", {"equation": points}, "pairs", "error")
    assert (tmp_path / "curves.png").stat().st_size > 5000
