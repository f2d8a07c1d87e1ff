"""A fit over a stream is the fit on its pairs held whole, however they come."""

import array_api_strict
import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import mercer
from mercer import KernelDependency
from mercer.decoders import Candidates, FixedPoint
from mercer.features import Explicit, IncompleteCholesky, KernelPCA, Nystroem, RandomFourier
from mercer.kernels import RBF, Labels, Linear, Spectrum
from mercer.operators import ConditionalCovariance, Covariance, Identity, Matrix
from mercer.sources import RowBlocks, Shards, Stream
from tolerances import SINGLE

AGREE = 1e-8
OPERATORS = [Identity(), Covariance(), ConditionalCovariance(0.1)]


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2], X.sum(axis=1)]) + 4.0


def cut(X, Y, *at):
    return list(zip(np.split(X, at), np.split(Y, at), strict=True))


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("output", [None, RBF(3.0)], ids=str)
def test_streamed_shuffled_blocked_and_whole_agree(pairs, operator, intercept, output):
    X, Y = pairs
    model = KernelDependency(
        RBF(2.0) * operator,
        output,
        alpha=0.1,
        features=Nystroem(landmarks=X[:25]),
        output_features=None if output is None else Nystroem(landmarks=Y[:20]),
        fit_intercept=intercept,
    )
    whole = clone(model).fit(X, Y)
    order = np.random.default_rng(0).permutation(len(X))
    for blocks in (cut(X, Y, 40, 41, 100), cut(X, Y), cut(X[order], Y[order], 70)):
        streamed = clone(model).fit(blocks)
        assert_allclose(streamed.embed(X).inner(Y), whole.embed(X).inner(Y), atol=AGREE)
        assert_allclose(streamed.coef_, whole.coef_, atol=1e-6)
    assert streamed.score(X, Y) == pytest.approx(whole.score(X, Y), abs=AGREE)


def test_the_textbook(pairs):
    """min Σ‖y - k(x, Z)c - b‖² + α tr cᵀk(Z, Z)c, written out and solved as one system."""
    X, Y = pairs
    Z, alpha = X[:12], 0.1
    K, one = RBF(2.0)(X, Z), np.ones((150, 1))
    A = np.hstack([K, one])
    ridge = np.zeros((13, 13))
    ridge[:12, :12] = alpha * RBF(2.0)(Z)
    solved = A @ np.linalg.solve(A.T @ A + ridge, A.T @ Y)
    model = KernelDependency(
        RBF(2.0), alpha=alpha, features=Nystroem(landmarks=Z), fit_intercept=True
    ).fit(cut(X, Y, 30, 110))
    assert_allclose(model.predict(X), solved, atol=AGREE)


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize(
    "features", [None, RandomFourier(30, random_state=0), Nystroem(landmarks=np.eye(3))], ids=str
)
@pytest.mark.parametrize("intercept", [False, True])
def test_partial_fit_twice_is_fit_on_both(pairs, operator, features, intercept):
    X, Y = pairs
    kernel = Linear() if features is None else RBF(2.0)
    model = KernelDependency(
        kernel * operator, alpha=0.1, features=features, fit_intercept=intercept
    )
    twice = clone(model).partial_fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:])
    assert_allclose(twice.predict(X), clone(model).fit(X, Y).predict(X), atol=AGREE)
    assert twice.outputs_.shape == Y.shape


def test_the_sample_does_not_depend_on_the_cut(pairs):
    X, Y = pairs
    model = KernelDependency(RBF(), alpha=0.1, features=IncompleteCholesky(10))
    one, other = (
        clone(model).fit(Stream(cut(X, Y, *at), sample=40)) for at in ((), (3, 50, 51, 120))
    )
    assert_array_equal(one.outputs_, other.outputs_)
    assert one.kernel_.scalar.length_scale_ == other.kernel_.scalar.length_scale_
    assert_allclose(one.predict(X), other.predict(X), atol=AGREE)
    assert len(one.outputs_) == 40 and one.stream_.gatherings[0].n == 150


def test_a_sample_makes_room_for_the_rank(pairs, monkeypatch):
    monkeypatch.setattr("mercer.sources.sample.SIZE", 20)
    for rank, kept in ((5, 20), (30, 60)):
        model = KernelDependency(RBF(1.0), features=Nystroem(rank, random_state=0)).fit([pairs])
        assert len(model.outputs_) == kept


