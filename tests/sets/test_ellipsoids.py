"""Ellipsoids against their definition, by brute force and by simulation."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

import mercer
from mercer import ConformalSets, KernelDependency, KernelDependencyCV, plots
from mercer.kernels import RBF, Delta, Spectrum
from mercer.operators import Covariance
from mercer.sets import Ellipsoid, Ellipsoids, set_columns
from mercer.sets.covariances import shrunk_covariance
from tolerances import IDENTITY

RNG = np.random.default_rng(0)
ROOT = np.tril(RNG.normal(size=(3, 3))) + 2.0 * np.eye(3)
SOME = Ellipsoid(np.array([1.0, -2.0, 0.5]), ROOT, 1.7, ("food", "rent", "fun"))
CLOUD = SOME.center + RNG.uniform(-1, 1, size=(40_000, 3)) * (SOME.box[1] - SOME.center)
INSIDE = np.array([point in SOME for point in CLOUD[:4000]])


def test_membership_is_the_quadratic_form():
    inverse = np.linalg.inv(ROOT @ ROOT.T)
    moved = CLOUD[:4000] - SOME.center
    forms = np.einsum("ij,jk,ik->i", moved, inverse, moved)
    np.testing.assert_array_equal(INSIDE, forms <= SOME.radius**2)


def test_volume_by_monte_carlo():
    box = np.prod(SOME.box[1] - SOME.box[0])
    assert SOME.volume / box == pytest.approx(np.pi / 6 * _fraction(), rel=1e-9)
    assert INSIDE.mean() == pytest.approx(SOME.volume / box, abs=0.03)
    assert SOME.size == pytest.approx(1.7 * np.prod(np.diag(ROOT)) ** (1 / 3))


def _fraction():
    """The volume of the ellipsoid's shape relative to the ellipsoid with the same box and axes."""
    return np.prod(np.diag(ROOT)) / np.prod(np.linalg.norm(ROOT, axis=1))


def test_the_box_touches_the_boundary():
    sphere = RNG.normal(size=(20_000, 3))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    boundary = SOME.center + SOME.radius * sphere @ ROOT.T
    assert (boundary >= SOME.box[0] - 1e-9).all() and (boundary <= SOME.box[1] + 1e-9).all()
    assert_allclose(boundary.max(axis=0), SOME.box[1], atol=0.02)


def test_a_projection_is_what_the_points_of_the_set_have():
    shadow = SOME.projection("rent", 0)
    assert shadow.names == ("rent", "food")
    projected = CLOUD[:4000][INSIDE][:, [1, 0]]
    assert all(point in shadow for point in projected)
    outline = SOME.outline("rent", "food", 100)
    assert_allclose([shadow.distance(point) for point in outline], SOME.radius)


def test_the_slice_has_the_outputs_of_the_set_with_the_known_values():
    part = SOME.given({"rent": -1.5})
    assert part.names == ("food", "fun")
    for food, fun in RNG.normal(size=(500, 2)) * 2 + SOME.center[[0, 2]]:
        assert ([food, fun] in part) == ([food, -1.5, fun] in SOME)
    one = SOME.given({0: 1.2, "fun": 0.4})
    for rent in np.linspace(-8, 4, 200):
        assert ([rent] in one) == ([1.2, rent, 0.4] in SOME)


def test_an_impossible_value_leaves_nothing():
    empty = SOME.given({"food": 1e3})
    assert empty.radius < 0 and empty.volume == 0.0 and empty.center not in empty
    assert empty.given({"fun": 0.0}).radius < 0


def test_scales_of_outputs_may_differ_by_any_factor():
    units = np.array([1.0, 1e-12, 1e12])
    scaled = Ellipsoid(SOME.center * units, units[:, None] * ROOT, 1.7, SOME.names)
    ours, theirs = (one.given({"rent": -1.5 * u}) for one, u in ((SOME, 1.0), (scaled, 1e-12)))
    assert_allclose(theirs.root, units[[0, 2], None] * ours.root, rtol=1e-9)
    assert theirs.radius == pytest.approx(ours.radius)
    flat = Ellipsoid(np.zeros(2), np.array([[1.0, 0.0], [1.0, 1e-12]]), 1.0)
    assert flat.given({0: 0.5}).center == pytest.approx(0.5)
    assert flat.projection(1).root == pytest.approx(1.0)


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="'wine' is not a value of an output: there are the names"):
        SOME.given({"wine": 1.0})
    with pytest.raises(ValueError, match="not of all, got 3 of 3"):
        SOME.given({0: 1.0, 1: 1.0, 2: 1.0})
    with pytest.raises(ValueError, match="3 is not a value of an output: there are 0 to 1"):
        Ellipsoid(np.zeros(2), np.eye(2), 1.0).projection(3)
    with pytest.raises(ValueError, match="has shape"):
        [1.0] in SOME  # noqa: B015


