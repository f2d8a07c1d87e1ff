"""Every route and every quantity that it offers equal the dense reference."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import mercer
from laws.cases import crossed, off
from laws.dense import Repeated
from laws.routes import ALPHA, CASES, CONDITIONS, ROUTES, M, N, Posed
from mercer.solvers import SOLVERS, route

SETS = [np.arange(0), np.array([3]), np.array([1, 4, 5]), np.arange(N - 4)]


def test_no_route_is_missing():
    """Two solvers have tests of their own: tests/operators/test_reduced_rank.py and
    tests/solvers/test_sparse.py.
    """
    names = {route.name for route in ROUTES.values() if route.solver is not None}
    names |= {"by ridge", "sparse"}
    assert names == {solver.name for solver in SOLVERS}


# -- each quantity: what was found, and what the dense reference says -----------------------------


def solution(found, at):
    return found.solve(at.alpha).points(at.X_new).inner(at.Y), at.reference.solution() @ at.V.T


def left_out(found, at):
    """Points and squared lengths, at the last ridge of a path."""
    *_, last = found.left_out([at.alpha, 3 * at.alpha])
    ridge = replace(at.reference, alpha=3 * at.reference.alpha)
    points = ridge.left_out(at.labels)
    lengths = ((points - at.V) ** 2).sum(axis=1)
    return np.c_[last.embed().inner(at.Y), last.sqlengths], np.c_[points @ at.V.T, lengths]


def gcv(found, at):
    return next(iter(found.left_out([at.alpha], averaged=True))).sqlengths, at.reference.gcv()


def moves(found, at):
    D = np.concatenate([block for _, block in found.moves(at.X_new, at.alpha)])
    outputs = found.output_rows.frame.evaluate(at.Y)
    return D @ outputs.T, at.reference.moves(at.labels) @ at.V.T


def without(found, at):
    points = found.without(at.alpha)(at.X_new, SETS)
    return points.inner(at.Y), at.reference.without(SETS) @ at.V.T


def variance(found, at):
    """Of every output component; of outputs without components, along the training outputs."""
    unit = found.variance(at.X_new, at.alpha)
    A = np.eye(unit.shape[1]) if found.Q is None else found.Q
    if at.case.output is None:
        return unit @ (A**2).T, at.reference.variance()
    A = found.output_rows.frame.evaluate(at.Y) @ A
    return unit @ (A**2).T, at.reference.variance_along(at.V)


def evidence(found, at):
    return np.array(found.evidence(at.alpha)), np.array(at.reference.evidence())


def density(found, at):
    return np.array(found.density(at.alpha)), np.array(
        at.reference.density(at.labels, at.directions)
    )


QUANTITIES = (solution, left_out, gcv, moves, without, variance, evidence, density)


def name_of(compare):
    """The name of a quantity in the table of refusals."""
    return compare.__name__.replace("_", " ")


@pytest.mark.parametrize(("name", "condition"), crossed(ROUTES, CONDITIONS))
def test_equals_the_dense_reference(name, condition):
    route = ROUTES[name]
    at = route.posed(CONDITIONS[condition])
    found, errors = at.factorization, {}
    for compare in QUANTITIES:
        quantity = name_of(compare)
        if quantity in route.refuses:
            with pytest.raises(ValueError, match=route.refuses[quantity]):
                compare(found, at)
        else:
            errors[quantity] = off(*compare(found, at))
    assert max(errors.values()) <= route.error, errors


@pytest.mark.parametrize("name", ["identity", "conditional", "coupled", "shared", "shifts"])
@pytest.mark.parametrize("condition", ["weights, groups", "weights, intercept, groups"])
def test_the_dense_reference_of_weights_is_that_of_repeats(name, condition):
    at = Posed(CASES[name], CONDITIONS[condition], weights=1.0 + np.arange(N) % 3)
    made = Repeated(at.dense, at.alpha)
    for found, wanted in (
        (at.dense.solution(), made.solution()), (at.dense.gcv(), made.gcv()),
        (at.dense.left_out(at.labels), made.left_out(at.labels)),
        (at.dense.moves(at.labels), made.moves(at.labels)),
        (at.dense.without(SETS), made.without(SETS)), (at.dense.variance(), made.variance()),
        (np.array(at.dense.evidence()), np.array(made.evidence())),
        (np.array(at.dense.noise()), np.array(made.often.noise())),
        (np.array(at.dense.density(at.labels, at.directions)),
         np.array(made.density(at.labels, at.directions))),
    ):  # fmt: skip
        assert off(found, wanted) <= 1e-9


# -- the posterior of a fitted model, before and after it is saved --------------------------------

POSTERIORS = [
    "identity", "covariance", "conditional", "sum", "local", "low rank", "low rank, matrix",
    "shifts", "coupled", "shared",
    "shared, channels",
]  # fmt: skip
"""Cases whose outputs are vectors, so that each component has a variance."""
KINDS = ("outputs", "directions", "total")


def expected_variance(at, noise, observed):
    """The variance of each output component."""
    dense = at.dense
    if noise == "evidence":
        return dense.noise() * (dense.variance() + observed)
    parts = [(direction, dense.along(direction)) for direction in at.directions]
    noises = [one.left_out_noise(at.labels)[0] for _, one in parts]
    if at.case.steady is not None:  # entries that shifts exchange have the same noise
        sizes = [direction.shape[1] for direction, _ in parts]
        noises = [np.average(noises, weights=sizes)] * len(noises)
    return sum(
        sigma2 * (one.variance() + observed) @ (direction**2).T
        for sigma2, (direction, one) in zip(noises, parts, strict=True)
    )


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", POSTERIORS)
def test_posterior_variance(name, condition, tmp_path):
    """In every form, also after the model was saved and loaded."""
    at = Posed(CASES[name], CONDITIONS[condition])
    points = at.fitted.embed(at.X_new)
    mercer.save(at.fitted, tmp_path / "model.mercer", variance=True)
    loaded = mercer.load(tmp_path / "model.mercer").embed(at.X_new)
    assert off(loaded.inner(at.Y), points.inner(at.Y)) <= 1e-12
    for observed, noise in product((False, True), ("evidence", "left out")):
        wanted = expected_variance(at, noise, observed)
        found = {kind: points.variance(kind, observed, noise) for kind in KINDS}
        assert off(found["outputs"].reshape(M, -1), wanted) <= 1e-8
        assert off(found["total"], wanted.sum(axis=1)) <= 1e-8
        assert off(found["directions"].sum(axis=1), wanted.sum(axis=1)) <= 1e-8
        for kind in KINDS:
            assert off(loaded.variance(kind, observed, noise), found[kind]) <= 1e-10


DRAWN = ("identity", "covariance", "conditional", "low rank", "low rank, matrix")
"""Cases that offer draws."""


@pytest.mark.parametrize("name", POSTERIORS)
def test_draws(name, tmp_path):
    """Their covariance is the posterior covariance, up to the error of 20,000 draws."""
    at = Posed(CASES[name], CONDITIONS["weights, intercept, groups"])
    mercer.save(at.fitted, tmp_path / "model.mercer", variance=True)
    with pytest.raises(ValueError, match="draw before it is saved"):
        mercer.load(tmp_path / "model.mercer").embed(at.X_new).sample(2)
    if name not in DRAWN:
        with pytest.raises(ValueError, match="draws are for|has no directions"):
            at.fitted.embed(at.X_new).sample(2)
        return
    draws = at.fitted.embed(at.X_new).sample(20_000, random_state=0).reshape(20_000, -1)
    wanted = at.dense.noise() * at.dense.covariance()
    assert off(draws.mean(axis=0), at.dense.solution().reshape(-1)) <= 0.02
    assert off(np.cov(draws.T), wanted) <= 0.05


@pytest.mark.parametrize("factor", [1.0, 2.0])
@pytest.mark.parametrize("name", CASES)
def test_a_factor_changes_nothing(name, factor):
    """Neither the route nor what it gives, at a ridge that is multiplied by it too."""
    if factor != 1.0 and "conditional" in name:
        pytest.skip("the operator is made of the scalar kernel, which the factor multiplies")
    at = Posed(CASES[name], CONDITIONS["intercept, groups"])
    again = at.model(factor * CASES[name].kernel, alpha=factor * ALPHA)
    left, right = (route(m.fitted_.problem, m.fitted_.want) for m in (at.fitted, again))
    assert left is right
    assert off(*(m.embed(at.X_new).inner(at.Y) for m in (at.fitted, again))) <= 1e-12
    assert off(*(m.loo_embed().inner(at.Y) for m in (at.fitted, again))) <= 1e-10
    if name in POSTERIORS:
        assert off(*(m.embed(at.X_new).variance() for m in (at.fitted, again))) <= 1e-10


@pytest.mark.parametrize("name", ["windows", "windows, channels"])
def test_shared_kernels_that_nearly_interpolate(name):
    """What the landmarks explain is not counted twice where nearly nothing is left.

    The Gram matrix of these landmarks has a condition of 1e10: the noise, a difference that leaves
    7e-7 of the outputs, has two digits.
    """
    at = ROUTES[name].posed(CONDITIONS["plain"], alpha=1e-5, scale=0.1, smooth=True)
    found = at.factorization
    assert found.noise(at.alpha) == pytest.approx(at.dense.noise(), rel=0.02)
    assert found.evidence(at.alpha) == pytest.approx(at.dense.evidence(), rel=0.02)


def test_streams_of_inputs_far_from_the_landmarks():
    """Directions that are short in the training inputs count where new inputs are long."""
    at = ROUTES["streamed"].posed(CONDITIONS["intercept, groups"], alpha=1e-5, scale=3.5)
    assert off(*solution(at.factorization, at)) <= 1e-10


def test_groups_of_high_leverage_at_low_rank():
    weights = np.exp(3.0 * np.random.default_rng(0).normal(size=N))
    route, condition = ROUTES["low rank, spanned"], CONDITIONS["weights, intercept, groups"]
    at = route.posed(condition, alpha=1e-6, scale=3.0, weights=weights)
    assert off(*left_out(at.factorization, at)) <= 1e-10