def test_a_generator_lends_its_first_pairs(pairs):
    X, Y = pairs
    model = KernelDependency(RBF(2.0), alpha=0.1, features=IncompleteCholesky(10))
    streamed = clone(model).fit(Stream((block for block in cut(X, Y, 50, 100)), sample=30))
    assert streamed.stream_.gatherings[0].n == 150
    first = clone(model).fit(Stream(cut(X[:50], Y[:50]), sample=30))
    assert_array_equal(streamed.outputs_, first.outputs_)
    everything = clone(model).fit(iter(cut(X, Y, 50, 100)))
    assert_allclose(everything.predict(X), clone(model).fit(X, Y).predict(X), atol=AGREE)


@pytest.fixture
def places(tmp_path, pairs):
    """The same pairs in every form that fit takes."""
    X, Y = pairs
    for name, A in (("X", X), ("Y", Y)):
        np.save(tmp_path / f"{name}.npy", A)
    for i, (x, y) in enumerate(cut(X, Y, 60, 100)):
        np.savez(tmp_path / f"part-{i}.npz", X=x, y=y)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "XY"]
    return {
        "arrays on disk": tuple(mapped),
        "rows of arrays": (RowBlocks(X, Y, block=64),),
        "a function": (lambda: iter(cut(X, Y, 60)),),
        "a path": (tmp_path / "part-*.npz",),
        "a pattern": (str(tmp_path / "part-*.npz"),),
        "shards": (Shards([tmp_path / f"part-{i}.npz" for i in range(3)], block=17),),
        "a stream": (Stream(X, Y, block=50),),
    }


@pytest.mark.parametrize(
    "form",
    ["arrays on disk", "rows of arrays", "a function", "a path", "a pattern", "shards", "a stream"],
)
def test_every_form_of_stream(places, form, pairs):
    X, Y = pairs
    model = KernelDependency(RBF(2.0) * Covariance(), alpha=0.1, features=IncompleteCholesky(12))
    streamed = clone(model).fit(*places[form])
    assert "stream_" in vars(streamed)
    assert_allclose(streamed.predict(X), clone(model).fit(X, Y).predict(X), atol=AGREE)


def test_arrays_on_disk_may_still_be_fitted_exactly(places, pairs):
    exact = KernelDependency(RBF(2.0), alpha=0.1).fit(*places["arrays on disk"])
    assert "stream_" not in vars(exact)
    linear = KernelDependency(Linear(), alpha=0.1).fit(*places["arrays on disk"])
    assert "stream_" in vars(linear)
    whole = KernelDependency(Linear(), alpha=0.1).fit(*pairs)
    assert_allclose(linear.predict(pairs[0]), whole.predict(pairs[0]), atol=AGREE)


def test_parquet(tmp_path, pairs):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X, Y = pairs
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
    columns = {"x": vectors, "a": Y[:, 0], "b": Y[:, 1], "word": ["ab", "ba", "c"] * 50}
    parquet.write_table(pa.table(columns), tmp_path / "pairs.parquet")
    model = KernelDependency(RBF(2.0), alpha=0.1, features=IncompleteCholesky(12))
    shards = Shards(tmp_path / "pairs.parquet", "x", ["a", "b"], block=40)
    streamed = clone(model).fit(shards)
    assert_allclose(streamed.predict(X), clone(model).fit(X, Y[:, :2]).predict(X), atol=AGREE)
    (text, number), *_ = Shards(tmp_path / "pairs.parquet", "word", "a")
    assert text[1] == "ba" and number.shape == (150,)
    with pytest.raises(ValueError, match=r"no column 'z'.*\['x', 'a', 'b', 'word'\]"):
        next(iter(Shards(tmp_path / "pairs.parquet", "z", "a")))


def test_shards_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file of pairs"):
        KernelDependency(Linear()).fit(tmp_path / "*.npz")
    (tmp_path / "a.csv").write_text("1,2")
    with pytest.raises(ValueError, match=r"a.csv is of no kind.*npz"):
        Shards(tmp_path / "a.csv")
    np.savez(tmp_path / "a.npz", X=np.ones(3), z=np.ones(3))
    with pytest.raises(ValueError, match="no array 'y'"):
        next(iter(Shards(tmp_path / "a.npz")))
    np.savez(tmp_path / "a.npz", X=np.ones(3), y=np.ones(4))
    with pytest.raises(ValueError, match="3 inputs and 4 outputs"):
        next(iter(Shards(tmp_path / "a.npz")))