def test_many_ellipsoids():
    many = Ellipsoids([SOME, SOME])
    assert many.volumes.tolist() == [SOME.volume] * 2 and len(many[:1]) == 1
    assert_allclose(many.boxes.lower[1], SOME.box[0])
    each = many.given({"food": [1.0, 2.0]})
    assert each[1].radius == SOME.given({"food": 2.0}).radius
    assert list(set_columns(many, ["a", "b", "c"]))[:2] == ["a lower", "a upper"]


# -- calibrated ones ------------------------------------------------------------------------------

X = RNG.uniform(-1, 1, size=(700, 2))
NOISE = RNG.normal(size=(700, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]])
Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1]]) + 0.1 * NOISE
UNEVEN = Y + (X[:, :1] > 0) * NOISE
MODEL = KernelDependency(RBF(0.5) * Covariance(), alpha=0.3)
TRAIN, TEST = slice(0, 500), slice(500, 700)


def fitted(scale="auto", y=Y, model=MODEL, **named):
    return ConformalSets(model, 0.8, kind="ellipsoid", scale=scale, **named).fit(X[TRAIN], y[TRAIN])


@pytest.mark.parametrize("scale", ["auto", "flat", "posterior", "residual"])
@pytest.mark.parametrize("model", [MODEL, Ridge()], ids=["kernel", "ridge"])
def test_the_radius_is_the_quantile_of_held_out_distances(scale, model):
    if scale == "posterior" and model is not MODEL:
        with pytest.raises(ValueError, match='scale="posterior" needs a KernelDependency'):
            fitted(scale, model=model)
        return
    sets = fitted(scale, model=model)
    held, _ = sets._held_out_rows(np.arange(500))
    found = sets.predict(X[held])
    distances = np.sort([one.distance(y) for one, y in zip(found, Y[held], strict=True)])
    rank = int(np.ceil(0.8 * (len(held) + 1))) - 1
    assert sets.radius_ == pytest.approx(distances[rank], rel=1e-9)
    assert sets.proven_coverage_ == 0.8
    assert sets.covers(X[TEST], Y[TEST]).mean() == pytest.approx(0.8, abs=0.13)


def test_the_flat_shape_is_the_shrunk_covariance_of_left_out_residuals():
    sets = fitted("flat")
    left_out = sets.model_.outputs_ - sets.model_.loo_predict()
    S = left_out.T @ left_out / len(left_out)
    found = sets.predict(X[:1])[0].shape_matrix
    assert_allclose(np.diag(found), np.diag(S), rtol=1e-6)
    assert 0.9 < found[0, 1] / S[0, 1] < 1.0


def test_the_posterior_shape_adds_the_posterior_covariance():
    sets, flat = fitted("posterior"), fitted("flat")
    far = np.array([[0.0, 0.0], [5.0, 5.0]])
    added = [
        one.shape_matrix - other.shape_matrix
        for one, other in zip(sets.predict(far), flat.predict(far), strict=True)
    ]
    variances = sets.model_.embed(far).variance(noise="left out")
    assert_allclose([np.diag(matrix) for matrix in added], variances, rtol=1e-8)
    assert all(np.linalg.eigvalsh(matrix).min() > 0 for matrix in added)
    assert sets.predict(far)[1].volume > 2 * sets.predict(far)[0].volume


def test_the_shape_follows_the_noise_where_it_depends_on_the_input():
    sets = fitted(y=UNEVEN)
    assert sets.scale_.local is not None or sets.scale_.size is not None
    sizes = sets.sizes(np.array([[-0.5, 0.0], [0.5, 0.0]]))
    assert sizes[1] > 2.5 * sizes[0]
    flat = fitted("flat", y=UNEVEN)
    assert np.log(sets.sizes(X[TEST])).mean() < np.log(0.8 * flat.sizes(X[TEST])).mean()


@pytest.mark.parametrize("scale", ["auto", "flat", "posterior", "residual"])
def test_units_of_the_outputs_change_nothing(scale):
    units = np.array([1e3, 1e-2])
    plain = KernelDependency(RBF(0.5), alpha=0.3)
    one, other = fitted(scale, UNEVEN, plain), fitted(scale, UNEVEN * units, plain)
    roots = [sets.predict(X[:3]) for sets in (one, other)]
    for ours, theirs in zip(*roots, strict=True):
        assert_allclose(theirs.box[1] - theirs.box[0], units * (ours.box[1] - ours.box[0]), 1e-6)


