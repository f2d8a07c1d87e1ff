"""Metrics of structured predictions.

Most metrics take true and predicted outputs, and return the mean over examples. With
``average=False``, they return one value for each example. Smaller losses are better: pass a loss to
scikit-learn as ``make_scorer(loss, greater_is_better=False)``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ._base.arrays import Array, Items, count, host, is_table, refuse_empty, table_rows, take
from ._base.errors import require
from .embedding import Embedding
from .kernels import Kernel, Labels
from .kernels.rankings import Hamming, Kendall, Spearman
from .spaces import Classes, Opaque, Vectors
from .spaces._equality import equal
from .spaces.label_sets import OVERLAPS
from .spaces.rankings import as_rankings
from .spaces.sequences import as_sequences

__all__ = [
    "ListAccuracy", "accuracy", "character_error_rate", "edit_distance", "exact_match",
    "feature_risk", "graph_distance", "hamming_accuracy", "kendall_tau", "kernel_loss",
    "list_accuracy", "position_accuracy", "rbf_loss", "relative_error", "sample_f1", "spearman_rho",
    "squared_error", "subset_accuracy", "symbol_accuracy",
]  # fmt: skip

Score = Any
"""A number; with ``average=False`` an array of one number for each example."""


def rbf_loss(
    y_true: Items, y_pred: Items, length_scale: float = 1.0, average: bool = True
) -> Score:
    r"""Return the mean squared distance in the feature space of an RBF kernel (Kadri et al. 2013).

    :math:`\lVert \Phi(y) - \Phi(\hat y) \rVert^2 = 2 - 2 \exp(-\lVert y - \hat y \rVert^2 /
    2\ell^2)`.

    Parameters
    ----------
    y_true, y_pred : array-like
        The true and the predicted outputs, in the same order.
    length_scale : float, default=1.0
        The length scale ℓ of the kernel.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import rbf_loss
    >>> rbf_loss([[0.0]], [[0.0]], length_scale=12.0)
    0.0
    """
    A, B = _paired_rows(y_true, y_pred)
    return _mean_or_values(
        2.0 - 2.0 * np.exp(-((A - B) ** 2).sum(axis=1) / (2.0 * length_scale**2)), average
    )


def squared_error(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    r"""Return the mean of :math:`\lVert y - \hat y \rVert^2` of vectors, curves or images.

    Parameters
    ----------
    y_true, y_pred : array-like
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import squared_error
    >>> float(squared_error([[0.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]))
    0.5
    """
    A, B = _paired_rows(y_true, y_pred)
    return _mean_or_values(((A - B) ** 2).sum(axis=1), average)


def relative_error(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    r"""Return the mean of :math:`\lVert y - \hat y \rVert / \lVert y \rVert` of fields.

    Parameters
    ----------
    y_true, y_pred : array-like
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import relative_error
    >>> relative_error([[3.0, 4.0]], [[3.0, 3.0]])
    0.2
    """
    A, B = _paired_rows(y_true, y_pred)
    lengths = np.sqrt((A * A).sum(axis=1))
    gaps = np.sqrt(((A - B) ** 2).sum(axis=1))
    zero = lengths == 0
    return _mean_or_values(np.where(zero, gaps > 0, gaps / np.where(zero, 1.0, lengths)), average)


def kernel_loss(y_true: Items, y_pred: Items, kernel: Kernel, average: bool = True) -> Score:
    r"""Return the mean squared distance in the feature space of an output kernel.

    :math:`\lVert \Phi(y) - \Phi(\hat y) \rVert^2 = l(y, y) - 2 l(y, \hat y) + l(\hat y, \hat y)`.

    Parameters
    ----------
    y_true, y_pred : sequence of items
        The true and the predicted outputs, in the same order.
    kernel : Kernel
        The output kernel l, fitted if it needs a fit.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.kernels import Kendall
    >>> from mercer.metrics import kernel_loss
    >>> kernel_loss([[0, 1, 2]], [[0, 1, 2]], Kendall().fit([[0, 1, 2]]))
    0.0
    """
    y_true, y_pred = kernel.as_outputs(y_true, "y_true"), kernel.as_outputs(y_pred, "y_pred")
    _require_same_length(y_true, y_pred)
    cross = [
        float(host(kernel(take(y_true, [i]), take(y_pred, [i])))[0, 0])
        for i in range(count(y_true))
    ]
    losses = host(kernel.diag(y_true)) + host(kernel.diag(y_pred)) - 2.0 * np.array(cross)
    return _mean_or_values(np.maximum(losses, 0.0), average)


def feature_risk(points: Embedding, y_true: Items, average: bool = True) -> Score:
    r"""Return the mean of :math:`\lVert g(x) - \Phi(y) \rVert^2`, the risk before decoding.

    Parameters
    ----------
    points : Embedding
        The predicted points g(x), from ``model.embed(X)``.
    y_true : sequence of items
        The true outputs y.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> model = KernelDependency(RBF(0.5), alpha=0.01).fit(X, X**2)
    >>> from mercer.metrics import feature_risk
    >>> bool(feature_risk(model.embed(X), X**2) < 0.01)
    True
    """
    return _mean_or_values(host(points.sqdistances_to(y_true)), average)


def exact_match(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the fraction of outputs that are predicted exactly; greater is better.

    Parameters
    ----------
    y_true, y_pred : sequence of items
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import exact_match
    >>> exact_match(["cat", "dog"], ["cat", "dot"])
    0.5
    """
    _require_same_length(y_true, y_pred)
    pairs = zip(table_rows(y_true), table_rows(y_pred), strict=True)
    hits = [equal(a, b) for a, b in pairs]
    return _mean_or_values(np.array(hits, dtype=float), average)


def accuracy(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the fraction of classes that are predicted correctly; greater is better.

    Parameters
    ----------
    y_true, y_pred : sequence of labels
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import accuracy
    >>> accuracy(["sea", "sun"], ["sea", "sea"])
    0.5
    """
    space = Classes()
    A, B = space.check(y_true, "y_true"), space.check(y_pred, "y_pred")
    _require_same_length(A, B)
    pairs = zip(space.keys(A), space.keys(B), strict=True)
    return _mean_or_values(np.array([a == b for a, b in pairs], dtype=float), average)


class ListAccuracy(NamedTuple):
    """The fraction of lists in which the true candidate was chosen, and that of chance.

    Attributes
    ----------
    accuracy, chance
        The fraction of right choices, and that of a blind guess.
    lists
        The lists that count: those of at least two different candidates.

    Examples
    --------
    >>> from mercer.metrics import ListAccuracy
    >>> score = ListAccuracy(accuracy=0.6, chance=0.2, lists=50)
    >>> score.accuracy > score.chance
    True
    """

    accuracy: float
    chance: float
    lists: int


def list_accuracy(y_true: Items, y_pred: Items, candidates: Iterable[Items]) -> ListAccuracy:
    """Return how often the true candidate of a list was chosen, compared with chance.

    Lists of one candidate do not count.

    Parameters
    ----------
    y_true, y_pred : sequence of items
        The true and the predicted outputs, in the same order.
    candidates : iterable of sequences
        The list of candidates of each example.

    Examples
    --------
    >>> from mercer.metrics import list_accuracy
    >>> list_accuracy(["a", "b", "c"], ["a", "c", "c"], [["a", "b"], ["b", "c"], ["c"]])
    ListAccuracy(accuracy=0.5, chance=0.5, lists=2)
    """
    _require_same_length(y_true, y_pred)
    key, pairs = Opaque().key, list(zip(table_rows(y_true), table_rows(y_pred), strict=True))
    sizes = np.array([len({key(y) for y in table_rows(row)}) for row in candidates])
    if len(sizes) != len(pairs):
        raise ValueError(f"give one list for each of {len(pairs)} outputs, got {len(sizes)}.")
    hits = np.array([key(a) == key(b) for a, b in pairs], dtype=float)[sizes > 1]
    if not len(hits):
        raise ValueError("no list has two candidates: there is nothing to choose.")
    return ListAccuracy(float(hits.mean()), float((1.0 / sizes[sizes > 1]).mean()), len(hits))


def graph_distance(
    y_true: Items,
    y_pred: Items,
    trade_off: float = 0.5,
    average: bool = True,
    node_label: str | None = "label",
    edge_label: str | None = None,
) -> Any:
    """Return the mean fused Gromov–Wasserstein distance of labelled graphs, 0 if all are equal.

    Nodes are compared by their labels and by those of their neighbours, edges by their presence,
    or by their labels too if `edge_label` is given. The result is a local optimum, or the best of
    two for graphs with equal numbers of nodes: an upper bound of the distance. A graph without
    nodes has distance 1 from all others. Needs POT, ``pip install "mercer[graphs]"``.

    Parameters
    ----------
    y_true, y_pred : sequence of graphs
        The true and the predicted outputs, in the same order.
    trade_off : float, default=0.5
        The weight of the edges, from 0 (only nodes count) to 1 (only edges count).
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.
    node_label : str or None, default="label"
        The attribute of networkx graphs that holds the labels of nodes; None to ignore them.
    edge_label : str or None, default=None
        The attribute of networkx graphs that holds the labels of edges; None to compare edges only
        by their presence. Edges with different labels then count like an edge and no edge. For
        graphs (adjacency, labels), any name compares the entries of the adjacency matrices.

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer.metrics import graph_distance
    >>> triangle, other = nx.cycle_graph(3), nx.cycle_graph(3)
    >>> other.edges[0, 1]["label"] = "double"
    >>> round(float(graph_distance([triangle], [other])), 4)
    0.0
    >>> round(float(graph_distance([triangle], [other], edge_label="label")), 4)
    0.1111
    """
    from .spaces._labelled_graphs import graph_distances

    _require_same_length(y_true, y_pred)
    labels = (node_label, edge_label)
    return _mean_or_values(graph_distances(y_true, y_pred, trade_off, *labels), average)


def sample_f1(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    r"""Return the mean F1 score of label sets over examples; greater is better.

    :math:`2 \lvert y \cap \hat y \rvert / (\lvert y \rvert + \lvert \hat y \rvert)`, and 1 for two
    empty sets.

    Label sets are indicator rows, dense or sparse, or lists of labels.

    Parameters
    ----------
    y_true, y_pred : indicator matrix or sequence of label lists
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import sample_f1
    >>> sample_f1([["sea", "sun"], []], [["sun"], []]).__round__(4)
    0.8333
    """
    return _label_score("f1", y_true, y_pred, average)


def hamming_accuracy(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the fraction of correct decisions whether a label is in a set; greater is better.

    Parameters
    ----------
    y_true, y_pred : indicator matrix or sequence of label lists
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.metrics import hamming_accuracy
    >>> float(hamming_accuracy(np.array([[1, 0, 1, 0]]), np.array([[1, 0, 0, 0]])))
    0.75
    """
    return _label_score("hamming", y_true, y_pred, average)


def subset_accuracy(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the fraction of label sets that are predicted exactly; greater is better.

    Parameters
    ----------
    y_true, y_pred : indicator matrix or sequence of label lists
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import subset_accuracy
    >>> float(subset_accuracy([["sun", "sea"], ["hill"]], [["sea", "sun"], []]))
    0.5
    """
    return _label_score("subset", y_true, y_pred, average)


def _label_score(name: str, y_true: Items, y_pred: Items, average: bool) -> Score:
    """Return the score `name` of `OVERLAPS` of label sets, the mean or a value per example."""
    form = Labels()
    A, B = form.as_outputs(y_true, "y_true"), form.as_outputs(y_pred, "y_pred")
    _require_same_length(A, B)
    lists = [Y.dtype == object for Y in (A, B)]
    if lists[0] != lists[1]:
        raise ValueError("y_true and y_pred must both hold lists of labels, or both indicators.")
    if all(lists):
        classes = dict.fromkeys(label for Y in (A, B) for item in Y for label in item)
        form = Labels(classes=[*classes] or [None])
    form.fit(A)
    A, B = (host(form.features(Y)) for Y in (A, B))
    both, predicted, true = (A * B).sum(axis=1), B.sum(axis=1), A.sum(axis=1)
    return _mean_or_values(OVERLAPS[name](both, predicted, true, A.shape[1]), average)


def kendall_tau(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the mean of Kendall's tau of rankings; greater is better.

    Over the pairs of labels that are not tied in the true ranking, it is (pairs in the same order -
    pairs in the opposite order) / pairs; a ranking without such pairs counts as 0.

    Parameters
    ----------
    y_true, y_pred : array-like
        The ranks of the true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import kendall_tau
    >>> kendall_tau([[0, 1, 2]], [[1, 0, 2]]).__round__(4)
    0.3333
    """
    A, B = _ranking_features(Kendall(), y_true, y_pred)
    pairs = (A * A).sum(axis=1)
    return _mean_or_values((A * B).sum(axis=1) / np.where(pairs > 0, pairs, 1.0), average)


def spearman_rho(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the mean of Spearman's rho of rankings, the correlation of ranks; greater is better.

    Parameters
    ----------
    y_true, y_pred : array-like
        The ranks of the true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import spearman_rho
    >>> float(spearman_rho([[0, 1, 2]], [[2, 1, 0]]))
    -1.0
    """
    A, B = _ranking_features(Spearman(), y_true, y_pred)
    norms = np.sqrt((A * A).sum(axis=1) * (B * B).sum(axis=1))
    return _mean_or_values((A * B).sum(axis=1) / np.where(norms > 0, norms, 1.0), average)


def position_accuracy(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the fraction of labels that have their position in the true ranking.

    Parameters
    ----------
    y_true, y_pred : array-like
        The ranks of the true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import position_accuracy
    >>> round(float(position_accuracy([[0, 1, 2]], [[0, 2, 1]])), 3)
    0.333
    """
    A, B = _ranking_features(Hamming(), y_true, y_pred)
    return _mean_or_values((A * B).sum(axis=1), average)


def _ranking_features(
    kernel: Kernel, y_true: Items, y_pred: Items
) -> tuple[np.ndarray, np.ndarray]:
    """Check rankings; return the kernel features of the true and of the predicted ones."""
    A, B = as_rankings(y_true, "y_true"), as_rankings(y_pred, "y_pred")
    if A.shape != B.shape:
        raise ValueError(f"y_true and y_pred must have one shape, got {A.shape} and {B.shape}.")
    return kernel.features(A), kernel.features(B)


def _paired_rows(y_true: Items, y_pred: Items) -> tuple[np.ndarray, np.ndarray]:
    """Check true and predicted outputs; return them as numeric matrices of equal shape."""
    pairs = (y_true, "y_true"), (y_pred, "y_pred")
    A, B = (Vectors().check(_as_rows(y), name, "this kernel", rows=True) for y, name in pairs)
    if A.shape != B.shape:
        raise ValueError(f"y_true and y_pred must have one shape, got {A.shape} and {B.shape}.")
    return host(A), host(B)


def _as_rows(y: Items) -> Array:
    """Return outputs as a matrix with one row per output; numbers become rows of one value."""
    series = is_table(y) and y.ndim == 1  # of pandas, which cannot become a matrix
    y = y if hasattr(y, "ndim") and not series else np.asarray(y)
    if y.ndim == 0:
        raise TypeError(f"numbers or vectors must be in a list or an array, got {y.item()!r:.40}.")
    return y if y.ndim > 1 else y[:, None]


def _require_same_length(y_true: Items, y_pred: Items) -> None:
    """Raise ValueError unless there are as many predicted as true outputs."""
    if count(y_true) != count(y_pred):
        raise ValueError(
            f"y_true and y_pred must have one length, got {count(y_true)} and {count(y_pred)}."
        )
    refuse_empty(count(y_true), "y_true")


def _mean_or_values(values: np.ndarray, average: bool) -> Any:
    """Return the mean of the values if `average` is true, else the values."""
    return float(values.mean()) if average else values


# -- sequences --------------------------------------------------------------------------------


def edit_distance(y_true: Items, y_pred: Items, average: bool = True) -> Score:
    """Return the mean Levenshtein distance of strings or lists of tokens.

    It is the least number of insertions, deletions and replacements that make two sequences equal.

    Parameters
    ----------
    y_true, y_pred : sequence of str or of lists
        The true and the predicted outputs, in the same order.
    average : bool, default=True
        Whether to return the mean over examples, rather than one value for each.

    Examples
    --------
    >>> from mercer.metrics import edit_distance
    >>> edit_distance(["kitten", "cat"], ["sitting", "cat"], average=False)
    array([3., 0.])
    """
    require("rapidfuzz", "strings")
    from rapidfuzz.distance import Levenshtein

    _require_same_length(y_true, y_pred)
    pairs = zip(_as_sequences(y_true, "y_true"), _as_sequences(y_pred, "y_pred"), strict=True)
    return _mean_or_values(np.array([float(Levenshtein.distance(a, b)) for a, b in pairs]), average)


def character_error_rate(y_true: Items, y_pred: Items) -> float:
    """Return the total edit distance divided by the total length of the true sequences.

    For lists of tokens this is the token error rate.

    Parameters
    ----------
    y_true, y_pred : sequence of str or of lists
        The true and the predicted outputs, in the same order.

    Examples
    --------
    >>> from mercer.metrics import character_error_rate
    >>> character_error_rate(["kitten", "cat"], ["sitting", "cat"]).__round__(3)
    0.333
    """
    edits = edit_distance(y_true, y_pred, average=False)
    total = sum(map(len, _as_sequences(y_true, "y_true")))
    if total == 0:
        raise ValueError("character_error_rate is not defined where all of y_true is empty.")
    return float(edits.sum() / total)


def symbol_accuracy(y_true: Items, y_pred: Items) -> float:
    """Return the fraction of symbols that are predicted at their position; greater is better.

    Kadri et al. (2013) call it WRC.

    Parameters
    ----------
    y_true, y_pred : sequence of str or of lists
        The true and the predicted outputs, in the same order.

    Examples
    --------
    >>> from mercer.metrics import symbol_accuracy
    >>> symbol_accuracy(["cat", "dog"], ["car", "do"]).__round__(3)
    0.667
    """
    _require_same_length(y_true, y_pred)
    y_true, y_pred = _as_sequences(y_true, "y_true"), _as_sequences(y_pred, "y_pred")
    total = sum(map(len, y_true))
    if total == 0:
        raise ValueError("symbol_accuracy is not defined where all of y_true is empty.")
    pairs = zip(y_true, y_pred, strict=True)
    return sum(bool(s == t) for a, b in pairs for s, t in zip(a, b, strict=False)) / total


def _as_sequences(y: Items, name: str) -> list:
    """Return outputs as a list of strings or symbol lists; `name` is for error messages."""
    return [list(a) if isinstance(a, np.ndarray) else a for a in as_sequences(y, name)]
