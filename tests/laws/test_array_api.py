"""Arrays in, the same kind out, on the same device.

array-api-strict allows nothing that the standard does not; PyTorch and CuPy take part where they
are installed, CUDA where there is such a device.
"""

import array_api_compat
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer._base.arrays import host
from mercer.decoders import Candidates, FixedPoint, Gradient
from mercer.features import (
    IncompleteCholesky,
    KernelPCA,
    Nystroem,
    RandomFourier,
    RandomPivotedCholesky,
)
from mercer.kernels import (
    RBF,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    CurlFree,
    DivergenceFree,
    Identity,
    Matrix,
)
from mercer.solvers import BlockConjugateGradient
from mercer.spaces import Vectors

CLOSE = 1e-8


def cuda(A):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch.asarray(A, device="cuda")


def cupy(A):
    cp = pytest.importorskip("cupy")
    if not cp.cuda.is_available():
        pytest.skip("no CUDA device")
    return cp.asarray(A)


KINDS = {
    "strict": lambda A: pytest.importorskip("array_api_strict").asarray(A),
    "torch": lambda A: pytest.importorskip("torch").asarray(A),
    "cuda": lambda A: pytest.importorskip("torch") and cuda(A),
    "cupy": cupy,
}


@pytest.fixture(params=KINDS)
def kind(request):
    """What makes arrays of a library, other than numpy, on a device."""
    KINDS[request.param](np.zeros(1))
    return KINDS[request.param]


@pytest.fixture
def strict(kind):
    return lambda *arrays: [kind(A) for A in arrays]


@pytest.fixture
def same_kind(kind):
    like = kind(np.zeros(1))

    def check(got, wanted):
        assert type(got) is type(like)
        assert array_api_compat.device(got) == array_api_compat.device(like)
        assert_allclose(host(got), wanted, rtol=0, atol=CLOSE)

    return check


@pytest.fixture
def data(rng):
    X, Y, X_new = rng.normal(size=(12, 2)), rng.normal(size=(12, 3)), rng.normal(size=(5, 2))
    return X, Y, X_new


@pytest.mark.parametrize(
    "kernel",
    [Linear(), RBF(1.0), RBF(), Laplacian(1.0), Matern(), Matern(1.0, nu=2.5), Polynomial(2),
     RationalQuadratic(1.0, 0.5),
     Normalized(Linear()), Gaussian(Linear()), RBF(1.0) + 2 * Linear() ** 2],
    ids=str,
)  # fmt: skip
def test_kernels(kernel, data, strict, same_kind):
    X, _, X_new = data
    wanted = kernel.fit(X)(X_new, X), kernel(X), kernel.diag(X)
    A, B = strict(X, X_new)
    kernel.fit(A)
    for got, value in zip((kernel(B, A), kernel(A), kernel.diag(A)), wanted, strict=True):
        same_kind(got, value)


OPERATORS = [
    Identity(), Covariance(), Covariance(0.5), ConditionalCovariance(0.1),
    Identity() + Covariance(),
]  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("operator", OPERATORS, ids=str)
@pytest.mark.parametrize("l", [Linear(), RBF(2.0)], ids=str)
def test_operators(intercept, operator, l, data, strict, same_kind):
    model = KernelDependency(RBF(1.0) * operator, l, alpha=0.1, fit_intercept=intercept)
    X, Y, X_new = data
    plain = model.fit(X, Y)
    wanted = plain.predict(X_new), plain.embed(X_new).inner(Y), plain.embed(X_new).weights
    score = plain.score(X, Y)
    A, V, B = strict(X, Y, X_new)
    model.fit(A, V)
    same_kind(model.predict(B), wanted[0])
    same_kind(model.embed(B).inner(V), wanted[1])
    same_kind(model.embed(B).weights, wanted[2])
    assert model.score(A, V) == pytest.approx(score, abs=CLOSE)


@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_solvers(solver, data, strict, same_kind):
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0), alpha=0.1, solver=solver)
    wanted = model.fit(X, Y).predict(X_new)
    A, V, B = strict(X, Y, X_new)
    same_kind(model.fit(A, V).predict(B), wanted)


def test_matrix(data, strict, same_kind, kind):
    X, Y, X_new = data
    S = np.diag([1.0, 2.0, 3.0]) + 0.5
    wanted = KernelDependency(RBF(1.0) * Matrix(S)).fit(X, Y).predict(X_new)
    A, V, B = strict(X, Y, X_new)
    for given in (S, kind(S)):
        same_kind(KernelDependency(RBF(1.0) * Matrix(given)).fit(A, V).predict(B), wanted)


@pytest.mark.parametrize("groups", [None, np.arange(12) // 3], ids=["one", "group"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("decoder", [Candidates(), FixedPoint()], ids=str)
def test_leave_one_out(groups, intercept, decoder, data, strict, same_kind):
    X, Y, X_new = data
    model = KernelDependencyCV(
        [RBF(1.0) * operator for operator in (Identity(), Covariance())], RBF(2.0),
        fit_intercept=intercept, decoder=decoder,
    )  # fmt: skip
    wanted = model.fit(X, Y, groups=groups)
    risk, out, new = wanted.loo_risk_, wanted.loo_predict(), wanted.predict(X_new)
    A, V, B = strict(X, Y, X_new)
    model.fit(A, V, groups=groups)
    assert model.loo_risk_ == pytest.approx(risk, abs=CLOSE)
    same_kind(model.loo_predict(), out)
    same_kind(model.predict(B), new)


@pytest.mark.parametrize("decoder", [Candidates(), FixedPoint(), Gradient()], ids=str)
def test_decoders(decoder, data, strict, same_kind):
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0), RBF(2.0), alpha=0.1, decoder=decoder)
    wanted, top = model.fit(X, Y).predict(X_new), model.predict_top(X_new, k=2)
    A, V, B = strict(X, Y, X_new)
    same_kind(model.fit(A, V).predict(B), wanted)
    for row, other in zip(model.predict_top(B, k=2), top, strict=True):
        for (y, score), (y_other, score_other) in zip(row, other, strict=True):
            same_kind(y, y_other)
            assert score == pytest.approx(score_other, abs=CLOSE)


