"""Inputs that used to end in an error of numpy or Python, named by no argument."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge

import mercer
from mercer import (
    AutoDependency,
    Blend,
    ConformalSets,
    ForestDependency,
    KernelDependency,
    KernelDependencyCV,
)
from mercer._base.arrays import is_batch
from mercer.features import Nystroem
from mercer.kernels import (
    RBF,
    Function,
    Kendall,
    Kernel,
    Labels,
    ShortestPath,
    Spectrum,
    Standardized,
)
from mercer.metrics import sample_f1
from mercer.operators import Covariance, CurlFree


@pytest.fixture
def pairs(rng):
    X = rng.normal(size=(40, 3))
    return X, X @ rng.normal(size=(3, 2))


def test_prediction_sets_take_lists_of_lists(pairs):
    X, y = pairs
    model = ConformalSets(KernelDependency(), coverage=0.8)
    expected = model.fit(X, y).radius_
    assert model.fit(X.tolist(), y.tolist()).radius_ == pytest.approx(expected)


def test_a_stream_takes_sparse_inputs(pairs):
    X, y = pairs
    model = KernelDependency(features=Nystroem(10, random_state=0))
    dense = clone(model).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    rows = sparse.csr_array(X)
    model.partial_fit(rows[:20], y[:20]).partial_fit(rows[20:], y[20:])
    np.testing.assert_allclose(model.predict(rows[:5]), dense.predict(X[:5]), atol=1e-12)


@pytest.mark.parametrize("group", [[0], {0}, {"a": 1}, (0, [1]), np.zeros(2)], ids=repr)
@pytest.mark.parametrize("make", [KernelDependencyCV, lambda: ConformalSets(KernelDependency())])
def test_groups_that_cannot_be_labels_are_named(pairs, make, group):
    with pytest.raises(ValueError, match="groups must be labels such as numbers or strings"):
        make().fit(*pairs, groups=[group] * 40)


@pytest.mark.parametrize("alpha", [10**400, -(10**400), 10**5000], ids=["400", "-400", "5000"])
def test_a_ridge_beyond_floating_point_is_refused(pairs, alpha):
    for model in (KernelDependency(alpha=alpha), KernelDependencyCV(alphas=[alpha])):
        with pytest.raises(ValueError, match="alpha must be positive and finite"):
            model.fit(*pairs)


def test_generators_are_no_label_sets(pairs):
    def sets():
        return [(label for label in "ab") for _ in range(40)]

    with pytest.raises(ValueError, match=r"y\[0\] is a generator.*write it as a list"):
        KernelDependency(RBF(), Labels()).fit(pairs[0], sets())
    with pytest.raises(ValueError, match=r"\[0\] is a generator"):
        sample_f1(sets(), sets())


@pytest.mark.parametrize(
    "model",
    [KernelDependency(), KernelDependencyCV(), ForestDependency(), Blend([KernelDependency()])],
    ids=lambda model: type(model).__name__,
)
def test_a_dictionary_of_columns_is_named(model):
    with pytest.raises(ValueError, match="X must hold numeric vectors .* got a dictionary"):
        model.fit({"a": [1.0, 2.0]}, [1.0, 2.0])


def test_a_single_number_is_not_a_batch(pairs, tmp_path):
    X, y = pairs
    model = KernelDependency(RBF(1.0), features=Nystroem(5))
    for one in (3.0, np.float64(3.0), np.array(3.0)):
        for data in ((X, one), (one, y)):
            with pytest.raises(ValueError, match="must be a batch of items"):
                model.fit(*data)
            with pytest.raises(ValueError, match="block 0 .* must be a batch of items"):
                model.fit([data])
            with pytest.raises(ValueError, match="must be a batch of items"):
                model.partial_fit(*data)
    np.savez(tmp_path / "part.npz", X=X, y=3.0)
    with pytest.raises(ValueError, match="'y' must have one entry for each pair, got one number"):
        model.fit(str(tmp_path / "*.npz"))


def test_a_column_that_is_there_twice(pairs):
    X, y = pairs
    model = KernelDependency().fit(pd.DataFrame(X, columns=list("abc")), y)
    for call in (model.predict, lambda A: model.fit(A, y)):
        with pytest.raises(ValueError, match="X has the column 'a' twice"):
            call(pd.DataFrame(X, columns=list("aba")))


@pytest.mark.parametrize("name", ["by", "shift"])
@pytest.mark.parametrize("value", ["x", True, 3, [1, 2]])
def test_functions_of_prediction_sets(pairs, name, value):
    with pytest.raises((TypeError, ValueError), match=f"{name} must be .*function"):
        ConformalSets(KernelDependency(), **{name: value}).fit(*pairs)


@pytest.mark.parametrize(
    "write",
    [
        lambda: RBF * Covariance(),
        lambda: RBF() * Covariance,
        lambda: RBF + RBF(),
        lambda: RBF() + RBF,
        lambda: RBF() * RBF,
        lambda: CurlFree() + RBF,
    ],
)
def test_forgotten_brackets_are_named(write):
    with pytest.raises(TypeError, match=r"brackets forgotten: write (RBF|Covariance)\(\)"):
        write()


@pytest.mark.parametrize("kernel", [Spectrum(2), Labels(), ShortestPath(), Kendall()])
def test_standardized_names_a_kernel_that_is_not_on_vectors(kernel):
    with pytest.raises(ValueError, match="Standardized needs a kernel on vectors"):
        Standardized(kernel).fit(["ab", "b"])


class LongerFirst(Kernel):
    """A function of two texts that depends on their order."""

    def _gram(self, A, B):
        return np.array([[float(len(a)) - 0.5 * len(b) for b in B] for a in A])


@pytest.mark.parametrize("features", [None, Nystroem(2, random_state=0)])
def test_a_custom_kernel_that_is_not_symmetric_is_named(features):
    with pytest.raises(ValueError, match=r"LongerFirst\(\) is not symmetric.* differ by up to"):
        KernelDependency(LongerFirst(), features=features).fit(["a", "bb", "ccc"], np.arange(3.0))


@pytest.mark.parametrize(
    "function", [Function(lambda A, B: A @ B.T), Function(lambda a, b: a @ b, of_items=True)]
)
def test_a_custom_kernel_of_vectors_that_gets_lists_says_so(function, pairs):
    X, y = pairs
    for kernel in (function, function + function):
        with pytest.raises(TypeError, match="items that are lists .* For vectors pass an array"):
            KernelDependency(kernel).fit(X.tolist(), y)
        KernelDependency(kernel).fit(X, y)


@pytest.mark.parametrize(
    "model", [KernelDependency(), ForestDependency(n_trees=2), AutoDependency()]
)
def test_predict_proba_says_why_there_are_no_probabilities(model):
    with pytest.raises(AttributeError, match=f"this {type(model).__name__} is not fitted"):
        model.predict_proba([[0.0]])
    if not isinstance(model, AutoDependency):
        model.fit(np.arange(12.0)[:, None], np.arange(12.0))
        with pytest.raises(AttributeError, match="predict_proba is for classes and label sets"):
            model.predict_proba([[0.0]])
        assert not hasattr(model, "predict_proba")


def test_a_loaded_model_names_no_attribute_that_was_not_saved(pairs, tmp_path):
    loaded = mercer.load(mercer.save(KernelDependency().fit(*pairs), tmp_path / "model"))
    for ask in (lambda: loaded.explain(pairs[0]), loaded.loo_predict):
        with pytest.raises(AttributeError, match=r"^a saved model does without [^_]*$"):
            ask()


@pytest.mark.parametrize("name", ["points_", "outputs_", "input_kernel_", "output_kernel_"])
@pytest.mark.parametrize("value", [3, []], ids=str)
def test_a_model_with_changed_attributes_is_not_saved(name, value, pairs, tmp_path):
    model = KernelDependency().fit(*pairs)
    setattr(model, name, value)
    with pytest.raises(ValueError, match=r"cannot be saved, because something that fit has set"):
        mercer.save(model, tmp_path / "model")


def test_a_model_that_lacks_an_attribute_is_not_saved(pairs, tmp_path):
    model = KernelDependency().fit(*pairs)
    del model.points_
    with pytest.raises(ValueError, match="changed or removed.* Fit it again"):
        mercer.save(model, tmp_path / "model")


def test_sets_around_a_regressor_of_another_library_are_not_saved(pairs, tmp_path):
    sets = ConformalSets(Ridge()).fit(*pairs)
    with pytest.raises(TypeError, match="ConformalSets.model is Ridge.* saved with joblib"):
        mercer.save(sets, tmp_path / "sets")


def test_a_text_is_no_batch():
    assert not is_batch("abc") and not is_batch(b"abc") and is_batch(["abc"])
