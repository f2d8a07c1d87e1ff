"""Decoding by the least expected loss: exact searches, bounds, left-out points."""

from itertools import permutations, product

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import ByLoss
from mercer.decoders._expected_loss import EditLoss, LabelLoss, RankingLoss
from mercer.features import Nystroem
from mercer.kernels import RBF, Kendall, Labels, Spearman, Spectrum
from mercer.metrics import hamming_accuracy, kendall_tau, sample_f1, spearman_rho, subset_accuracy
from mercer.operators import Covariance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
SETS = (RNG.random((30, 4)) < 0.4).astype(int)
RANKS = np.stack([RNG.permutation(4) for _ in range(30)])
WORDS = [a + b + c for a in "ab" for b in ("", "x", "yx", "xx") for c in ("a", "bb", "b", "")][:30]
ALL_SETS = np.array(list(product([0, 1], repeat=4)))
ALL_RANKS = np.array(list(permutations(range(4))))
METRICS = {"f1": sample_f1, "hamming": hamming_accuracy, "subset": subset_accuracy,
           "kendall": kendall_tau, "spearman": spearman_rho}  # fmt: skip


def weights(n=12):
    return RNG.normal(size=(n, 30)) + 0.2


def naive(name, outputs, y):
    metric = METRICS[name]
    half = 2.0 if name in ("kendall", "spearman") else 1.0
    rows = [metric(y, np.repeat(z[None], len(y), axis=0), average=False) for z in outputs]
    return (1.0 - np.array(rows)) / half


@pytest.mark.parametrize("name", ["f1", "hamming", "subset"])
def test_searches_of_label_sets_are_exact(name):
    loss, C = LabelLoss(name, Labels().fit(SETS), SETS), weights()
    wanted = naive(name, ALL_SETS, SETS)
    np.testing.assert_allclose(loss.pairwise(ALL_SETS), wanted, atol=1e-12)
    found, bounds = loss.search(C)
    best = (C @ wanted.T).min(axis=1)
    if name == "subset":  # a set that is no training output has the sum of all weights
        best = (C @ loss.pairwise(SETS).T).min(axis=1)
    np.testing.assert_allclose(loss.values(C, found), best, atol=1e-12)
    np.testing.assert_allclose(bounds, best, atol=1e-12)


@pytest.mark.parametrize("name", ["kendall", "spearman"])
def test_searches_of_rankings_are_exact(name):
    loss, C = RankingLoss(name, Kendall(), RANKS), weights()
    wanted = naive(name, ALL_RANKS, RANKS)
    np.testing.assert_allclose(loss.pairwise(ALL_RANKS), wanted, atol=1e-12)
    found, _ = loss.search(C)
    np.testing.assert_allclose(loss.values(C, found), (C @ wanted.T).min(axis=1), atol=1e-12)


def test_the_value_of_a_sequence_counts_all_training_outputs():
    words = ["".join(RNG.choice(list("abxy"), size=RNG.integers(1, 6))) for _ in range(120)]
    loss, C = EditLoss("edit", Spectrum(), words), RNG.normal(size=(5, 120)) + 0.5
    found, bounds = loss.search(C)
    wanted = (C * loss.pairwise(found)).sum(axis=1)
    np.testing.assert_allclose(loss.values(C, found), wanted, rtol=1e-12)
    least = (C @ loss.pairwise(words).T).min(axis=1)
    assert (bounds <= np.minimum(least, wanted) + 1e-9).all()


def test_sequences_are_searched_beyond_the_training_outputs():
    loss = EditLoss("edit", Spectrum(), WORDS)
    C = np.abs(weights(6)) * (RNG.random((6, 30)) < 0.3)
    C[0] = 0.0
    C[0, [0, 1, 2]] = 1.0
    for c in (C, C - 0.01):
        found, bounds = loss.search(c)
        values = loss.values(c, found)
        assert (bounds <= values + 1e-9).all()
        assert (values <= (c @ loss.pairwise(WORDS).T).min(axis=1) + 1e-9).all()
        every = ["".join(w) for n in range(5) for w in product("abxy", repeat=n)]
        least = (c @ loss.pairwise(every).T).min(axis=1)
        assert (bounds <= least + 1e-9).all()
    tokens = EditLoss("edit", Spectrum(), [("A", "BB"), ("A",), ("C", "BB")])
    assert tokens.search(np.ones((1, 3)))[0][0] == ("A", "BB")


