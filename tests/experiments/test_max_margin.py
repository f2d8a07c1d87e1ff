"""Chains learnt by their margins, against enumeration of all labellings."""

import pickle
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict

from experiments.peers import MaxMarginMarkovNetwork
from experiments.peers.markov import dual
from experiments.peers.markov._chain_loops import add_loss, best_path, path_value, total_hinge
from experiments.peers.markov._dual_loops import sqdistance
from mercer._base import progress
from mercer.features import Explicit, IncompleteCholesky, KernelPCA
from mercer.kernels import RBF, Linear, Normalized, Polynomial, Precomputed
from mercer.testing import check_structured_estimator
from tolerances import IDENTITY, ROOT

# -- the literal problem ----------------------------------------------------------------------


def labellings(length, size):
    return list(product(range(size), repeat=length))


def score(nodes, edges, path):
    return sum(nodes[t][c] for t, c in enumerate(path)) + sum(
        edges[b][c] for b, c in pairwise(path)
    )


def joint_features(x, path, size, transitions):
    """ψ(x, y) of vectors under the linear kernel: Σ x_t ⊗ e(y_t), and bigrams."""
    nodes, edges = np.zeros((len(x[0]), size)), np.zeros((size, size))
    for t, c in enumerate(path):
        nodes[:, c] += x[t]
        if t:
            edges[path[t - 1], c] += np.sqrt(transitions)
    return np.concatenate([nodes.ravel(), edges.ravel()])


def primal(w, X, codes, size, C, transitions):
    """The objective, and a subgradient, over all labellings of every sequence."""
    value, slope = 0.5 * w @ w, w.copy()
    for x, own in zip(X, codes, strict=True):
        psi = joint_features(x, own, size, transitions)
        margins = [
            (sum(a != b for a, b in zip(own, path, strict=True)), path)
            for path in labellings(len(own), size)
        ]
        worst = max(
            (loss - w @ psi + w @ joint_features(x, path, size, transitions), path)
            for loss, path in margins
        )
        value += C * worst[0]
        slope += C * (joint_features(x, worst[1], size, transitions) - psi)
    return value, slope


def quadratic_program(X, codes, size, C, transitions):
    """The dual over all labellings of every sequence: its maximum."""
    losses, columns, owner = [], [], []
    for i, (x, own) in enumerate(zip(X, codes, strict=True)):
        for path in labellings(len(own), size):
            losses.append(sum(a != b for a, b in zip(own, path, strict=True)))
            difference = joint_features(x, own, size, transitions) - joint_features(
                x, path, size, transitions
            )
            columns.append(difference)
            owner.append(i)
    losses, D, owner = np.array(losses, float), np.array(columns).T, np.array(owner)
    sums = (owner[None, :] == np.arange(len(X))[:, None]).astype(float)

    def negative(alpha):
        w = C * D @ alpha
        return 0.5 * w @ w - C * losses @ alpha, C * (D.T @ w) - C * losses

    found = minimize(
        negative, sums.T @ (1 / sums.sum(axis=1)), jac=True, method="SLSQP",
        bounds=[(0, 1)] * len(owner), options={"maxiter": 500, "ftol": 1e-13},
        constraints={"type": "eq", "fun": lambda a: sums @ a - 1, "jac": lambda a: sums},
    )  # fmt: skip
    return -found.fun


@pytest.fixture
def tiny(rng):
    """Two or three labels, chains of one to three places: all labellings can be listed."""
    lengths, size = [1, 3, 2, 3], 3
    X = [rng.normal(size=(length, 2)) for length in lengths]
    codes = [tuple(int(c) for c in rng.integers(size, size=length)) for length in lengths]
    codes[1] = (0, 1, 2)
    return SimpleNamespace(
        X=X, codes=codes, size=size, y=["".join("abc"[c] for c in p) for p in codes]
    )


def weights(model, size, transitions):
    """w of a model with the linear kernel on two features."""
    return np.concatenate(
        [
            model.potentials_.transform(np.eye(2)).ravel(),
            model.transitions_.ravel() / transitions**0.5,
        ]
    )


