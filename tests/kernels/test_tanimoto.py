import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from mercer.kernels import Tanimoto

counts = arrays(np.int64, st.tuples(st.integers(1, 5), st.just(4)), elements=st.integers(0, 3))


def brute(a, b):
    largest = np.maximum(a, b).sum()
    return np.minimum(a, b).sum() / largest if largest else 1.0


@settings(deadline=None, max_examples=30)
@given(counts, counts)
def test_minima_over_maxima(A, B):
    wanted = np.array([[brute(a, b) for b in B] for a in A])
    np.testing.assert_allclose(Tanimoto()(A, B), wanted)
    np.testing.assert_allclose(Tanimoto()(csr_array(A), csr_array(B)), wanted)
    np.testing.assert_allclose(Tanimoto()(A > 0, B > 0), _jaccard(A > 0, B > 0))


def _jaccard(A, B):
    sets = lambda M: [set(np.flatnonzero(row)) for row in M]  # noqa: E731
    return [[len(a & b) / len(a | b) if a | b else 1.0 for b in sets(B)] for a in sets(A)]


@settings(deadline=None, max_examples=30)
@given(counts)
def test_it_is_a_kernel_with_ones_on_the_diagonal(A):
    assert np.linalg.eigvalsh(Tanimoto()(A)).min() > -1e-10
    np.testing.assert_allclose(np.diag(Tanimoto()(A)), Tanimoto().diag(A))


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_negative_entries_are_refused_by_row(form):
    with pytest.raises(ValueError, match=r"A\[1\] has a negative entry"):
        Tanimoto()(form(np.array([[1.0, 0.0], [0.0, -1.0]])))
