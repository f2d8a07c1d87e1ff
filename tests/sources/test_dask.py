"""On a cluster: the same numbers, lost workers made good, and nothing large on the client."""

import logging
import multiprocessing
import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import loaders
from mercer import KernelDependency, KernelDependencyCV
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Labels, Linear, Spectrum
from mercer.operators import Covariance, Identity
from mercer.sources import BadBlock, DaskStream, Stream
from tolerances import IDENTITY

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("default::DeprecationWarning"),
    pytest.mark.xdist_group("dask"),
]

PAIRS = [loaders.pairs(seed) for seed in range(loaders.BLOCKS)]
X, Y = (np.concatenate(parts) for parts in zip(*PAIRS, strict=True))
MODEL = KernelDependency(
    RBF(2.0) * Covariance(), alpha=0.1, features=IncompleteCholesky(15), fit_intercept=True
)
AGREE = 1e-8


@pytest.fixture(scope="module")
def client():
    """Two processes on the loopback interface, forked by one that has imported the package."""
    settings = {"memory.terminate": False, "multiprocessing-method": "forkserver"}
    with dask.config.set({f"distributed.worker.{name}": to for name, to in settings.items()}):
        distributed.utils.get_mp_context()  # names what it would import itself
        multiprocessing.set_forkserver_preload(["distributed", "dask.array", "mercer.estimators"])
        yield from _client()