# -- the best labelling -----------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_viterbi_equals_enumeration(length, size, seed, augmented):
    rng = np.random.default_rng(seed)
    nodes, edges = rng.normal(size=(length, size)), rng.normal(size=(size, size))
    gold = rng.integers(size, size=length).astype(np.int32)
    loss = np.arange(size) != gold[:, None]
    expected = nodes + loss if augmented else nodes.copy()
    if augmented:
        add_loss(nodes, gold)
        np.testing.assert_array_equal(nodes, expected)
    path = np.zeros(length, dtype=np.int32)
    value = best_path(nodes, edges, path)
    best = max(labellings(length, size), key=lambda p: score(expected, edges, p))
    assert tuple(path) == best
    assert value == pytest.approx(score(expected, edges, best), abs=IDENTITY)
    assert path_value(nodes, edges, path) == pytest.approx(value, abs=IDENTITY)


def test_the_hinge_equals_enumeration(rng):
    starts, size = np.array([0, 2, 2, 5]), 3
    nodes, edges = rng.normal(size=(5, size)), rng.normal(size=(size, size))
    gold = rng.integers(size, size=5).astype(np.int32)
    expected = 0.0
    for first, last in ((0, 2), (2, 5)):
        own, s = tuple(gold[first:last]), nodes[first:last]
        expected += max(
            sum(a != b for a, b in zip(own, p, strict=True)) + score(s, edges, p)
            for p in labellings(last - first, size)
        ) - score(s, edges, own)
    assert total_hinge(nodes, edges, starts, gold) == pytest.approx(expected, abs=IDENTITY)


@given(st.integers(1, 6), st.integers(1, 3), st.floats(0, 3), st.integers(0, 2**32 - 1))
def test_distances_of_labellings(length, size, transitions, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(length, 3))
    u, v = rng.integers(size, size=(2, length)).astype(np.int32)
    difference = joint_features(x, u, size, transitions) - joint_features(x, v, size, transitions)
    found = sqdistance(u, v, x @ x.T, transitions)
    assert found == pytest.approx(difference @ difference, abs=ROOT)


# -- the optimum ------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 2.0])
@pytest.mark.parametrize("transitions", [1.0, 0.3])
def test_the_optimum_is_that_of_the_quadratic_program(tiny, C, transitions):
    best = quadratic_program(tiny.X, tiny.codes, tiny.size, C, transitions)
    model = MaxMarginMarkovNetwork(Linear(), C, transitions, gap=1e-6).fit(tiny.X, tiny.y)
    assert model.dual_objective_ == pytest.approx(best, rel=1e-5)
    assert model.objective_ == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("features", [None, Explicit()])
@pytest.mark.parametrize("average", [False, True])
def test_the_certificate_is_true(tiny, features, average):
    model = MaxMarginMarkovNetwork(Linear(), 0.7, 0.5, features, gap=0.02, average=average)
    model.fit(tiny.X, tiny.y)
    w = weights(model, tiny.size, 0.5)
    literal = primal(w, tiny.X, tiny.codes, tiny.size, 0.7, 0.5)[0]
    assert model.objective_ == pytest.approx(literal, rel=IDENTITY)
    best = quadratic_program(tiny.X, tiny.codes, tiny.size, 0.7, 0.5)
    assert model.dual_objective_ <= best + 1e-8 <= model.objective_ + 2e-8
    assert model.duality_gap_ == pytest.approx(model.objective_ - model.dual_objective_)
    assert 0 < model.relative_gap_ <= 0.02


def test_no_subgradient_descent_goes_below_the_dual(tiny):
    model = MaxMarginMarkovNetwork(Linear(), gap=1e-4).fit(tiny.X, tiny.y)
    w, mean, best = np.zeros(2 * 3 + 9), np.zeros(15), np.inf
    for k in range(1000):
        w = w - primal(w, tiny.X, tiny.codes, tiny.size, 1.0, 1.0)[1] / (k + 1)
        mean += 2 / (k + 2) * (w - mean)
        if k % 100 == 99:
            best = min(best, primal(mean, tiny.X, tiny.codes, tiny.size, 1.0, 1.0)[0])
    assert model.dual_objective_ <= best
    assert best == pytest.approx(model.objective_, rel=1e-2)


