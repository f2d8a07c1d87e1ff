"""The kind of container never changes the model: arrays, blocks, files, memmaps and Dask."""

import numpy as np
import pytest
from sklearn.base import clone

from laws.cases import B, off, vectors
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import (
    Explicit,
    IncompleteCholesky,
    Nystroem,
    RandomFourier,
)
from mercer.kernels import RBF, Labels, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from mercer.sources import RowBlocks, Shards, Stream

dask = pytest.importorskip("dask")
AGREE = 1e-9
X, Y = vectors(60)
X_NEW, _ = vectors(5, seed=1)
CUTS = (11, 12, 40)
pytestmark = [
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _here():
    """Dask without a cluster, in this very process."""
    with dask.config.set(scheduler="synchronous"):
        yield


def blocks():
    return list(zip(np.split(X, CUTS), np.split(Y, CUTS), strict=True))


def on_disk(folder):
    for name, A in (("X", X), ("Y", Y)):
        np.save(folder / f"{name}.npy", A)
    return tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in "XY")


def in_files(folder):
    for i, (x, y) in enumerate(blocks()):
        np.savez(folder / f"part-{i}.npz", X=x, y=y)
    return str(folder / "part-*.npz")


def in_tables(folder):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for i, (x, y) in enumerate(blocks()):
        columns = {f"x{j}": x[:, j] for j in range(3)} | {f"y{j}": y[:, j] for j in range(3)}
        parquet.write_table(pa.table(columns), folder / f"part-{i}.parquet")
    return Shards(folder / "part-*.parquet", ["x0", "x1", "x2"], ["y0", "y1", "y2"])


def dask_arrays():
    array = pytest.importorskip("dask.array")
    return array.from_array(X, chunks=(13, 3)), array.from_array(Y, chunks=(7, 2))


SOURCES = {
    "blocks": lambda folder: (blocks(),),
    "generator": lambda folder: (iter(blocks()),),
    "rows": lambda folder: (RowBlocks(X, Y, block=16),),
    "memmap": on_disk,
    "files": lambda folder: (in_files(folder),),
    "shards": lambda folder: (Shards(in_files(folder), block=9),),
    "Parquet": lambda folder: (in_tables(folder),),
    "Dask": lambda folder: dask_arrays(),
}
LANDMARKS = Nystroem(landmarks=X[::7])


def same(make, source, folder, fit_with=None):
    """The points of the model of a source, and of the same model of arrays."""
    whole = make().fit(X, Y, **(fit_with or {}))
    model = make().fit(*SOURCES[source](folder), **(fit_with or {}))
    return model, whole, off(model.embed(X_NEW).inner(Y), whole.embed(X_NEW).inner(Y))


OPERATORS = [Identity(), ConditionalCovariance(0.1), Matrix(B) + Covariance()]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: type(operator).__name__)
@pytest.mark.parametrize("features", ["explicit", "landmarks"])
@pytest.mark.parametrize("source", SOURCES)
def test_given_scales_and_landmarks(source, features, operator, intercept, tmp_path):
    explicit = features == "explicit"
    kernel = Linear() if explicit else RBF(1.0)
    map = Explicit() if explicit else LANDMARKS

    def make():
        parts = {"features": map, "fit_intercept": intercept}
        return KernelDependency(kernel * operator, alpha=0.05, **parts)

    assert same(make, source, tmp_path)[2] <= AGREE


