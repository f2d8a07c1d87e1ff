import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates
from mercer.features import IncompleteCholesky, KernelPCA, Nystroem
from mercer.kernels import (
    RBF,
    Fingerprint,
    Normalized,
    Precomputed,
    Spectrum,
    SubsetTree,
    WeisfeilerLehman,
)
from mercer.metrics import exact_match
from mercer.spaces import Opaque

ALCOHOLS = ["CO", "CCO", "CCCO", "CCCCO"]
AMINES = ["CN", "CCN", "CCCN", "CCCCN"]
X = np.array([[n, kind] for kind in (0, 5) for n in range(1, 5)], dtype=float)
Y = np.array(ALCOHOLS + AMINES, dtype=object)


FEATURES = [
    None,
    IncompleteCholesky(20),
    KernelPCA(10, center=True),
    Nystroem(landmarks=["ab", "cab", "zzz", "abcabcabcabc"]),
]


def same_length(x):
    return [ALCOHOLS[int(x[0]) - 1], AMINES[int(x[0]) - 1]]


def test_candidates_of_molecules_by_list_and_by_function():
    model = KernelDependency("rbf", Fingerprint(), alpha=0.1).fit(X, Y)
    lists = [same_length(x) for x in X]
    assert model.predict(X, candidates=lists).tolist() == Y.tolist()
    named = KernelDependency("rbf", Fingerprint(), alpha=0.1, decoder=Candidates(same_length))
    assert named.fit(X, Y).predict(X).tolist() == Y.tolist()
    ranked = model.predict_top(X, 2, candidates=lists)
    assert all(len(row) == 2 and row[0][1] >= row[1][1] for row in ranked)


def test_candidates_of_trees_and_graphs():
    trees = [f"(S (N {noun}) (V {verb}))" for noun in "ab" for verb in "cd"]
    model = KernelDependency("linear", SubsetTree(), alpha=1e-3).fit(np.eye(4), trees)
    assert model.predict(np.eye(4), candidates=[trees] * 4).tolist() == trees
    graphs = [nx.path_graph(n) for n in (2, 3, 4, 5)]
    model = KernelDependency("linear", WeisfeilerLehman(), alpha=1e-3).fit(np.eye(4), graphs)
    found = model.predict(np.eye(4), candidates=[graphs[i:] + graphs[:i] for i in range(4)])
    assert [len(g) for g in found] == [2, 3, 4, 5]


def test_functions_work_under_cross_validation():
    model = KernelDependency("rbf", Fingerprint(), alpha=0.1, decoder=Candidates(same_length))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = cross_val_score(model, X, Y, cv=4, scoring=make_scorer(exact_match))
    assert scores.shape == (4,) and np.isfinite(scores).all()


def test_left_out_groups_do_not_count_as_trained_on():
    """All molecules of one length are left out together: no list holds a trained output."""
    model = KernelDependencyCV(
        "rbf", Fingerprint(), alphas=[0.1], decoder=Candidates(same_length),
        scoring=make_scorer(exact_match),
    ).fit(X, Y, groups=X[:, 0])  # fmt: skip
    assert model.loo_score_ > 0.5


def test_a_warning_where_lists_differ_in_what_was_seen():
    lists = {1.0: ["CO", "CS"], 2.0: ["CCS", "CCF"]}
    decoder = Candidates(lambda x: lists[x[0]])
    model = KernelDependency("rbf", Fingerprint(), alpha=0.1, decoder=decoder).fit(X, Y)
    with pytest.warns(UserWarning, match="1 of 2 candidate lists contain training outputs"):
        model.predict(X[:2])


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([["CO"], []], "the candidate list of input 1 is empty"),
        ([["CO"], ["CC", "C1C"]], r"candidates\[1\]\[1\] is not a SMILES string"),
        ([["CO"]], "one list for each of the 2 inputs"),
    ],
)
def test_bad_lists_are_named(lists, message):
    model = KernelDependency("rbf", Fingerprint(), alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(X[:2], candidates=lists)


def test_equal_graphs_are_one_candidate_whatever_was_asked_of_them():
    a, b = nx.path_graph(3), nx.path_graph(3)
    assert len(b.edges) + len(b.adj) + len(b.degree)  # views that networkx then keeps
    assert Opaque().keys([a]) == Opaque().keys([b])
    b.nodes[0]["label"] = "C"
    assert Opaque().keys([a]) != Opaque().keys([b])


def test_candidates_of_a_precomputed_kernel_are_indices():
    model = KernelDependency("linear", Precomputed(np.eye(6)), alpha=1e-3).fit(np.eye(3), [0, 2, 4])
    lists = [[0, 1], [3, 2], [5, 4]]
    found = model.predict(np.eye(3), candidates=lists, leave_out_candidates=False)
    assert found.tolist() == [0, 2, 4]


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kernel", [Normalized(Spectrum(3, True)), 2.0 * Spectrum(2, width=2)])
def test_sparse_features_score_as_kernel_values_do(kernel, features):
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list("abc"), rng.integers(0, 6))) for _ in range(40)]
    lists = [[*set(words[t : t + 5]), "zz", "", "abzc", "abcabcabc"] for t in range(7)]
    X = rng.normal(size=(40, 2))
    model = KernelDependency(
        RBF(1.0), kernel, 0.1, output_features=features, decoder=Candidates()
    ).fit(X, words)
    found = model.predict_top(X[:7], 9, candidates=lists, leave_out_candidates=False)
    for t, (row, ranked) in enumerate(zip(lists, found, strict=True)):
        scores = dict(zip(row, model.embed(X[t : t + 1]).scores(row)[0], strict=True))
        np.testing.assert_allclose([v for _, v in ranked], [scores[y] for y, _ in ranked])
        assert [v for _, v in ranked] == sorted((v for _, v in ranked), reverse=True)
