"""Sets that adapt to the input, by category, under a shift, and lists of bounded expected loss."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import ConformalSets, KernelDependency, KernelDependencyCV, SequenceTransducer
from mercer.kernels import RBF, Labels
from mercer.metrics import edit_distance, sample_f1
from mercer.sets.radii import Radii, ShiftedRadii
from mercer.sets.risk import controlled_radius, risk_at

GRID = np.linspace(0, 1, 15)


def uneven(seed, n):
    """Curves whose noise grows a great deal with the first input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    noise = 0.05 + 0.5 * (X[:, :1] > 0) * X[:, :1]
    return X, np.sin(3 * GRID + 2 * X[:, 1:]) + noise * rng.normal(size=(n, 15))


@pytest.mark.parametrize("kind", ["ball", "band"])
def test_radii_follow_the_noise(kind):
    ratios, covered, hard = [], {"auto": [], "residual": []}, []
    for seed in range(8):
        X, Y = uneven(seed, 800)
        sizes = {}
        for scale in covered:
            model = KernelDependency(RBF(0.7), alpha=1.0)
            sets = ConformalSets(model, 0.9, kind=kind, scale=scale).fit(X[:400], Y[:400])
            hits = sets.covers(X[400:], Y[400:])
            covered[scale].append(hits.mean())
            sizes[scale] = sets.sizes(X[400:]).mean()
            assert sets.proven_coverage_ == 0.9
        ratios.append(sizes["residual"] / sizes["auto"])
        terciles = np.array_split(np.argsort(sets.sizes(X[400:])), 3)
        hard.append([hits[rows].mean() for rows in terciles])
    assert np.mean(ratios) < 0.8
    assert abs(np.mean(covered["residual"]) - np.mean(covered["auto"])) < 0.02
    assert np.abs(np.mean(hard, axis=0) - np.mean(covered["residual"])).max() < 0.05


def test_flat_noise_is_left_flat(rng):
    X = rng.normal(size=(300, 2))
    Y = np.sin(X @ rng.normal(size=(2, 5))) + 0.2 * rng.normal(size=(300, 5))
    model = KernelDependency(RBF(1.0), alpha=0.3)
    plain = ConformalSets(model, kind="band").fit(X, Y).sizes(X).mean()
    residual = ConformalSets(model, kind="band", scale="residual").fit(X, Y).sizes(X).mean()
    assert residual < 1.1 * plain


def test_posterior_radii_are_in_proportion_to_the_deviation(rng):
    X, Y = rng.normal(size=(200, 2)), rng.normal(size=(200, 4))
    far = np.array([[0.0, 0.0], [6.0, 6.0]])
    model = KernelDependency(RBF(1.0), alpha=0.1)
    balls = ConformalSets(model, scale="posterior").fit(X, Y)
    deviations = np.sqrt(balls.model_.embed(far).variance("total", observed=True))
    np.testing.assert_allclose(balls.sizes(far), balls.radius_ * deviations)
    assert balls.sizes(far)[1] > balls.sizes(far)[0]
    bands = ConformalSets(model, kind="band", scale="posterior").fit(X, Y).predict(far)
    assert bands.lower.shape == (2, 4)
    numbers = ConformalSets(model, kind="band", scale="posterior").fit(X, Y[:, 0]).predict(far)
    assert numbers.upper.shape == (2,)


@pytest.mark.parametrize("model", [Ridge(), make_pipeline(StandardScaler(), KernelDependency())])
@pytest.mark.parametrize("kind", ["ball", "band"])
def test_residual_scales_around_any_regressor(model, kind):
    X, Y = uneven(0, 300)
    groups = np.arange(300) // 2
    sets = ConformalSets(model, kind=kind, scale="residual").fit(X[:200], Y[:200], groups[:200])
    assert 0.75 < sets.covers(X[200:], Y[200:]).mean() <= 1
    assert np.ptp(sets.sizes(X[200:])) > 0


# -- categories -------------------------------------------------------------------------------


