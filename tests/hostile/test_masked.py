"""Masked entries are refused wherever items are checked: numpy would show what lies under them."""

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.estimators import BoostedDependency, MissingTargets
from mercer.kernels import L2, RBF, Function, Kendall, Labels, Precomputed, Spectrum

MASKED = np.ma.masked_array([[1.0, 2.0], [3.0, 0.0]], mask=[[False, False], [False, True]])


@pytest.mark.parametrize(
    "kernel",
    [RBF(1.0), L2(), Labels(), Kendall(), Spectrum(), Function(lambda A, B: A @ B.T)],
    ids=lambda kernel: type(kernel).__name__,
)
def test_masked_entries_are_refused(kernel):
    for use in (kernel.check, kernel.as_outputs):
        with pytest.raises(ValueError, match="masked entries"):
            use(MASKED)
    with pytest.raises(ValueError, match="masked entries"):
        kernel.check([MASKED[0], MASKED[1]])


def test_masked_indices_and_curves_are_refused():
    with pytest.raises(ValueError, match="masked entries"):
        Precomputed(np.eye(2)).check(np.ma.masked_array([0, 1], [False, True]))
    with pytest.raises(ValueError, match="masked entries"):
        L2([0.0, 1.0]).check([([0.0, 1.0], MASKED[1])])


def test_masked_data_is_refused_by_a_model():
    for X, y in ((MASKED, [[0.0], [1.0]]), ([[0.0], [1.0]], MASKED)):
        with pytest.raises(ValueError, match="masked entries"):
            KernelDependency().fit(X, y)


def test_a_mask_that_hides_nothing_is_fine():
    assert RBF(1.0)(np.ma.masked_array(np.eye(2))).shape == (2, 2)


def test_masked_sample_weights_are_refused():
    X, weights = np.arange(4.0)[:, None], np.ma.masked_array(np.ones(4), [0, 1, 0, 0])
    model = KernelDependency(RBF(1.0)).fit(X, X)
    for use in (model.fit, model.score, MissingTargets(model).fit, BoostedDependency().fit):
        with pytest.raises(ValueError, match="sample_weight has masked entries"):
            use(X, X, sample_weight=weights)
    with pytest.raises(ValueError, match="groups has masked entries"):
        model.fit(X, X, groups=weights)