def ascended(problem, passes, average=False):
    ascent = dual.BlockFrankWolfe(problem, 1e-9, average, np.random.RandomState(0))
    found = [next(each) for each in [ascent.passes()] for _ in range(passes)]
    return ascent, found


def made_up(rng, gram, sequences=12, size=4):
    lengths = rng.integers(0, 7, size=sequences)
    lengths[0] = 1
    U = rng.normal(size=(lengths.sum(), 5))
    gold = rng.integers(size, size=len(U)).astype(np.int32)
    rows = U @ U.T if gram else U
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return dual.DualProblem(rows, gram, starts, gold, size, 0.4, 0.8)


@pytest.mark.parametrize("gram", [True, False])
def test_the_dual_rises_and_the_gap_closes(rng, gram):
    _, found = ascended(made_up(rng, gram), 150)
    certificates = [certificate for _, certificate in found]
    duals = np.array([c.dual for c in certificates])
    assert (np.diff(duals) >= -IDENTITY).all()
    assert all(c.primal >= duals[-1] - IDENTITY for c in certificates)
    assert certificates[-1].relative < 1e-3 < certificates[0].relative


def test_a_point_is_the_mean_of_its_labellings(rng, monkeypatch):
    monkeypatch.setattr(dual, "ROOM", 1)  # so that room is made again and again
    problem = made_up(rng, True)
    ascent, found = ascended(problem, 5)
    point, corners = found[-1][0], ascent
    A, edges = np.zeros_like(point.A), np.zeros_like(point.edges)
    for i, first in enumerate(problem.starts[:-1]):
        own = problem.gold[first : problem.starts[i + 1]]
        assert corners.weights[i, : corners.sizes[i]].sum() == pytest.approx(1.0, abs=IDENTITY)
        for path, weight in zip(
            corners.paths[i], corners.weights[i, : corners.sizes[i]], strict=False
        ):
            assert weight > 0
            for labels, sign in ((own, 1.0), (path[: len(own)], -1.0)):
                np.add.at(A, (first + np.arange(len(own)), labels), sign * problem.C * weight)
                bigrams = (labels[:-1], labels[1:])
                np.add.at(edges, bigrams, sign * problem.C * problem.transitions * weight)
    np.testing.assert_allclose(point.A, A, atol=IDENTITY)
    np.testing.assert_allclose(point.edges, edges, atol=IDENTITY)
    np.testing.assert_allclose(point.W, point.without_rounding_errors(problem).W, atol=IDENTITY)


def test_both_routes_value_a_point_alike():
    exact, low = (made_up(np.random.default_rng(0), gram) for gram in (True, False))
    point = ascended(exact, 8)[1][-1][0]
    a, b = point.duality_gap(exact), point.without_rounding_errors(low).duality_gap(low)
    assert (a.primal, a.dual) == pytest.approx((b.primal, b.dual), rel=IDENTITY)


# -- the estimator ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words():
    """Two-dimensional letters with noise; after an a comes a b, which looks like a c."""
    rng = np.random.default_rng(0)
    centres = {"a": (0, 0), "b": (2, 1), "c": (2, 1.2)}
    y = ["".join(rng.choice(["ab", "c", "ca"], rng.integers(1, 4))) for _ in range(60)]
    y = [word.replace("aab", "ab") for word in y]
    X = [np.array([centres[c] for c in word]) + 0.3 * rng.normal(size=(len(word), 2)) for word in y]
    return X, y


def test_bigrams_tell_letters_apart(words):
    X, y = words
    chain = MaxMarginMarkovNetwork(RBF(1.0)).fit(X[:40], y[:40])
    alone = MaxMarginMarkovNetwork(RBF(1.0), transitions=0.0).fit(X[:40], y[:40])
    assert chain.score(X[40:], y[40:]) > 0.9
    assert chain.score(X[40:], y[40:]) > alone.score(X[40:], y[40:])
    assert not alone.transitions_.any()
    best = [
        "".join(alone.labels_[c] for c in nodes.argmax(axis=1)) for nodes in alone.potentials(X)
    ]
    assert list(alone.predict(X)) == best


