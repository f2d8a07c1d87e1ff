"""Predicted beside true outputs, for each kind of output."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..measures import as_sets
from . import svg
from .html import Html, figure, joined, pixels, shown, table, tag

EXAMPLES = 6
COLUMNS = 6
"""Columns of numbers that are drawn one by one."""
CLASSES = 20
COVERAGE = 0.9


def pictures(model: Any, truth: Any, left_out: Any, errors: np.ndarray) -> Html:
    """Return pictures of left-out predictions, examples from the best to the worst."""
    draw = _DRAWN.get(model.outputs_.kind_, _texts)
    drawn = draw(model, truth, left_out, spread_over(errors))
    return drawn if isinstance(drawn, Html) else tag("div", *drawn, class_="figures")


def spread_over(errors: np.ndarray, k: int = EXAMPLES) -> np.ndarray:
    """Return rows from a small to a large error, evenly."""
    order = np.argsort(errors, kind="stable")
    return order[np.linspace(0.05 * (len(order) - 1), 0.98 * (len(order) - 1), k).astype(int)]


def _numbers(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Html]:
    Y, G = (np.asarray(A, dtype=float).reshape(len(truth), -1) for A in (truth, left_out))
    names = list(model.outputs_.columns_)
    names = names if len(names) == Y.shape[1] else [f"value {j + 1}" for j in range(Y.shape[1])]
    return [figure(svg.scatter(Y[:, j], G[:, j]), str(n)) for j, n in enumerate(names[:COLUMNS])]


def _curves(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Html]:
    Y, G = (np.asarray(A, dtype=float).reshape(len(truth), -1) for A in (truth, left_out))
    half = _half_width(model)
    error = svg.line(np.sqrt(((Y - G) ** 2).mean(axis=0)), "root mean squared error")
    drawn = [figure(svg.curve(Y[i], G[i], half), f"row {i}") for i in rows]
    return [*drawn, figure(error, "error by place")]


def _half_width(model: Any) -> np.ndarray | None:
    """Return half the width of the band around every curve; None if rows are too few to tell."""
    try:
        bands = model.sets_.predict(model.training_.pairs.X[:1], model.coverage or COVERAGE)
    except (AttributeError, ValueError):
        return None
    return (np.ravel(bands.upper[0]) - np.ravel(bands.lower[0])) / 2.0


def _images(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Html]:
    Y = np.asarray(truth, dtype=float)
    G = np.asarray(left_out, dtype=float).reshape(Y.shape)
    limits = (float(Y.min()), float(Y.max()))
    pairs = {i: [pixels(images[i], limits) for images in (Y, G)] for i in rows}
    return [figure(tag("div", *pair, class_="pair"), f"row {i}") for i, pair in pairs.items()]


def _classes(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> Html:
    names, number = np.unique(np.concatenate([truth, left_out]), return_inverse=True)
    if len(names) > CLASSES:
        return Html()
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (number[: len(truth)], number[len(truth) :]), 1)
    picture = svg.matrix(counts, [str(name) for name in names])
    return tag("div", picture, style=f"max-width:{8 + 2 * len(names)}rem")


def _rankings(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> list[Html]:
    labels = model.outputs_.cells_.names(np.shape(truth)[1])
    orders = [
        [[labels[j] for j in np.argsort(np.asarray(items)[i], kind="stable")] for i in rows]
        for items in (truth, left_out)
    ]
    return [figure(svg.ranking(a, b), f"row {i}") for i, a, b in zip(rows, *orders, strict=True)]


def _labels(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> Html:
    pairs = ([as_sets(model.outputs_, [items[i]])[0] for i in rows] for items in (truth, left_out))
    return table(
        [{"row": int(i), "labels": _chips(*pair)} for i, *pair in zip(rows, *pairs, strict=True)]
    )


def _chips(real: set, told: set) -> Html:
    kinds = [("good", real & told), ("miss", real - told), ("bad", told - real)]
    chips = [
        tag("span", label, class_=f"chip {kind}")
        for kind, labels in kinds
        for label in sorted(labels, key=str)[:20]
    ]
    return joined(*chips) or Html("no labels, as predicted")


def _texts(model: Any, truth: Any, left_out: Any, rows: np.ndarray) -> Html:
    return table(
        [{"row": int(i), "true": shown(truth[i]), "predicted": shown(left_out[i])} for i in rows]
    )


_DRAWN: dict[str, Any] = {
    "number": _numbers, "curve": _curves, "image": _images, "class": _classes,
    "ranking": _rankings, "labels": _labels,
}  # fmt: skip
