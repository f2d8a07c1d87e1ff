"""Solutions by conjugate gradients equal those by spectra, and are taken where they are faster."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import KernelDependency
from mercer._base import progress
from mercer._base.errors import NotSupported
from mercer.estimators import fitted
from mercer.features import Nystroem
from mercer.kernels import RBF, Kernel, Laplacian, Linear, Polynomial
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    Identity,
    Matrix,
    Mixture,
    Operator,
)
from mercer.problem import Want
from mercer.solvers import exact_spectrum, factor, iterative
from mercer.solvers.iterative import LARGEST_WIDTH, LEAST_EXAMPLES, iterative_refusal

CHAIN = np.linalg.inv(2.5 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1))
ONES = np.ones((4, 4))  # three of its eigenvalues are zero
OPERATORS = {
    "identity": 2.0 * Identity(),
    "covariance": Covariance(),
    "root of the covariance": Covariance(0.5),
    "conditional covariance": ConditionalCovariance(0.01),
    "sum": ConditionalCovariance(0.1) + 0.5 * ConditionalCovariance(0.01),
    "matrix": Matrix(CHAIN),
    "singular matrix": Matrix(ONES),
    "mixture": Mixture([Identity(), Covariance(), ConditionalCovariance(0.1)], [0.5, 0.2, 0.3]),
}
KERNELS = {
    "rbf": RBF(1.5),
    "laplacian": Laplacian(3.0),
    "linear": Linear(),
    "square": Polynomial(2),
}


def pairs(n=200, q=4, seed=0):
    """Inputs with repeated rows, and outputs of which one is constant."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    X[: n // 5] = X[n // 5 : 2 * (n // 5)]
    Y = np.sin(2 * X @ rng.normal(size=(3, q))) + 0.1 * rng.normal(size=(n, q)) + 1.0
    Y[:, -1] = 3.0
    return X, Y


def both(kernel, X, Y, alpha=0.1, weights=None, **params):
    """The fits by conjugate gradients and by the spectrum."""
    models = [
        KernelDependency(kernel, alpha=alpha, solver=solver, **params).fit(
            X, Y, sample_weight=weights
        )
        for solver in ("cg", "spectral")
    ]
    assert models[0].n_iter_ is not None
    return models


def off(models, X_new, Y):
    """The largest difference at new inputs, relative to the largest output."""
    found, wanted = (model.predict(X_new) for model in models)
    return np.abs(found - wanted).max() / np.abs(Y).max()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator(name, intercept, weighted):
    X, Y = pairs()
    w = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 30.0], size=len(X)) if weighted else None
    models = both(RBF(1.5) * OPERATORS[name], X, Y, weights=w, fit_intercept=intercept)
    assert off(models, X + 0.05, Y) <= 1e-9
    assert models[0].residual_ <= 1e-10
    assert models[0].n_iter_ < 100 and models[1].n_iter_ is None


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_every_kind_of_kernel(name, intercept):
    X, Y = pairs()
    models = both(KERNELS[name] * Covariance(), X, Y, 0.5, fit_intercept=intercept)
    assert off(models, X + 0.05, Y) <= 1e-9


def test_more_outputs_than_examples():
    X, Y = pairs(60, 90)
    assert off(both(RBF(1.0) * Covariance(), X, Y), X + 0.05, Y) <= 1e-9


def test_constant_outputs():
    X, _ = pairs()
    with pytest.warns(UserWarning, match="all outputs in y are equal"):
        models = both(RBF(1.0) * Covariance(), X, np.ones((len(X), 2)), fit_intercept=True)
    assert off(models, X + 0.05, np.ones(1)) <= 1e-12


def test_two_fits_are_equal():
    X, Y = pairs()
    fits = [KernelDependency(RBF(1.0), solver="cg").fit(X, Y).predict(X) for _ in range(2)]
    assert (fits[0] == fits[1]).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_the_gram_matrix_in_blocks(monkeypatch, capsys, intercept):
    X, Y = pairs()
    w = np.linspace(1.0, 2.0, len(X))
    kernel = RBF(1.5) * ConditionalCovariance(0.1)
    models = both(kernel, X, Y, weights=w, fit_intercept=intercept)
    monkeypatch.setattr(exact_spectrum, "free_bytes", lambda where: 1.0)
    monkeypatch.setattr(mercer.solvers.gram_products, "ENTRIES", 3000)
    blocks = KernelDependency(kernel, alpha=0.1, solver="cg", fit_intercept=intercept)
    monkeypatch.setattr(progress, "LINE", 0.0)
    blocks.fit(X, Y, sample_weight=w)
    assert "done (conjugate gradients), iteration 1" in capsys.readouterr().err
    assert off([blocks, models[1]], X + 0.05, Y) <= 1e-9


def test_arrays_of_torch():
    torch = pytest.importorskip("torch")
    X, Y = pairs()
    w = np.linspace(1.0, 2.0, len(X))
    model = KernelDependency(RBF(1.5) * ConditionalCovariance(0.1), alpha=0.1, solver="cg")
    wanted = model.fit(X, Y, sample_weight=w).predict(X)
    model.fit(torch.asarray(X), torch.asarray(Y), sample_weight=torch.asarray(w))
    found = model.predict(torch.asarray(X))
    assert model.n_iter_ > 0 and isinstance(found, torch.Tensor)
    assert np.allclose(found.numpy(), wanted, atol=1e-9)


class OfInputs(Operator):
    """An operator that is made of the moments of the inputs."""

    def matrix(self, moments):
        return moments.ones * float(moments.uu.sum()) / moments.n


