"""Symmetries: by modes and by images alike, and refused where they do not hold."""

import pickle

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.datasets import DataNotFound
from mercer.features import Nystroem
from mercer.kernels import RBF, Matern
from mercer.operators import Local, Shared
from mercer.solvers import Cache
from mercer.solvers.images import images
from mercer.spaces import Fields
from mercer.spaces.symmetries import group_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 6))
Y = np.stack([np.roll(X, 1, axis=1) ** 2 + X, X * np.roll(X, -1, axis=1), X**3], axis=1)
Y = Y + 0.1 * RNG.normal(size=Y.shape) + 1.0
SHIFT = ("shift:x",)
WEIGHTS = RNG.uniform(0.5, 2.0, size=20)


def test_predictions_move_with_the_input():
    model = KernelDependency(Matern(3.0, nu=3.5), alpha=0.1, symmetries=SHIFT).fit(X, Y)
    moved = model.predict(np.roll(X + 0.3, 2, axis=1))
    assert np.allclose(np.roll(moved, -2, axis=2), model.predict(X + 0.3))


@pytest.mark.parametrize("symmetries", [SHIFT, ("mirror:x",)])
def test_points_are_weighted_sums_of_training_outputs(symmetries):
    A = RNG.normal(size=(12, 4))
    model = KernelDependency(RBF(3.0), alpha=0.1, symmetries=symmetries).fit(A, A**2)
    for points in (model.embed(A + 0.1), model.loo_embed()):
        assert np.allclose(points.expect(A**2), points.coordinates)


def test_shifts_of_two_axes():
    A = RNG.normal(size=(9, 3, 4))
    model = KernelDependency(RBF(3.0), alpha=0.1, symmetries=("shift:x", "shift:y"))
    model.fit(A, np.roll(A, 1, axis=1) ** 2 + 1.0)
    added = images(model.fitted_.problem, model.fitted_.want, Cache())
    expected = added.solve(0.1).points(A).coordinates
    assert np.allclose(model.predict(A).reshape(9, -1), expected)


@pytest.mark.parametrize("features", [None, Nystroem(5, random_state=0)])
@pytest.mark.parametrize("symmetries", [SHIFT, ("mirror:x",)])
def test_what_is_computed_again_is_the_same(symmetries, features):
    """Landmarks are drawn from the images too, and shifts are solved by modes."""
    A = RNG.normal(size=(12, 4))
    model = KernelDependency(RBF(3.0), alpha=0.1, symmetries=symmetries, features=features)
    model.fit(A, A**2)
    for answer in (KernelDependency.loo_predict, lambda m: m.embed(A).variance("directions")):
        again = pickle.loads(pickle.dumps(model))  # without its factorisation
        assert np.allclose(answer(again), answer(model), rtol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [RBF(3.0), Local(RBF(3.0), width=1.0), Shared(RBF(3.0), RBF(2.0), 1.0, 0.1)],
    ids=["global", "local", "shared"],
)
def test_images_are_learnt_and_left_out_with_their_original(kernel):
    A = RNG.normal(size=(14, 4, 4))
    model = KernelDependency(kernel, alpha=0.1, symmetries=("transpose",)).fit(A, A**2)
    turned = model.predict(np.swapaxes(A, 1, 2))
    assert np.allclose(np.swapaxes(turned, 1, 2), model.predict(A), atol=1e-6)
    assert model.loo_predict().shape == A.shape


@pytest.mark.parametrize(
    ("names", "size"),
    [(("transpose",), 2), (("mirror:x", "mirror:y"), 4), (("rotate",), 4), (("shift:x",), 4)],
)
def test_groups_are_closed(names, size):
    group = group_of(names, Fields(), (4, 4), Fields(), (4, 4))
    assert len(group) == size
    keys = {action.key for action in group.inputs}
    assert {a.after(b).key for a in group.inputs for b in group.inputs} == keys


def test_channels_change_with_the_grid():
    two = Fields(channels=2)
    group = group_of(("rotate,0~1,-0",), two, (3, 3, 2), two, (3, 3, 2))
    at = np.stack(np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], indexing="ij"), -1)
    swirl = np.stack([-at[..., 1], at[..., 0]], axis=-1)[None]
    assert len(group) == 4
    assert np.allclose(group.inputs[1](swirl), swirl) or np.allclose(group.inputs[1](swirl), -swirl)
    odd = group_of(("mirror:x,-u",), Fields(), (5,), Fields(), (5,))
    assert np.allclose(odd.inputs[1](np.arange(5.0)[None]), [[-4.0, -3.0, -2.0, -1.0, 0.0]])


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("turn",), "a symmetry is"),
        (("mirror",), "a symmetry is"),
        (("mirror:t",), "names none of the axes"),
        ("transpose", "must be a list of names"),
        (("mirror:x,u",), "channels change by"),
    ],
)
def test_what_makes_no_sense_is_refused(names, reason):
    with pytest.raises(ValueError, match=reason):
        group_of(names, Fields(), (4, 4), Fields(), (4, 4))


def test_darcy_accepts_transposing_and_refuses_mirrors():
    from mercer.datasets import load_darcy

    try:
        A, B = load_darcy()[:2]
    except DataNotFound as problem:
        pytest.skip(str(problem))
    A, B = A[:300], B[:300]
    model = KernelDependencyCV(Matern(), symmetries=("transpose",)).fit(A, B)
    plain = KernelDependencyCV(Matern()).fit(A, B)
    assert model.loo_risk_ < plain.loo_risk_
    with pytest.raises(ValueError, match="the left-out error rises"):
        KernelDependencyCV(Matern(), symmetries=("mirror:x",)).fit(A, B)