def test_coverage_holds_within_each_category():
    apart, together = [], []
    for seed in range(8):
        X, Y = uneven(seed, 800)
        for by, found in ((lambda X: X[:, 0] > 0, apart), (None, together)):
            sets = ConformalSets(KernelDependency(RBF(0.7)), 0.8, by=by).fit(X[:400], Y[:400])
            hits, hard = sets.covers(X[400:], Y[400:]), X[400:, 0] > 0
            found.append([hits[hard].mean(), hits[~hard].mean()])
    assert np.abs(np.mean(apart, axis=0) - 0.8).max() < 0.04
    assert np.mean(together, axis=0)[0] < 0.7
    unknown = ConformalSets(KernelDependency(RBF(0.7)), 0.8, by=lambda X: np.round(X[:, 0]))
    assert np.isinf(unknown.fit(X, Y).sizes(np.array([[7.0, 0.0]]))).all()


def hard_groups(rng, groups):
    """Rows of groups: hard groups have large outputs and many rows of the category."""
    hard = rng.uniform(size=groups) < 0.3
    labels = np.repeat(np.arange(groups), 12)
    category = np.tile(np.arange(12), groups) < np.where(hard, 10, 1)[labels]
    y = rng.normal(size=len(labels)) * np.where(hard, 3.0, 1.0)[labels]
    return category[:, None].astype(float), y, labels


def test_categories_that_groups_share_unevenly_are_covered(rng):
    """A row of the category is most likely one of a hard group."""
    found = []
    for seed in range(10):
        sets = ConformalSets(DummyRegressor(), 0.8, by=lambda X: X[:, 0], random_state=seed)
        sets.fit(*hard_groups(rng, 120))
        X, y, _ = hard_groups(rng, 200)
        own = X[:, 0] == 1
        found.append(sets.covers(X[own], y[own]).mean())
    assert 0.8 < np.mean(found) < 0.93


def test_every_class_is_covered():
    rare = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.where(rng.uniform(size=1200) < 0.15, "rare", "common")
        X = rng.normal(size=(1200, 2)) + 1.2 * (y == "rare")[:, None]
        sets = ConformalSets(LogisticRegression(), 0.85, by="class").fit(X[:600], y[:600])
        hits = sets.covers(X[600:], y[600:])
        rare.append([hits[y[600:] == "rare"].mean(), hits[y[600:] == "common"].mean()])
    assert (np.mean(rare, axis=0) > 0.8).all()


def test_weights_under_a_shift():
    """Inputs to come are mostly those with much noise."""

    def ratio(X):
        return np.where(X[:, 0] > 0, 1.8, 0.2)

    plain, shifted = [], []
    for seed in range(10):
        X, Y = uneven(seed, 1000)
        rng = np.random.default_rng(seed)
        new = np.flatnonzero(rng.uniform(size=500) < ratio(X[500:]) / 1.8) + 500
        for shift, found in ((None, plain), (ratio, shifted)):
            sets = ConformalSets(KernelDependency(RBF(0.7)), 0.8, shift=shift)
            found.append(sets.fit(X[:500], Y[:500]).covers(X[new], Y[new]).mean())
    assert np.mean(plain) < 0.7
    assert 0.76 < np.mean(shifted) < 0.86


def test_equal_weights_are_no_shift(rng):
    scores, labels = rng.normal(size=19), np.arange(19)

    one = ShiftedRadii.of(lambda X: np.ones(len(X)), scores, scores, labels, 0.9).at(np.zeros(3))
    np.testing.assert_array_equal(one, np.sort(scores)[17])
    assert Radii.of(scores, labels, 0.9).radius == one[0]
    far = ShiftedRadii.of(lambda X: X, np.ones(19), scores, labels, 0.9)
    assert far.at(np.array([1.0, 100.0]))[1] == np.inf


# -- expected loss ----------------------------------------------------------------------------


def label_sets(seed, n=500, m=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=(4, m)) + rng.normal(size=(n, m)) > 0.3).astype(int)