@pytest.mark.parametrize(
    ("kernel", "alpha"), [(RBF(1.0), 1e-14), (RBF(1.0) * OfInputs(), 0.1)], ids=str
)
def test_the_spectrum_is_used_where_it_is_needed(kernel, alpha):
    X, Y = pairs()
    with pytest.warns(ConvergenceWarning, match="the spectrum was used"):
        model = KernelDependency(kernel, alpha=alpha, solver="cg").fit(X, Y)
    assert model.n_iter_ is None
    wanted = KernelDependency(kernel, alpha=alpha).fit(X, Y).predict(X)
    assert np.allclose(model.predict(X), wanted, atol=1e-7)


# -- when ----------------------------------------------------------------------------------------


def chosen(monkeypatch, n=LEAST_EXAMPLES, q=3, alpha=1.0, weights=None, kernel=None):
    """Whether a fit with solver="auto" is by conjugate gradients."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, q))
    model = KernelDependency(kernel or RBF(2.0), alpha=alpha, fit_intercept=False)
    return model.fit(X, Y, sample_weight=weights).n_iter_ is not None


def test_when_examples_are_many(monkeypatch):
    monkeypatch.setattr(iterative, "LEAST_EXAMPLES", 300)
    assert chosen(monkeypatch, 300)
    assert not chosen(monkeypatch, 299)


@pytest.fixture
def small(monkeypatch):
    """The rule at sizes that are fast to test."""
    monkeypatch.setattr(iterative, "LEAST_EXAMPLES", 300)


def test_when_outputs_are_few(small, monkeypatch):
    limit = int(LARGEST_WIDTH * 400)
    kernel = RBF(2.0) * Covariance()
    assert chosen(monkeypatch, 400, limit, kernel=kernel)
    assert not chosen(monkeypatch, 400, limit + 1, kernel=kernel)


def test_when_the_condition_is_good(small, monkeypatch):
    alike = RBF(1e3)  # its largest eigenvalue is 400
    monkeypatch.setattr(iterative, "LARGEST_CONDITION", 1e4)
    assert chosen(monkeypatch, 400, alpha=0.041, kernel=alike)
    assert not chosen(monkeypatch, 400, alpha=0.039, kernel=alike)


def test_when_weights_are_alike(small, monkeypatch):
    w = np.ones(400)
    w[0] = 1e-4
    assert chosen(monkeypatch, 400, weights=w)
    w[0] = 0.99e-4
    assert not chosen(monkeypatch, 400, weights=w)


def test_when_the_budget_suffices(small, monkeypatch):
    monkeypatch.setattr(iterative, "RANK_FRACTION", 0.0)
    rough = Laplacian(0.5) * Covariance()
    assert chosen(monkeypatch, 400, 10, alpha=10.0, kernel=rough)
    assert not chosen(monkeypatch, 400, 10, alpha=0.1, kernel=rough)


def test_only_where_one_solution_is_wanted():
    X, Y = pairs(40)
    problem, want = KernelDependency(RBF(1.0))._first_problem(X, Y)
    assert iterative_refusal(problem, Want([1.0], solver="cg")) is None
    for other in (Want([1.0, 2.0]), Want([1.0], left_out=True), Want([1.0], moves=True)):
        assert "one ridge" in iterative_refusal(problem, other)
    spanned, want = KernelDependency(RBF(1.0), RBF(1.0))._first_problem(X, Y)
    assert "as fast" in iterative_refusal(spanned, want)


# -- after the fit -------------------------------------------------------------------------------


class Counting(RBF):
    """An RBF kernel that counts the Gram matrices that it computes."""

    grams = 0

    def _gram(self, A, B):
        Counting.grams += len(A) == len(B)
        return super()._gram(A, B)


def test_left_out_predictions_compute_the_spectrum_on_request(monkeypatch, capsys):
    X, Y = pairs()
    Counting.grams = 0
    model = KernelDependency(Counting(1.0) * Covariance(), alpha=0.1, solver="cg").fit(X, Y)
    assert Counting.grams == 1
    assert model.fitted_.kept is None  # neither the Gram matrix nor a spectrum
    model.without_training_data()
    model.predict(X[:5])
    assert Counting.grams == 1
    monkeypatch.setattr(fitted, "LONG_PAIRS", len(X))
    assert capsys.readouterr().err == ""
    left_out = model.loo_predict()
    assert Counting.grams == 2
    assert "factoring the Gram matrix of 200 pairs" in capsys.readouterr().err
    wanted = KernelDependency(RBF(1.0) * Covariance(), alpha=0.1, solver="spectral").fit(X, Y)
    assert np.allclose(left_out, wanted.loo_predict(), atol=1e-9)


def test_saving_computes_no_spectrum(tmp_path, monkeypatch):
    X, Y = pairs()
    model = KernelDependency(RBF(1.0), alpha=0.1, solver="cg").fit(X, Y)
    monkeypatch.setattr(Kernel, "checked_gram", None)
    mercer.save(model, tmp_path / "model.mercer")
    assert np.allclose(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_the_route_is_for_exact_fits():
    X, Y = pairs(40)
    with pytest.raises(ValueError, match="solver='cg' is not for this fit: use solver='auto'"):
        KernelDependency(RBF(1.0), features=Nystroem(5), solver="cg").fit(X, Y)


def test_a_solution_at_another_ridge_is_refused():
    X, Y = np.random.default_rng(0).normal(size=(2, 30, 3))
    problem = KernelDependency(RBF(1.0), alpha=0.1).fit(X, Y).fitted_.problem
    found = factor(problem, Want([0.1], solver="cg"))
    assert found.solve(0.1).residual < 1e-9
    with pytest.raises(NotSupported, match=r"alpha=0\.1, not for alpha=0\.2.*spectral"):
        found.solve(0.2)
