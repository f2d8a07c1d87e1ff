"""A space is the only place that knows an item: what every one of them promises."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer._base.arrays import count
from mercer.decoders import Candidates, Decoder, natural
from mercer.defaults import default_kernel, evaluate
from mercer.embedding import Embedding, SpanFrame
from mercer.kernels import L2, RBF, Delta, Function, Kernel, Labels, Precomputed, Sobolev, Spectrum
from mercer.metrics import accuracy
from mercer.spaces import (
    Classes,
    Curves,
    GramRows,
    Indices,
    LabelSets,
    Molecules,
    Opaque,
    Rows,
    Sequences,
    Space,
    Vectors,
)
from mercer.testing import check_decoder, check_structured_estimator
from registry import CLASSES, SPACES, VECTORS, WORDS

each = pytest.mark.parametrize("case", SPACES, ids=lambda case: str(case[0])[:30])
NO_OUTPUT = (Rows, Opaque, Indices, GramRows)


@each
def test_check_accepts_its_items_and_what_it_returns(case):
    space, items = case
    checked = space.check(items, "y")
    again = space.check(checked, "y")
    assert count(checked) == count(items)
    assert space.keys(again) == space.keys(checked)


@each
def test_a_batch_that_is_no_batch_is_refused(case):
    for wrong in (None, 3.0, []):
        with pytest.raises((ValueError, TypeError)):
            case[0].check(wrong, "y")


@each
def test_items_taken_twice_are_equal(case):
    space, items = case
    checked = space.check(items, "y")
    n = count(checked)
    twice = space.take(checked, [*range(n), 0, n - 1])
    positions, numbers = space.unique(twice)
    assert numbers[n] == numbers[0] and numbers[n + 1] == numbers[n - 1]
    assert sorted(positions) == list(positions)
    two = space.take(checked, [0, 1])
    best = 1.0 if space.greater_is_better else 0.0
    assert evaluate(space, two, two, average=False)[0] == best


@each
def test_the_default_kernel_is_on_the_space_and_is_decoded(case):
    space, items = case
    if isinstance(space, NO_OUTPUT):
        return
    kernel = default_kernel(space)
    assert type(kernel.space) is type(space)
    outputs = space.check(items, "y")
    outputs = space.take(outputs, space.unique(outputs)[0])
    check_decoder(natural(kernel), kernel, outputs)
    found = (
        Candidates()
        .fit(kernel.fit(outputs), outputs)
        .decode(Embedding(np.eye(count(outputs)), SpanFrame(kernel, outputs)))
    )
    worth = evaluate(space, outputs, found)
    assert worth > 0.99 if space.greater_is_better else worth < 1e-3


@each
def test_a_model_predicts_its_items(case):
    space, items = case
    if not isinstance(space, NO_OUTPUT):
        X = np.linspace(0, 1, count(items))[:, None]
        model = KernelDependency("rbf", default_kernel(space), alpha=0.1)
        check_structured_estimator(model, X, items)
        assert count(space.check(model.fit(X, items).loo_predict(), "y")) == count(items)


def test_spaces_join():
    assert isinstance(Vectors().join(Opaque()), Vectors)
    assert isinstance(Opaque().join(Vectors()), Vectors)
    assert isinstance(Vectors().join(Curves()), Curves)
    assert Curves().join(Curves([0.0, 1.0])).grid == [0.0, 1.0]
    assert Rows(["a"]).join(Rows(["b", "a"])).columns == ["a", "b"]
    for left, right in (
        (Vectors(), LabelSets()),
        (Curves([0.0, 1.0]), Curves([0.0, 2.0])),
        (Indices(5), Indices(6)),
    ):
        with pytest.raises(ValueError, match="compares items of one kind"):
            left.join(right)
    with pytest.raises(ValueError, match='mixes "precomputed"'):
        GramRows().join(Vectors())


def test_kernels_join_their_spaces():
    assert isinstance((RBF() + Function(np.dot)).space, Vectors)
    assert (L2() * Sobolev([0.0, 0.5, 1.0])).space.grid == [0.0, 0.5, 1.0]
    with pytest.raises(ValueError, match="vectors .* and sequences"):
        (RBF(1.0) + Spectrum())(WORDS)
    with pytest.raises(ValueError, match="label sets"):
        KernelDependency(RBF(), Labels() + RBF(1.0)).fit(VECTORS, VECTORS)
    with pytest.raises(ValueError, match="one kind"):
        (Precomputed(np.eye(2)) + RBF(1.0)).check([0, 1])


# -- classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("Model", [KernelDependency, KernelDependencyCV])
@pytest.mark.parametrize("names", [["a", "b", "c"], [3, 1, 2], [0.5, 1.5, 2.5]], ids=str)
def test_a_classifier(Model, names, rng):
    centres = rng.normal(size=(3, 2))
    truth = rng.integers(0, 3, size=90)
    X, y = centres[truth] + 0.1 * rng.normal(size=(90, 2)), np.array(names)[truth]
    model = Model(RBF(0.5), Delta()).fit(X[:60], y[:60])
    assert accuracy(y[60:], model.predict(X[60:])) > 0.95
    assert model.predict(X).dtype == y.dtype
    ranked = model.predict_top(X[:1], k=3)[0]
    assert len(ranked) == 3 and ranked[0][0] == model.predict(X[:1])[0]


def test_classes_refuse_what_is_no_label():
    for wrong in ([["a", "b"]] * 2, [None, "a"], [float("nan"), 1.0]):
        with pytest.raises(ValueError, match="label|NaN"):
            Classes().check(wrong)
    with pytest.raises(ValueError, match="fit"):
        Delta().features(CLASSES)


# -- a space of one's own ---------------------------------------------------------------------


class Intervals(Space):
    """Pairs (low, high) of numbers."""

    name = "intervals"

    def check(self, A, name="y"):
        A = np.asarray(A, dtype=float)
        if A.ndim != 2 or A.shape[1] != 2 or (A[:, 0] > A[:, 1]).any():
            raise ValueError(f"{name} must hold pairs (low, high).")
        return A

    def kernel(self):
        return Overlap()

    def decoder(self, kernel):
        return Nearest()

    def metric(self, y_true, y_pred, average=True):
        share = Overlap()
        both = share(y_true, y_pred).diagonal()
        values = both / (share.diag(y_true) + share.diag(y_pred) - both)
        return float(values.mean()) if average else values


class Overlap(Kernel):
    """The length that two intervals share."""

    space = property(lambda self: Intervals())

    def _gram(self, A, B):
        low, high = (
            f(A[:, None, i], B[None, :, i]) for i, f in enumerate((np.maximum, np.minimum))
        )
        return np.maximum(high - low, 0.0)


class Nearest(Decoder):
    """The hull of where g(x) exceeds one half: the exact pre-image, if that is one piece."""

    def decode(self, points):
        weights, items = points.frame.expansion(points.coordinates)
        t = np.linspace(items.min(), items.max(), 2001)
        g = weights @ ((items[:, :1] <= t) & (t <= items[:, 1:]))
        inside = [t[row >= 0.5] for row in g]
        return np.array([[s.min(), s.max()] if len(s) else [t[0], t[0]] for s in inside])


def test_a_new_output_space_is_a_space_a_kernel_and_a_decoder(rng):
    X = rng.uniform(size=(60, 1))
    y = np.hstack([X, 2 * X + 1])
    kernel = Intervals().kernel()
    assert isinstance(natural(kernel), Nearest)
    model = KernelDependencyCV(RBF(), kernel).fit(X[:50], y[:50])
    assert isinstance(model.decoder_, Nearest)
    assert Intervals().metric(y[50:], model.predict(X[50:])) > 0.95
    assert isinstance((2.0 * kernel + kernel).space, Intervals)
    with pytest.raises(ValueError, match="pairs"):
        model.fit(X, y[:, ::-1])


def test_a_text_in_a_table_of_numbers_is_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"size": ["1", "2"], "weather": ["3.5", "rain"]})
    with pytest.raises(ValueError, match="column 'weather' has 'rain' in row 1"):
        KernelDependency(RBF(1.0)).fit(table, [1.0, 2.0])


@pytest.mark.parametrize("space", [Sequences(), Molecules(), Opaque()])
@pytest.mark.parametrize("dtype", [str, object])
def test_a_matrix_of_one_column_of_texts_holds_the_texts(space, dtype):
    texts = np.array(["CO", "CCO", "CC=O"], dtype=dtype)
    assert space.keys(space.check(texts[:, None])) == space.keys(space.check(texts))


def test_a_frame_of_indicators_holds_label_sets():
    polars = pytest.importorskip("polars")
    rows = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 1]])  # as many rows as columns
    checked = LabelSets().check(polars.DataFrame(rows, schema=["a", "b", "c"]))
    assert np.array_equal(checked, rows)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, np.float32("nan")])
def test_a_missing_class_is_refused(missing):
    with pytest.raises(ValueError, match=r"y\[1\] has no label .* leave that row out"):
        Classes().check(["a", missing, "b"])


@pytest.mark.parametrize(
    "labels", [["a", "a\0"], [2**70, 2**70 + 1], [-1, 2**63], [2**53, 2**53 + 1]], ids=str
)
def test_classes_that_numpy_would_merge(labels):
    X, y = np.tile([[0.0], [1.0]], (4, 1)), labels * 4
    model = KernelDependency(RBF(0.3), Delta(), alpha=1e-3).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.classes_.tolist() == labels
    np.testing.assert_allclose(model.predict_proba(X).argmax(axis=1), [0, 1] * 4)
