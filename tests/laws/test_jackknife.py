"""Jackknife+ calibrates the model that was fitted: its sets are those of literal refits."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.base import clone

from laws.cases import B, off, vectors
from mercer import ConformalSets, KernelDependency, KernelDependencyCV
from mercer.features import Explicit, Nystroem, RandomFourier
from mercer.kernels import RBF, Linear
from mercer.operators import Identity, Matrix
from mercer.sets.row_weights import row_weights, weighted_quantile

LEVEL = 0.8
pytestmark = pytest.mark.filterwarnings("ignore:jackknife. proves no coverage")


def quantile(scores, level):
    """The smallest score that at least `level` of n + 1 do not exceed, the last unknown."""
    place = int(np.ceil(level * (len(scores) + 1) - 1e-9))
    return np.sort(scores)[place - 1] if place <= len(scores) else np.inf


def refits(model, X, Y):
    """The models that leave one pair out each."""
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        yield i, clone(model).fit(X[rest], Y[rest])


def ball_radii(model, X, Y, X_new):
    """By refits: the jackknife+ ball around the prediction of all."""
    whole = clone(model).fit(X, Y).predict(X_new)
    totals = []
    for i, without in refits(model, X, Y):
        score = np.linalg.norm(Y[i] - without.predict(X[[i]])[0])
        totals.append(score + np.linalg.norm(whole - without.predict(X_new), axis=1))
    return [quantile(column, LEVEL) for column in np.transpose(totals)]


class Recording(Nystroem):
    """Landmarks that are drawn without a seed, and remembered."""

    drawn: list = []

    def fit_transform(self, kernel, A):
        U = super().fit_transform(kernel, A)
        Recording.drawn.append(self.landmarks_)
        return U


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", [Identity(), Matrix(B)], ids=["identity", "matrix"])
def test_jackknife_calibrates_the_model_that_was_fitted(operator, intercept):
    X, Y = vectors(24)
    X_new, _ = vectors(6, seed=1)
    Recording.drawn.clear()
    model = KernelDependency(RBF(1.0) * operator, alpha=0.05, fit_intercept=intercept)
    drawn = clone(model).set_params(features=Recording(5))
    sets = ConformalSets(drawn, LEVEL, "jackknife+").fit(X, Y)
    predicted = sets.model_.predict(X_new)
    given = [clone(model).set_params(features=Nystroem(landmarks=Z)) for Z in Recording.drawn]
    fitted = [one for one in given if off(clone(one).fit(X, Y).predict(X_new), predicted) < 1e-9]
    np.testing.assert_allclose(
        sets.sizes(X_new), ball_radii(fitted[0], X, Y, X_new), rtol=1e-8, atol=0
    )


def listed_by_refits(model, X, Y, X_new):
    """By refits: which distinct training outputs are in the jackknife+ set of each input."""
    outputs = np.unique(Y, axis=0)
    owners = [np.flatnonzero((y == Y).all(axis=1)) for y in outputs]
    scores, moved = [], []
    for i, without in refits(model, X, Y):
        D = -without.embed(X[[i]]).scores(outputs)[0]
        own = next(c for c, who in enumerate(owners) if i in who)
        D[[c for c, who in enumerate(owners) if list(who) == [i]]] = np.inf
        scores.append(D[own] - D.min())
        farther = -without.embed(X_new).scores(outputs)
        moved.append(farther - farther.min(axis=1, keepdims=True))
    above = (np.array(scores)[:, None, None] < np.array(moved) - 1e-9).sum(axis=0)
    inside = above < LEVEL * (len(X) + 1) - 1e-9
    nearest = clone(model).fit(X, Y).embed(X_new).scores(outputs).argmax(axis=1)
    inside[np.arange(len(X_new)), nearest] = True
    return [{tuple(y) for y in outputs[row]} for row in inside]


@pytest.mark.parametrize("operator", [Identity(), 2.0 * Identity()], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("low_rank", [False, True])
def test_jackknife_with_outputs_written_as_weights(low_rank, intercept, operator):
    X, Y = vectors(24)
    X_new, _ = vectors(6, seed=1)
    Y = np.round(Y[np.arange(24) % 8], 1)  # every output three times
    model = KernelDependency(RBF(1.0) * operator, RBF(1.0), 0.05, fit_intercept=intercept)
    model.set_params(features=Nystroem(landmarks=X[::5]) if low_rank else None)
    sets = ConformalSets(model, LEVEL, "jackknife+").fit(X, Y)
    found = [{tuple(y) for y in some} for some in sets.predict(X_new)]
    assert found == listed_by_refits(model, X, Y, X_new)


@pytest.mark.parametrize("intercept", [False, True])
def test_jackknife_with_exact_vectors(intercept):
    """What was right stays right."""
    X, Y = vectors(20)
    X_new, _ = vectors(4, seed=1)
    model = KernelDependency(RBF(1.0) * Matrix(B), alpha=0.05, fit_intercept=intercept)
    sets = ConformalSets(model, LEVEL, "jackknife+").fit(X, Y)
    np.testing.assert_allclose(sets.sizes(X_new), ball_radii(model, X, Y, X_new), rtol=1e-8)


# -- every route ------------------------------------------------------------------------------

KERNEL, POSITIVE = RBF(1.0), Matrix(B)
ROUTES = {
    "identity": {"kernel": KERNEL},
    "scaled identity": {"kernel": KERNEL * (2.0 * Identity())},
    "operator": {"kernel": KERNEL * POSITIVE},
    "operator, low rank": {"kernel": KERNEL * POSITIVE, "features": "landmarks"},
    "random features": {"kernel": KERNEL * POSITIVE, "features": RandomFourier(9, random_state=0)},
    "explicit features": {"kernel": Linear() * POSITIVE, "features": Explicit()},
    "output features": {"kernel": KERNEL * POSITIVE, "output_features": Explicit()},
    "spectral": {"kernel": KERNEL * POSITIVE, "solver": "spectral"},
    "sum": {"kernel": KERNEL * POSITIVE + RBF(0.5) * Identity()},
    "coupled": {"kernel": KERNEL * POSITIVE + RBF(0.5) * Matrix(np.diag([1.0, 2.0, 0.5]))},
}


def band_halves(model, X, Y, X_new, flat):
    """By refits: the half width of a band of unit scale that holds the jackknife+ set."""
    whole = clone(model).fit(X, Y).predict(X_new)
    totals = []
    for i, without in refits(model, X, Y):
        score = np.abs(Y[i] - without.predict(X[[i]])[0]).max()
        totals.append(score + np.abs(whole - without.predict(X_new)))
    half = np.array([[quantile(c, LEVEL) for c in rows.T] for rows in np.swapaxes(totals, 0, 1)])
    return half.max(axis=1, keepdims=True) * np.ones(Y.shape[1]) if flat else half


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_sets_of_every_route_are_those_of_refits(route, intercept):
    X, Y = vectors(16)
    X_new, _ = vectors(4, seed=1)
    named = dict(ROUTES[route])
    if named.get("features") == "landmarks":
        named["features"] = Nystroem(landmarks=X[::4])
    model = KernelDependency(alpha=0.05, fit_intercept=intercept, **named)
    sets = ConformalSets(model, LEVEL, "jackknife+").fit(X, Y)
    np.testing.assert_allclose(sets.sizes(X_new), ball_radii(model, X, Y, X_new), rtol=1e-7)
    bands = ConformalSets(model, LEVEL, "jackknife+", "band", scale="flat").fit(X, Y)
    found = bands.predict(X_new)
    half = band_halves(model, X, Y, X_new, flat=True)
    np.testing.assert_allclose((found.upper - found.lower) / 2, half, rtol=1e-7)


def deviations(model, X, Y, X_new, band):
    """Of a new output, in units of the noise."""
    points = clone(model).fit(X, Y).embed(X_new)
    V = points.variance("outputs" if band else "total", observed=True) / points.posterior.noise
    return np.sqrt(V)


def in_deviations(model, X, Y, X_new, labels, band):
    """By refits without each group: what holds the jackknife+ set in posterior deviations."""
    whole, totals = clone(model).fit(X, Y).predict(X_new), []
    for i in range(len(X)):
        rest = labels != labels[i]
        without = clone(model).fit(X[rest], Y[rest])
        error = Y[i] - without.predict(X[[i]])[0]
        move = whole - without.predict(X_new)
        own = deviations(model, X[rest], Y[rest], X[[i]], band)[0]
        new = deviations(model, X[rest], Y[rest], X_new, band)
        if band:
            totals.append(np.abs(error / own).max() * new + np.abs(move))
        else:
            totals.append(np.linalg.norm(error) / own * new + np.linalg.norm(move, axis=1))
    return np.array(totals)


@pytest.mark.parametrize("band", [False, True], ids=["ball", "band"])
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("operator", [Identity(), POSITIVE], ids=["identity", "matrix"])
def test_posterior_scales_are_those_of_refits(operator, grouped, band):
    X, Y = vectors(18)
    X_new, _ = vectors(3, seed=1)
    labels = np.arange(18) // 2 if grouped else np.arange(18)
    model = KernelDependency(KERNEL * operator, alpha=0.05)
    kind = "band" if band else "ball"
    sets = ConformalSets(model, LEVEL, "jackknife+", kind, scale="posterior")
    sets.fit(X, Y, labels)
    assert sets.proven_coverage_ == pytest.approx(2 * LEVEL - 1)
    totals = in_deviations(model, X, Y, X_new, labels, band)
    weights = row_weights(labels)
    expected = weighted_quantile(np.moveaxis(totals, 0, -1), weights, LEVEL)
    found = sets.predict(X_new)
    found = (found.upper - found.lower) / 2 if band else [ball.radius for ball in found]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("n", [24, 260], ids=["few", "many"])
@pytest.mark.parametrize(
    "model",
    [
        KernelDependency(KERNEL),
        KernelDependency(KERNEL * POSITIVE),
        KernelDependencyCV(KERNEL * POSITIVE, alphas=[0.1]),
    ],
    ids=["identity", "operator", "one choice"],
)
def test_fit_left_out_variance_and_sets_take_one_factorisation(model, n, monkeypatch):
    X, Y = vectors(n)
    made, eigh = [], scipy.linalg.eigh

    def counted(A, **options):
        made.append(len(A))
        return eigh(A, **options)

    monkeypatch.setattr(scipy.linalg, "eigh", counted)
    sets = ConformalSets(model, LEVEL, "jackknife+").fit(X, Y)
    sets.predict(X[:3])
    sets.model_.loo_predict()
    sets.model_.embed(X[:3]).variance()
    assert len([size for size in made if size > 3]) <= 1
