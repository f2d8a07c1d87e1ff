"""A kernel after a function or a transformer, and kernels on the columns of a table."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.preprocessing import SplineTransformer, StandardScaler

import mercer
from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, Direct, natural
from mercer.kernels import RBF, Linear, Mapped, Normalized, On, Polynomial, Spectrum, Words
from mercer.persistence.scikit_learn import COMPOSITES, SCIKIT_LEARN_CLASSES
from mercer.spaces import Opaque, Rows, Vectors

X = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 10.0, 100.0] + 5.0
Y = X @ np.random.default_rng(1).normal(size=(3, 2))
TITLES = ["red sea", "the red sun", "blue moon", "Blue sea!", "a red moon"] * 6
TABLE = {"title": TITLES, "price": X[:, 0], "place": list(X[:, 1:])}
ON = On("title", Normalized(Words())) * On("price", RBF(1.0)) + On("place", RBF())


def test_it_is_the_kernel_of_what_the_function_makes():
    kernel = Mapped(np.tanh, Polynomial(2))
    assert np.array_equal(kernel(X, X[:4]), Polynomial(2)(np.tanh(X), np.tanh(X[:4])))
    assert isinstance(kernel.space, Opaque) and isinstance(natural(kernel), Candidates)
    assert isinstance(Mapped(np.tanh, Linear(), Vectors()).space, Vectors)
    lengths = Mapped(lambda words: np.array([[len(w)] for w in words]), RBF(1.0))
    assert lengths(["ab", "ba"])[0, 1] == 1.0


@pytest.mark.parametrize("transformer", [StandardScaler(), PCA(2)], ids=str)
def test_a_fitted_transformer_stays_and_another_is_fitted(transformer):
    known = clone(transformer).fit(X[:10])
    wanted = RBF(1.0)(known.transform(X))
    kernel = clone(Mapped(known, RBF(1.0)))
    assert np.allclose(kernel.fit(X)(X), wanted)
    fresh = Mapped(transformer, RBF(1.0))
    assert np.allclose(fresh.fit(X)(X), RBF(1.0)(clone(transformer).fit_transform(X)))
    assert not hasattr(transformer, "n_features_in_")


@pytest.mark.parametrize("transformer", [StandardScaler(), PCA(2)], ids=str)
def test_models_with_a_transformer_of_arrays_are_saved(transformer, tmp_path):
    outputs = Mapped(StandardScaler(), Linear(), Vectors(), inverse=True)
    model = KernelDependency(Mapped(transformer, RBF(1.0)), outputs, alpha=0.1).fit(X, Y)
    again = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert np.allclose(again.predict(X), model.predict(X), rtol=0, atol=1e-12)
    assert np.allclose(model.predict(X), again.fit(X, Y).predict(X))


SETTINGS = {
    "NMF": {"n_components": 2, "tol": 0.1}, "QuantileTransformer": {"n_quantiles": 5},
    "FastICA": {"random_state": 0}, "RBFSampler": {"random_state": 0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (module, name)
        for module, names in SCIKIT_LEARN_CLASSES.items()
        for name in sorted({*names} - COMPOSITES)
    ],
)
def test_every_transformer_that_a_file_may_hold_is_saved(module, name, tmp_path):
    items = np.abs(X)
    transformer = getattr(import_module(module), name)(**SETTINGS.get(name, {}))
    model = KernelDependency(Mapped(transformer, Linear(), Vectors()), alpha=0.1).fit(items, items)
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    np.testing.assert_allclose(loaded.predict(items), model.predict(items))


@pytest.mark.parametrize("fitted", [False, True])
def test_a_transformer_does_not_change_the_items(fitted):
    expected = Mapped(StandardScaler(), RBF(1.0)).fit(X)(X[:4], X)
    items, scaler = X.copy(), StandardScaler(copy=False)
    kernel = Mapped(scaler.fit(X.copy()) if fitted else scaler, RBF(1.0)).fit(items)
    np.testing.assert_allclose(kernel(items[:4], items), expected)
    np.testing.assert_array_equal(items, X)
    assert scaler.copy is False


def test_a_function_is_not_saved(tmp_path):
    model = KernelDependency(Mapped(np.tanh, RBF(1.0))).fit(X, Y)
    with pytest.raises(TypeError, match="function"):
        mercer.save(model, tmp_path / "m.mercer")
    unknown = Mapped(SplineTransformer(), RBF(1.0))
    with pytest.raises(TypeError, match="SplineTransformer"):
        mercer.save(KernelDependency(unknown).fit(X, Y), tmp_path / "m.mercer")


def test_an_inverse_gives_outputs_back():
    kernel = Mapped(np.log, Linear(), Vectors(), inverse=np.exp)
    assert isinstance(natural(kernel), Direct)
    outputs = np.exp(0.01 * Y)
    model = KernelDependency(RBF(), kernel, alpha=1e-6).fit(X, outputs)
    assert np.allclose(model.predict(X), outputs, rtol=0.05) and (model.predict(X) > 0).all()


def test_a_function_that_loses_items_is_refused():
    with pytest.raises(ValueError, match="made 4 items of 30"):
        Mapped(lambda A: A[:4], RBF(1.0))(X)


def test_a_search_over_the_parameters_of_what_is_inside():
    model = KernelDependency(Mapped(StandardScaler(), RBF(1.0), Vectors()), alpha=0.1)
    search = GridSearchCV(model, {"kernel__kernel__length_scale": [0.01, 3.0]}, cv=3).fit(X, Y)
    assert search.best_params_["kernel__kernel__length_scale"] == 3.0


# -- columns ----------------------------------------------------------------------------------


def tables():
    import pandas as pd

    frame = pd.DataFrame(TABLE)
    yield "dictionary", TABLE
    yield "pandas", frame
    yield "records", frame.to_dict("records")
    yield "structured", frame.to_records(index=False)
    pyarrow = pytest.importorskip("pyarrow")
    yield "pyarrow", pyarrow.table({**TABLE, "place": [list(row) for row in X[:, 1:]]})


@pytest.mark.parametrize("kind", ["dictionary", "pandas", "records", "structured", "pyarrow"])
def test_a_kernel_on_columns_of_any_table(kind):
    table = dict(tables())[kind]
    kernel = clone(ON).fit(table)
    words = Normalized(Words())(TITLES) * RBF(1.0)(X[:, :1])
    assert np.allclose(kernel(table), words + RBF().fit(X[:, 1:])(X[:, 1:]))
    assert isinstance(ON.space, Rows) and ON.space.columns == ["title", "price", "place"]


def test_polars_too():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"title": TITLES, "price": X[:, 0]})
    kernel = On("title", Spectrum(2)) + On("price", RBF(1.0))
    assert np.allclose(kernel(table), Spectrum(2)(TITLES) + RBF(1.0)(X[:, :1]))


@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
def test_models_on_rows(Model, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(TABLE)
    model = Model(ON, Linear()).fit(frame, Y)
    assert np.allclose(model.predict(frame.iloc[:3]), model.predict(frame)[:3])
    again = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert np.allclose(again.predict(TABLE), model.predict(frame))
    assert cross_val_predict(Model(ON, Linear()), frame, Y, cv=3).shape == Y.shape


def test_what_is_wrong_with_a_table_is_named():
    kernel = On("title", Words()) + On("price", RBF(1.0))
    for table, message in (
        ({"title": TITLES}, "no column 'price': its columns are 'title'"),
        ({"title": TITLES, "price": X[:3, 0]}, "unequal lengths"),
        (X, "must be a table with named columns"),
        ([{"title": "a"}, {"price": 1.0}], "no column"),
    ):
        with pytest.raises(ValueError, match=message):
            kernel.fit(table)
    with pytest.raises(ValueError, match="column 'title' must hold numeric vectors"):
        On("title", RBF(1.0))(TABLE)
    with pytest.raises(ValueError, match="one kind"):
        (On("price", RBF(1.0)) + RBF(1.0))(X)


@pytest.mark.parametrize("kind", [float, int])
def test_a_transformer_on_a_column_of_numbers(kind):
    table = {"price": [kind(value) for value in (1, 2, 4)], "title": ["a b", "b", "c"]}
    scaled = StandardScaler().fit_transform(np.array([[1.0], [2.0], [4.0]]))
    kernel = On("price", 2.0 * Mapped(StandardScaler(), RBF(1.0)))
    kernel = kernel + On("price", Mapped(np.log1p, Linear()))
    logs = np.log1p([1.0, 2.0, 4.0])
    wanted = 2.0 * RBF(1.0)(scaled) + np.outer(logs, logs)
    assert np.allclose(kernel.fit(table)(table), wanted, rtol=1e-12)
    split = On("title", Mapped(lambda titles: [title.split() for title in titles], Spectrum(1)))
    assert split.fit(table)(table)[0].tolist() == [2.0, 1.0, 0.0]
