"""Prediction sets around pipelines, searches, transducers and models of third parties."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import ConformalSets, KernelDependency, KernelDependencyCV, SequenceTransducer
from mercer.kernels import RBF, Kendall
from mercer.sets import Ball, Band, Bands


def pairs(seed, n=160):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.hstack([np.sin(X[:, :1]), X[:, 1:2]]) + rng.normal(scale=0.2, size=(n, 2))
    return X, Y


REGRESSORS = [
    make_pipeline(StandardScaler(), KernelDependency(RBF(1.0), alpha=0.1)),
    make_pipeline(KernelDependency(RBF(1.0), alpha=0.1)),
    GridSearchCV(KernelDependency(RBF(1.0)), {"alpha": [0.1, 1.0]}, cv=3),
    GridSearchCV(
        make_pipeline(PCA(2), KernelDependency(RBF(1.0))), {"pca__n_components": [2, 3]}, cv=3
    ),
    make_pipeline(StandardScaler(), Ridge()),
    RandomForestRegressor(20, random_state=0),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: str(model)[:40])
@pytest.mark.parametrize("kind", ["auto", "band"])
def test_sets_around_regressors(model, kind):
    covered = []
    for seed in range(4):
        X, Y = pairs(seed, 300)
        sets = ConformalSets(model, 0.9, kind=kind).fit(X[:150], Y[:150])
        covered.append(sets.covers(X[150:], Y[150:]).mean())
        assert sets.proven_coverage_ == 0.9
        assert isinstance(sets.predict(X[:1])[0], Ball if kind == "auto" else Band)
    assert 0.82 < np.mean(covered) < 0.98


def test_a_pipeline_has_the_sets_of_its_model():
    X, Y = pairs(0)
    inner = KernelDependency(RBF(1.0), alpha=0.1)
    piped = ConformalSets(make_pipeline(PCA(3, random_state=0), inner)).fit(X, Y)
    names = np.random.RandomState(0).permutation(len(X))
    held = np.isin(np.arange(len(X)), names[: piped._number_held_out(len(X))])
    map = PCA(3, random_state=0).fit(X[~held])
    model = inner.fit(map.transform(X[~held]), Y[~held])
    errors = np.linalg.norm(Y[held] - model.predict(map.transform(X[held])), axis=1)
    place = int(np.ceil(0.9 * (held.sum() + 1) - 1e-9))
    np.testing.assert_allclose(piped.sizes(X[:3]), np.sort(errors)[place - 1], rtol=1e-9)


def test_structured_outputs_in_a_pipeline(rng):
    X = rng.normal(size=(120, 3))
    ranks = np.argsort(np.argsort(X @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(120, 4))))
    model = make_pipeline(StandardScaler(), KernelDependencyCV(RBF(2.0), Kendall(), alphas=[0.1]))
    sets = ConformalSets(model, 0.8).fit(X[:80], ranks[:80])
    assert sets.proven_coverage_ == 0.8
    assert sets.covers(X[80:], ranks[80:]).mean() > 0.6


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier()], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_sets_around_classifiers(model, classes, rng):
    X = rng.normal(size=(600, 2))
    names = np.array(["north", "south", "west"])[:classes]
    y = names[
        np.argmax(X @ rng.normal(size=(2, classes)) + rng.normal(size=(600, classes)), axis=1)
    ]
    sets = ConformalSets(model, 0.9).fit(X[:300], y[:300])
    found = sets.predict(X[300:])
    assert 0.85 < sets.covers(X[300:], y[300:]).mean() < 0.97
    assert min(map(len, found)) >= 1
    assert {label for some in found for label in some} <= set(names)
    assert 0.8 < sets.proven_coverage_ < 0.9  # a class never seen may come


def test_sets_around_a_transducer(rng):
    X = ["".join(rng.choice(list("abcn"), size=rng.integers(2, 6))) for _ in range(160)]
    y = [x.replace("c", rng.choice(["ks", "k"])).upper() for x in X]
    sets = ConformalSets(SequenceTransducer(max_chunk=2), 0.8)
    sets.fit(X[:100], y[:100])
    found = sets.predict(X[100:])
    assert sets.covers(X[100:], y[100:]).mean() > 0.65
    assert all(some and isinstance(some[0], str) for some in found)
    assert [some[0] for some in found] == list(sets.model_.predict(X[100:]))
    assert sets.proven_coverage_ < 0.8


def test_groups_reach_the_search(rng):
    X, Y = pairs(0)
    groups = np.arange(160) // 4
    search = GridSearchCV(KernelDependency(RBF(1.0)), {"alpha": [0.1, 1.0]}, cv=GroupKFold(3))
    for model in (search, make_pipeline(StandardScaler(), KernelDependency(RBF(1.0)))):
        sets = ConformalSets(model).fit(X, Y, groups)
        assert sets.covers(X, Y).mean() > 0.7


def test_bands_are_arrays(rng):
    X, Y = pairs(0)
    bands = ConformalSets(KernelDependency(RBF(1.0)), kind="band").fit(X, Y).predict(X[:7])
    assert isinstance(bands, Bands)
    assert bands.lower.shape == bands.upper.shape == (7, 2)
    assert (bands.lower < bands.upper).all()
    assert len(bands) == len(list(bands)) == 7
    np.testing.assert_array_equal(bands[3].lower, bands.lower[3])
    assert len(bands[2:5]) == 3
    numbers = ConformalSets(Ridge(), kind="band").fit(X, Y[:, 0]).predict(X[:7])
    assert numbers.lower.shape == (7,)


def test_what_is_refused(rng):
    X, Y = pairs(0)
    with pytest.raises(TypeError, match='use "split"'):
        ConformalSets(Ridge(), calibration="jackknife+").fit(X, Y)
    with pytest.raises(TypeError, match="fit and predict"):
        ConformalSets(StandardScaler()).fit(X, Y)
    with pytest.raises(TypeError, match="one class each"):
        ConformalSets(MultiOutputClassifier(LogisticRegression())).fit(X, (Y > 0).astype(int))