def candidate_sets(**options):
    """Sets of candidates on ten draws of 300 pairs, with 200 pairs more of each."""
    for seed in range(10):
        X, Y = label_sets(seed)
        model = KernelDependency(RBF(2.0), Labels(), alpha=1.0)
        sets = ConformalSets(model, 0.9, kind="candidates", **options)
        yield sets.fit(X[:300], Y[:300]), X[300:], Y[300:]


@pytest.fixture(scope="module")
def covering():
    """The mean size of sets that hold the very output."""
    return np.mean([sets.sizes(X).mean() for sets, X, _ in candidate_sets()])


@pytest.mark.parametrize("loss", ["f1", "hamming"])
def test_expected_loss_is_bounded(loss, covering):
    risks, sizes = [], []
    for sets, X, Y in candidate_sets(loss=loss):
        risks.append(sets.losses(X, Y).mean())
        sizes.append(sets.sizes(X).mean())
        assert sets.proven_coverage_ == 0.9
    assert 0.06 < np.mean(risks) < 0.105
    assert np.mean(sizes) < covering
    best = [
        max(sample_f1(np.array([y] * len(s)), np.array(s), average=False))
        for y, s in zip(Y, sets.predict(X), strict=True)
    ]
    if loss == "f1":
        np.testing.assert_allclose(1 - np.array(best), sets.losses(X, Y), atol=1e-12)


def test_edits_of_the_best_string_are_bounded(rng):
    X = ["".join(rng.choice(list("abcn"), size=rng.integers(2, 7))) for _ in range(200)]
    y = [x.replace("c", rng.choice(["ks", "k", "g"])).upper() for x in X]
    sets = ConformalSets(SequenceTransducer(max_chunk=2), 0.9, loss="edit").fit(X[:120], y[:120])
    losses = sets.losses(X[120:], y[120:])
    assert losses.mean() < 0.15
    least = [
        min(edit_distance([a] * len(s), s, average=False) / [max(len(a), len(b)) for b in s])
        for a, s in zip(y[120:], sets.predict(X[120:]), strict=True)
    ]
    np.testing.assert_allclose(losses, least)


def test_the_controlled_radius_by_hand():
    found = [
        (np.array([0.0, 1.0, 2.0]), np.array([0.8, 0.4, 0.0])),
        (np.array([0.0, 3.0]), np.array([0.2, 0.0])),
    ]
    weights = np.full(2, 1 / 3)  # the new example counts as a loss of one third
    assert controlled_radius(found, weights, (1.0 + 0.4 + 0.2) / 3) == 1.0
    assert controlled_radius(found, weights, 1 / 3) == 3.0
    assert controlled_radius(found, weights, 0.3) == np.inf
    np.testing.assert_allclose(risk_at(found, 1.5), [0.4, 0.2])


def test_a_loss_that_cannot_be_reached_is_told(rng):
    X, Y = label_sets(0, 60)
    sets = ConformalSets(
        KernelDependency(RBF(1.0), Labels()), 0.99, kind="candidates", candidates=Y[:2], loss="f1"
    )
    with pytest.warns(UserWarning, match="cannot be brought under 0.01"):
        sets.fit(X, Y)
    assert np.isnan(sets.proven_coverage_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": "wide"}, "scale must be one of"),
        ({"by": len, "calibration": "jackknife+"}, 'by needs calibration="split"'),
        ({"by": len, "shift": len}, "do not go together"),
        ({"loss": "f1"}, "loss= is for lists"),
        ({"loss": "f2", "kind": "candidates"}, "loss must be one of"),
        ({"scale": "residual", "kind": "candidates"}, "is for balls and bands"),
        ({"by": lambda X: [1]}, "one category for each"),
        ({"shift": lambda X: [-1.0]}, "a weight ≥ 0 for each"),
    ],
)  # fmt: skip
def test_bad_parameters(parameters, message, rng):
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    with pytest.raises(ValueError, match=message):
        ConformalSets(KernelDependencyCV(RBF(1.0), alphas=[1.0]), **parameters).fit(X, Y)
