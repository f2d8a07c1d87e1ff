"""The quality of predictions, row by row and together, and where the errors are."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_fscore_support, r2_score
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.tree import DecisionTreeRegressor

from .. import metrics
from .._base.arrays import Items
from ..defaults import evaluate
from ..embedding import Embedding
from ..estimators.probabilities import Probabilities
from ..kernels import Kernel
from ..metrics import character_error_rate, subset_accuracy
from .inputs import Inputs
from .outputs import ARRAYS, Outputs


def left_out_probabilities(
    kernel: Kernel, points: Embedding, y: Items
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and calibrated class probabilities of left-out predictions.

    `points` are the left-out predictions in the feature space of the output kernel.
    """
    calibrated = Probabilities(kernel).fit(points, y)
    return calibrated.classes_, calibrated.predict(points)


def metrics_by_name(outputs: Outputs, truth: Items, predicted: Items) -> dict[str, float]:
    """Return metrics of the predictions by name, with the default metric of the outputs first."""
    scores = {outputs.metric_name: outputs.metric(truth, predicted)}
    scores |= {
        str(name): score for name, score in outputs.metrics_by_column(truth, predicted).items()
    }
    if outputs.kind_ in ARRAYS:
        error = np.asarray(truth, dtype=float) - np.asarray(predicted).reshape(np.shape(truth))
        mean = float(np.sqrt(np.mean(error**2)))
        varies = bool(np.ptp(np.asarray(truth), axis=0).any())
        return (scores if varies else {}) | {"root mean squared error": mean}
    if outputs.kind_ == "labels":
        return scores | {"exact match": float(subset_accuracy(truth, predicted))}
    if outputs.kind_ == "text" and find_spec("rapidfuzz") is not None and any(map(len, truth)):
        errors = character_error_rate(list(truth), list(predicted))
        return scores | {"character error rate": float(errors)}
    return scores


def row_errors(outputs: Outputs, truth: Items, predicted: Items) -> np.ndarray:
    """Return the error of each row: in standard deviations for numbers, else 1 minus the metric."""
    if outputs.kind_ not in ARRAYS:
        truth = outputs.fill_missing(truth, predicted)
        return 1.0 - np.asarray(evaluate(outputs.space_, truth, predicted, average=False))
    Y = np.asarray(truth, dtype=float).reshape(len(truth), -1)
    E = Y - np.asarray(predicted).reshape(Y.shape)
    spread = Y.std(axis=0)
    if outputs.kind_ == "number":
        E = E / np.where(spread > 0, spread, 1.0)
        return np.sqrt((E**2).mean(axis=1))
    total = float(np.sqrt((spread**2).mean()))
    return np.sqrt((E**2).mean(axis=1)) / (total or 1.0)


def scorer_of(scoring: Any) -> Any:
    """Return a scorer of scikit-learn, given a scorer, its name, or that of a mercer metric."""
    from sklearn.metrics import get_scorer_names, make_scorer

    if not isinstance(scoring, str) or scoring in get_scorer_names():
        return scoring
    metric = None if scoring.startswith("_") else getattr(metrics, scoring, None)
    if not inspect.isfunction(metric):
        raise ValueError(
            f"{scoring!r:.60} is neither a scorer of scikit-learn nor a metric of mercer: try "
            "accuracy, f1_macro, sample_f1 or hamming_accuracy."
        )
    lower = any(word in scoring for word in ("error", "loss", "distance"))
    return make_scorer(metric, greater_is_better=not lower)


REGIONS = 8
"""The largest number of regions of the inputs for which mean errors are reported."""
WORST = 10
Rows = list[dict[str, Any]]


def error_tables(
    inputs: Inputs,
    outputs: Outputs,
    X: Items,
    truth: Items,
    left_out: Items,
    groups: np.ndarray | None,
) -> dict[str, Rows]:
    """Return tables of left-out errors: by group, label and input region, and the worst rows.

    Parameters
    ----------
    inputs, outputs
        How columns are read.
    X, truth, left_out
        The training rows as `inputs` reads them, their outputs, and the left-out predictions.
    groups
        The name of each row's group; None for no groups.
    """
    errors = row_errors(outputs, truth, left_out)
    worst = np.argsort(-errors, kind="stable")[:WORST]
    return {
        "groups": [] if groups is None else _errors_by_group(errors, groups),
        "labels": _scores_by_label(outputs, truth, left_out),
        "regions": _errors_by_region(inputs, inputs.unscaled_numbers(X), errors),
        "worst": [{"row": int(i), "error": float(errors[i])} for i in worst],
    }


def _errors_by_group(errors: np.ndarray, groups: np.ndarray) -> Rows:
    """Return a table of groups with their number of rows and mean error, largest first."""
    names, number = np.unique(groups.astype(str), return_inverse=True)
    sizes = np.bincount(number)
    means = np.bincount(number, errors) / sizes
    order = np.argsort(-means, kind="stable")
    return [
        {"group": str(names[g]), "rows": int(sizes[g]), "error": float(means[g])} for g in order
    ]


