"""Predicted beside true outputs, for each kind of output."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..outputs import Outputs
from . import svg
from .html import Html, figure, pixels, shown, table

EXAMPLES = 6
COLUMNS = 6
"""Columns of numbers that are drawn one by one."""
CLASSES = 20
COVERAGE = 0.9


def pictures(model: Any, truth: Any, left_out: Any, errors: np.ndarray) -> str:
    """Pictures of left-out predictions, examples from the best to the worst."""
    outputs: Outputs = model.outputs_
    draw = {
        "number": _numbers,
        "curve": _curves,
        "image": _images,
        "class": _classes,
        "ranking": _rankings,
        "labels": _labels,
    }.get(outputs.kind_, _texts)
    return draw(model, truth, left_out, spread_over(errors))


def spread_over(errors: np.ndarray, k: int = EXAMPLES) -> np.ndarray:
    """Rows from a small to a large error, evenly."""
    order = np.argsort(errors, kind="stable")
    return order[np.linspace(0.05 * (len(order) - 1), 0.98 * (len(order) - 1), k).astype(int)]


def _numbers(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> str:
    Y = np.asarray(truth, dtype=float).reshape(len(truth), -1)
    G = np.asarray(left_out, dtype=float).reshape(Y.shape)
    names = list(model.outputs_.columns_)
    names = names if len(names) == Y.shape[1] else [f"value {j + 1}" for j in range(Y.shape[1])]
    drawn = [figure(svg.scatter(Y[:, j], G[:, j]), str(n)) for j, n in enumerate(names[:COLUMNS])]
    return f'<div class="figures">{"".join(drawn)}</div>'


def _curves(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> str:
    Y, G = (np.asarray(A, dtype=float).reshape(len(truth), -1) for A in (truth, left_out))
    half = _half_width(model)
    drawn = [figure(svg.curve(Y[i], G[i], half), f"row {i}") for i in rows]
    error = np.sqrt(((Y - G) ** 2).mean(axis=0))
    drawn.append(figure(svg.line(error, "root mean squared error"), "error by place"))
    return f'<div class="figures">{"".join(drawn)}</div>'


def _half_width(model: Any) -> np.ndarray | None:
    """Half the width of the band around every curve; None where rows are too few to tell."""
    try:
        bands = model.sets_.predict(model.training_.pairs.X[:1], model.coverage or COVERAGE)
    except (AttributeError, ValueError):
        return None
    return (np.ravel(bands.upper[0]) - np.ravel(bands.lower[0])) / 2.0


def _images(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> str:
    Y = np.asarray(truth, dtype=float)
    G = np.asarray(left_out, dtype=float).reshape(Y.shape)
    limits = (float(Y.min()), float(Y.max()))
    drawn = [
        figure(f'<div class="pair">{pixels(Y[i], limits)}{pixels(G[i], limits)}</div>', f"row {i}")
        for i in rows
    ]
    return f'<div class="figures">{"".join(drawn)}</div>'


def _classes(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> str:
    names, number = np.unique(np.concatenate([truth, left_out]), return_inverse=True)
    if len(names) > CLASSES:
        return ""
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (number[: len(truth)], number[len(truth) :]), 1)
    picture = svg.matrix(counts, [str(name) for name in names])
    return f'<div style="max-width:{8 + 2 * len(names)}rem">{picture}</div>'


def _rankings(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> str:
    space, columns = model.outputs_.space_, model.outputs_.columns_
    m = np.shape(truth)[1]
    labels = space.labels_ or [str(c) for c in (columns if len(columns) == m else range(m))]
    orders = [
        [[labels[j] for j in np.argsort(np.asarray(items)[i], kind="stable")] for i in rows]
        for items in (truth, left_out)
    ]
    drawn = [figure(svg.ranking(a, b), f"row {i}") for i, a, b in zip(rows, *orders, strict=True)]
    return f'<div class="figures">{"".join(drawn)}</div>'


def _labels(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> str:
    from ..measures import _as_sets

    pairs = ([_as_sets(model.outputs_, [items[i]])[0] for i in rows] for items in (truth, left_out))
    lines = [
        {"row": int(i), "labels": Html(_chips(real, told))}
        for i, real, told in zip(rows, *pairs, strict=True)
    ]
    return table(lines)


def _chips(real: set, told: set) -> str:
    from html import escape

    kinds = [("good", real & told), ("miss", real - told), ("bad", told - real)]
    chips = [
        f'<span class="chip {kind}">{escape(str(label))}</span>'
        for kind, labels in kinds
        for label in sorted(labels, key=str)[:20]
    ]
    return "".join(chips) or "no labels, as predicted"


def _texts(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> str:
    return table(
        [{"row": int(i), "true": shown(truth[i]), "predicted": shown(left_out[i])} for i in rows]
    )
