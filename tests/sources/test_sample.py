"""A sample of a stream: uniform, the same under every cut, whole where the stream is short."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from mercer._base.arrays import object_array
from mercer.sources import Sample


def folded(items, cuts, size, seed=0):
    sample, edges = Sample(size, seed), [0, *sorted(cuts), len(items)]
    for start, stop in pairwise(edges):
        if stop > start:
            sample = sample.with_block(start, items[start:stop], items[start:stop])
    return sample


@settings(max_examples=40)
@given(st.lists(st.integers(1, 99)), st.integers(1, 120), st.integers(0, 5))
def test_cuts_do_not_matter(cuts, size, seed):
    items = np.arange(100)
    whole, cut = Sample(size, seed).with_block(0, items, items), folded(items, cuts, size, seed)
    assert_array_equal(cut.X, whole.X)
    assert_array_equal(cut.y, whole.numbers)
    assert len(whole.X) == min(size, 100)


@settings(max_examples=10)
@given(st.permutations(range(5)))
def test_parts_add_in_any_order(order):
    items = np.arange(50)
    parts = [
        Sample(7).with_block(10 * i, items[10 * i :][:10], items[10 * i :][:10]) for i in order
    ]
    total = Sample(7)
    for part in parts:
        total = total + part
    assert_array_equal(total.X, Sample(7).with_block(0, items, items).X)


def test_a_short_stream_is_its_own_sample():
    assert_array_equal(folded(np.arange(20), [3, 11], 50).X, np.arange(20))


def test_every_pair_is_as_likely():
    counts = np.zeros(20)
    for seed in range(1000):
        counts[folded(np.arange(20), [7], 5, seed).X] += 1
    assert abs(counts / 1000 - 0.25).max() < 0.07


def test_things_of_any_kind():
    words = object_array(["a", ["b"], {"c"}, None] * 5)
    assert list(folded(words, [6], 3).X) == list(Sample(3).with_block(0, words, words).X)
    rows = csr_array(np.eye(20))
    kept = Sample(4).with_block(0, rows[:9], np.arange(9)).with_block(9, rows[9:], np.arange(9, 20))
    assert_array_equal(kept.X.toarray(), np.eye(20)[kept.y])
