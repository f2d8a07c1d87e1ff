"""What `KernelDependencyCV` chooses where nothing is given, and what it warns of."""

import warnings

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import RidgeCV

from mercer import KernelDependencyCV
from mercer._base.statistics import exceeds_standard_error
from mercer.decoders import Candidates, ExpectedF1, Kemeny, Threshold
from mercer.estimators.default_kernels import are_curves, default_kernels
from mercer.kernels import RBF, Kendall, Labels, Laplacian, Linear, Standardized, TfIdf
from mercer.metrics import kendall_tau, sample_f1

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] + X[:, 2]]) + 0.1 * RNG.normal(size=(60, 2))
SETS = (X[:, :3] + 0.5 * RNG.normal(size=(60, 3)) > 0.3).astype(int)
RANKS = (-X[:, :3] + 0.5 * RNG.normal(size=(60, 3))).argsort(axis=1).argsort(axis=1)
GRID = np.linspace(0, 1, 20)
CURVES = RNG.normal(size=(60, 3)) @ np.stack([np.ones(20), GRID, np.sin(6 * GRID)])


@pytest.mark.parametrize("column", [0, 3, slice(None)])
@pytest.mark.parametrize("unit", [1e6, 1e-6])
def test_units_change_nothing(column, unit):
    scaled, new = X.copy(), X[:7] + 0.1
    scaled[:, column] *= unit
    other = new.copy()
    other[:, column] *= unit
    wanted = KernelDependencyCV().fit(X, Y).predict(new)
    found = KernelDependencyCV().fit(scaled, unit * Y).predict(other) / unit
    np.testing.assert_allclose(found, wanted, atol=1e-6 * np.ptp(Y))


@pytest.mark.parametrize("column", [4, slice(None)])
@pytest.mark.parametrize("unit", [1e6, 1e-6])
def test_units_of_curves_change_nothing(column, unit):
    scaled = CURVES.copy()
    scaled[:, column] *= unit
    assert are_curves(CURVES) and are_curves(scaled)
    kernel = Standardized(RBF(4.0), "common")
    np.testing.assert_allclose(kernel.fit(scaled)(scaled), kernel.fit(CURVES)(CURVES), atol=1e-9)


def test_kernels_follow_what_inputs_are():
    assert not are_curves(X)
    assert len(default_kernels(CURVES)) > len(default_kernels(X))
    kinds = {type(kernel.kernel).__name__ for kernel in default_kernels(X)}
    assert kinds == {"Linear", "RBF", "Laplacian", "Matern"}
    words = default_kernels(["the sea and the sun", "sand and sea and salt"])
    assert len(words) > len(default_kernels(["sea", "sun"]))
    assert "WeisfeilerLehman" in str(default_kernels([nx.path_graph(3), nx.path_graph(4)]))


def test_texts_and_graphs_need_no_kernel():
    texts = [word * k for word in ("sea", "sun", "sand") for k in range(1, 9)]
    model = KernelDependencyCV().fit(texts, [float(len(text)) for text in texts])
    assert model.score(texts, [float(len(text)) for text in texts]) > 0.9
    graphs = [nx.path_graph(n) for n in range(2, 20)] + [nx.star_graph(n) for n in range(3, 20)]
    shape = np.r_[np.zeros(18), np.ones(17)]
    assert KernelDependencyCV().fit(graphs, shape).score(graphs, shape) > 0.9


def test_many_pairs_choose_a_kernel_on_some():
    A = RNG.normal(size=(1300, 2))
    y = np.sin(3 * A[:, 0])
    model = KernelDependencyCV(alphas=[1e-3, 1e-1]).fit(A, y)
    assert len(model.cv_results_["alpha"]) == 2
    assert model.score(A, y) > 0.9


def test_linear_outputs_are_predicted_as_by_ridge():
    A = RNG.normal(size=(40, 20))
    B = A @ RNG.normal(size=(20, 3)) + RNG.normal(size=(40, 3))
    new = RNG.normal(size=(200, 20))
    truth = new @ np.linalg.lstsq(A, B, rcond=None)[0]
    ours = ((KernelDependencyCV().fit(A, B).predict(new) - truth) ** 2).mean()
    theirs = ((RidgeCV(np.logspace(-4, 4, 17)).fit(A, B).predict(new) - truth) ** 2).mean()
    assert ours < 1.1 * theirs


def test_rankings_are_chosen_by_tau_and_sets_by_f1():
    ranked = KernelDependencyCV([RBF(0.1), RBF(2.0)], Kendall()).fit(X, RANKS)
    assert ranked.loo_score_ == pytest.approx(kendall_tau(RANKS, ranked.loo_predict()))
    assert ranked.loo_score_ == np.nanmax(ranked.cv_results_["score"])
    sets = KernelDependencyCV([RBF(0.1), RBF(2.0)], Labels()).fit(X, SETS)
    assert sets.loo_score_ == pytest.approx(sample_f1(SETS, sets.loo_predict()))
    by_risk = KernelDependencyCV([RBF(0.1), RBF(2.0)], Labels(), scoring=None).fit(X, SETS)
    assert np.isnan(by_risk.loo_score_)
    assert by_risk.loo_risk_ == by_risk.cv_results_["risk"].min()


