"""Decoders that climb: never below their start, and to the same optimum."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer import KernelDependency
from mercer.decoders import Candidates, Direct, FixedPoint, Gradient, natural
from mercer.embedding import Embedding, SpanFrame
from mercer.kernels import RBF, Gaussian, Laplacian, Linear, Matern, Normalized, Polynomial
from mercer.operators import Covariance
from tolerances import IDENTITY

RADIAL = [RBF(1.0), Matern(1.0, nu=1.5), Matern(1.0, nu=2.5), RBF(0.5) + 0.5 * RBF(2.0)]
SMOOTH = [*RADIAL, Polynomial(2), Normalized(Polynomial(2)), Gaussian(Polynomial(2), 3.0)]

numbers = st.floats(-3, 3, width=32)
outputs = arrays(float, (5, 2), elements=numbers)
weights = arrays(float, (4, 5), elements=numbers)


def objective(points, Y):
    return points.scores(Y).diagonal()


def assert_never_worse(decoder, kernel, Y, C):
    points = Embedding(C, SpanFrame(kernel, Y))
    start = Candidates().fit(kernel, Y).decode(points)
    end = decoder.fit(kernel, Y).decode(points)
    assert np.isfinite(end).all()
    assert (objective(points, end) >= objective(points, start) - 1e-12).all()
    for row, best in zip(decoder.decode_top(points, 3), objective(points, end), strict=True):
        scores = [score for _, score in row]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] >= best - 1e-9 * max(1.0, abs(best))


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
@settings(deadline=None, max_examples=20)
@given(Y=outputs, C=weights)
def test_fixed_point_is_never_worse_than_its_start(kernel, Y, C):
    assert_never_worse(FixedPoint(), kernel, Y, C)


@pytest.mark.parametrize("kernel", SMOOTH, ids=str)
@settings(deadline=None, max_examples=8)
@given(Y=outputs, C=weights)
def test_gradient_is_never_worse_than_its_start(kernel, Y, C):
    if isinstance(kernel, Polynomial):
        C = 0.1 * C
    assert_never_worse(Gradient(max_iter=20), kernel, Y, C)


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 2))
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1]), X.sum(axis=1)])
    return X, Y, rng.normal(size=(8, 2))


def points_of(decoder, l, problem):
    X, Y, X_new = problem
    model = KernelDependency(RBF(1.0) * Covariance(), l, alpha=1e-3, decoder=decoder).fit(X, Y)
    return model, model.embed(X_new), model.predict(X_new)


def test_gradient_and_fixed_point_find_the_same_optimum(problem):
    _, points, fixed = points_of(FixedPoint(max_iter=2000, tol=1e-13), RBF(2.0), problem)
    _, _, climbed = points_of(Gradient(max_iter=2000, tol=1e-10), RBF(2.0), problem)
    assert_allclose(objective(points, fixed), objective(points, climbed), rtol=0, atol=1e-9)
    assert_allclose(fixed, climbed, rtol=0, atol=1e-4)


def test_the_fixed_point_is_one(problem):
    """y = Σ c_i l(y, y_i) y_i / Σ c_i l(y, y_i), the paper's and Mika's equation."""
    model, points, found = points_of(FixedPoint(max_iter=5000, tol=1e-14), RBF(2.0), problem)
    M = points.weights * RBF(2.0)(found, model.outputs_)
    again = (M @ model.outputs_) / M.sum(axis=1, keepdims=True)
    assert_allclose(again, found, rtol=0, atol=1e-4)


def negative_score(point, y):
    return -point.scores(y[None])[0, 0]


def test_gradient_finds_a_local_optimum_of_any_smooth_kernel(problem):
    for l in (Polynomial(2), RBF(2.0) + 0.1 * Linear()):
        _, points, found = points_of(Gradient(tol=1e-9, max_iter=500), l, problem)
        for t in range(3):
            loss = partial(negative_score, points[t : t + 1])
            polished = minimize(loss, found[t], method="Nelder-Mead", options={"xatol": 1e-8})
            assert polished.fun >= loss(found[t]) - 1e-6


@pytest.mark.parametrize("decoder", [FixedPoint, Gradient])
def test_refinement_improves_on_candidates(decoder, problem):
    _, points, chosen = points_of(Candidates(), RBF(2.0), problem)
    _, _, refined = points_of(decoder(), RBF(2.0), problem)
    assert (objective(points, refined) > objective(points, chosen)).all()


@pytest.mark.parametrize("decoder", [FixedPoint, Gradient])
def test_no_iterations_return_the_start(decoder, problem):
    _, _, chosen = points_of(Candidates(), RBF(2.0), problem)
    _, _, refined = points_of(decoder(max_iter=0), RBF(2.0), problem)
    assert_allclose(refined, chosen, rtol=0, atol=IDENTITY)


@pytest.mark.parametrize("decoder", [FixedPoint, Gradient])
def test_a_start_of_ones_own(decoder, problem, rng):
    pool = rng.normal(size=(4, 3))
    start = Candidates(pool)
    _, points, refined = points_of(decoder(start=start), RBF(2.0), problem)
    best = points.scores(pool).max(axis=1)
    assert (objective(points, refined) >= best - 1e-12).all()
    assert not hasattr(start, "outputs_")  # fitted as a copy


@pytest.mark.parametrize("decoder", [FixedPoint(), Gradient()], ids=str)
def test_images_come_back_as_images(decoder, rng):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 3, 4))
    model = KernelDependency(RBF(1.0), RBF(3.0), alpha=0.1, decoder=decoder).fit(X, Y)
    assert model.predict(X[:5]).shape == (5, 3, 4)
    assert model.predict_top(X[:2], k=2)[0][0][0].shape == (3, 4)
    flat = KernelDependency(RBF(1.0), RBF(3.0), alpha=0.1, decoder=decoder)
    flat.fit(X, Y.reshape(15, 12))
    assert_allclose(model.predict(X).reshape(15, 12), flat.predict(X), rtol=0, atol=IDENTITY)


def test_decoding_the_image_of_an_output_finds_it(rng):
    """From Φ(y) itself back to y."""
    Y = rng.normal(size=(10, 3))
    for l, decoder in [
        (RBF(1.0), Candidates()), (RBF(1.0), FixedPoint()), (RBF(1.0), Gradient()),
        (Linear(), Direct()), (Linear(), Candidates()), (3 * Linear(), Direct()),
        (Polynomial(3), Gradient()), (Laplacian(1.0), Candidates()),
    ]:  # fmt: skip
        points = Embedding(np.eye(10), SpanFrame(l, Y))
        assert_allclose(decoder.fit(l, Y).decode(points), Y, rtol=0, atol=1e-5)


def test_the_natural_decoder():
    for kind, kernels in {
        Direct: [Linear(), 2 * Linear()],
        FixedPoint: [RBF(1.0), Matern(1.0)],
        Candidates: [Matern(1.0, nu=0.5), Laplacian(1.0), Polynomial(2)],
    }.items():
        assert all(type(natural(l)) is kind for l in kernels)


@pytest.mark.parametrize(
    ("decoder", "l", "message"),
    [
        (Direct(), RBF(1.0), r"Direct needs an output kernel whose features can be inverted"),
        (FixedPoint(), Linear(), r"FixedPoint needs an output kernel of the distance"),
        (FixedPoint(), Laplacian(1.0), r"Use decoder=Candidates\(\)"),
        (Gradient(), Laplacian(1.0), r"Gradient needs an output kernel with a derivative"),
    ],
)
def test_kernels_that_a_decoder_cannot_use(decoder, l, message):
    with pytest.raises(ValueError, match=message):
        KernelDependency(output_kernel=l, decoder=decoder).fit([[0.0], [1.0]], [[0.0], [1.0]])


def test_one_answer_has_no_ranking():
    model = KernelDependency().fit([[0.0], [1.0]], [[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"one answer for each input.*decoder=Candidates\(\)"):
        model.predict_top([[0.0]])


def test_negative_iterations():
    with pytest.raises(ValueError, match="max_iter and tol must not be negative"):
        KernelDependency(output_kernel=RBF(1.0), decoder=FixedPoint(max_iter=-1)).fit(
            [[0.0], [1.0]], [[0.0], [1.0]]
        )
