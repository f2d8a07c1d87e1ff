"""The kind of container never changes the model: arrays, blocks, files, memmaps and Dask."""

import numpy as np
import pytest

from laws.cases import B, pending, vectors
from laws.test_routes import off
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import Explicit, IncompleteCholesky, Nystroem, RandomFourier
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from mercer.sources import DaskStream, Rows, Shards, Stream

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
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
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


def dask_arrays():
    array = pytest.importorskip("dask.array")
    return array.from_array(X, chunks=(13, 3)), array.from_array(Y, chunks=(7, 2))


SOURCES = {
    "blocks": lambda folder: (blocks(),),
    "generator": lambda folder: (iter(blocks()),),
    "rows": lambda folder: (Rows(X, Y, block=16),),
    "memmap": on_disk,
    "files": lambda folder: (in_files(folder),),
    "shards": lambda folder: (Shards(in_files(folder), block=9),),
    "Dask": lambda folder: dask_arrays(),
}
LANDMARKS = Nystroem(landmarks=X[::7])


def same(make, source, folder, fit_with=None):
    """The points of the model of a source, and of the same model of arrays."""
    whole = make().fit(X, Y, **(fit_with or {}))
    model = make().fit(*SOURCES[source](folder), **(fit_with or {}))
    return model, whole, off(model.embed(X_NEW).inner(Y), whole.embed(X_NEW).inner(Y))


OPERATORS = [Identity(), Covariance(), ConditionalCovariance(0.1), Matrix(B)]


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


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_settled_on_a_sample(source, name, intercept, tmp_path):
    """The sample of so few pairs is all of them, in order."""

    def make():
        return KernelDependency(alpha=0.05, fit_intercept=intercept, **DRAWN[name])

    assert same(make, source, tmp_path)[2] <= AGREE


@pytest.mark.parametrize("source", ["rows", "memmap", "files", "Dask"])
def test_a_smaller_sample_is_the_same_of_all(source, tmp_path):
    model = KernelDependency(RBF("median"), alpha=0.05, fit_intercept=True)
    model.set_params(features=Nystroem(8, random_state=0))
    wanted = model.fit(Stream(blocks(), sample=25)).predict(X_NEW)
    stream = DaskStream if source == "Dask" else Stream
    assert (
        off(model.fit(stream(*SOURCES[source](tmp_path), sample=25)).predict(X_NEW), wanted)
        <= AGREE
    )


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


@pending("fit takes no sample_weight")
@pytest.mark.parametrize("source", ["memmap", "Dask"])
def test_weights_beside_the_pairs(source, tmp_path):
    weights = 0.5 + np.arange(len(X)) % 3

    def make():
        return KernelDependency(
            RBF(1.0) * Covariance(), alpha=0.05, features=LANDMARKS, fit_intercept=True
        )

    assert same(make, source, tmp_path, {"sample_weight": weights})[2] <= AGREE


@pending("blocks are pairs, never (X, y, weights)")
def test_weights_in_the_blocks():
    weights = 0.5 + np.arange(len(X)) % 3
    model = KernelDependency(RBF(1.0), alpha=0.05, features=LANDMARKS, fit_intercept=True)
    whole = model.fit(X, Y, sample_weight=weights).predict(X_NEW)
    triples = [(x, y, w) for (x, y), w in zip(blocks(), np.split(weights, CUTS), strict=True)]
    assert off(model.fit(triples).predict(X_NEW), whole) <= AGREE
