"""An index finds what a scan finds, ties and all; foreign arrays are ranked where they are."""

import pickle

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from mercer import KernelDependency
from mercer.decoders import Candidates, _scan
from mercer.decoders._scan import merge_best
from mercer.embedding import Embedding, OrthonormalFrame, SpanFrame
from mercer.features import Explicit, IncompleteCholesky, RandomFourier
from mercer.kernels import RBF, Linear
from mercer.operators import Covariance
from tolerances import IDENTITY


def best_by_sorting(S, k):
    order = np.argsort(-S, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(S, order, axis=1)


@given(
    seed=st.integers(0, 10**6), rows=st.integers(1, 5), columns=st.integers(1, 40),
    k=st.integers(1, 12), size=st.integers(1, 15), values=st.sampled_from([2, 5, 1000]),
)  # fmt: skip
def test_running_best_is_the_stable_sort(seed, rows, columns, k, size, values):
    """With many ties, in blocks of any size, for numpy and for foreign arrays."""
    S = np.random.default_rng(seed).integers(0, values, (rows, columns)).astype(float)
    S[S == 1] = -np.inf
    k = min(k, columns)
    wanted, scores = best_by_sorting(S, k)
    for convert in (np.asarray, xp.asarray):
        held = None
        for start in range(0, columns, size):
            held = merge_best(held, convert(S[:, start : start + size]), start, k)
        assert_array_equal(np.asarray(held[1]), scores)
        real = scores > -np.inf  # a candidate that is passed over has no rank
        assert_array_equal(np.asarray(held[0])[real], wanted[real])


def test_foreign_arrays_stay_where_they_are(rng, monkeypatch):
    monkeypatch.setattr(_scan, "SCORE_COLUMNS", 7)
    X, Y, X_new = rng.normal(size=(20, 2)), rng.normal(size=(20, 3)), rng.normal(size=(5, 2))
    model = KernelDependency(RBF(1.0), decoder=Candidates())
    wanted = model.fit(X, Y).predict_top(X_new, k=4)
    got = model.fit(xp.asarray(X), xp.asarray(Y)).predict_top(xp.asarray(X_new), k=4)
    for some, other in zip(got, wanted, strict=True):
        assert_allclose([np.asarray(y) for y, _ in some], [y for y, _ in other], rtol=0, atol=0)


# -- faiss ------------------------------------------------------------------------------------


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss", reason='pip install "mercer[faiss]" to run this test')


def points_of(C, kernel, outputs, map=None):
    return Embedding(C, OrthonormalFrame((map or Explicit()).fit(kernel, outputs)))


def assert_same(kernel, outputs, points, k):
    plain = Candidates(outputs).fit(kernel, outputs)
    indexed = Candidates(outputs, index="faiss").fit(kernel, outputs)
    for (best, scores), (found, values) in [(plain._search(points, k), indexed._search(points, k))]:
        assert_array_equal(found, best)
        assert_allclose(values, scores, rtol=1e-12, atol=IDENTITY)
    assert_array_equal(indexed.decode(points), plain.decode(points))
    assert indexed.recall(points, k) == 1.0


@pytest.mark.parametrize("k", [1, 10, 500])
def test_flat_answers_are_those_of_a_scan(k, rng, faiss):
    Y = rng.normal(size=(400, 5)) * rng.uniform(0.1, 30, size=(400, 1))
    assert_same(Linear(), Y, points_of(rng.normal(size=(30, 5)), Linear(), Y), k)


@pytest.mark.parametrize(
    "map", [IncompleteCholesky(30), RandomFourier(40, random_state=0)], ids=str
)
def test_flat_answers_in_coordinates_of_low_rank(map, rng, faiss):
    Y = rng.normal(size=(300, 3))
    width = map.fit_transform(RBF(1.0), Y).shape[1]
    assert_same(RBF(1.0), Y, points_of(rng.normal(size=(20, width)), RBF(1.0), Y, map), 5)


def test_ties_and_near_ties(rng, faiss):
    """Lattice points have many equal scores; the others differ by less than a float32 can tell."""
    lattice = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 4)).reshape(4, -1).T
    assert_same(Linear(), lattice, points_of(np.zeros((3, 4)), Linear(), lattice), 5)
    near = 1e3 + 1e-7 * rng.permutation(200)[:, None] + np.zeros((200, 3))
    assert_same(Linear(), near, points_of(np.full((4, 3), 1e3), Linear(), near), 7)


def test_models_with_an_index(rng, faiss):
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
    pool, X_new = rng.normal(size=(500, 3)), rng.normal(size=(9, 2))
    for l, features in ((Linear(), None), (RBF(2.0), IncompleteCholesky(20))):
        model = KernelDependency(
            RBF(1.0) * Covariance(), l, alpha=0.1, output_features=features,
            decoder=Candidates(pool),
        ).fit(X, Y)  # fmt: skip
        wanted = model.predict_top(X_new, k=4)
        indexed = clone(model).set_params(decoder__index="faiss").fit(X, Y)
        for fitted in (indexed, pickle.loads(pickle.dumps(indexed))):
            assert_allclose(fitted.predict(X_new), model.predict(X_new), rtol=0, atol=0)
            for some, other in zip(fitted.predict_top(X_new, k=4), wanted, strict=True):
                assert_allclose([y for y, _ in some], [y for y, _ in other], rtol=0, atol=0)
                assert_allclose([s for _, s in some], [s for _, s in other], atol=IDENTITY)
        assert indexed.fit(X, Y).decoder_.indexed_ is None  # another fit, other coordinates


def test_left_out_points_pass_over_their_own(rng, faiss):
    Y = rng.normal(size=(40, 3))
    points = Embedding(Y, points_of(Y, Linear(), Y).frame, left_out=np.arange(40))
    found = Candidates(index="faiss").fit(Linear(), Y).decode(points)
    assert not (found == Y).all(axis=1).any()


def test_hnsw_says_what_it_misses(rng, faiss):
    Y = rng.normal(size=(3000, 8))
    points = points_of(rng.normal(size=(50, 8)), Linear(), Y)
    decoder = Candidates(index="hnsw").fit(Linear(), Y)
    assert 0.9 < decoder.recall(points, k=10) <= 1.0
    scores = points.scores(Y)
    for t, row in enumerate(decoder.decode_top(points, 3)):
        assert row[0][1] == pytest.approx(scores[t].max())


def test_an_index_needs_coordinates(rng, faiss):
    Y = rng.normal(size=(10, 2))
    decoder = Candidates(index="faiss").fit(RBF(1.0), Y)
    with pytest.raises(ValueError, match="needs outputs in finite coordinates.*output_features"):
        decoder.decode(Embedding(np.ones((1, 10)), SpanFrame(RBF(1.0), Y)))


def test_bad_index():
    with pytest.raises(ValueError, match="index must be one of"):
        Candidates(index="annoy").fit(Linear(), np.eye(3))
    with pytest.raises(ValueError, match="is for one set of candidates"):
        Candidates(lambda x: [x], index="faiss").fit(Linear(), np.eye(3))


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("mercer._base.errors.find_spec", lambda module: None)
    points = points_of(np.eye(3), Linear(), np.eye(3))
    with pytest.raises(ImportError, match=r'pip install "mercer\[faiss\]"'):
        Candidates(index="faiss").fit(Linear(), np.eye(3)).decode(points)
