"""The losses that every space shares, against their formulas."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency
from mercer.kernels import RBF, Linear
from mercer.metrics import (
    exact_match,
    feature_risk,
    kernel_loss,
    rbf_loss,
    relative_error,
    squared_error,
)


@pytest.fixture
def outputs(rng):
    return rng.normal(size=(6, 3)), rng.normal(size=(6, 3))


def test_kernel_losses_are_the_closed_ones(outputs):
    squares = ((outputs[0] - outputs[1]) ** 2).sum(axis=1)
    assert_allclose(squared_error(*outputs, average=False), squares)
    assert_allclose(kernel_loss(*outputs, Linear(), average=False), squares)
    by_kernel = kernel_loss(*outputs, RBF(2.0), average=False)
    assert_allclose(by_kernel, 2 - 2 * np.exp(-squares / 8))
    assert rbf_loss(*outputs, length_scale=2.0) == pytest.approx(by_kernel.mean())


def test_feature_risk_is_the_distance_of_points(outputs):
    X, Y = outputs
    points = KernelDependency(RBF(1.0), RBF(2.0), alpha=0.1).fit(X, Y).embed(X)
    assert_allclose(feature_risk(points, Y, average=False), np.diag(points.distances(Y)) ** 2)
    assert feature_risk(points, Y) == pytest.approx(np.mean(np.diag(points.distances(Y)) ** 2))


def test_exact_match_of_ragged_outputs():
    assert exact_match([[1, 2], [3]], [[1, 2], [4]]) == 0.5


@pytest.mark.parametrize("kind", ["pandas", "polars", "columns"])
def test_exact_match_of_tables_compares_rows(kind):
    truth = {"u": [1.0, 2.0, 3.0], "v": ["a", "b", "c"]}
    guess = {"u": [1.0, 2.0, 4.0], "v": ["a", "x", "c"]}
    frame = dict if kind == "columns" else pytest.importorskip(kind).DataFrame
    assert exact_match(frame(truth), frame(guess), average=False).tolist() == [1.0, 0.0, 0.0]
    numbers = {"u": [1.0, 2.0], "v": [3.0, 4.0]}
    assert exact_match(frame(numbers), np.array([[1.0, 3.0], [2.0, 5.0]])) == 0.5


@pytest.mark.parametrize("loss", [squared_error, relative_error, rbf_loss])
def test_numbers_may_be_in_series(loss):
    truth, guess = [1.0, 2.0, 4.0], [1.5, 2.0, 3.0]
    series = pd.Series(truth, index=[5, 6, 7])
    assert loss(series, np.array(guess)) == loss(truth, pd.Series(guess)) == loss(truth, guess)


@pytest.mark.parametrize("loss", [squared_error, relative_error, rbf_loss])
@pytest.mark.parametrize("value", [None, "abc", 3.0])
def test_single_values_are_refused(loss, value):
    with pytest.raises(TypeError, match="must be in a list or an array, got"):
        loss(value, value)


def test_exact_match_of_graphs_compares_edges_and_labels():
    path, ring = nx.path_graph(3), nx.cycle_graph(3)
    assert exact_match([path, path], [ring, nx.path_graph(3)]) == 0.5
    pair = nx.to_numpy_array(path), ["a", "b", "c"]
    other = nx.to_numpy_array(ring), ["a", "b", "c"]
    assert exact_match([pair, pair], [other, (pair[0].copy(), ["a", "b", "c"])]) == 0.5


@pytest.mark.parametrize("loss", [squared_error, rbf_loss, exact_match])
def test_unequal_lengths_are_refused(outputs, loss):
    with pytest.raises(ValueError, match="y_true and y_pred must have one"):
        loss(outputs[0], outputs[1][:-1])
