"""Every part of the registry in a model, with items in several containers: what laws run over."""

import copy
from contextlib import suppress
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_array
from sklearn.base import clone

from hostile import zoo
from mercer import KernelDependency
from mercer.decoders import Candidates
from mercer.kernels import RBF, Delta, Labels, Linear, On, ShortestPath, Spectrum, Tanimoto
from registry import NUMBERS, SETS, VECTORS, WORDS

GRAPHS = [nx.path_graph(n) for n in (2, 3, 4)] + [nx.cycle_graph(n) for n in (3, 4, 5)]
for graph in GRAPHS:
    graph.graph["sources"] = ["a book"]
    nx.set_node_attributes(graph, {node: [node, [0.5]] for node in graph}, "place")
PAIRS = [(nx.to_numpy_array(graph), list("abcde")[: len(graph)]) for graph in GRAPHS]
COLUMNS = {"a": VECTORS[:, 0].tolist(), "b": VECTORS[:, 1].tolist()}
ROWS = [{"tags": list(tags), "size": float(i)} for i, tags in enumerate(SETS)]
TAGGED = On("tags", Labels()) + On("size", Linear())
IN_CONTAINERS = [
    ("sets", KernelDependency(Labels(), Labels()), list(map(set, SETS)), list(map(set, SETS))),
    ("attributes", KernelDependency(RBF(1.0), ShortestPath(), decoder=Candidates()), NUMBERS,
     GRAPHS),
    ("attributed inputs", KernelDependency(ShortestPath()), GRAPHS, NUMBERS),
    ("adjacencies", KernelDependency(ShortestPath(), ShortestPath(), decoder=Candidates()), PAIRS,
     PAIRS),
    ("frame", KernelDependency(RBF(1.0)), pd.DataFrame(COLUMNS), pd.DataFrame(COLUMNS)),
    ("polars", KernelDependency(RBF(1.0)), pl.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)),
    ("sparse", KernelDependency(Tanimoto(), Linear()), csr_array(np.abs(VECTORS.round())),
     VECTORS),
    ("lists of numbers", KernelDependency(RBF(1.0)), VECTORS.tolist(), VECTORS.tolist()),
    ("tuples", KernelDependency(Spectrum(1), Spectrum(1), decoder=Candidates()),
     [tuple(word) for word in WORDS], [list(word) for word in WORDS]),
    ("array of texts", KernelDependency(Spectrum(2), Spectrum(2), decoder=Candidates()),
     np.array(WORDS), np.array(WORDS)),
    ("classes of several types", KernelDependency(Delta(), Delta()), [1, "a", 2.5, True, "a", 1],
     [(1, 2), "a", 2.5, (1, 2), "a", 2.5]),
    ("dictionaries", KernelDependency(TAGGED, TAGGED), ROWS, ROWS),
    ("cells", KernelDependency(TAGGED, TAGGED), pd.DataFrame(ROWS), pd.DataFrame(ROWS)),
    ("column", KernelDependency(Labels(), Labels()), pd.Series(SETS), pd.Series(SETS)),
    ("classes", KernelDependency(Delta(), Delta()), pd.Series(list("abcabc")),
     np.array(list("xyxyzz"))),
]  # fmt: skip
"""Name, unfitted model, inputs and outputs, in the containers that the registry does not have."""
CASES = [*zoo.pairs(), *IN_CONTAINERS]
NAMES = [f"{number} {name}" for number, (name, *_) in enumerate(CASES)]


QUESTIONS = {
    "predict": lambda model, X: model.predict(X),
    "predict_top": lambda model, X: model.predict_top(X, k=2),
    "predict_set": lambda model, X: model.predict_set(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "variance": lambda model, X: model.embed(X).variance(),
    "explain": lambda model, X: model.explain(X, 2),
    "loo_predict": lambda model, X: model.loo_predict(),
}


def answers(model, X, names=tuple(QUESTIONS)):
    """What a model says of inputs and of its training data, as far as it can."""
    found = {}
    for name in names:
        with suppress(AttributeError, NotImplementedError, ValueError, TypeError):  # not offered
            found[name] = QUESTIONS[name](model, X)
    assert found
    return found


@cache
def fitted(number):
    """Return the model of a case, fitted once for all laws."""
    _, model, X, y = CASES[number]
    return clone(model).fit(X, y)


@cache
def answered(number):
    """Return the answers of the model of a case for its own inputs, which nobody has changed."""
    return copy.deepcopy(answers(fitted(number), CASES[number][2]))