DRAWN = {
    "median": {"kernel": RBF("median"), "features": LANDMARKS},
    "drawn landmarks": {"kernel": RBF(1.0), "features": Nystroem(8, random_state=0)},
    "pivots": {"kernel": RBF("median") * Covariance(), "features": IncompleteCholesky(8)},
    "waves": {"kernel": RBF("median"), "features": RandomFourier(8, random_state=0)},
    "outputs": {
        "kernel": RBF(1.0),
        "output_kernel": RBF("median"),
        "features": LANDMARKS,
        "output_features": Nystroem(8, random_state=0),
    },
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_settled_on_a_sample(source, name, tmp_path):
    """The sample of so few pairs is all of them, in order."""

    def make():
        return KernelDependency(alpha=0.05, fit_intercept=True, **DRAWN[name])

    assert same(make, source, tmp_path)[2] <= AGREE


AGAIN = [name for name in SOURCES if name != "generator"]
"""Sources that can be read again, and so can be sampled uniformly."""
WEIGHTS = (0.5 + np.arange(len(X)) % 3) * (np.arange(len(X)) % 7 > 0)  # some are zero
WEIGHTS[CUTS[0] : CUTS[1]] = 0.0  # all of a block


@pytest.fixture
def small(monkeypatch):
    """A sample of fewer pairs than there are."""
    monkeypatch.setattr("mercer.sources.sample.SIZE", 25)


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("source", AGAIN)
def test_a_smaller_sample_is_the_same_of_all(source, name, small, tmp_path):
    """Arrays held whole take it too."""

    def make():
        return KernelDependency(alpha=0.05, **DRAWN[name])

    model, whole, error = same(make, source, tmp_path)
    assert len(model.stream_.sample.numbers) == 25
    assert str(model.kernel_) == str(whole.kernel_)
    assert error <= AGREE


CHOICES = {
    "settled": {
        "kernel": [RBF(s) * op for s in (0.7, 2.0) for op in OPERATORS],
        "alphas": [0.01, 0.1, 1.0],
        "features": LANDMARKS,
    },
    "drawn": {
        "kernel": [RBF("median") * Covariance(), RBF(1.0)],
        "features": Nystroem(8, random_state=0),
        "output_kernel": RBF("median"),
        "output_features": Nystroem(9, random_state=0),
    },
    "explicit": {"kernel": [Linear() * op for op in OPERATORS], "alphas": [0.01, 1.0]},
}


@pytest.mark.parametrize(
    ("intercept", "weighted"), [(False, False), (True, True)], ids=["", "intercept, weights"]
)
@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("source", AGAIN)
def test_a_choice_judges_all_pairs(source, name, intercept, weighted, small, tmp_path):
    """In another pass, although only a sample is held."""

    def make():
        return KernelDependencyCV(fit_intercept=intercept, **CHOICES[name])

    given = {"sample_weight": WEIGHTS} if weighted else {}
    model, whole, error = same(make, source, tmp_path, given)
    assert off(model.cv_results_["risk"], whole.cv_results_["risk"]) <= AGREE
    assert off(model.cv_results_["alpha"], whole.cv_results_["alpha"]) <= AGREE
    assert str(model.kernel_) == str(whole.kernel_)
    assert model.loo_risk_ == pytest.approx(whole.loo_risk_, rel=AGREE)
    assert error <= AGREE


def test_labels_that_the_sample_misses_are_known_to_a_fit_of_arrays(small):
    labels = [["a"] if x[0] > 0 else ["b"] for x in X]
    labels[7] = ["rare"]
    model = KernelDependency(RBF(1.0), Labels(), features=Nystroem(8, random_state=0))
    assert list(model.fit(X, labels).output_kernel_.classes_) == ["a", "b", "rare"]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("source", SOURCES)
def test_a_choice(source, intercept, tmp_path):
    kernels = [RBF(s) * op for s in (0.7, 2.0) for op in (Identity(), Covariance())]

    def make():
        parts = {"features": LANDMARKS, "fit_intercept": intercept}
        return KernelDependencyCV(kernels, alphas=[0.01, 0.1, 1.0], **parts)

    model, whole, error = same(make, source, tmp_path)
    assert off(model.cv_results_["risk"], whole.cv_results_["risk"]) <= AGREE
    assert model.alpha_ == whole.alpha_ and str(model.kernel_) == str(whole.kernel_)
    assert error <= AGREE


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: type(operator).__name__)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("source", SOURCES)
def test_weights_beside_the_pairs(source, intercept, operator, tmp_path):
    def make():
        parts = {"features": LANDMARKS, "fit_intercept": intercept}
        return KernelDependency(RBF(1.0) * operator, alpha=0.05, **parts)

    model, _, error = same(make, source, tmp_path, {"sample_weight": WEIGHTS})
    assert model.stream_.gatherings[0].n == pytest.approx(WEIGHTS.sum())
    assert error <= AGREE


