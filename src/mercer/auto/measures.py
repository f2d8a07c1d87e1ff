"""The quality of predictions, row by row and together, and where the errors are."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from .. import metrics
from .._base.arrays import Items
from ..embedding import Embedding
from ..estimators.probabilities import Probabilities
from ..kernels import Kernel
from .inputs import Inputs
from .kinds.base import Kind, Rows


def left_out_probabilities(
    kernel: Kernel, points: Embedding, y: Items
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, and calibrated class probabilities of left-out predictions.

    `points` are the left-out predictions in the feature space of the output kernel.
    """
    calibrated = Probabilities(kernel).fit(points, y)
    return calibrated.classes_, calibrated.predict(points)


def metrics_by_name(outputs: Kind, truth: Items, predicted: Items) -> dict[str, float]:
    """Return metrics of the predictions by name, with the default metric of the outputs first."""
    scores = {outputs.metric_name: outputs.metric(truth, predicted)}
    if outputs.is_array and not np.ptp(np.asarray(truth), axis=0).any():
        scores = {}  # there is no variance to explain
    scores |= {str(n): value for n, value in outputs.metrics_by_column(truth, predicted).items()}
    return scores | outputs.other_metrics(truth, predicted)


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


def error_tables(
    inputs: Inputs,
    outputs: Kind,
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
    errors = outputs.row_errors(truth, left_out)
    worst = np.argsort(-errors, kind="stable")[:WORST]
    return {
        "groups": [] if groups is None else _errors_by_group(errors, groups),
        "labels": outputs.label_scores(truth, left_out),
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
