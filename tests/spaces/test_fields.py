"""Fields: grids, quadrature, interpolation and the inner products made of them."""

import numpy as np
import pytest

from mercer.kernels import FieldL2
from mercer.spaces import Fields


def test_places_are_in_units():
    grid = Fields(("t", "x"), origin=(1.0, 0.0), spacing=(0.5, 0.25)).grid((2, 3))
    expected = [[1, 0], [1, 0.25], [1, 0.5], [1.5, 0], [1.5, 0.25], [1.5, 0.5]]
    assert np.allclose(grid.coordinates, expected)


def test_quadrature_is_exact_for_lines_and_circles():
    grid = Fields(spacing=1 / 8).grid((9,))
    assert np.isclose(grid.quadrature @ grid.coordinates[:, 0], 0.5)
    circle = Fields(periodic=("x",), spacing=1 / 8).grid((8,))
    assert np.isclose(circle.quadrature @ np.sin(2 * np.pi * circle.coordinates[:, 0]) ** 2, 0.5)


@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5)])
def test_interpolation_is_exact_for_linear_functions(shape):
    grid = Fields(spacing=0.3).grid(shape)
    slope = np.arange(1.0, 1 + len(shape))
    rng = np.random.default_rng(0)
    at = rng.uniform(0, 0.3 * (np.array(shape) - 1), size=(20, len(shape)))
    index, weight = grid.interpolation_weights(at)
    assert np.allclose((weight * (grid.coordinates @ slope)[index]).sum(axis=-1), at @ slope)


def test_periodic_axes_wrap_and_others_end():
    closed, open_ = Fields(periodic=("x",)).grid((4,)), Fields().grid((4,))
    index, weight = closed.interpolation_weights(np.array([[3.5]]))
    assert set(index[0]) == {0, 3}
    assert np.allclose(weight, 0.5)
    assert not open_.interpolation_weights(np.array([[4.0]]))[1].any()


def test_scattered_points_are_their_own_values():
    points = np.random.default_rng(0).uniform(size=(30, 2))
    grid = Fields(points=points).grid((30,))
    values = points.sum(axis=1)
    index, weight = grid.interpolation_weights(points)
    assert np.allclose((weight * values[index]).sum(axis=-1), values, atol=1e-5)


def test_masked_places_take_no_part():
    mask = np.array([True, True, False, True])
    grid = Fields(mask=mask).grid((4,))
    assert not grid.interpolation_weights(np.array([[1.5], [2.0]]))[1].any()
    assert grid.interpolation_weights(np.array([[1.0]]))[1].any()
    assert list(grid.live) == [0, 1, 3]


def test_inner_products_are_integrals():
    x = np.arange(64) / 64
    circle = Fields(periodic=("x",), spacing=1 / 64)
    f = np.stack([np.sin(2 * np.pi * x), np.cos(2 * np.pi * x)])
    assert np.allclose(FieldL2(circle)(f), np.eye(2) / 2)


def test_features_can_be_undone():
    kernel = FieldL2()
    A = np.random.default_rng(0).normal(size=(3, 4, 5))
    kernel.fit(A)
    F = kernel.features(A)
    assert np.allclose(F @ F.T, kernel(A))
    assert np.allclose(np.reshape(kernel.features.inverse(F), A.shape), A)


@pytest.mark.parametrize(
    ("fields", "shape", "reason"),
    [
        (Fields(("t",)), (3, 4), "axes must name 2 axes"),
        (Fields(channels=3), (4, 2), "fields of 3 channels end in an axis"),
        (Fields(periodic=("t",)), (4,), "periodic='t' is none of the axes"),
        (Fields(spacing=0.0), (4,), "spacing must be a positive number"),
        (Fields(mask=np.zeros(4, bool)), (4,), "mask must have the shape"),
        (Fields(), (2, 2, 2, 2), "one to three axes"),
        (Fields(points=np.zeros((3, 2))), (4,), "fields on 3 points"),
        (Fields(channels=0), (4,), "channels must be a positive integer"),
    ],
)
def test_what_makes_no_sense_is_refused(fields, shape, reason):
    with pytest.raises(ValueError, match=reason):
        fields.grid(shape)
