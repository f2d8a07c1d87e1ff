"""Shift-equivariant kernels: by Fourier modes as by shifted copies of all pairs."""

import pickle

import numpy as np
import pytest

import mercer
from mercer import ConformalSets, KernelDependency, KernelDependencyCV
from mercer.decoders import ByLoss
from mercer.features import Nystroem
from mercer.fields import ShiftEquivariant
from mercer.kernels import RBF, FieldL2, Matern
from mercer.spaces import Fields
from mercer.testing import check_operator_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 6))
Y = np.stack([np.roll(X, 1, axis=1) ** 2 + X, X * np.roll(X, -1, axis=1), X**3], axis=1)
Y = Y + 0.1 * RNG.normal(size=Y.shape) + 1.0


def with_copies(model, X, Y, axes, ridge):
    """The scalar model of all pairs and their shifted copies, at a ridge that keeps its meaning."""
    shifts = list(np.ndindex(*(X.shape[axis] for axis in axes)))
    moved = [[np.roll(A, s, axis=axes) for s in shifts] for A in (X, Y)]
    model.set_params(alpha=len(shifts) * ridge)
    return model.fit(*map(np.concatenate, moved), groups=np.tile(np.arange(len(X)), len(shifts)))


@pytest.mark.parametrize("intercept", [False, True])
def test_it_is_the_model_of_all_shifted_copies(intercept):
    A, B = RNG.normal(size=(7, 3, 4)), RNG.normal(size=(3, 3, 4))
    outputs = np.roll(A, 1, axis=1) ** 2 + A + 1.0
    kernel = ShiftEquivariant(RBF(3.0), axes=("x", "y"))
    model = KernelDependency(kernel, alpha=0.1, fit_intercept=intercept).fit(A, outputs)
    copied = KernelDependency(RBF(3.0), fit_intercept=intercept)
    copied = with_copies(copied, A, outputs, (1, 2), 0.1)
    np.testing.assert_allclose(model.predict(B), copied.predict(B), atol=1e-10)
    np.testing.assert_allclose(model.loo_predict(), copied.loo_predict()[:7], atol=1e-10)


def test_the_kernel_is_what_the_modes_solve():
    """Without a constant, the dense equation of the same kernel has the same solution."""
    A, B = RNG.normal(size=(6, 2, 5)), RNG.normal(size=(4, 2, 5))
    kernel, alpha = ShiftEquivariant(Matern(3.0)), 0.1
    check_operator_kernel(kernel, X, X**2)
    model = KernelDependency(kernel, alpha=alpha, fit_intercept=False).fit(A, A**2)
    dense = KernelDependency(0.5 * kernel + 0.5 * kernel, alpha=alpha, fit_intercept=False)
    dense.fit(A, A**2)
    np.testing.assert_allclose(model.predict(B), dense.predict(B), atol=1e-10)
    np.testing.assert_allclose(model.loo_predict(), dense.loo_predict(), atol=1e-10)
    G = model.kernel_.gram(B, A)
    np.testing.assert_allclose((G @ model.coef_).reshape(B.shape), model.predict(B), atol=1e-10)


def test_predictions_move_with_the_input():
    grids = {"fields": Fields(), "output_fields": Fields(("c", "x"))}
    model = KernelDependency(ShiftEquivariant(Matern(3.0, nu=3.5), **grids), alpha=0.1).fit(X, Y)
    moved = model.predict(np.roll(X + 0.3, 2, axis=1))
    assert np.allclose(np.roll(moved, -2, axis=2), model.predict(X + 0.3))


def test_points_are_weighted_sums_of_training_outputs():
    A = RNG.normal(size=(12, 4))
    model = KernelDependency(ShiftEquivariant(RBF(3.0)), alpha=0.1).fit(A, A**2)
    for points in (model.embed(A + 0.1), model.loo_embed()):
        assert np.allclose(points.expect(A**2), points.coordinates)
    explained = model.explain(A, k=24)
    assert [sorted(index for index, _, _ in row) for row in explained] == [[*range(12)]] * 12
    model.set_params(decoder=ByLoss(lambda a, b: float(np.abs(a - b).sum())))
    assert model.fit(A, A**2).predict(A).shape == A.shape


def test_what_is_computed_again_is_the_same(tmp_path):
    A = RNG.normal(size=(12, 4))
    model = KernelDependency(ShiftEquivariant(RBF(3.0)), alpha=0.1).fit(A, A**2)
    loaded = mercer.load(mercer.save(model, tmp_path / "model.mercer"))
    np.testing.assert_array_equal(loaded.predict(A), model.predict(A))
    for answer in (KernelDependency.loo_predict, lambda m: m.embed(A).variance("directions")):
        again = pickle.loads(pickle.dumps(model))  # without its factorisation
        assert np.allclose(answer(again), answer(model), rtol=1e-8)


def test_kernel_and_ridge_are_chosen():
    kernels = [ShiftEquivariant(RBF(s)) for s in (0.1, 3.0)]
    model = KernelDependencyCV(kernels, alphas=[1e-3, 0.1]).fit(X, X**2)
    assert model.kernel_.kernel.length_scale == 3.0
    fixed = KernelDependency(kernels[1], alpha=model.alpha_).fit(X, X**2)
    np.testing.assert_allclose(model.predict(X), fixed.predict(X), atol=1e-10)
    assert model.loo_risk_ == pytest.approx(fixed.fitted_.left_out().risk(), rel=1e-9)


def test_left_out_deviations_are_refused():
    model = KernelDependency(ShiftEquivariant(RBF(3.0)), alpha=0.1)
    sets = ConformalSets(model, 0.8, calibration="jackknife+", scale="posterior")
    with pytest.raises(ValueError, match='couples output components.*calibration="split"'):
        sets.fit(X, X**2)


UNEVEN = FieldL2(Fields())  # half the weight at both ends


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"kernel": ShiftEquivariant(axes="t")}, "'t' is none of the axes"),
        ({"kernel": ShiftEquivariant(axes=())}, "axes must name the axes"),
        ({"kernel": ShiftEquivariant(fields=Fields(mask=[True] * 5 + [False]))}, "a whole grid"),
        ({"kernel": ShiftEquivariant(RBF(np.arange(1.0, 7.0)))}, "stay the same if all fields"),
        ({"kernel": ShiftEquivariant(RBF([1.0, 2.0] * 3))}, "stay the same if all fields"),
        ({"kernel": ShiftEquivariant(RBF([1.0, 2.0, 1.0] * 2))}, "stay the same if all fields"),
        ({"kernel": ShiftEquivariant(), "output_kernel": UNEVEN}, "stay the same if all fields"),
        ({"kernel": ShiftEquivariant(), "output_kernel": RBF(1.0)}, "other coordinates"),
        ({"kernel": ShiftEquivariant(), "features": Nystroem(5)}, "does not take features"),
        ({"kernel": ShiftEquivariant(), "solver": "cg"}, "brings its own solver"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, reason):
    with pytest.raises(ValueError, match=reason):
        KernelDependency(**parameters).fit(X, X**2)


def test_outputs_of_another_length_are_refused():
    with pytest.raises(ValueError, match="outputs have .4.: a shift"):
        KernelDependency(ShiftEquivariant()).fit(X, X[:, :4])
