from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Direct, Threshold, natural
from mercer.embedding import Embedding, OrthonormalFrame
from mercer.features import Explicit
from mercer.kernels import RBF, Labels, Linear, Tanimoto
from mercer.metrics import hamming_accuracy, sample_f1, subset_accuracy
from mercer.spaces.label_sets import OVERLAPS

METRICS = {"f1": sample_f1, "hamming": hamming_accuracy, "subset": subset_accuracy}


def points(G, y, kernel=None):
    kernel = (kernel or Labels()).fit(y)
    frame = OrthonormalFrame(Explicit().fit(kernel, y))
    return Embedding(np.asarray(G, dtype=float), frame), kernel


@st.composite
def scored(draw):
    n, m = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    entries = lambda of: [[draw(of) for _ in range(m)] for _ in range(n)]  # noqa: E731
    return np.array(entries(st.integers(-3, 3))) / 4.0, np.array(entries(st.integers(0, 1)))


@settings(deadline=None, max_examples=60)
@given(scored(), st.sampled_from(sorted(OVERLAPS)), st.sampled_from([None, False, True]))
def test_calibration_is_the_best_of_all_thresholds(data, metric, rule):
    G, T = data
    at, kernel = points(G, T)
    decoder = Threshold(metric=metric, at_least_one=rule).fit(kernel, T).calibrate(at, T)
    best = max(
        METRICS[metric](T, Threshold(t, at_least_one=r).fit(kernel, T).decode(at))
        for t in np.arange(-1.0, 1.1, 0.125)
        for r in ((False, True) if rule is None else (rule,))
    )
    assert METRICS[metric](T, decoder.decode(at)) == pytest.approx(best)
    assert decoder.calibration_ == pytest.approx(best)


@settings(deadline=None, max_examples=40)
@given(scored())
def test_one_half_is_the_exact_pre_image(data):
    G, T = data
    at, kernel = points(G, T)
    sets = np.array(list(product([0, 1], repeat=T.shape[1])))
    objective = 2.0 * G @ sets.T - sets.sum(axis=1)
    decoder = Threshold(0.5, at_least_one=False).fit(kernel, T)
    found = decoder.decode(at)
    np.testing.assert_allclose(((2 * G - 1) * found).sum(axis=1), objective.max(axis=1))
    for row, top, all_sets in zip(G, decoder.decode_top(at, 3), objective, strict=True):
        wanted = np.sort(all_sets)[::-1][:3] / 2.0
        np.testing.assert_allclose([score for _, score in top], wanted, atol=1e-12)
        np.testing.assert_allclose([(row - 0.5) @ s for s, _ in top], wanted, atol=1e-12)


def test_at_least_one_holds_in_the_ranked_list_too():
    at, kernel = points([[0.1, 0.3]], [["a"], ["b"]])
    decoder = Threshold(0.5, at_least_one=True).fit(kernel, kernel.as_outputs([["a"], ["b"]]))
    assert decoder.decode(at)[0] == ["b"]
    assert [s for s, _ in decoder.decode_top(at, 9)[0]] == [["b"], ["a"], ["a", "b"]]


def test_one_threshold_per_label_gives_one_best_label():
    G, T = np.array([[0.9, 0.1], [0.8, 0.15], [0.5, 0.3], [0.6, 0.1]]), np.eye(2)[[0, 0, 1, 0]]
    at, kernel = points(G, T)
    decoder = Threshold(metric="macro", at_least_one=True).fit(kernel, T).calibrate(at, T)
    decoder.threshold_ = np.array([0.7, 0.25])
    new = points([[0.5, 0.2]], T)[0]  # the second label misses its threshold by less
    np.testing.assert_array_equal(decoder.decode(new), [[0, 1]])
    np.testing.assert_array_equal(decoder.decode_top(new, 1)[0][0][0], [0, 1])