MAPS = [
    IncompleteCholesky(5), KernelPCA(3), Nystroem(5, random_state=0),
    RandomPivotedCholesky(5, random_state=0), RandomFourier(6, random_state=0),
]  # fmt: skip


@pytest.mark.parametrize("map", MAPS, ids=str)
def test_low_rank(map, data, strict, same_kind):
    X, Y, X_new = data
    model = KernelDependency(RBF(1.0) * Covariance(), RBF(2.0), features=map, output_features=map)
    wanted = model.fit(X, Y).embed(X_new).inner(Y)
    A, V, B = strict(X, Y, X_new)
    same_kind(model.fit(A, V).embed(B).inner(V), wanted)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("groups", [None, np.arange(12) // 3], ids=["one", "group"])
def test_low_rank_inputs_of_outputs_without_coordinates(intercept, groups, data, strict, same_kind):
    X, Y, X_new = data
    model = KernelDependencyCV(
        RBF(1.0), RBF(2.0), features=Nystroem(5, random_state=0), fit_intercept=intercept
    )
    plain = model.fit(X, Y, groups=groups)
    wanted, risk, left_out = plain.predict(X_new), plain.loo_risk_, plain.loo_embed().coordinates
    A, V, B = strict(X, Y, X_new)
    model.fit(A, V, groups=groups)
    same_kind(model.predict(B), wanted)
    same_kind(model.loo_embed().coordinates, left_out)
    assert model.loo_risk_ == pytest.approx(risk, abs=CLOSE)


def test_plain_numbers_and_images(data, rng, strict, same_kind, kind):
    X, _, X_new = data
    A, B = strict(X, X_new)
    for y in (rng.normal(size=12), rng.normal(size=(12, 2, 2))):
        wanted = KernelDependency(RBF(1.0)).fit(X, y).predict(X_new)
        same_kind(KernelDependency(RBF(1.0)).fit(A, kind(y)).predict(B), wanted)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0], [np.nan], [2.0]]), "X contains NaN or infinity"),
        (np.array([1.0, 2.0, 3.0]), "2-D X"),
        (np.zeros((0, 2)), "empty"),
        (np.array([[1j], [1.0], [2.0]]), "Complex"),
    ],
)
def test_bad_input(X, message, kind):
    with pytest.raises(ValueError, match=message):
        KernelDependency(RBF(1.0)).fit(kind(X), kind(np.array([[0.0], [1.0], [2.0]])))


def test_score(data, strict):
    X, Y, _ = data
    for l in (Linear(), RBF(2.0)):
        model = KernelDependency(RBF(1.0), l)
        wanted = model.fit(X, Y).score(X, Y, sample_weight=np.arange(12))
        A, V = strict(X, Y)
        got = model.fit(A, V).score(A, V, sample_weight=np.arange(12))
        assert got == pytest.approx(wanted, abs=CLOSE)


def test_precomputed(data, strict, same_kind):
    X, Y, _ = data
    gram, index = RBF(1.0)(X), np.arange(12)
    (G,), (V,) = strict(gram), strict(Y)
    for on_outputs in (Linear(), Precomputed(gram)):
        y = index if on_outputs.pairwise or isinstance(on_outputs, Precomputed) else Y
        wanted = KernelDependency(Precomputed(gram), on_outputs).fit(index, y).embed(index)
        if y is index:
            moved = KernelDependency(Precomputed(G), Precomputed(G)).fit(index, index)
        else:
            moved = KernelDependency(Precomputed(G)).fit(index, V)
        same_kind(moved.embed(index).coordinates, wanted.coordinates)


def test_distinct_rows_are_found_on_the_device(kind, rng):
    Y = rng.integers(0, 2, size=(30, 3)).astype(float)
    positions, numbers = Vectors().unique(kind(Y))
    wanted = Vectors().unique(Y)
    assert positions.tolist() == wanted[0].tolist()
    assert numbers.tolist() == wanted[1].tolist()


COUPLED = [
    CurlFree(1.0), DivergenceFree(1.0) + RBF(1.0) * Covariance(),
    RBF(0.5) + Linear() * Covariance(),
    RBF(0.5) * Covariance() + RBF(1.0) * ConditionalCovariance() + Linear(),
]  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", COUPLED, ids=range(len(COUPLED)))
def test_kernels_that_do_not_separate(kernel, intercept, data, strict, same_kind):
    X, Y, X_new = data[0], data[1][:, :2], data[2]
    A, B, A_new = strict(X, Y, X_new)
    for solver in ("auto", "dense", BlockConjugateGradient(1e-12)):
        model = KernelDependency(kernel, alpha=0.1, fit_intercept=intercept, solver=solver)
        wanted = model.fit(X, Y).predict(X_new)
        same_kind(model.fit(A, B).predict(A_new), wanted)
    model = KernelDependencyCV(kernel, alphas=[0.1, 1.0], fit_intercept=intercept)
    wanted = model.fit(X, Y).loo_predict()
    same_kind(model.fit(A, B).loo_predict(), wanted)