def test_shapes_of_strings_follow_the_noise_too():
    words = ["".join(RNG.choice(list("ab"), size=6)) for _ in range(600)]
    noise = np.array([0.05 + 0.3 * word.count("a") for word in words])
    y = np.array([[word.count("ab"), word.count("ba")] for word in words])
    y = y + noise[:, None] * RNG.normal(size=(600, 2))
    model = KernelDependency(Spectrum(2, blended=True), alpha=1.0)
    sets = ConformalSets(model, 0.8, kind="ellipsoid").fit(words[:400], y[:400])
    assert sets.covers(words[400:], y[400:]).mean() == pytest.approx(0.8, abs=0.13)
    sizes = sets.sizes(["bbbbbb", "aaaaaa"])
    assert sizes[1] > 2 * sizes[0]


def test_ellipsoids_are_smaller_than_balls_and_boxes():
    ball = ConformalSets(MODEL, 0.8, kind="ball").fit(X[TRAIN], Y[TRAIN])
    assert np.median(fitted().sizes(X[TEST])) < 0.8 * np.median(ball.sizes(X[TEST]))


def test_names_of_columns():
    frame = pd.DataFrame(Y, columns=["food", "rent"])
    sets = ConformalSets(MODEL, 0.8, kind="ellipsoid").fit(X[TRAIN], frame[TRAIN])
    known = sets.predict(X[TEST]).given({"food": frame["food"][TEST]})
    inside = [[rent] in one for rent, one in zip(frame["rent"][TEST], known, strict=True)]
    np.testing.assert_array_equal(inside, sets.covers(X[TEST], frame[TEST]))
    assert known[0].names == ("rent",)


def test_numbers_and_curves():
    numbers = ConformalSets(MODEL, 0.8, kind="ellipsoid").fit(X[TRAIN], Y[TRAIN, 0])
    assert numbers.covers(X[TEST], Y[TEST, 0]).mean() > 0.7
    t = np.linspace(0, 1, 40)
    curves = np.sin(3 * t + X[:60, :1]) + 0.1 * RNG.normal(size=(60, 40))
    sets = ConformalSets(KernelDependency(RBF(1.0)), 0.8, kind="ellipsoid")
    found = sets.fit(X[:60], curves).predict(X[60:62])  # more values than residuals
    assert found[0].center.shape == (40,) and np.isfinite(found[0].log_volume)


def test_saved_ellipsoids(tmp_path):
    for scale in ("posterior", "residual"):
        sets = fitted(scale, UNEVEN)
        loaded = mercer.load(mercer.save(sets, tmp_path / "sets.mercer"))
        for one, other in zip(loaded.predict(X[:3]), sets.predict(X[:3]), strict=True):
            assert_allclose(one.root, other.root, rtol=IDENTITY)
            assert one.radius == other.radius


def test_covariances_of_exact_values_can_be_inverted():
    residuals = np.column_stack([np.zeros(20), RNG.normal(size=20)])
    for some in (residuals, np.zeros((20, 2))):
        assert np.isfinite(np.linalg.cholesky(shrunk_covariance(some, np.full(20, 0.05)))).all()


def test_what_has_no_ellipsoids():
    with pytest.raises(ValueError, match='kind="ellipsoid" needs calibration="split"'):
        ConformalSets(MODEL, 0.8, "jackknife+", "ellipsoid").fit(X, Y)
    with pytest.raises(ValueError, match='kind="ellipsoid" is for vectors'):
        ConformalSets(KernelDependency(RBF(), Delta()), 0.8, kind="ellipsoid").fit(
            X, np.where(X[:, 0] > 0, "a", "b")
        )


def test_a_chosen_model():
    sets = fitted(model=KernelDependencyCV([RBF(0.3), RBF(1.0)]))
    assert sets.covers(X[TEST], Y[TEST]).mean() == pytest.approx(0.8, abs=0.13)


def test_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = plots.ellipsoid(SOME, ("food", "fun"), truth=[0.0, 1.0, 2.0])
    assert axes.get_xlabel() == "food" and axes.get_ylabel() == "fun" and len(axes.lines) == 3
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.ellipsoid(Ellipsoid(np.zeros(2), np.eye(2), np.inf))
