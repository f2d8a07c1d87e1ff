import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import LocalWindow
from mercer.testing import check_kernel


def symbol(x, i):
    """The symbol at a place; beyond an end, how far (two and more are alike)."""
    if i < 0:
        return ("outside", min(-i, 2))
    if i >= len(x):
        return ("outside", min(i - len(x) + 1, 2))
    return x[i]


def literal(a, b, radius, decay):
    (x, i), (z, j) = a, b
    if x[i] != z[j]:
        return 0.0
    total = 0.0
    for first in range(-radius, radius + 1):
        for last in range(first, radius + 1):
            places = range(first, last + 1)
            if all(symbol(x, i + p) == symbol(z, j + p) for p in places):
                total += decay ** (max(last, 0) - min(first, 0))
    return total


positions = st.text("ab", min_size=1, max_size=5).flatmap(
    lambda x: st.tuples(st.just(x), st.integers(0, len(x) - 1))
)


@given(st.lists(positions, min_size=1, max_size=6), st.integers(0, 3), st.floats(0.1, 1.0))
@settings(deadline=None, max_examples=30)
def test_kernel_is_its_definition(items, radius, decay):
    K = LocalWindow(radius, decay)(items)
    expected = [[literal(a, b, radius, decay) for b in items] for a in items]
    np.testing.assert_allclose(K, expected, atol=1e-12)


def test_contract_holds():
    check_kernel(LocalWindow(2, 0.5), [("cat", 1), ("cab", 1), ("a", 0), ("banana", 3), ("cat", 1)])


def test_tokens_are_symbols():
    K = LocalWindow(1, 0.5)([(["AH", "N"], 0)], [(("AH", "N"), 0), (["AH"], 0)])
    assert K[0, 0] > K[0, 1] > 0


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["cat"], r"X\[0\] must be a pair"),
        ([("cat", 1), ("cat", 3)], r"X\[1\] asks for position 3 of a sequence of 3"),
        ([("cat", 1.5)], r"X\[0\] asks for position 1.5"),
        ([], "X is empty"),
    ],
)
def test_bad_items_are_named(items, message):
    with pytest.raises(ValueError, match=message):
        LocalWindow().check(items)


def test_a_string_is_no_batch():
    with pytest.raises(TypeError, match="batch"):
        LocalWindow().check("cat")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(LocalWindow(-1), "radius"), (LocalWindow(1.5), "radius"), (LocalWindow(1, 0.0), "decay")],
)
def test_bad_parameters_are_named(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel([("cat", 1)])