@pytest.mark.parametrize(
    ("output", "y", "loss"),
    [
        (Labels(), SETS, "f1"), (Labels(), SETS, "subset"), (Kendall(), RANKS, "spearman"),
        (Spearman(), RANKS, "kendall"), (Spectrum(2, blended=True), WORDS, "edit"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("candidates", [None, "training"])
def test_left_out_predictions_are_those_of_refits(output, y, loss, candidates):
    decoder = ByLoss(loss, candidates, price=0.0)
    model = KernelDependency(RBF(1.0), output, 0.1, decoder=decoder).fit(X, y)
    left_out = model.loo_predict()
    for i in (0, 7, 29):
        rest = [j for j in range(30) if j != i]
        again = KernelDependency(RBF(1.0), output, 0.1, decoder=decoder)
        y_rest = y[rest] if isinstance(y, np.ndarray) else [y[j] for j in rest]
        assert np.all(again.fit(X[rest], y_rest).predict(X[[i]])[0] == left_out[i])


def test_given_outputs_and_functions():
    def apart(a, b):
        return float(abs(len(a) - len(b)))

    model = KernelDependency(RBF(1.0), Spectrum(2), 0.1, decoder=ByLoss(apart)).fit(X, WORDS)
    found = model.predict(X[:4])
    assert set(found) <= set(WORDS) and len(model.decoder_.values_) == 4
    some = ["a", "axbb"]
    model = KernelDependency(RBF(1.0), Spectrum(2), 0.1, decoder=ByLoss("edit", some)).fit(X, WORDS)
    assert set(model.predict(X)) <= set(some)


@pytest.mark.parametrize(
    "options", [{"features": Nystroem(10, random_state=0)}, {"kernel": RBF(1.0) * Covariance()}]
)
def test_other_ways_have_weights_too(options):
    options = {"kernel": RBF(1.0), **options}
    model = KernelDependency(output_kernel=Labels(), alpha=0.1, decoder=ByLoss("f1"), **options)
    assert model.fit(X, SETS).predict(X).shape == SETS.shape
    assert model.loo_predict().shape == SETS.shape


@pytest.mark.parametrize("name", ["f1", "hamming", "subset"])
def test_the_price_of_labels_is_calibrated_on_left_out_points(name):
    def left_out(price):
        model = KernelDependency(RBF(1.0), Labels(), 5.0, decoder=ByLoss(name, price=price))
        model.fit(X, SETS)
        return METRICS[name](SETS, model.loo_predict()), model.decoder_.expected_.price

    assert left_out(None)[0] >= left_out(0.0)[0]
    assert left_out(0.2)[1] == 0.2


def test_a_choice_may_decode_so():
    from sklearn.metrics import make_scorer

    model = KernelDependencyCV([RBF(1.0), RBF(2.0)], Labels(), alphas=[0.1, 1.0],
                               scoring=make_scorer(sample_f1), decoder=ByLoss("f1"))  # fmt: skip
    assert 0 < model.fit(X, SETS).loo_score_ <= 1


def test_what_is_refused():
    with pytest.raises(ValueError, match="loss must be one of"):
        KernelDependency(RBF(1.0), Labels(), decoder=ByLoss("gini")).fit(X, SETS)
    with pytest.raises(ValueError, match="have no default loss"):
        KernelDependency(RBF(1.0), RBF(1.0), decoder=ByLoss()).fit(X, X)
    with pytest.raises(ValueError, match="candidates must be"):
        KernelDependency(RBF(1.0), Labels(), decoder=ByLoss("f1", "all")).fit(X, SETS)
