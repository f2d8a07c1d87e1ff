"""Sets of numbers, images and tables are those of the same values as vectors; they are saved."""

import numpy as np
import pandas as pd
import pytest

from mercer import ConformalSets, KernelDependency, load, save
from mercer.kernels import RBF
from mercer.sets import LeftOutSets

pytestmark = pytest.mark.filterwarnings("ignore:jackknife. proves no coverage")

SCALES = ["auto", "flat", "posterior", "residual"]


def pairs(n=50):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.sin(X @ rng.normal(size=(2, 4))) + 0.3 * rng.normal(size=(n, 4))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["band", "intervals"])
@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
@pytest.mark.parametrize("shape", [(), (2, 2)], ids=["numbers", "images"])
def test_the_shape_of_outputs_does_not_change_bands(shape, calibration, kind, scale, tmp_path):
    X, Y = pairs()
    Y = Y[:, : int(np.prod(shape))]
    sets = ConformalSets(KernelDependency(RBF(1.0)), 0.8, calibration, kind, scale=scale)
    vectors = sets.fit(X[:40], Y[:40]).predict(X[40:])
    bands = sets.fit(X[:40], Y[:40].reshape(40, *shape)).predict(X[40:])
    assert bands.lower.shape == (10, *shape)
    np.testing.assert_allclose(bands.lower.reshape(10, -1), vectors.lower)
    np.testing.assert_allclose(bands.upper.reshape(10, -1), vectors.upper)
    again = load(save(sets, tmp_path / "sets.mercer"))
    np.testing.assert_array_equal(again.predict(X[40:]).upper, bands.upper)


@pytest.mark.parametrize("joint", [True, False])
def test_left_out_sets_of_numbers_are_saved(joint, tmp_path):
    X, Y = pairs()
    sets = LeftOutSets.of(KernelDependency(RBF(1.0)).fit(X, Y[:, 0]))
    again = load(save(sets, tmp_path / "sets.mercer"))
    found = again.predict(X[:5], 0.8, joint)
    assert found.lower.shape == (5,)
    np.testing.assert_array_equal(found.lower, sets.predict(X[:5], 0.8, joint).lower)


@pytest.mark.parametrize("kind", ["ball", "band"])
def test_jackknife_sets_of_tables_are_saved(kind, tmp_path):
    X, Y = (pd.DataFrame(A) for A in pairs())
    sets = ConformalSets(KernelDependency(RBF(1.0)), 0.8, "jackknife+", kind).fit(X, Y)
    again = load(save(sets, tmp_path / "sets.mercer"))
    np.testing.assert_allclose(again.sizes(X), sets.sizes(X))
