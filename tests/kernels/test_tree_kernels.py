import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Normalized, SubsetTree, Subtree
from mercer.testing import check_kernel

LEAVES = st.sampled_from("ab")
TREES = st.recursive(
    LEAVES,
    lambda below: (
        st.tuples(st.sampled_from("ST"), below) | st.tuples(st.sampled_from("ST"), below, below)
    ),
    max_leaves=8,
)
SENTENCES = [
    "(S (NP (D the) (N dog)) (VP (V barks)))",
    "(S (NP (D the) (N cat)) (VP (V barks)))",
    "(S (NP (N dogs)) (VP (V bark)))",
    "(NP (D the) (N dog))",
    "(S (NP (D the) (N dog)) (VP (V barks)))",
]


def nodes(tree):
    yield tree
    for child in tree[1:] if isinstance(tree, tuple) else ():
        yield from nodes(child)


def size(tree):
    return sum(1 for _ in nodes(tree))


def production(tree):
    return tree[0], [(c[0], True) if isinstance(c, tuple) else (c, False) for c in tree[1:]]


def naive_subtree(a, b, decay):
    return sum(decay ** size(u) for u in nodes(a) for v in nodes(b) if u == v)


def naive_common(u, v, decay):
    if not (isinstance(u, tuple) and isinstance(v, tuple)) or production(u) != production(v):
        return 0.0
    pairs = zip(u[1:], v[1:], strict=True)
    return decay * np.prod([1.0 + naive_common(c, d, decay) for c, d in pairs])


def naive_subset_tree(a, b, decay):
    return sum(naive_common(u, v, decay) for u in nodes(a) for v in nodes(b))


@settings(deadline=None, max_examples=60)
@given(st.lists(TREES, min_size=2, max_size=4), st.sampled_from([0.3, 1.0]))
def test_kernels_equal_the_definition(trees, decay):
    for kernel, naive in ((Subtree(decay), naive_subtree), (SubsetTree(decay), naive_subset_tree)):
        expected = [[naive(a, b, decay) for b in trees] for a in trees]
        np.testing.assert_allclose(kernel(trees), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel(trees[:1], trees), expected[:1], rtol=1e-12)
        np.testing.assert_allclose(kernel.diag(trees), np.diag(expected), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Subtree(0.5), SubsetTree(0.4), Normalized(SubsetTree())])
def test_contract(kernel):
    check_kernel(kernel, SENTENCES)


def test_strings_and_tuples_agree():
    text, nested = "(S (N dog) (V barks))", ("S", ("N", "dog"), ["V", "barks"])
    for kernel in (Subtree(), SubsetTree()):
        K = kernel([text, nested])
        assert np.all(K[0, 0] == K)


def test_a_single_node_has_subtrees_but_no_productions():
    assert Subtree()(["dog"])[0, 0] == 1
    assert SubsetTree()(["dog", "(N dog)"]).tolist() == [[0, 0], [0, 0.5]]


def test_order_of_children_matters():
    assert SubsetTree(1.0)(["(S a b)"], ["(S b a)"])[0, 0] == 0


def test_deep_trees_do_not_exhaust_the_stack():
    deep = "(A " * 3000 + "x" + ")" * 3000
    assert Subtree()([deep])[0, 0] == 3001


def test_sum_of_tree_kernels():
    both = Subtree() + SubsetTree()
    np.testing.assert_allclose(both(SENTENCES), Subtree()(SENTENCES) + SubsetTree()(SENTENCES))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("(S (N dog)", r"y\[1\] has unbalanced brackets, 1 never closed"),
        ("(S (N dog)))", r"y\[1\] has unbalanced brackets: a '\)' \(token 7\)"),
        ("(S a) (T b)", r"y\[1\] has '\(' \(token 4\) outside its brackets"),
        ("dog (N dog)", r"y\[1\] has 'dog' \(token 0\) outside"),
        ("()", r"y\[1\] has an empty pair of brackets"),
        ("  ", r"y\[1\] is an empty string"),
        ((), r"y\[1\] must be a bracketed string or a nested tuple"),
        ((("S", "a"), "b"), r"without a label"),
    ],
)
def test_bad_trees_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        SubsetTree().as_outputs(["(S a)", bad])


@pytest.mark.parametrize("decay", [0.0, 1.5, "x"])
def test_bad_decay(decay):
    with pytest.raises(ValueError, match="decay must be"):
        Subtree(decay)(SENTENCES)
