import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from mercer import KernelDependency
from mercer._base.arrays import object_array
from mercer.decoders import Candidates, Threshold
from mercer.kernels import RBF, Gaussian, Labels, Linear, Normalized, Tanimoto

SETS = [["sea", "sun"], ["sun"], [], ["fog", "sea"]]
ROWS = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0]])  # fog, sea, sun


@pytest.mark.parametrize("inner", [None, Tanimoto(), Gaussian(Linear(), 1.0), RBF()], ids=str)
def test_lists_are_worth_their_indicators(inner):
    kernel = Labels(inner)
    wanted = (Linear() if inner is None else inner).fit(ROWS)(ROWS)
    for form in (SETS, ROWS, ROWS.astype(bool), csr_array(ROWS), csr_matrix(ROWS)):
        kernel.fit(form)
        np.testing.assert_allclose(kernel(form), wanted, atol=1e-12)
        np.testing.assert_allclose(kernel.diag(form), np.diag(wanted), atol=1e-12)
        checked = kernel.check(form)
        np.testing.assert_allclose(kernel(checked, form), wanted, atol=1e-12)
    assert kernel.fit(SETS).classes_.tolist() == ["fog", "sea", "sun"]


def test_frames_and_series_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["fog", "sea", "sun"])
    np.testing.assert_array_equal(Labels().fit(frame)(frame), ROWS @ ROWS.T)
    series = pandas.Series(SETS)
    np.testing.assert_array_equal(Labels().fit(series)(series), ROWS @ ROWS.T)


def test_labels_may_be_of_any_kind_and_collections_too():
    mixed = [("a", 1), {1, None}, frozenset({(2, 3)}), []]
    kernel = Labels().fit(mixed)
    assert set(kernel.classes_) == {"a", 1, None, (2, 3)}
    assert kernel(mixed)[0].tolist() == [2.0, 1.0, 0.0, 0.0]


def test_lists_of_equal_length_are_lists_and_not_indicators():
    assert Labels().fit([[0, 1], [1, 5]]).classes_.tolist() == [0, 1, 5]


def test_a_label_said_twice_counts_once():
    assert Labels().fit([["a", "a"]]).diag([["a", "a"]]).tolist() == [1.0]


def test_given_classes_fix_the_columns():
    kernel = Labels(classes=["sun", "sea", "fog", "ice"]).fit(SETS)
    np.testing.assert_array_equal(kernel.features(SETS)[0], [1, 1, 0, 0])
    assert kernel([["ice"]], [["ice", "fog"]]).tolist() == [[1.0]]


def test_an_unknown_label_is_refused_by_item_and_name():
    kernel = Labels().fit(SETS)
    with pytest.raises(ValueError, match=r"A\[1\] has the label 'ice', which was not seen at fit"):
        kernel([["sun"], ["ice"]])
    model = KernelDependency(Labels(), alpha=1.0).fit(SETS, [0.0, 1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"X\[0\] has the label 'ice'"):
        model.predict([["ice"]])
    assert model.predict([["sun"]]).shape == (1,)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (["sea", "sun"], r"A\[0\] must be a collection of labels, got 'sea': write"),
        ([["a"], 3], r"A\[1\] must be a collection of labels, got 3"),
        ([["a"], [["b"]]], r"A\[1\] has \['b'\], which cannot be a label"),
        ([["a"], [float("nan")]], r"A\[1\] has nan, which cannot be a label"),
        ([], "A is empty"),
        ([[], []], "no item has a label"),
        (np.array([0, 1]), "an indicator matrix with a column for each label"),
        (np.array([[0, 1], [2, 0]]), r"A\[1\] has 2, where an indicator is 0 or 1"),
        (csr_array([[0, 1], [0, 0], [3, 0]]), r"A\[2\] has 3, where an indicator is 0 or 1"),
        (np.empty((0, 3)), "A is empty"),
    ],
)
def test_what_is_no_label_set_is_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        Labels().fit(bad)


def test_other_refusals():
    with pytest.raises(TypeError, match="a batch of label sets"):
        Labels().fit("sea")
    with pytest.raises(ValueError, match="names a label twice"):
        Labels(classes=["a", "a"]).fit([["a"]])
    with pytest.raises(ValueError, match="indicators of 2 labels, where 3 are known"):
        Labels().fit(ROWS)(ROWS[:, :2])


def test_empty_sets_are_sets():
    assert Labels(Tanimoto()).fit(SETS)([[]], SETS).tolist() == [[0.0, 0.0, 1.0, 0.0]]
    assert Normalized(Labels()).fit(SETS)([[]], SETS).tolist() == [[0.0] * 4]


def test_sets_on_both_sides_and_under_cross_validation():
    y = object_array(SETS * 3)
    model = KernelDependency(
        Gaussian(Labels()), Labels(Tanimoto()), alpha=1e-3, decoder=Candidates()
    )
    assert [*model.fit(SETS * 3, y).predict(SETS)] == SETS
    assert [*cross_val_predict(clone(model), y, y, cv=3)] == SETS * 3


@pytest.mark.parametrize("dtype", [object, "U4"])
def test_label_sets_as_arrays_are_compared_by_their_labels(dtype):
    sets = [np.array(s, dtype=dtype) for s in (["sea", "sun"], ["sun", "sea"], ["sea"], [])]
    y = object_array(sets)
    assert Labels().space.keys(y)[0] == Labels().space.keys(y)[1]
    assert len(Candidates().fit(Labels().fit(y), y).outputs_) == 3
    model = KernelDependency(RBF(0.1), Labels(), 1e-6, Threshold(0.5)).fit(
        np.arange(4.0)[:, None], y
    )
    for found, own in zip(model.predict(np.arange(4.0)[:, None]), sets, strict=True):
        assert isinstance(found, np.ndarray)
        assert found.dtype == own.dtype
        assert set(found) == set(own)
