"""Kernels of fields compute with the arrays that they are given."""

import array_api_strict as xp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelDependencyCV
from mercer.fields import Shared, ShiftEquivariant
from mercer.kernels import RBF
from mercer.spaces import Fields

RING = Fields(periodic=("x",))
KERNELS = [
    ShiftEquivariant(RBF(3.0)),
    Shared(RBF(2.0), RBF(2.0), 1.0, 0.1, radius=1, rank=30, fields=RING, output_fields=RING),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("intercept", [False, True])
def test_kernels_of_fields(kernel, intercept, rng):
    X, X_new = rng.normal(size=(12, 6)), rng.normal(size=(3, 6))
    model = KernelDependencyCV(kernel, alphas=[0.01, 0.1], fit_intercept=intercept)
    known = model.fit(X, X**2).predict(X_new), model.loo_predict(), model.embed(X_new).variance()
    A, B = xp.asarray(X), xp.asarray(X_new)
    found = model.fit(A, A**2).predict(B), model.loo_predict(), model.embed(B).variance()
    for got, wanted in zip(found, known, strict=True):
        assert type(got) is type(A)
        assert_allclose(np.asarray(got), wanted, rtol=0, atol=1e-6)
