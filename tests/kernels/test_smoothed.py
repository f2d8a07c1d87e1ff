"""Images compared after a blur."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.ndimage import gaussian_filter

from mercer.kernels import RBF, Linear, Normalized, Polynomial, Positions, Smoothed
from mercer.testing import check_kernel
from tolerances import IDENTITY

IMAGES = np.random.default_rng(0).normal(size=(7, 5, 4))


@pytest.mark.parametrize("inner", [Linear(), RBF(2.0), RBF(), Polynomial(3), Normalized(RBF(1.0))])
def test_contract(inner):
    check_kernel(Smoothed(inner, 0.8, (5, 4)), IMAGES)
    check_kernel(Normalized(Smoothed(inner, 0.8, (5, 4))) ** 2, IMAGES.reshape(7, 20))


@pytest.mark.parametrize("width", [0.3, 0.7, 1.0, 2.5])
def test_the_blur_is_a_gaussian_filter(width):
    blurred = gaussian_filter(IMAGES, (0, width, width), mode="constant", truncate=8.0)
    flat = blurred.reshape(7, 20)
    assert_allclose(Smoothed(Linear(), width, (5, 4))(IMAGES), flat @ flat.T, atol=IDENTITY)


def test_length_scales_are_settled_on_blurred_images():
    kernel = Smoothed(RBF("median"), 2.0, (5, 4)).fit(IMAGES)
    assert kernel.inner.length_scale_ < RBF().fit(IMAGES).length_scale_


def test_it_stands_at_the_places_of_a_word():
    words = [IMAGES[:3].reshape(3, 20), IMAGES[3:7].reshape(4, 20)]
    kernel = Smoothed(RBF(1.0), 1.0, (5, 4))
    K = Positions(kernel).fit(words)(words)
    assert_allclose(K[0, 1], np.trace(kernel(words[0], words[1][:3])), atol=IDENTITY)


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        (r"shape=\(4, 4\) has 16 pixels, but the images have 20", {"shape": (4, 4)}),
        ("width must be a positive number, got 0", {"width": 0}),
        ("a side of shape must be a positive integer", {"shape": (2.5, 8)}),
    ],
)
def test_what_is_wrong_is_named(message, wrong):
    with pytest.raises(ValueError, match=message):
        Smoothed(Linear(), **({"shape": (5, 4)} | wrong))(IMAGES)
