"""Blends: weights by non-negative least squares on left-out points."""

import pickle

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import KernelDependency, KernelDependencyCV
from mercer.embedding import OrthonormalFrame
from mercer.estimators import Blend, ForestDependency
from mercer.estimators.squares import Squares
from mercer.features import IncompleteCholesky, Nystroem
from mercer.kernels import RBF, Function, Gaussian, Labels, Linear, Mapped
from mercer.sources import sample
from mercer.spaces import Vectors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), np.sign(X[:, 1])]) + 0.1 * RNG.normal(size=(50, 2))
MODELS = [
    KernelDependencyCV([RBF(0.5), RBF(1.0)]),
    KernelDependencyCV(Linear()),
    ForestDependency(n_trees=30, bootstrap=True, random_state=0),
]


def test_weights_are_those_of_least_squares():
    blend = Blend(MODELS).fit(X, Y)
    means = (Y.sum(axis=0) - Y) / (len(Y) - 1)
    columns = [(np.asarray(m.loo_predict()) - means).ravel() for m in blend.models_]
    expected, _ = nnls(np.column_stack(columns), (Y - means).ravel())
    np.testing.assert_allclose(blend.weights_, expected, atol=1e-8)
    predicted = sum(
        w * (m.predict(X[:3]) - Y.mean(axis=0))
        for w, m in zip(blend.weights_, blend.models_, strict=True)
    )
    np.testing.assert_allclose(blend.predict(X[:3]), Y.mean(axis=0) + predicted, atol=1e-9)


def test_left_out_points_have_weights_that_did_not_see_them():
    """On noise, weights chosen on the rows that they are judged on would look better than none."""
    noise = np.random.default_rng(2).normal(size=50)
    models = [KernelDependency(RBF(s), alpha=1e-2) for s in (0.1, 0.2, 0.4, 0.8)]
    blend = Blend(models).fit(X, noise)
    means = (noise.sum() - noise) / (len(noise) - 1)
    columns = [np.asarray(m.loo_predict()) - means for m in blend.models_]
    seen = means + np.column_stack(columns) @ blend.weights_
    assert ((blend.loo_predict() - noise) ** 2).mean() > ((seen - noise) ** 2).mean()


def test_noise_is_shrunk_towards_the_mean():
    noise = np.random.default_rng(1).normal(size=50) + 3.0
    blend = Blend([KernelDependency(RBF(0.1), alpha=1e-3)]).fit(X, noise)
    assert blend.weights_[0] < 0.3
    assert abs(blend.predict(X + 5.0) - 3.0).max() < 1.0


def test_fitted_models_are_not_fitted_again():
    models = [clone.fit(X, Y) for clone in (KernelDependency(RBF(1.0)), KernelDependency("linear"))]
    blend = Blend(models, prefit=True).fit(X, Y)
    assert blend.models_[0] is models[0]


@pytest.mark.parametrize("output", [RBF(1.0), Labels()])
def test_weights_on_training_outputs(output):
    y = Y if isinstance(output, RBF) else (Y > 0).astype(int)
    models = [
        KernelDependency(RBF(1.0), output, alpha=0.1),
        ForestDependency(output_kernel=output, n_trees=10, random_state=0),
    ]
    points = Blend(models).fit(X, y).embed(X[:4])
    kernel = points.frame.kernel
    np.testing.assert_allclose(points.inner(y), points.weights @ kernel(y), atol=1e-7)


def test_groups_and_weights_are_passed_on():
    groups, w = np.repeat(np.arange(25), 2), RNG.uniform(0.5, 2.0, size=50)
    blend = Blend(MODELS).fit(X, Y, groups=groups, sample_weight=w)
    assert (blend.loo_embed().left_out == groups).all()


def test_models_of_different_output_kernels_are_refused():
    models = [KernelDependency(RBF(1.0), Linear()), KernelDependency(RBF(1.0), 4.0 * Linear())]
    with pytest.raises(ValueError, match="same output_kernel"):
        Blend(models).fit(X, Y)


def test_nothing_to_blend_is_refused():
    with pytest.raises(ValueError, match="at least one model"):
        Blend([]).fit(X, Y)


def test_given_weights_replace_those_of_least_squares(rng):
    X = rng.normal(size=(40, 2))
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1]])
    models = [KernelDependencyCV(RBF(1.0)), KernelDependencyCV(Linear())]
    blend = Blend(models).fit(X, Y)
    half = blend.reweighted([0.5, 0.5])
    wanted = sum(model.predict(X) for model in blend.models_) / 2.0
    np.testing.assert_allclose(half.predict(X), wanted, atol=1e-12)
    np.testing.assert_allclose(blend.weights_, Blend(models).fit(X, Y).weights_)
    with pytest.raises(ValueError, match="2 non-negative numbers"):
        blend.reweighted([1.0])


def squares_of(G, V):
    folds = np.arange(len(V)) % 5
    return Squares.of(G, V, np.ones(len(V)), OrthonormalFrame(None), folds)