def test_predictions_are_best_by_the_potentials(words):
    X, y = words
    model = MaxMarginMarkovNetwork(RBF(1.0)).fit(X, y)
    for nodes, word in zip(model.potentials(X), model.predict(X), strict=True):
        best = max(labellings(len(nodes), 3), key=lambda p: score(nodes, model.transitions_, p))
        assert word == "".join(model.labels_[c] for c in best)


@pytest.mark.parametrize("features", [IncompleteCholesky(), KernelPCA(), Explicit()])
def test_coordinates_change_nothing(words, features):
    X, y = words
    kernel = Linear() if isinstance(features, Explicit) else Polynomial(2, 0.3)
    exact = MaxMarginMarkovNetwork(kernel, gap=1e-3).fit(X, y)
    same = clone(exact).set_params(features=features).fit(X, y)
    assert same.objective_ == pytest.approx(exact.objective_, rel=2e-3)
    assert same.score(X, y) == pytest.approx(exact.score(X, y), abs=0.02)


def test_low_rank_and_precomputed_values(words):
    X, y = words
    low = MaxMarginMarkovNetwork(RBF(1.0), features=IncompleteCholesky(10)).fit(X, y)
    assert low.score(X, y) > 0.9
    flat = np.concatenate(X)
    index = np.split(np.arange(len(flat))[:, None], np.cumsum([len(x) for x in X])[:-1])
    exact = MaxMarginMarkovNetwork(RBF(1.0)).fit(X, y)
    known = MaxMarginMarkovNetwork(Precomputed(RBF(1.0)(flat))).fit(index, y)
    assert known.objective_ == pytest.approx(exact.objective_, rel=IDENTITY)
    assert list(known.predict(index)) == list(exact.predict(X))


def test_short_empty_and_uniform_sequences():
    X, y = [[[0.0]], [[1.0]], [], [[0.1], [0.9]]], ["a", "b", "", "ab"]
    model = MaxMarginMarkovNetwork(RBF(0.3), C=10.0).fit(X, y)
    assert list(model.predict([[[0.0]], [], [[1.0], [0.0]]])) == ["a", "", "ba"]
    assert list(model.predict([[]])) == [""]
    one = MaxMarginMarkovNetwork(RBF(0.3)).fit(X, ["a", "a", "", "aa"])
    assert one.relative_gap_ == one.duality_gap_ == 0.0
    assert list(one.predict(X)) == ["a", "a", "", "aa"]


@pytest.mark.parametrize(
    "outputs",
    [
        [["no", "yes"], ["no"]], [("no", 1), ("no",)], [np.array([3, 5]), np.array([3])],
        [[True, False], [True]],
    ],
    ids=["lists", "tuples", "arrays", "booleans"],
)  # fmt: skip
def test_labels_come_back_as_they_were_given(outputs):
    X = [[[0.0], [2.0]], [[0.1]]]
    found = MaxMarginMarkovNetwork(RBF(0.5), C=10.0).fit(X, outputs).predict(X)
    for a, b in zip(found, outputs, strict=True):
        assert type(a) is type(b)
        assert list(a) == list(b)


def test_contract_holds(words):
    X, y = words
    for average in (False, True):
        model = MaxMarginMarkovNetwork(RBF(1.0), average=average, gap=0.05)
        check_structured_estimator(model, X[:20], y[:20])


def test_models_are_pickled(words):
    X, y = words
    for features in (None, IncompleteCholesky(10)):
        model = MaxMarginMarkovNetwork(RBF(), features=features).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert list(again.predict(X)) == list(model.predict(X))
        assert again.history_ == model.history_


def test_scikit_learn_habits(words):
    X, y = np.empty(60, dtype=object), np.array(words[1], dtype=object)
    X[:] = words[0]
    model = MaxMarginMarkovNetwork(Normalized(Polynomial(2)))
    search = GridSearchCV(model, {"C": [0.1, 1.0], "kernel__kernel__degree": [1, 2]}, cv=2).fit(
        X, y
    )
    assert 0.8 < search.best_score_ <= 1
    assert len(cross_val_predict(model, X, y, cv=2)) == 60
    assert model.fit(X, y).n_features_in_ == 2
    assert list(pickle.loads(pickle.dumps(model)).predict(X)) == list(model.predict(X))