def _client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture
def here():
    """Dask without a cluster, in this very process."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def whole():
    return clone(MODEL).fit(X, Y)


def delayed_blocks(load=loaders.pairs, *arguments):
    return [dask.delayed(load)(seed, *arguments) for seed in range(loaders.BLOCKS)]


def forms():
    import dask.array as da
    import dask.bag as db

    return {
        "delayed pairs": lambda: (delayed_blocks(),),
        "delayed inputs and outputs": lambda: (
            delayed_blocks(loaders.inputs),
            [dask.delayed(pair[1]) for pair in PAIRS],
        ),
        "arrays": lambda: (da.from_array(X, chunks=(100, 2)), da.from_array(Y, chunks=(70, 1))),
        "arrays of unknown length": lambda: tuple(
            da.concatenate(
                [da.from_delayed(dask.delayed(p[i]), (np.nan, 3 - i), dtype=float) for p in PAIRS],
                allow_unknown_chunksizes=True,
            )
            for i in (0, 1)
        ),
        "a bag of pairs": lambda: (db.from_sequence(list(zip(X, Y, strict=True)), npartitions=5),),
        "two bags": lambda: tuple(db.from_sequence(list(A), npartitions=5) for A in (X, Y)),
    }


@pytest.mark.parametrize("form", forms())
def test_every_collection(here, whole, form):
    model = clone(MODEL).fit(*forms()[form]())
    assert_allclose(model.predict(X), whole.predict(X), atol=AGREE)
    assert_allclose(model.coef_, whole.coef_, atol=AGREE)


def test_a_sample_is_that_of_the_stream(here):
    there = clone(MODEL).fit(DaskStream(delayed_blocks(), sample=40))
    stream = clone(MODEL).fit(Stream(PAIRS, sample=40))
    assert_allclose(there.outputs_, stream.outputs_, rtol=0, atol=0)
    assert_allclose(there.coef_, stream.coef_, atol=AGREE)


def test_tables(here, whole):
    dd = pytest.importorskip("dask.dataframe")
    import pandas

    tables = [dd.from_pandas(pandas.DataFrame(A), npartitions=4) for A in (X, Y)]
    model = clone(MODEL).fit(*tables)
    assert_allclose(model.coef_, whole.coef_, atol=AGREE)
    assert_allclose(model.predict(tables[0]).compute(), whole.predict(X), atol=AGREE)


def test_without_a_cluster_too_a_block_is_named(here, whole):
    with pytest.raises(BadBlock, match="block 4 of the stream could not be loaded"):
        clone(MODEL).fit(delayed_blocks(loaders.broken))


def test_the_cluster_gives_the_same_numbers(client, whole):
    import dask.array as da

    for blocks in ((delayed_blocks(),), [da.from_array(A, chunks=(100, 2)) for A in (X, Y)]):
        model = clone(MODEL).fit(*blocks)
        assert_allclose(model.coef_, whole.coef_, atol=AGREE)
        assert_allclose(model.predict(X), whole.predict(X), atol=AGREE)


def test_a_worker_is_killed_half_way_through_a_fit(client, tmp_path):
    blocks = [
        dask.delayed(loaders.deadly)(loaders.pairs, seed, str(tmp_path), 3)
        for seed in range(loaders.BLOCKS)
    ]
    model = clone(MODEL).fit(blocks)  # blocks are read to count, to sample and to gather
    assert len(list(tmp_path.iterdir())) > 3
    assert_allclose(model.coef_, clone(MODEL).fit(PAIRS).coef_, rtol=0, atol=IDENTITY)


def test_a_worker_is_killed_half_way_through_predict(client, whole, tmp_path):
    blocks = [
        dask.delayed(loaders.deadly)(loaders.inputs, seed, str(tmp_path), 1)
        for seed in range(loaders.BLOCKS)
    ]
    predicted = dask.compute(*whole.predict(blocks))
    assert len(list(tmp_path.iterdir())) > 1
    assert_allclose(np.concatenate(predicted), whole.predict(X), rtol=0, atol=IDENTITY)


def test_predict_is_lazy_and_of_the_same_kind(client, whole):
    import dask.array as da
    import dask.bag as db

    lazy = whole.predict(da.from_array(X, chunks=(100, 2)))
    assert isinstance(lazy, da.Array) and lazy.shape == Y.shape and lazy.numblocks == (5, 1)
    assert_allclose(lazy.compute(), whole.predict(X), rtol=0, atol=IDENTITY)
    bag = whole.predict(db.from_sequence(list(X[:20]), npartitions=3))
    assert isinstance(bag, db.Bag)
    assert_allclose(np.stack(bag.compute()), whole.predict(X[:20]), rtol=0, atol=IDENTITY)
    with pytest.raises(ValueError, match="candidates of single inputs"):
        whole.predict(delayed_blocks(loaders.inputs), candidates=[[]])
    with pytest.raises(BadBlock, match=r"block \d: X has 2 features"):
        whole.predict(da.from_array(X[:, :2], chunks=(100, 2))).compute()


def test_words_to_labels(here):
    import dask.bag as db

    words = ["ab", "abc", "bca", "cab", "bb", "ca"] * 5
    tags = [{"x"} if "b" in word[:2] else {"y"} for word in words]
    model = KernelDependency(Spectrum(2), Labels(), alpha=0.1, features=IncompleteCholesky(6))
    model.fit(db.from_sequence(list(zip(words, tags, strict=True)), npartitions=4))
    assert model.predict(db.from_sequence(words, npartitions=2)).compute() == tags


def test_a_block_that_cannot_be_loaded_is_named(client, whole):
    model = clone(MODEL).fit(X, Y)
    with pytest.raises(BadBlock, match="block 4 .* could not be loaded: OSError: the disk is gone"):
        model.fit(delayed_blocks(loaders.broken))
    with pytest.raises(BadBlock, match="block 4 of the stream: .*contains NaN"):
        model.fit(delayed_blocks(loaders.spoiled))
    assert_allclose(model.predict(X), whole.predict(X), rtol=0, atol=0)


def test_nothing_of_the_size_of_n_reaches_the_client(here, monkeypatch):
    sizes = []
    compute = DaskStream._compute

    def weighed(self, what):
        result = compute(self, what)
        sizes.append(len(pickle.dumps(result)))
        return result

    monkeypatch.setattr(DaskStream, "_compute", weighed)
    model = KernelDependency(Linear(), alpha=0.1).fit(DaskStream(delayed_blocks(), sample=10))
    assert model.stream_.gatherings[0].n == len(X)
    assert max(sizes) < 8 * X.size / 2


def test_choosing_over_blocks(here):
    kernels = [RBF(2.0) * operator for operator in (Identity(), Covariance())]
    choice = KernelDependencyCV(kernels, alphas=[0.01, 1.0], features=IncompleteCholesky(15))
    there = clone(choice).fit(delayed_blocks(), validation=delayed_blocks(loaders.pairs, 20))
    stream = clone(choice).fit(PAIRS, validation=[loaders.pairs(seed, 20) for seed in range(9)])
    assert_allclose(there.cv_results_["risk"], stream.cv_results_["risk"], rtol=AGREE)


def test_the_cluster_judges_all_pairs(client):
    kernels = [RBF(2.0) * operator for operator in (Identity(), Covariance())]
    choice = KernelDependencyCV(kernels, features=IncompleteCholesky(15))
    there = clone(choice).fit(DaskStream(delayed_blocks(), sample=40))
    stream = clone(choice).fit(Stream(PAIRS, sample=40))
    assert_allclose(there.cv_results_["risk"], stream.cv_results_["risk"], rtol=AGREE)
    assert there.loo_risk_ == pytest.approx(stream.loo_risk_, rel=AGREE)


def test_mistakes(here):
    import dask.array as da

    array = da.from_array(X, chunks=(100, 3))
    with pytest.raises(ValueError, match="a Dask array X needs a Dask array y"):
        clone(MODEL).fit(array, Y)
    with pytest.raises(ValueError, match="inputs and 485 outputs"):
        clone(MODEL).fit(array, da.from_array(Y[1:], chunks=(100, 2)))
    with pytest.raises(ValueError, match=r"as many blocks: got \[9, 8\]"):
        clone(MODEL).fit(delayed_blocks(loaders.inputs), delayed_blocks(loaders.inputs)[:8])


def test_grid_search_on_the_cluster(client):
    model = KernelDependency(RBF(2.0), features=IncompleteCholesky(15))
    search = GridSearchCV(model, {"alpha": [0.01, 1.0], "kernel__length_scale": [1.0, 2.0]}, cv=2)
    with joblib.parallel_backend("dask"):
        there = clone(search).fit(X, Y)
    here = clone(search).fit(X, Y)
    assert there.best_params_ == here.best_params_
    assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], rtol=AGREE
    )