def test_words_to_labels_by_blocks():
    words = ["ab", "abc", "bca", "cab", "bb", "ca"] * 6
    tags = [{"x"} if "b" in word[:2] else {"y"} for word in words]
    model = KernelDependency(
        Spectrum(2), Labels(), alpha=0.1, features=Nystroem(landmarks=words[:6])
    )
    blocks = [(words[i : i + 9], tags[i : i + 9]) for i in range(0, 36, 9)]
    streamed, whole = clone(model).fit(blocks), clone(model).fit(words, tags)
    assert list(streamed.predict(words)) == list(whole.predict(words))
    assert list(streamed.predict(words)) == tags  # the threshold is calibrated on the sample


def test_images_and_numbers_come_back_as_they_went_in(pairs):
    X, Y = pairs
    flat = KernelDependency(Linear(), alpha=0.1).fit(cut(X, Y[:, 0], 70))
    assert flat.predict(X).shape == (150,)
    images = KernelDependency(Linear(), alpha=0.1).fit(cut(X, Y[:, :, None].repeat(2, 2), 70))
    assert images.predict(X).shape == (150, 3, 2)


@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_arrays_of_another_library(pairs, operator, intercept):
    X, Y = pairs
    model = KernelDependency(
        RBF(2.0) * operator, alpha=0.1, features=IncompleteCholesky(10), fit_intercept=intercept
    )
    foreign = [tuple(map(array_api_strict.asarray, block)) for block in cut(X, Y, 70)]
    predicted = clone(model).fit(foreign).predict(array_api_strict.asarray(X))
    assert isinstance(predicted, type(foreign[0][0]))
    assert_allclose(np.asarray(predicted), clone(model).fit(X, Y).predict(X), atol=AGREE)


def test_sparse_features(pairs):
    X, Y = csr_array(np.maximum(pairs[0], 0.0)), pairs[1]
    model = KernelDependency(
        Linear(), alpha=0.1, features=Explicit(sparse=True), fit_intercept=False
    )
    blocks = [(X[:70], Y[:70]), (X[70:], Y[70:])]
    assert_allclose(
        clone(model).fit(blocks).predict(X), clone(model).fit(X, Y).predict(X), atol=AGREE
    )


@pytest.mark.parametrize("kernel", [Linear(), RBF(2.0)], ids=str)
def test_sparse_blocks(pairs, kernel):
    X, Y = np.maximum(pairs[0], 0.0), pairs[1]
    model = KernelDependency(kernel, alpha=0.1, features=IncompleteCholesky(10))
    sparse = [(csr_array(x), y) for x, y in cut(X, Y, 70)]
    assert_allclose(
        clone(model).fit(sparse).predict(csr_array(X)),
        clone(model).fit(X, Y).predict(X),
        atol=AGREE,
    )


def test_tables_keep_their_names(pairs):
    X, Y = pandas.DataFrame(pairs[0], columns=["a", "b", "c"]), pandas.DataFrame(pairs[1])
    model = KernelDependency(Linear(), alpha=0.1).fit([(X[:70], Y[:70]), (X[70:], Y[70:])])
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    whole = KernelDependency(Linear(), alpha=0.1).fit(X, Y)
    assert_allclose(model.predict(X), whole.predict(X), atol=AGREE)


def test_decoders_choose_among_the_sample(pairs):
    X, Y = pairs
    parts = {"features": IncompleteCholesky(10), "output_features": KernelPCA(5)}
    for decoder in (Candidates(), FixedPoint()):
        model = KernelDependency(RBF(2.0), RBF(3.0), alpha=0.1, decoder=decoder, **parts)
        model.fit(Stream(cut(X, Y, 70), sample=30))
        assert model.predict(X[:4]).shape == (4, 3)
    assert {tuple(y) for y in model.decoder_.start_.outputs_} <= {tuple(y) for y in Y}
    with pytest.raises(ValueError, match="keeps no weights on the training outputs"):
        _ = model.embed(X).weights


def test_a_given_operator(pairs):
    X, Y = pairs
    B = np.eye(3) + 0.2
    model = KernelDependency(RBF(2.0) * Matrix(B), alpha=0.1, features=Nystroem(landmarks=X[:20]))
    assert_allclose(
        clone(model).fit(cut(X, Y, 70)).predict(X), clone(model).fit(X, Y).predict(X), atol=AGREE
    )


@pytest.mark.parametrize("solver", ["auto", "spectral", "cholesky"])
def test_a_tiny_ridge(pairs, solver):
    X, Y = pairs
    model = KernelDependency(
        RBF(0.3), alpha=1e-13, features=Nystroem(landmarks=X[:20]), solver=solver
    ).fit(cut(X, Y, 70))
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("asarray", [np.asarray, array_api_strict.asarray], ids=["numpy", "strict"])
def test_products_of_fewer_digits(pairs, asarray):
    X, Y = map(asarray, pairs)
    model = KernelDependency(RBF(2.0), alpha=0.1, features=IncompleteCholesky(10))
    exact = clone(model).fit(Stream([(X, Y)]))
    single = clone(model).fit(Stream([(X, Y)], precision="float32"))
    assert str(single.stream_.gatherings[0].raw.vu.dtype).endswith("float64")
    error = np.abs(np.asarray(single.predict(X)) - np.asarray(exact.predict(X))).max()
    assert 0 < error < SINGLE