def test_outliers_have_little_part_in_robust_weights():
    rng = np.random.default_rng(4)
    V, noise = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    G = [V + 0.3 * rng.normal(size=(80, 2)), noise]
    V[:3] = 50.0 * noise[:3]
    squares = squares_of(G, V)
    plain, robust = squares.weights(), squares.weights(robust=True)
    assert plain[1] > 1.0 > robust[0] > 0.8
    assert robust[1] < 0.2 * plain[1]
    np.testing.assert_allclose(
        squares.losses(plain), ((V - plain[0] * G[0] - plain[1] * G[1]) ** 2).sum(axis=1)
    )
    exact = squares_of([V], V)
    np.testing.assert_allclose(exact.weights(robust=True), 1.0)


def test_the_share_of_a_blend_is_what_is_certain():
    rng = np.random.default_rng(5)
    V = rng.normal(size=(40, 2))
    good, bad = squares_of([V + 0.1 * rng.normal(size=V.shape)], V), squares_of([-V], V)
    doubtful = squares_of([0.2 * V + rng.normal(size=V.shape)], V)
    ones = np.ones((40, 1))
    assert good.safe_fraction(ones) > 0.9
    assert bad.safe_fraction(ones) == 0.0
    assert doubtful.safe_fraction(ones) < 0.3


def test_left_out_points_can_have_weights_of_their_own():
    blend = Blend(MODELS[:2]).fit(X, Y)
    other = blend.reweighted([0.5, 0.0], np.tile([0.25, 0.0], (50, 1)))
    np.testing.assert_allclose(other.weights_, [0.5, 0.0])
    expected = blend.means_ + 0.25 * (np.asarray(blend.models_[0].loo_predict()) - blend.means_)
    np.testing.assert_allclose(other.loo_predict(), expected, atol=1e-9)


def test_a_blend_can_be_pickled():
    X = np.random.default_rng(0).normal(size=(30, 3))
    blend = Blend([KernelDependencyCV(RBF(1.0)), KernelDependencyCV(RBF(3.0))]).fit(
        X, X[:, :2] ** 2
    )
    assert np.allclose(pickle.loads(pickle.dumps(blend)).predict(X), blend.predict(X))


@pytest.mark.parametrize("groups", [False, True])
def test_pairs_of_weight_zero_are_left_out(groups):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    w, labels = rng.integers(0, 3, 40).astype(float), np.arange(40) // 2
    models = [KernelDependency(RBF(1.0)), ForestDependency(n_trees=3, cv=2, random_state=0)]
    more = {"groups": labels} if groups else {}
    found = Blend(models).fit(X, Y, sample_weight=w, **more)
    more = {"groups": labels[w > 0]} if groups else {}
    expected = Blend(models).fit(X[w > 0], Y[w > 0], sample_weight=w[w > 0], **more)
    np.testing.assert_allclose(found.weights_, expected.weights_)
    np.testing.assert_allclose(found.predict(X), expected.predict(X))


@pytest.mark.parametrize(
    "kernel",
    [Mapped(StandardScaler(), Linear(), Vectors(), inverse=True), Gaussian(Linear())],
    ids=lambda kernel: type(kernel).__name__,
)
def test_models_share_an_output_kernel_that_learns(kernel, monkeypatch, tmp_path):
    monkeypatch.setattr(sample, "SIZE", 30)  # what models of low rank fit kernels on
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = np.column_stack([np.sin(X[:, 0]), 10 * X[:, 1] ** 2])
    low = {"features": Nystroem(10, random_state=0), "output_features": IncompleteCholesky(20)}
    models = [
        KernelDependency(RBF(1.0), kernel, **low),
        KernelDependency(RBF(2.0), kernel, **low),
        ForestDependency(output_kernel=kernel, n_trees=3, cv=2, random_state=0),
    ]
    if isinstance(kernel, Gaussian):
        models = models[:2]
    blend = Blend(models).fit(X, Y)
    first, *others = (model.output_kernel_(Y) for model in blend.models_)
    for other in others:
        np.testing.assert_array_equal(other, first)
    np.testing.assert_allclose(clone(kernel).fit(Y)(Y), first)
    again = mercer.load(mercer.save(blend, tmp_path / "blend"))
    np.testing.assert_allclose(again.predict(X), blend.predict(X))
    fresh = clone(blend).fit(X, Y[::-1]).models_[0].output_kernel_  # nothing stays frozen
    np.testing.assert_allclose(fresh(Y[::-1]), clone(kernel).fit(Y[::-1])(Y[::-1]))
    assert kernel.kernel_ is None


@pytest.mark.parametrize("others", [[], [KernelDependency(RBF(1.0), alpha=0.1)]])
def test_a_model_that_predicts_the_mean_has_no_weight(others):
    """Its left-out points differ from the mean by rounding errors, which weights would magnify."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Y = np.column_stack([np.sin(X[:, 0]), X.sum(axis=1)])
    same = KernelDependency(Function(lambda A, B: np.ones((len(A), len(B)))), alpha=0.1)
    blend = Blend([same, *others]).fit(X, Y)
    assert blend.weights_[0] == 0 and not blend.left_out_weights_[:, 0].any()
    if not others:
        np.testing.assert_allclose(blend.predict(X), np.tile(Y.mean(axis=0), (40, 1)))
