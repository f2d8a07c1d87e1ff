"""The supervised output subspace, from moments, from blocks, and chosen by left-out predictions."""

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.features import Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import Identity, Matrix, Mixture, Moments, ReducedRank

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
SIGNAL = X @ RNG.normal(size=(4, 2)) @ RNG.normal(size=(2, 12))
Y = SIGNAL + np.linspace(0.1, 4.0, 12) * RNG.normal(size=(80, 12))


def test_the_model_is_the_projected_ridge():
    ridge = KernelDependency(Linear(), alpha=2.0).fit(X, Y)
    fitted = ridge.predict(X) - Y.mean(axis=0)
    top = np.linalg.svd(fitted)[2][:2]
    model = KernelDependency(Linear() * ReducedRank(2), alpha=2.0).fit(X, Y)
    wanted = (ridge.predict(X) - Y.mean(axis=0)) @ top.T @ top + Y.mean(axis=0)
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-8)
    np.testing.assert_allclose(model.kernel_.operator.B_, top.T @ top, atol=1e-8)


def test_it_beats_the_plain_ridge_where_the_signal_is_of_low_rank():
    def error(operator):
        model = KernelDependency(Linear() * operator, alpha=5.0).fit(X, Y)
        return ((model.predict(X) - SIGNAL - (Y - SIGNAL).mean(axis=0)) ** 2).mean()

    assert error(ReducedRank(2)) < 0.9 * error(Identity())


def test_pairs_may_come_in_blocks():
    features = Nystroem(landmarks=X[:20])
    whole = KernelDependency(RBF(2.0) * ReducedRank(2), alpha=0.5, features=features).fit(X, Y)
    blocks = [(X[i : i + 16], Y[i : i + 16]) for i in range(0, 80, 16)]
    streamed = KernelDependency(RBF(2.0) * ReducedRank(2), alpha=0.5, features=features).fit(blocks)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), atol=1e-7)


@pytest.mark.parametrize("features", [None, Nystroem(landmarks=X[:20])], ids=["exact", "low"])
@pytest.mark.parametrize("groups", [None, np.arange(80) // 3], ids=["alone", "groups"])
def test_left_out_predictions_hold_the_projection_fixed(features, groups):
    alphas, weights = [0.5, 20.0], RNG.uniform(0.5, 2.0, 80)
    data = {"groups": groups, "sample_weight": weights}
    rank = KernelDependencyCV(RBF(2.0) * ReducedRank(2), alphas=alphas, features=features)
    rank.fit(X, Y, **data)
    for alpha, risk in zip(alphas, rank.cv_results_["risk"], strict=True):
        own = KernelDependency(RBF(2.0) * ReducedRank(2), alpha=alpha, features=features)
        own.fit(X, Y, **data)
        fixed = KernelDependency(RBF(2.0) * Matrix(own.kernel_.operator.B_), alpha=alpha)
        fixed = fixed.set_params(features=features).fit(X, Y, **data)
        np.testing.assert_allclose(own.loo_predict(), fixed.loo_predict(), atol=1e-8)
        errors = ((fixed.loo_predict() - Y) ** 2).sum(axis=1)
        assert risk == pytest.approx(np.average(errors, weights=weights), rel=1e-8)
        if alpha == rank.alpha_:
            np.testing.assert_allclose(rank.loo_predict(), own.loo_predict(), atol=1e-8)


def test_the_rank_is_chosen():
    kernels = [Linear() * ReducedRank(r) for r in (1, 2, 12)]
    best = KernelDependencyCV(kernels).fit(X, Y)
    assert best.kernel_.operator.rank in (1, 2)


def test_what_is_refused():
    moments = Moments.of(X, Y)
    with pytest.raises(ValueError, match="before the ridge is known"):
        ReducedRank(2).matrix(moments)
    with pytest.raises(ValueError, match="rank must be"):
        ReducedRank(0).at_ridge(moments, 1.0)
    assert ReducedRank(99).at_ridge(moments, 1.0).B_.shape == (12, 12)
    for make in (lambda: ReducedRank() + Identity(), lambda: 2.0 * ReducedRank()):
        with pytest.raises(TypeError, match="stands alone"):
            make()
    with pytest.raises(TypeError, match="mixes operators that the moments give"):
        Mixture([Identity(), ReducedRank()], [0.5, 0.5]).matrix(moments)
    with pytest.raises(ValueError, match="depends on the ridge"):
        KernelDependencyCV(Linear() * ReducedRank(), criterion="gcv").fit(X, Y)
    with pytest.raises(ValueError, match="streams have no choice between operators that depend on"):
        KernelDependencyCV(Linear() * ReducedRank()).fit(iter([(X, Y)]))