def test_cholesky_is_for_the_identity(pairs):
    with pytest.raises(ValueError, match="is for the identity operator"):
        KernelDependency(Linear() * Covariance(), solver="cholesky").fit([pairs])


def test_fit_forgets_and_partial_fit_goes_on(pairs):
    X, Y = pairs
    model = KernelDependency(Linear(), alpha=0.1)
    model.fit(cut(X[:100], Y[:100], 50)).partial_fit(X[100:], Y[100:])
    assert_allclose(model.predict(X), clone(model).fit(X, Y).predict(X), atol=AGREE)
    assert model.fit(X, Y).stream_ is None


def test_pairs_in_memory_are_not_continued(pairs, tmp_path):
    model = KernelDependency(Linear()).fit(*pairs)
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    for fitted in (model, model.without_training_data(), loaded):
        with pytest.warns(UserWarning, match="pairs in memory, which partial_fit forgets"):
            fitted.partial_fit(pairs[0][:50], pairs[1][:50])
        anew = clone(model).partial_fit(pairs[0][:50], pairs[1][:50])
        assert_allclose(fitted.predict(pairs[0]), anew.predict(pairs[0]), atol=AGREE)


def test_a_saved_model_goes_on(pairs, tmp_path):
    X, Y = pairs
    X = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = KernelDependency(RBF(2.0), alpha=0.1, features=Nystroem(landmarks=pairs[0][:20]))
    model.fit([(X[:70], Y[:70])])
    loaded = mercer.load(mercer.save(model, tmp_path / "half.mercer"))
    assert_allclose(loaded.predict(X), model.predict(X), rtol=0, atol=0)
    assert_allclose(
        loaded.partial_fit(X[70:], Y[70:]).predict(X), clone(model).fit(X, Y).predict(X), atol=AGREE
    )


EXACT = KernelDependency(RBF(2.0))


def test_exact_coordinates_are_refused(pairs):
    with pytest.raises(ValueError, match=r"features=None is exact.*features=.*rank=1000"):
        EXACT.fit([pairs])
    with pytest.raises(AttributeError) as refused:
        EXACT.partial_fit(*pairs)
    assert "features=None is exact" in str(refused.value.__cause__ or refused.value)
    assert not hasattr(EXACT, "partial_fit")
    with pytest.raises(ValueError, match=r"output_features=None is exact"):
        KernelDependency(Linear(), RBF(1.0)).fit([pairs])


def test_moments_that_have_no_room(pairs, monkeypatch):
    monkeypatch.setattr("mercer._base.memory.available", lambda: 100.0)
    with pytest.raises(MemoryError, match="the moments of 3 input and 3 output coordinates"):
        KernelDependency(Linear()).fit([pairs])


WRONG = {
    "sample": ({"sample": 1}, "sample must be an integer ≥ 2"),
    "block": ({"block": 0}, "block must be a positive integer"),
    "every": ({"every": 0}, "every must be a positive integer"),
    "precision": ({"precision": "float16"}, "precision must be one of"),
    "seed": ({"random_state": None}, "random_state of a stream must be a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_parameters_of_a_stream(name):
    params, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        Stream([], **params)


def test_what_is_no_stream(pairs):
    with pytest.raises(TypeError, match="a stream is an iterable of blocks"):
        Stream(3)
    with pytest.raises(TypeError, match="a stream is an iterable of blocks"):
        Stream(pairs[0])
    with pytest.raises(ValueError, match="outputs in its blocks: leave y out"):
        KernelDependency(Linear()).fit(Stream([pairs]), pairs[1])
    with pytest.raises(ValueError, match="use Precomputed.gram., with blocks of indices"):
        KernelDependency("precomputed", features=Nystroem(3)).fit([pairs])
    with pytest.raises(ValueError, match="the stream is empty"):
        KernelDependency(Linear()).fit(iter([]))
    with pytest.raises(ValueError, match="groups are for pairs in memory"):
        KernelDependency(Linear()).fit([pairs], groups=np.arange(150))
    with pytest.raises(ValueError, match="got 150 inputs and 149 outputs"):
        Stream(pairs[0], pairs[1][1:])
