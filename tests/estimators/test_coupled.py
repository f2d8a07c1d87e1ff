"""The estimators with kernels that do not separate: which solver, which refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependency, KernelDependencyCV
from mercer.kernels import RBF, Linear
from mercer.operators import Covariance, CurlFree, Identity
from mercer.solvers import by_direction, coupled, slot_gram
from mercer.testing import check_structured_estimator


@pytest.fixture
def data(rng):
    return rng.normal(size=(10, 2)), rng.normal(size=(10, 2))


@pytest.mark.parametrize("solver", ["auto", "dense", "cg"])
@pytest.mark.parametrize("kernel", [CurlFree(), RBF() * Covariance() + Linear()], ids=str)
def test_contract(kernel, solver, data):
    check_structured_estimator(KernelDependency(kernel, solver=solver), *data)


def test_which_solver_is_for_which_kernel(data):
    for solver in ("cholesky", "spectral"):
        with pytest.raises(ValueError, match="which does not separate: use one of"):
            KernelDependency(CurlFree(), solver=solver).fit(*data)
    with pytest.raises(ValueError, match="which separates: use one of"):
        KernelDependency(RBF() * Identity(), solver="dense").fit(*data)
    with pytest.raises(ValueError, match="or a BlockConjugateGradient, got 'fast'"):
        KernelDependency(CurlFree(), solver="fast").fit(*data)


def test_the_fitted_model_says_what_it_took(data):
    direct = KernelDependency(CurlFree()).fit(*data)
    assert direct.n_iter_ is direct.residual_ is None
    iterated = KernelDependency(CurlFree(), solver="cg").fit(*data)
    assert iterated.n_iter_ >= 1
    assert iterated.residual_ <= 1e-6
    assert KernelDependency().fit(*data).n_iter_ is None


@pytest.mark.parametrize("separate_examples", [by_direction.SEPARATE_EXAMPLES, 10])
def test_many_slots_go_to_conjugate_gradients(separate_examples, data, monkeypatch):
    monkeypatch.setattr(coupled, "DENSE_SLOTS", 10)
    monkeypatch.setattr(by_direction, "SEPARATE_EXAMPLES", separate_examples)
    model = KernelDependency(CurlFree(1.0), alpha=0.1).fit(*data)
    assert model.n_iter_ is not None
    wanted = KernelDependency(CurlFree(1.0), alpha=0.1, solver="dense").fit(*data)
    assert_allclose(model.predict(data[0]), wanted.predict(data[0]), atol=1e-5)


def test_a_matrix_without_room_is_refused(data, monkeypatch):
    monkeypatch.setattr(slot_gram, "available", lambda: 5000.0)
    for model in (KernelDependency(CurlFree()), KernelDependencyCV(CurlFree())):
        with pytest.raises(MemoryError, match="solver='cg'"):
            model.fit(*data)
    KernelDependency(CurlFree(), solver="cg").fit(*data)
    monkeypatch.setattr(coupled, "available", lambda: 100.0)
    with pytest.raises(MemoryError, match="Fit fewer examples"):
        KernelDependency(CurlFree(), solver="cg").fit(*data)


def test_a_ridge_near_rounding(data):
    model = KernelDependency(CurlFree(0.5), alpha=1e-16, solver="dense").fit(*data)
    assert_allclose(model.predict(data[0]), data[1], atol=1e-6)


def test_a_function_of_blocks_is_no_scalar_kernel(data):
    def blocks(A, B):
        return np.ones((len(A), len(B), 2, 2))

    with pytest.raises(ValueError, match=r"Write mercer.operators.Blocks\(f\)"):
        KernelDependency(blocks).fit(*data)
