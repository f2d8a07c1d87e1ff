"""Predictions on another grid: evaluated or interpolated, on the training domain only."""

import numpy as np
import pytest

from mercer import KernelDependency, LocalLaw
from mercer.fields import Shared, predict_on
from mercer.kernels import RBF, FieldL2, Linear, Matern, Standardized
from mercer.operators import Local
from mercer.spaces import Fields

RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 4, 5))


def test_it_answers_on_another_grid():
    coarse, fine = Fields(spacing=0.2), Fields(spacing=0.1)
    x = np.linspace(0, 0.8, 5) + np.random.default_rng(1).normal(size=(12, 1))
    kernel = Shared(RBF(2.0), RBF(0.5), 0.2, 0.0, fields=coarse, output_fields=coarse)
    model = KernelDependency(kernel, alpha=1e-4).fit(x, x)
    between = predict_on(model, x, Fields(spacing=0.1, shape=(9,)))
    assert np.allclose(between[:, ::2], model.predict(x))
    assert np.abs(between[:, 1::2] - (x[:, 1:] + x[:, :-1]) / 2).max() < 0.05
    finer = np.repeat(x, 2, axis=1)
    finer[:, 1:-1:2] = (x[:, 1:] + x[:, :-1]) / 2
    assert predict_on(model, finer, fine).shape == (12, 10)


@pytest.mark.parametrize("output_kernel", [Standardized(Linear()), 3.0 * Linear()], ids=str)
def test_outputs_in_other_units_on_another_grid(output_kernel):
    coarse, x = Fields(spacing=0.2), RNG.normal(size=(12, 5))
    kernel = Shared(RBF(2.0), RBF(0.5), 0.2, 0.0, fields=coarse, output_fields=coarse)
    model = KernelDependency(kernel, output_kernel, alpha=0.01).fit(x, 10.0 * x)
    with pytest.warns(UserWarning, match="are interpolated"):
        between = predict_on(model, x, Fields(spacing=0.1, shape=(9,)))
    assert np.allclose(between[:, ::2], model.predict(x))


def test_local_kernels_interpolate_and_say_so():
    model = KernelDependency(Local(RBF(2.0), width=1.0), alpha=0.1).fit(X, X**2)
    with pytest.warns(UserWarning, match="are interpolated"):
        finer = predict_on(model, X, Fields(spacing=0.5, shape=(8, 10)))
    assert finer.shape == (16, 8, 10)
    assert np.allclose(finer[:, ::2, ::2], model.predict(X))


LINE = RNG.normal(size=(12, 8))
EIGHTHS = Fields(periodic=("x",), spacing=1 / 8)
WINDOWS = Shared(RBF(2.0), None, 0.1, 0.0, 0.2, rank=20, fields=EIGHTHS, output_fields=EIGHTHS)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (Fields(spacing=1 / 32, shape=(8,)), "a domain of 0.25; the training outputs .* of 1"),
        (Fields(spacing=0.3), "3 points with a spacing of 0.3, a domain of 0.9; .* of 1"),
        (Fields(("t",), spacing=1 / 16), r"the axes \('t',\), outputs have \('x',\)"),
    ],
)
@pytest.mark.parametrize(
    ("kernel", "output_kernel"),
    [
        (WINDOWS, None),
        (Local(RBF(2.0), width=0.1, fields=EIGHTHS, output_fields=EIGHTHS), None),
        (RBF(2.0), FieldL2(EIGHTHS)),
    ],
    ids=["shared", "local", "whole fields"],
)
@pytest.mark.filterwarnings("ignore:KernelDependency was fitted")
def test_a_domain_that_is_not_the_training_domain_is_refused(kernel, output_kernel, grid, message):
    model = KernelDependency(kernel, output_kernel, alpha=0.1).fit(LINE, LINE**2)
    assert predict_on(model, LINE, Fields(spacing=1 / 16)).shape == (12, 16)
    with pytest.raises(ValueError, match=message):
        predict_on(model, LINE, grid)


def test_inputs_on_another_grid():
    model = KernelDependency(WINDOWS, alpha=0.1).fit(LINE, LINE**2)
    finer = np.repeat(LINE, 2, axis=1)
    assert predict_on(model, finer, Fields(spacing=1 / 16)).shape == (12, 16)
    with pytest.raises(ValueError, match="of inputs has 16 points .* a domain of 0.5; .* of 1"):
        predict_on(model, finer, Fields(spacing=1 / 32))
    local = Local(RBF(2.0), width=0.1, fields=EIGHTHS, output_fields=EIGHTHS)
    model = KernelDependency(local, alpha=0.1).fit(LINE, LINE**2)
    with pytest.raises(ValueError, match="other than `Shared` take inputs on the training grid"):
        predict_on(model, finer, Fields(spacing=1 / 16))


def test_a_spacing_without_a_declared_grid_needs_a_shape():
    for kernel in (Local(RBF(2.0), width=1.0), Shared(RBF(2.0), None, 1.0, 0.0, 1.0, rank=9)):
        model = KernelDependency(kernel, alpha=0.1).fit(LINE, LINE**2)
        with pytest.raises(ValueError, match="8 points, and no parameter gives their spacing"):
            predict_on(model, LINE, Fields(spacing=1 / 16))


def test_a_law_is_interpolated():
    springs = RNG.uniform(1, 2, size=(60, 12))
    matrices = [np.diag(2 + x) - np.eye(12, k=1) - np.eye(12, k=-1) for x in springs]
    Y = np.linalg.solve(np.array(matrices), np.ones((60, 12, 1)))[:, :, 0]
    law = LocalLaw(rank=30, fields=Fields(spacing=0.5)).fit(springs, Y)
    with pytest.warns(UserWarning, match="LocalLaw was fitted at the grid points"):
        finer = predict_on(law, springs, Fields(spacing=0.25))
    assert finer.shape == (60, 24)
    np.testing.assert_allclose(finer[:, ::2], law.predict(springs))


def test_what_is_not_a_grid_is_refused():
    model = KernelDependency(Matern(), alpha=0.1).fit(LINE, LINE)
    with pytest.raises(TypeError, match="grid must be Fields"):
        predict_on(model, LINE, (16,))


def test_names_that_moved_say_where_they_are():
    with pytest.raises(ImportError, match="Shared moved: from mercer.fields import Shared"):
        from mercer.operators import Shared  # noqa: F401
    with pytest.raises(ImportError, match="from mercer.fields import Resample"):
        from mercer.spaces import Resample  # noqa: F401
    with pytest.raises(ImportError, match="from mercer.fields import LocalLaw"):
        from mercer.estimators import LocalLaw  # noqa: F401
