"""The comparison of AutoDependency with peers: its sets, its losses, its report."""

import numpy as np
import pytest

from experiments.auto_compare import METHODS, PEERS, is_feasible, report, row_losses, run_one
from experiments.auto_simulated import SIMULATED, simulated


@pytest.mark.parametrize("name", list(SIMULATED))
def test_simulated_sets_have_a_test_part(name):
    data = simulated(name)
    assert len(data.X) == len(data.Y) == data.test + 1000
    assert any(is_feasible(name, method) for method in METHODS)


def test_losses_of_the_mean_are_one():
    data = simulated("linear_100")
    spread = data.Y.var(axis=0)
    mean = np.tile(data.Y.mean(axis=0), (len(data.Y), 1))
    losses = row_losses(data, np.arange(len(data.Y)), mean, spread)
    np.testing.assert_allclose(losses.mean(), 1.0)


def test_a_set_that_is_behind_is_listed():
    assert len(SIMULATED) == 30
    made = run_one("linear_100", "ridge")
    worse = made | {"method": "new", "losses": [v + 1.0 for v in made["losses"]]}
    text = report([made, worse | {"error": made["error"] + 1.0}])
    assert "linear_100: 1.0000 ± 0.0000 behind ridge" in text
    assert set(PEERS) >= {"boosting", "kernel ridge"}
