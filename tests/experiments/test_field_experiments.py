"""The experiments on fields, on a part of their data."""

import numpy as np
import pytest
from rich.console import Console

from experiments import burgers, darcy
from mercer.datasets import DataNotFound, load_burgers, load_darcy
from mercer.fields import shared_search
from mercer.metrics import relative_error


def loaded(load):
    try:
        return load()
    except DataNotFound as absent:
        pytest.skip(str(absent))


def test_shifts_help_burgers():
    X, Y = loaded(load_burgers)
    test = slice(100, 200)
    errors = []
    for shifts in (False, True):
        fitted = burgers.model(X[:100], shifts).fit(X[:100], Y[:100])
        errors.append(relative_error(Y[test], fitted.predict(X[test])))
    assert errors[1] < 0.5 * errors[0]


def test_neighbourhoods_help_darcy():
    X, Y, X_test, y_test = loaded(load_darcy)
    models = darcy.fit_functions(X[:100], quick=True)
    errors = [
        relative_error(y_test, models[name](X[:100], Y[:100]).predict(X_test))
        for name in ("whole fields", "local")
    ]
    assert errors[1] < errors[0]


def test_darcy_runs(tmp_path, monkeypatch):
    held = [A[:30] for A in loaded(load_darcy)]
    fine = [*held[:2], *(A[:3] for A in load_darcy(fine=True)[2:])]
    monkeypatch.setattr(darcy, "load_darcy", lambda fine=False: fine_or(fine))
    monkeypatch.setattr(darcy, "QUICK_RANK", 20)
    monkeypatch.setattr(shared_search, "STAGES", ((12, 12, 1), (30, 20, 0)))  # short looks

    def fine_or(finer):
        return fine if finer else held

    report = darcy.run(tmp_path, Console(quiet=True), quick=True)
    assert (tmp_path / "darcy.png").exists()
    assert {row.setting for row in report.rows} == {"16 × 16", "asked at 32 × 32"}
    assert all(np.isfinite(row.mean) for row in report.rows)
