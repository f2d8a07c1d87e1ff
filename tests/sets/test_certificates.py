"""A stated level is reached in simulations of exactly its setting."""

import os
import warnings

import numpy as np
import pytest

from mercer import ConformalSets, KernelDependency
from mercer.kernels import RBF, Delta, Labels

TAGS = [f"tag {j}" for j in range(8)]
REPEATS = 2000 if os.environ.get("MERCER_NIGHTLY") else 60
Z = 4.0
TESTED = 5
"""New pairs in each repeat."""


def rare_tags(rng, n):
    """One or two of eight labels each, so that few examples leave some of them unseen."""
    X = rng.normal(size=(n, 1))
    return X, [
        rng.choice(TAGS, size=1 + int(rng.random() < 0.2), replace=False).tolist() for _ in X
    ]


def rare_classes(rng, n):
    return rng.normal(size=(n, 1)), rng.choice(TAGS, size=n).tolist()


def outcomes(sets, draw, n, repeats=REPEATS):
    """The stated level and the fraction of new pairs that are covered, of each repeat."""
    found = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X, y = draw(rng, n + TESTED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            sets.fit(X[:n], y[:n])
            found.append((sets.proven_coverage_, sets.covers(X[n:], y[n:]).mean()))
    return np.transpose(found)


def model(kernel):
    return KernelDependency(RBF(1.0), kernel, alpha=0.3)


RARE = {
    "label sets, labels of the outputs": (Labels(), rare_tags, False),
    "label sets, given labels": (Labels(classes=TAGS), rare_tags, True),
    "classes, of the outputs": (Delta(), rare_classes, False),
    "classes, given": (Delta(classes=TAGS), rare_classes, True),
}


@pytest.mark.parametrize("name", RARE)
def test_lists_where_outputs_may_be_new(name):
    """Nine examples for the level .9: what they have not shown is a miss."""
    kernel, draw, stated = RARE[name]
    sets = ConformalSets(model(kernel), 0.9, "jackknife+", "candidates")
    levels, covered = outcomes(sets, draw, 9)
    if not stated:
        assert np.isnan(levels).all()
        return
    np.testing.assert_allclose(levels, 0.8)
    error = covered.std() / np.sqrt(len(covered))
    assert covered.mean() >= 0.8 - Z * error


def test_the_pool_of_given_labels_is_all_their_sets():
    X, y = rare_tags(np.random.default_rng(0), 12)
    y = [[tag for tag in tags if tag != TAGS[0]] for tags in y]
    sets = ConformalSets(model(Labels(classes=TAGS)), 0.8, "jackknife+", "candidates").fit(X, y)
    assert len(sets.score_.number) == 2**8
    assert frozenset(TAGS[:1]) in sets.score_.number


def test_a_label_of_one_example_is_no_candidate_without_it():
    X, y = rare_tags(np.random.default_rng(0), 12)
    y[3] = ["once"]
    with pytest.warns(UserWarning, match="labels of the training outputs|not in the pool"):
        sets = ConformalSets(model(Labels()), 0.8, "jackknife+", "candidates").fit(X, y)
    assert np.isinf(sets.radii_.scores[3])
    assert np.isnan(sets.proven_coverage_)
