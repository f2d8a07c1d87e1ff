"""AutoDependency at the sizes that people have, through public names only."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import AutoDependency


def _numbers(n: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 5))
    Y = np.column_stack([X[:, 0] + np.sin(X[:, 1]), X[:, 2] * X[:, 3]])
    return X, 1e4 + Y + 0.1 * random.normal(size=Y.shape)


def _faces(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of 32 × 32 pixels and their counterparts, from six common factors."""
    random = np.random.default_rng(0)
    factors = random.normal(size=(n, 6))
    X, Y = (factors @ random.normal(size=(6, 1024)) for _ in range(2))
    return X.reshape(n, 32, 32), np.tanh(Y).reshape(n, 32, 32)


@pytest.mark.parametrize("n", [50, 500, 5_000])
def test_numbers(n, tmp_path):
    X, Y = _numbers(n + 200)
    model = AutoDependency(random_state=0).fit(X[:n], Y[:n])
    predicted = model.predict(X[n:])
    assert predicted.shape == (200, 2)
    explained = 1 - ((predicted - Y[n:]) ** 2).sum(0) / ((Y[n:] - Y[:n].mean(0)) ** 2).sum(0)
    assert explained.min() > {50: 0.3, 500: 0.8, 5_000: 0.95}[n]
    loaded = mercer.load(mercer.save(model, tmp_path / "numbers.mercer"))
    np.testing.assert_allclose(loaded.predict(X[n:]), predicted, rtol=1e-9)


@pytest.mark.parametrize("n", [20, 300])
def test_images_with_fewer_rows_than_pixels(n):
    X, Y = _faces(n + 10)
    model = AutoDependency(random_state=0).fit(X[:n], Y[:n])
    predicted = model.predict(X[n:])
    assert predicted.shape == (10, 32, 32)
    explained = 1 - ((predicted - Y[n:]) ** 2).sum() / ((Y[n:] - Y[:n].mean(0)) ** 2).sum()
    assert explained > (0.4 if n == 20 else 0.9)


def test_presets_and_steps_that_trees_learn(tmp_path):
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, size=(500, 6))
    y = np.floor(2 * X[:, 0]) * np.sign(X[:, 1]) + 0.1 * random.normal(size=500)
    model = AutoDependency(preset="fast", random_state=0).fit(X[:400], y[:400])
    assert "boosted trees" in model.chosen_
    loaded = mercer.load(mercer.save(model, tmp_path / "steps.mercer"))
    np.testing.assert_array_equal(loaded.predict(X[400:]), model.predict(X[400:]))
    assert loaded.score(X[400:], y[400:]) > 0.8