def in_blocks(weights):
    return [(x, y, w) for (x, y), w in zip(blocks(), np.split(weights, CUTS), strict=True)]


def weighted_files(folder):
    for i, (x, y, w) in enumerate(in_blocks(WEIGHTS)):
        np.savez(folder / f"part-{i}.npz", X=x, y=y, w=w)
    return Shards(folder / "part-*.npz", weights="w")


WITH_WEIGHTS = {
    "blocks": lambda folder: in_blocks(WEIGHTS),
    "generator": lambda folder: iter(in_blocks(WEIGHTS)),
    "files": weighted_files,
    "delayed": lambda folder: [dask.delayed(tuple)(block) for block in in_blocks(WEIGHTS)],
}


@pytest.mark.parametrize("source", WITH_WEIGHTS)
def test_weights_in_the_blocks(source, tmp_path):
    model = KernelDependency(RBF(1.0), alpha=0.05, features=LANDMARKS)
    whole = model.fit(X, Y, sample_weight=WEIGHTS).predict(X_NEW)
    assert off(model.fit(WITH_WEIGHTS[source](tmp_path)).predict(X_NEW), whole) <= AGREE


def test_weights_of_dask():
    array = pytest.importorskip("dask.array")
    model = KernelDependency(RBF(1.0), alpha=0.05, features=LANDMARKS)
    whole = model.fit(X, Y, sample_weight=WEIGHTS).predict(X_NEW)
    weights = array.from_array(WEIGHTS, chunks=11)
    assert off(model.fit(*dask_arrays(), sample_weight=weights).predict(X_NEW), whole) <= AGREE


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: type(operator).__name__)
@pytest.mark.parametrize("intercept", [False, True])
def test_integer_weights_are_repeated_rows(intercept, operator):
    times = np.arange(len(X)) % 4
    parts = {"features": LANDMARKS, "fit_intercept": intercept}
    model = KernelDependency(RBF(1.0) * operator, alpha=0.05, **parts)
    repeated = model.fit([(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))])
    wanted = repeated.predict(X_NEW)
    assert off(model.fit(in_blocks(times)).predict(X_NEW), wanted) <= AGREE
    grown = clone(model)
    for x, y, w in in_blocks(times):
        grown.partial_fit(x, y, sample_weight=w)
    assert off(grown.predict(X_NEW), wanted) <= AGREE


REFUSED = {
    "too few": (np.ones(59), "sample_weight has 59 numbers|and .* weights|one weight a pair"),
    "too many": (np.ones(61), "sample_weight has 61 numbers for 60 pairs"),
    "negative": (-np.ones(60), "[Nn]egative"),
    "zero": (np.zeros(60), "weights are all zero"),
    "NaN": (np.full(60, np.nan), "NaN"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("source", ["blocks", "Dask"])
def test_weights_that_make_no_sense(source, name, tmp_path):
    weights, message = REFUSED[name]
    model = KernelDependency(RBF(1.0), features=LANDMARKS)
    with pytest.raises(ValueError, match=message):
        model.fit(*SOURCES[source](tmp_path), sample_weight=weights)


def test_weights_twice():
    model = KernelDependency(RBF(1.0), features=LANDMARKS)
    with pytest.raises(ValueError, match="weights of its own"):
        model.fit(in_blocks(WEIGHTS), sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="has sample weights already"):
        model.fit(Stream(blocks(), sample_weight=WEIGHTS), sample_weight=WEIGHTS)
