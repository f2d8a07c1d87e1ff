"""A part that says it does not depend on data has the same values whatever it is fitted on."""

import numpy as np
import pytest
from sklearn.base import clone

import registry
from mercer._base.arrays import count, dense, host, take
from mercer._base.symmetric import full
from mercer.fields import Shared
from mercer.kernels import RBF
from mercer.operators import Local, Moments, Patchwise, as_operator_kernel

KERNELS = registry.KERNELS + registry.MORE_KERNELS
FEATURES = registry.FEATURES + registry.MORE_FEATURES


def differs(A, B):
    return not np.allclose(host(dense(A)), host(dense(B)), rtol=1e-9, atol=1e-12)


def values_differ(kernel, items):
    """Whether a kernel fitted on some of the items has other values there than fitted on all."""
    items = kernel.check(items, "A")
    some = take(items, np.arange(0, count(items), 2))
    whole, half = (clone(kernel).fit(part) for part in (items, some))
    return differs(whole(some), half(some))


def test_kernels():
    wrong = [k for k, items in KERNELS if values_differ(k, items) and not k.depends_on_data]
    assert not wrong
    given = [k for k, _ in KERNELS if not k.depends_on_data]
    assert len(given) > 0.6 * len(KERNELS)  # most are given


def test_operators():
    draw = np.random.default_rng(0).normal
    samples = [Moments.of(draw(size=(8, 3)), draw(size=(8, 3))) for _ in range(2)]
    given = [operator for operator in registry.OPERATORS if not operator.depends_on_data]
    assert given  # the identity, matrices and what is added
    for operator in given:
        assert not differs(*(full(operator.matrix(m)) for m in samples))


def test_feature_maps():
    A = registry.VECTORS
    for map in FEATURES:
        kernel = registry.k.Linear() if isinstance(map, registry.f.Explicit) else RBF(1.0)
        first, second = (clone(map).fit(kernel, part).transform(A) for part in (A, A[::2]))
        assert map.depends_on_data or not differs(first, second)


@pytest.mark.parametrize(
    "kernel",
    [
        *registry.OPERATOR_KERNELS,
        Patchwise(size=2, overlap=1),
        Patchwise(RBF(2.0), size=2, overlap=1),
        Local(width=1.0),
        Local(RBF(2.0), width=1.0),
        1.0 * Local(RBF("median"), width=1.0) + RBF(1.0),
        Shared(RBF(2.0), None, 1.0, 0.1, rank=9),
    ],
    ids=str,
)
def test_operator_kernels(kernel):
    kernel = as_operator_kernel(kernel)
    fields = isinstance(kernel, Local | Shared) or "Local" in str(kernel)
    X = registry.IMAGES if fields else registry.VECTORS
    if isinstance(kernel, Patchwise):
        X = X.reshape(len(X), -1)
    V = X.reshape(len(X), -1)
    if isinstance(kernel, Local | Shared):
        kernel = kernel.for_outputs(X.shape[1:] if X.ndim > 2 else (4, 4))
    whole, half = (clone(kernel).fit(X[::s], V[::s]) for s in (1, 2))
    assert kernel.depends_on_data or not differs(whole.gram(X).matrix(), half.gram(X).matrix())