@pytest.mark.parametrize(
    "form",
    [
        lambda y: y,
        lambda y: y.astype(bool),
        lambda y: y.astype(float),
        lambda y: csr_array(y.astype(np.int8)),
        lambda y: [list(np.flatnonzero(row)) for row in y],
        lambda y: [tuple(np.array(["a", "b", "c"])[row > 0]) for row in y],
        lambda y: [frozenset(np.flatnonzero(row)) for row in y],
    ],
)
def test_outputs_come_back_in_the_form_they_had(form):
    rows = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]])
    X, y = np.arange(4.0)[:, None], form(rows)
    model = KernelDependency(
        RBF(0.3), Labels(), alpha=1e-6, decoder=Threshold(0.5), fit_intercept=False
    ).fit(X, y)
    found = model.predict(X)
    if isinstance(y, list):
        assert isinstance(found, np.ndarray)
        assert [*found] == y
    else:
        assert type(found) is type(y)
        assert found.dtype == y.dtype
        dense = found.toarray() if issparse(found) else found
        np.testing.assert_array_equal(dense, rows)


def test_a_plain_linear_kernel_on_indicators_will_do():
    rows = np.array([[1, 0], [0, 1], [1, 1]])
    model = KernelDependency(
        RBF(0.3), Linear(), alpha=1e-6, decoder=Threshold(), fit_intercept=False
    )
    np.testing.assert_array_equal(model.fit([[0.0], [1.0], [2.0]], rows).predict([[2.0]]), [[1, 1]])
    with pytest.raises(ValueError, match=r"y\[1\] has 0.5, where an indicator is 0 or 1"):
        model.fit([[0.0], [1.0], [2.0]], [[1, 0], [0.5, 1], [1, 1]])


def test_calibration_leaves_groups_out_as_refits_do():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(18, 2)), np.repeat(np.arange(6), 3)
    y = (X @ rng.normal(size=(2, 4)) + 0.5 * rng.normal(size=(18, 4)) > 0.3).astype(int)
    for labels in (groups, np.arange(18)):
        model = KernelDependency(
            RBF(1.0), Labels(), alpha=0.1, decoder=Threshold(), fit_intercept=False
        )
        model.fit(X, y, groups=labels)
        G = np.empty((18, 4))
        for g in np.unique(labels):
            out = labels == g
            part = KernelDependency(
                RBF(1.0), Labels(), alpha=0.1, decoder=Direct(), fit_intercept=False
            )
            G[out] = part.fit(X[~out], y[~out]).predict(X[out])
        at, kernel = points(G, y)
        refitted = Threshold().fit(kernel, y).calibrate(at, y)
        assert model.decoder_.threshold_ == pytest.approx(refitted.threshold_, abs=1e-8)
        assert model.decoder_.at_least_one_ == refitted.at_least_one_


def test_selection_by_the_metric_of_left_out_sets():
    from sklearn.metrics import make_scorer

    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y = [[name for name, v in zip("abc", x, strict=True) if v > 0.4] for x in X]
    best = KernelDependencyCV(
        [RBF(0.1), RBF(2.0)],
        Labels(),
        alphas=[1e-2, 1e-1],
        scoring=make_scorer(sample_f1),
        fit_intercept=False,
    ).fit(X, y)
    assert best.kernel_.scalar.length_scale == 2.0
    assert best.loo_score_ == pytest.approx(sample_f1(y, best.loo_predict()))
    assert best.decoder_.calibration_ == pytest.approx(best.loo_score_)


def test_refusals():
    y = [["a"], ["b"]]
    for kernel in (Labels(Tanimoto()), RBF(1.0)):
        with pytest.raises(ValueError, match="linear in the labels"):
            Threshold().fit(kernel, y)
    with pytest.raises(ValueError, match="metric must be one of"):
        Threshold(metric="recall").fit(Labels().fit(y), y)
    with pytest.raises(ValueError, match="threshold must be a number or None"):
        Threshold("high").fit(Labels().fit(y), y)


def test_natural_decoders_of_label_sets():
    assert isinstance(natural(Labels()), Threshold)
    assert type(natural(Labels(Tanimoto()))).__name__ == "Candidates"
