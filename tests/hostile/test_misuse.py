"""Misuse that a sceptical user tried: each gets a sentence, and costs a fitted model nothing."""

import io

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import KernelDependency, KernelDependencyCV, SequenceTransducer, metrics
from mercer.features import Explicit, Nystroem
from mercer.kernels import RBF, Kernel, Positions, Spectrum, SubsetTree, WeisfeilerLehman
from mercer.operators import Mixture

WORDS = ["ab", "ba", "abb", "bab", "bb"] * 2


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(10, 3)), rng.normal(size=(10, 2))


@pytest.mark.parametrize("bad", ["foo", 3, RBF])
def test_a_failed_refit_over_a_bad_kernel_leaves_the_model(pairs, bad):
    model = KernelDependency(RBF(1.0)).fit(*pairs)
    before = model.predict(pairs[0])
    with pytest.raises((TypeError, ValueError)):
        model.set_params(kernel=bad).fit(*pairs)
    np.testing.assert_array_equal(model.predict(pairs[0]), before)
    assert "KernelDependency" in model._repr_html_()


@pytest.mark.filterwarnings("ignore")
def test_a_bad_kernel_fails_alone_in_a_search(pairs):
    search = GridSearchCV(KernelDependency(), {"kernel": ["foo", "rbf"]}, cv=2).fit(*pairs)
    assert search.best_params_ == {"kernel": "rbf"}


def test_a_failed_refit_of_a_transducer_leaves_it():
    model = SequenceTransducer().fit(WORDS, WORDS)
    with pytest.raises(ValueError, match="beam"):
        model.set_params(beam="x").fit(WORDS, WORDS)
    assert model.predict(["ab"]).shape == (1,)


def test_empty_outputs_are_predicted(pairs):
    X = pairs[0]
    with pytest.warns(UserWarning, match="equal"):
        assert KernelDependency("rbf", Spectrum(2)).fit(X, [""] * 10).predict(X[:1])[0] == ""
    with pytest.warns(UserWarning, match="equal"):
        model = KernelDependencyCV("rbf", WeisfeilerLehman()).fit(X, [nx.Graph()] * 10)
    assert len(model.predict(X[:1])[0]) == 0


def test_parts_can_be_looked_at(pairs):
    dir(Positions())
    dir(Explicit())
    assert "Positions" in KernelDependency("rbf", Positions()).fit(pairs[0], WORDS)._repr_html_()


def test_tables_are_not_their_column_names(pairs):
    model = KernelDependency(Spectrum(2)).fit(pd.DataFrame({"word": WORDS}), pairs[1])
    assert model.predict(pd.DataFrame({"word": WORDS})).shape == (10, 2)
    with pytest.raises(ValueError, match="pass the column"):
        model.predict(pd.DataFrame({"a": WORDS, "b": WORDS}))
    with pytest.raises(TypeError, match="batch of items"):
        model.predict({"ab": 1})


@pytest.mark.parametrize("candidates", [["ab", "ba"], [["ab"], None]])
def test_flat_candidates_are_refused(pairs, candidates):
    model = KernelDependency("rbf", Spectrum(2)).fit(pairs[0], WORDS)
    with pytest.raises(ValueError, match=r"candidates\[[01]\] must be a list"):
        model.predict(pairs[0][:2], candidates=candidates)


class Broken(Kernel):
    """Gives what no kernel gives."""

    def __init__(self, value=np.nan, extra=0):
        self.value = value
        self.extra = extra

    def _gram(self, A, B):
        return np.full((len(A), len(B) + self.extra), self.value)


@pytest.mark.parametrize("estimator", [KernelDependency, KernelDependencyCV])
def test_own_kernels_are_checked_at_fit(pairs, estimator):
    with pytest.raises(ValueError, match="NaN or infinite"):
        estimator(Broken()).fit(*pairs)
    with pytest.raises(ValueError, match="shape"):
        estimator(Broken(1.0, 1)).fit(*pairs)


@pytest.mark.parametrize(
    ("groups", "message"),
    [("nonsense", "list or an array"), (5, "list or an array"), ([1, 2], "one label")],
)
def test_groups_are_always_checked(pairs, groups, message):
    with pytest.raises(ValueError, match=message):
        KernelDependency().fit(*pairs, groups=groups)


def test_missing_group_labels_are_named(pairs):
    with pytest.raises(ValueError, match=r"groups\[3\] is missing"):
        KernelDependencyCV().fit(*pairs, groups=[1, 2, 3, None, 1, 2, 3, 1, 2, 3])


def test_scores_that_are_not_numbers_are_refused(pairs):
    with pytest.raises(ValueError, match="NaN for every choice"):
        KernelDependencyCV(scoring=lambda *_: np.nan).fit(*pairs)


def test_nothing_to_choose_from(pairs):
    with pytest.raises(ValueError, match="output_kernel"):
        KernelDependencyCV(output_kernel=[]).fit(*pairs)


@pytest.mark.parametrize("bad", [None, 3, float("nan"), b"(S a)"])
def test_what_is_no_tree_is_refused_by_its_index(bad):
    with pytest.raises(ValueError, match=r"A\[1\] must be a bracketed string"):
        SubsetTree()(["(S a)", bad])


@pytest.mark.parametrize("path", [None, io.BytesIO()])
def test_a_model_is_saved_to_a_path(pairs, path):
    model = KernelDependency(RBF(1.0)).fit(*pairs)
    with pytest.raises(TypeError, match="path must be a string or a path"):
        mercer.save(model, path)
    with pytest.raises(TypeError, match="path must be a string or a path"):
        mercer.load(path)


def test_a_model_is_saved_to_a_file_in_a_folder(pairs, tmp_path):
    model = KernelDependency(RBF(1.0)).fit(*pairs)
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        mercer.save(model, tmp_path)
    with pytest.raises(FileNotFoundError, match="none is not a folder"):
        mercer.save(model, tmp_path / "none" / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("metric", [metrics.exact_match, metrics.graph_distance])
def test_no_score_of_nothing(metric):
    with pytest.raises(ValueError, match="y_true is empty"):
        metric([], [])


@pytest.mark.parametrize(
    ("operators", "weights", "problem"), [([], [], ValueError), ([3], [1.0], TypeError)]
)
def test_a_mixture_is_of_operators(pairs, operators, weights, problem):
    with pytest.raises(problem, match="Mixture"):
        KernelDependency(RBF(1.0) * Mixture(operators, weights)).fit(*pairs)


def test_an_empty_part_of_a_bag_is_named(pairs):
    dask, bag = pytest.importorskip("dask"), pytest.importorskip("dask.bag")
    parts = bag.from_sequence(list(zip(*pairs, strict=True)), npartitions=2)
    model = KernelDependency(RBF(1.0), features=Nystroem(2))
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match="block 0.*empty"),
    ):
        model.fit(parts.filter(lambda pair: False))