def _scores_by_label(outputs: Outputs, truth: Items, left_out: Items) -> Rows:
    """Return a table of left-out scores by label, or by output column; empty for other outputs."""
    kinds = {
        "record": _field_scores,
        "number": _column_scores,
        "labels": _label_scores,
        "class": _label_scores,
        "ranking": _rank_errors,
    }
    return kinds.get(outputs.kind_, lambda *_: [])(outputs, truth, left_out)


def _column_scores(outputs: Outputs, truth: Items, left_out: Items) -> Rows:
    """Return a table of R² and root mean squared error of each numeric output column."""
    Y = np.asarray(truth, dtype=float).reshape(len(truth), -1)
    G = np.asarray(left_out).reshape(Y.shape)
    explained = r2_score(Y, G, multioutput="raw_values")
    names = outputs.columns_ if len(outputs.columns_) == Y.shape[1] else list(range(Y.shape[1]))
    return [
        {
            "column": str(name),
            "R²": float(explained[j]) if np.ptp(Y[:, j]) > 0 else 0.0,
            "root mean squared error": float(np.sqrt(((Y - G)[:, j] ** 2).mean())),
        }
        for j, name in enumerate(names)
    ]


def _field_scores(outputs: Outputs, truth: Items, left_out: Items) -> Rows:
    """Return a table of the score of each output column, for columns of different kinds."""
    scores, kinds = outputs.metrics_by_column(truth, left_out), outputs.kinds_
    return [{"column": str(name), "kind": kinds[name], "score": scores[name]} for name in scores]


def _label_scores(outputs: Outputs, truth: Items, left_out: Items) -> Rows:
    """Return a table of frequency, precision, recall and F1 of each label, most frequent first."""
    true, predicted = (as_sets(outputs, items) for items in (truth, left_out))
    labels = sorted({label for one in true for label in one}, key=str)
    binarizer = MultiLabelBinarizer(classes=labels).fit(true)
    T, P = binarizer.transform(true), binarizer.transform(predicted)
    scores = precision_recall_fscore_support(T, P, average=None, zero_division=0.0)
    rows = [
        {
            "label": str(label),
            "rows": int(count),
            "predicted": int(P[:, j].sum()),
            "precision": float(precision),
            "recall": float(recall),
            "F1": float(f1),
        }
        for j, (label, precision, recall, f1, count) in enumerate(zip(labels, *scores, strict=True))
    ]
    return sorted(rows, key=lambda row: -row["rows"])


def as_sets(outputs: Outputs, items: Items) -> list[set]:
    """Return class labels or label sets as Python sets; a class is a set of one label."""
    if outputs.kind_ == "class":
        return [{str(item)} for item in items]
    return outputs.cells_.sets_of(items)


def _rank_errors(outputs: Outputs, truth: Items, left_out: Items) -> Rows:
    """Return a table of the mean absolute rank error of each label."""
    ranks = np.asarray(truth)
    known = ranks >= 0
    gaps = (np.abs(ranks - np.asarray(left_out)) * known).sum(axis=0) / known.sum(axis=0)
    names = outputs.cells_.label_names(len(gaps))
    return [{"label": str(n), "places off": float(g)} for n, g in zip(names, gaps, strict=True)]


def _errors_by_region(inputs: Inputs, raw: np.ndarray, errors: np.ndarray) -> Rows:
    """Return a table of mean errors in the leaves of a small decision tree, largest first."""
    n = len(errors)
    if not raw.shape[1] or n < 40 or not np.ptp(errors) > 0:
        return []
    tree = DecisionTreeRegressor(
        max_leaf_nodes=REGIONS, max_depth=3, min_samples_leaf=max(10, n // 20), random_state=0
    ).fit(raw, errors)
    names = inputs.feature_names()
    leaves = tree.apply(raw)
    regions = []
    for leaf, conditions in _leaves_with_conditions(tree.tree_, names):
        rows = leaves == leaf
        where = " and ".join(conditions.values()) or "everywhere"
        regions.append(
            {"region": where, "rows": int(rows.sum()), "error": float(errors[rows].mean())}
        )
    return sorted(regions, key=lambda row: -row["error"])


def _leaves_with_conditions(
    tree: Any, names: list[str], node: int = 0, above: dict[str, str] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the index of each leaf of a decision tree, with its conditions by feature name."""
    above = above or {}
    if tree.children_left[node] < 0:
        yield node, above
        return
    name, at = names[tree.feature[node]], float(tree.threshold[node])
    no, yes = _describe_split(name, at)
    yield from _leaves_with_conditions(
        tree, names, tree.children_left[node], above | {f"{name} ≤": no}
    )
    yield from _leaves_with_conditions(
        tree, names, tree.children_right[node], above | {f"{name} >": yes}
    )


def _describe_split(name: str, at: float) -> tuple[str, str]:
    """Return the conditions "feature ≤ at" and "feature > at" on the sides of a split, as text."""
    if " = " in name or name.endswith(" is empty"):
        return f"not {name}", name
    return f"{name} ≤ {at:.4g}", f"{name} > {at:.4g}"