def test_history_and_progress(words, capsys, monkeypatch):
    X, y = words
    model = MaxMarginMarkovNetwork(RBF(1.0)).fit(X, y)
    assert capsys.readouterr() == ("", "")
    assert len(model.history_) == model.n_passes_
    assert [c.relative > 0.01 for c in model.history_[:-1]] == [True] * (model.n_passes_ - 1)
    assert model.history_[-1].gap == pytest.approx(model.duality_gap_, rel=ROOT)
    monkeypatch.setattr(progress, "LINE", 0.0)
    model.set_params(verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "relative gap" in err


def test_too_few_passes_are_said(words):
    with pytest.warns(ConvergenceWarning, match=r"after 2 passes the relative duality gap is .*C"):
        model = MaxMarginMarkovNetwork(RBF(1.0), max_passes=2).fit(*words)
    assert model.n_passes_ == 2
    assert model.relative_gap_ > 0.01


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "C must be a positive number, got 0.0"),
        ({"C": -1}, "C must be"),
        ({"C": np.nan}, "C must be"),
        ({"C": "auto"}, "C must be"),
        ({"gap": 0.0}, "gap must be"),
        ({"max_passes": 0}, "max_passes must be"),
        ({"transitions": -0.1}, "transitions must be a number ≥ 0"),
        ({"kernel": "precomputed"}, "precomputed"),
        ({"kernel": "cubic"}, "unknown kernel"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        MaxMarginMarkovNetwork(**params).fit([[[0.0]], [[1.0]]], ["a", "b"])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[[0.0]], [[1.0]]], ["a"], "got 2 inputs and 1 outputs"),
        ([[[0.0]], [[1.0]]], ["a", "bc"], r"y\[1\] has 2 labels, but X\[1\] has 1 vectors"),
        ([[[0.0]], [[np.nan]]], ["a", "b"], r"X\[1\] must be a sequence of finite real vectors"),
        ([[[0.0]], [[1.0, 2.0]]], ["a", "b"], r"X\[1\] holds vectors of length 2"),
        ([[[0.0]], "no"], ["a", "b"], r"X\[1\] must be"),
        ([[[0.0]], [[1.0]]], None, "y to be passed"),
        ([[[0.0]], [[1.0]]], [["a"], [None]], r"y\[1\] holds a label that is missing"),
        ([[[0.0]], [[1.0]]], [[1.0], [np.nan]], r"y\[1\] holds a label that is missing"),
        ([[[0.0]], [[1.0]]], ["a", 3], r"y\[1\] must be a sequence of symbols"),
        ([[], []], ["", ""], "got empty sequences only"),
        ([], [], "X is empty"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(X, y, message):
    model = MaxMarginMarkovNetwork(RBF(0.5)).fit([[[0.0]], [[1.0]]], ["a", "b"])
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert list(model.predict([[[0.0], [1.0]]])) == ["ab"]


def test_bad_input_to_predict_is_named(words):
    model = MaxMarginMarkovNetwork(RBF(1.0)).fit(*words)
    with pytest.raises(ValueError, match="vectors of length 3, but the model was fitted on"):
        model.predict([[[0.0, 1.0, 2.0]]])
    assert model.score([[[0.0, 0.0], [2.0, 1.0]]], ["a?"]) == 0.5  # never learnt: wrong


def test_a_fit_without_room_is_refused(words, monkeypatch):
    monkeypatch.setattr("mercer._base.memory.available", lambda: 1000.0)
    with pytest.raises(
        MemoryError, match=r"exact fit of \d+ positions.*RandomPivotedCholesky\(rank=\d+\);"
    ):
        MaxMarginMarkovNetwork(RBF(1.0)).fit(*words)


def test_handwritten_words(data_home):
    from mercer.datasets import load_ocr_words

    images, words, folds = load_ocr_words(data_home)
    known, new = np.flatnonzero(folds == 0)[:150], np.flatnonzero(folds == 1)[:100]
    model = MaxMarginMarkovNetwork(Normalized(Polynomial(3))).fit(images[known], words[known])
    assert model.relative_gap_ <= 0.01
    assert model.score(images[new], words[new]) > 0.6
