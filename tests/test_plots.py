"""Pictures show what the model says."""

import matplotlib as mpl

mpl.use("agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

from mercer import ConformalSets, KernelDependency, KernelDependencyCV, plots
from mercer.features import IncompleteCholesky
from mercer.kernels import L2, RBF
from mercer.operators import ConditionalCovariance, Covariance, Identity


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture
def pairs(rng):
    X = rng.normal(size=(30, 2))
    return X, np.hstack([X, X**2]) + rng.normal(scale=0.1, size=(30, 4))


def test_risk(pairs):
    model = KernelDependencyCV(
        [RBF(1.0), RBF(2.0) * Covariance()], alphas=[0.1, 1.0], fit_intercept=False
    ).fit(*pairs)
    ax = plots.risk(model)
    *lines, best = ax.get_lines()
    assert len(lines) == 2
    np.testing.assert_allclose(lines[0].get_ydata(), model.cv_results_["risk"][:2])
    assert best.get_xdata()[0] == model.alpha_
    scored = KernelDependencyCV(RBF(1.0), alphas=[0.1], scoring="r2", fit_intercept=False).fit(
        *pairs
    )
    assert plots.risk(scored).get_ylabel() == "leave-one-out score"


@pytest.mark.parametrize("operator", [Identity(), Covariance(), ConditionalCovariance(0.1)])
def test_spectrum(operator, pairs):
    model = KernelDependency(RBF(1.0) * operator, fit_intercept=False).fit(*pairs)
    (line,) = plots.spectrum(model).get_lines()
    values = line.get_ydata()
    assert len(values) == 4
    if isinstance(operator, Covariance):
        wanted = np.linalg.eigvalsh(pairs[1].T @ pairs[1] / 30)[::-1]
        np.testing.assert_allclose(values, wanted)
    low = KernelDependency(
        RBF(1.0) * operator, features=IncompleteCholesky(5), fit_intercept=False
    ).fit(*pairs)
    assert len(plots.spectrum(low).get_lines()[0].get_ydata()) == 4


def test_embedding(pairs):
    model = KernelDependency(RBF(1.0), RBF(2.0), alpha=1e-9, fit_intercept=False).fit(*pairs)
    ax = plots.embedding(model, pairs[0], color=np.arange(30))
    known, predicted = (c.get_offsets() for c in ax.collections)
    np.testing.assert_allclose(known, predicted, atol=1e-2)  # it interpolates


@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_classes_colour_an_embedding(pairs, container):
    model = KernelDependency(RBF(1.0), RBF(2.0)).fit(*pairs)
    ax = plots.embedding(model, color=container(["sea", "sun", "fog"] * 10))
    assert ax.collections[0].get_array().tolist() == [1, 2, 0] * 10
    assert len(plots.embedding(model, color=container(["red", "blue"] * 15)).collections) == 1


def test_scores(pairs):
    model = KernelDependency(RBF(1.0), RBF(2.0), fit_intercept=False).fit(*pairs)
    ax = plots.scores(model, pairs[0][0], k=3)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(widths, reverse=True)
    assert len(widths) == 3


def test_completions(rng):
    upper, lower = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 2, 4))
    figure = plots.completions(upper, {"truth": lower, "identity": lower})
    assert len(figure.axes) == 6


def test_curves(rng):
    X, Y = rng.normal(size=(40, 1)), rng.normal(size=(40, 12))
    sets = ConformalSets(
        KernelDependency(output_kernel=L2(), fit_intercept=False), kind="band"
    ).fit(X, Y)
    ax = plots.curves(sets.predict(X[:1])[0], truth=Y[0])
    assert len(ax.get_lines()) == 2
    assert len(ax.collections) == 1
    assert len(plots.curves(Y[0], ax=pyplot.subplots()[1]).get_lines()) == 1