def test_a_decoder_is_chosen_from_a_list():
    decoders = [Threshold(0.99), Threshold(), ExpectedF1()]
    model = KernelDependencyCV(RBF(2.0), Labels(), decoder=decoders).fit(X, SETS)
    assert model.loo_score_ == model.cv_results_["score"].max()
    assert str(model.decoder_) != str(decoders[0])
    ranked = KernelDependencyCV(RBF(2.0), Kendall(), decoder=[Kemeny(), Candidates()])
    assert ranked.fit(X, RANKS).predict(X[:3]).shape == (3, 3)
    with pytest.raises(ValueError, match="several decoders cannot be compared by risk"):
        ranked.set_params(scoring=None).fit(X, RANKS)
    with pytest.raises(ValueError, match=r"decoder=\[\] leaves nothing"):
        ranked.set_params(decoder=[]).fit(X, RANKS)


def test_the_edge_of_a_grid_is_worth_a_warning():
    with pytest.warns(UserWarning, match="edge of the alphas, 10, .* smaller"):
        KernelDependencyCV(RBF(2.0), alphas=[10.0, 30.0, 100.0, 300.0]).fit(X, Y)
    kernels = [RBF(s) for s in (0.1, 0.2, 0.4, 0.8)]
    with pytest.warns(UserWarning, match="edge of the length scales of kernel, 0.8, .* larger"):
        KernelDependencyCV(kernels).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelDependencyCV([RBF(s) for s in (0.5, 2.0, 8.0, 32.0, 64.0)]).fit(X, Y)


def test_copies_in_other_groups_are_worth_a_warning():
    twice, outputs = np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0)
    with pytest.warns(UserWarning, match="100% of the pairs repeat"):
        KernelDependencyCV(RBF(2.0)).fit(twice, outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelDependencyCV(RBF(2.0)).fit(twice, outputs, groups=np.repeat(range(60), 2))


def test_labels_that_never_occur_are_worth_a_warning():
    with pytest.warns(UserWarning, match=r"1 of the labels never occur .*columns 3"):
        KernelDependencyCV(RBF(2.0), Labels()).fit(X, np.column_stack([SETS, np.zeros(60, int)]))


def test_macro_thresholds_are_drawn_towards_the_common_one():
    rare = np.column_stack([SETS, (X[:, 3] > 1.2).astype(int)])
    model = KernelDependencyCV(RBF(2.0), Labels(), decoder=Threshold(metric="macro")).fit(X, rare)
    decoder, found = model.decoder_, model.loo_predict()
    assert decoder.threshold_.shape == (4,)
    each = [
        2 * (found[:, j] & rare[:, j]).sum() / (found[:, j].sum() + rare[:, j].sum())
        for j in range(4)
    ]
    assert decoder.calibration_ == pytest.approx(np.mean(each))
    assert model.loo_score_ == pytest.approx(decoder.calibration_)
    common = KernelDependencyCV(RBF(2.0), Labels(), decoder=Threshold()).fit(X, rare)
    both = common.loo_predict()
    worse = [
        2 * (both[:, j] & rare[:, j]).sum() / (both[:, j].sum() + rare[:, j].sum())
        for j in range(4)
    ]
    assert np.mean(each) >= np.mean(worse) - 0.02


def test_units_can_be_given():
    kernel = Standardized(Linear(), [1.0, 2.0, 1.0, 1.0]).fit(X)
    A = (X - X.mean(axis=0)) / [1.0, 2.0, 1.0, 1.0]
    np.testing.assert_allclose(kernel(X), A @ A.T, atol=1e-12)
    with pytest.raises(ValueError, match="4 positive numbers"):
        Standardized(Linear(), [1.0]).fit(X)
    with pytest.raises(ValueError, match="units must be numbers or one of"):
        Standardized(Laplacian(1.0), "inches").fit(X)


def test_few_directions_of_texts_keep_their_cosines():
    texts = [f"{a} {b} {c}" for a in ("sea", "sun", "sand") for b in "xyz" for c in ("u", "v")]
    whole, few = TfIdf().fit(texts), TfIdf(rank=17).fit(texts)
    np.testing.assert_allclose(few(texts), whole(texts), atol=1e-9)
    assert few.features(["nothing known"]).shape[1] == few.features(texts).shape[1]
    with pytest.raises(ValueError, match=r"X\[0\] must be a string"):
        few.check([["sea", "sun"]])


def test_slopes_follow_the_values_of_curves():
    kernel = Standardized(Linear(), "common", slopes=True).fit(CURVES)
    A = (CURVES - CURVES.mean(axis=0)) / kernel.spread_
    D = np.diff(A, axis=1)
    D *= np.sqrt(A.var(axis=0).sum() / D.var(axis=0).sum())
    np.testing.assert_allclose(kernel(CURVES), A @ A.T + D @ D.T, atol=1e-9)
    np.testing.assert_allclose(kernel.features.inverse(kernel.features(CURVES)), CURVES)
    flat = Standardized(Linear(), slopes=True).fit([[1.0], [3.0]])
    np.testing.assert_allclose(flat([[1.0]], [[3.0]]), [[-1.0]])
    sparse = Standardized(Linear(), "common", slopes=True).fit(csr_array(CURVES))
    np.testing.assert_allclose(sparse(csr_array(CURVES)), kernel(CURVES), atol=1e-9)


def test_what_depends_on_slopes_is_learnt_from_them():
    walks = np.cumsum(np.random.default_rng(3).normal(size=(60, 30)), axis=1) + 50 * X[:60, :1]
    y = np.diff(walks, axis=1)[:, ::3]
    model = KernelDependencyCV().fit(walks, y)
    assert "slopes=True" in str(model.kernel_)


def test_a_gain_counts_beyond_its_standard_error():
    gains = np.array([1.0, -1.0, 1.0, -1.0, 0.5])
    assert not exceeds_standard_error(gains)
    assert exceeds_standard_error(gains + 0.6)
    assert exceeds_standard_error(gains, np.array([1.0, 0.0, 1.0, 0.0, 1.0]))
