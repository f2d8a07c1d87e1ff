"""Distances keep their digits where data is far from the origin, spread out, or tiny."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from mercer.kernels import RBF, Gaussian, Laplacian, Linear, Matern
from mercer.kernels.distances import squared_distances

RNG = np.random.default_rng(0)
BULK = RNG.normal(size=(60, 4))
FAR = np.vstack([np.full((1, 4), 1e9), BULK])
TWO_FAR = np.vstack([FAR, np.full((1, 4), 1e9) + 1.0])
CLUSTERS = np.vstack([1e-4 * BULK, 1e-4 * BULK + 1e5])


@pytest.mark.parametrize("X", [BULK, FAR, TWO_FAR, CLUSTERS, BULK + 1e6], ids=range(5))
def test_squared_distances_have_ten_digits(X):
    wanted = cdist(X, X, "sqeuclidean")
    assert (
        np.abs(squared_distances(X, X) - wanted).max(where=wanted > 0, initial=0)
        <= 1e-9 * wanted.max()
    )
    relative = np.abs(squared_distances(X, X.copy()) - wanted) / np.where(wanted > 0, wanted, 1.0)
    assert relative.max() < 1e-9


def test_one_far_row_leaves_the_others_as_they_are():
    K = RBF(1.0)(FAR)
    assert np.abs(K - np.exp(-cdist(FAR, FAR, "sqeuclidean") / 2)).max() < 1e-14


@pytest.mark.parametrize("kernel", [RBF(1.0), Matern(1.0), Matern(1.0, 0.5), Matern(1.0, 2.5),
                                    Laplacian(1.0), Gaussian(Linear(), 1.0)], ids=str)  # fmt: skip
def test_an_offset_of_a_million_changes_nothing(kernel):
    X = BULK.round(6)  # so that the offset is exact to 1e-10
    assert np.abs(kernel(X + 1e6) - kernel(X)).max() < 2e-9
    assert np.abs(kernel(X + 1e6, X[:9] + 1e6) - kernel(X, X[:9])).max() < 2e-9


def test_equal_items_of_two_batches_are_at_distance_zero():
    assert (squared_distances(BULK, BULK.copy()).diagonal() == 0).all()
    assert (squared_distances(csr_array(BULK), csr_array(BULK.copy())).diagonal() == 0).all()


@pytest.mark.parametrize("scale", [1e-170, 1e170])
@pytest.mark.parametrize("kernel", [RBF(), Matern(), Laplacian()], ids=str)
def test_items_too_small_or_too_large_for_squares_are_refused(kernel, scale):
    with pytest.raises(ValueError, match="rescale them"):
        kernel.fit(scale * BULK)


@pytest.mark.parametrize("scale", [1e-60, 1e-9, 1e9, 1e60])
def test_a_median_follows_the_scale(scale):
    X = scale * BULK
    assert np.abs(RBF().fit(X)(X) - RBF().fit(BULK)(BULK)).max() < 1e-12
