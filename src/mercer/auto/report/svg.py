"""Small charts as SVG: dots, lines and bands, rankings side by side, a matrix of counts.

What a class of marks looks like is said in report.css.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .html import Html, joined, tag

WIDTH, HEIGHT = 320, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 30
SHOWN = 600
"""Points that a chart holds."""
Mark = tuple[str, Any, Any]
"""A class ("dots", "band", or that of a line through points) and values of x and y."""


def chart(marks: Sequence[Mark], x_name: str, y_name: str = "") -> Html:
    """Return axes with marks on them."""
    x, y = (np.concatenate([mark[side] for mark in marks]) for side in (1, 2))
    across, x_ticks = _axis(x, LEFT, WIDTH - RIGHT)
    up, y_ticks = _axis(y, HEIGHT - BOTTOM, TOP)
    parts = [_text(WIDTH - RIGHT, HEIGHT - 3, x_name, "end"), _text(LEFT, TOP + 8, y_name, "start")]
    for value in x_ticks:
        at = across(value)
        parts.append(_line(at, TOP, at, HEIGHT - BOTTOM, "grid"))
        parts.append(_text(at, HEIGHT - BOTTOM + 14, f"{value:g}", "middle"))
    for value in y_ticks:
        parts.append(_line(LEFT, up(value), WIDTH - RIGHT, up(value), "grid"))
        parts.append(_text(LEFT - 5, up(value) + 4, f"{value:g}", "end"))
    drawn = [_drawn(kind, across(a), up(b)) for kind, a, b in marks]
    return _svg(WIDTH, HEIGHT, *parts, *drawn)


def _axis(values: Any, start: float, stop: float) -> tuple[Callable[[Any], Any], list[float]]:
    """Return where values are between two ends, and some round values."""
    low, high = float(np.min(values)), float(np.max(values))
    pad = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
    low, high = low - pad, high + pad
    step = 10.0 ** np.floor(np.log10((high - low) / 3.0))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 5)
    round_values = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    ticks = [float(f"{value:.6g}") + 0.0 for value in round_values]
    return partial(np.interp, xp=(low, high), fp=(start, stop)), ticks


def _drawn(kind: str, x: np.ndarray, y: np.ndarray) -> Html:
    pairs = list(zip(x, y, strict=True))
    if kind == "dots":
        return joined(*(tag("circle", cx=a, cy=b, r=2.4) for a, b in pairs))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)
    return tag("polygon" if kind == "band" else "polyline", points=points, class_=kind)


def scatter(truth: np.ndarray, predicted: np.ndarray) -> Html:
    """Return predicted against true values, and the line on which they would be equal."""
    some = np.linspace(0, len(truth) - 1, min(len(truth), SHOWN)).astype(int)
    both = np.concatenate([truth[some], predicted[some]])
    ends = both.min(), both.max()
    marks = [("level", ends, ends), ("dots", truth[some], predicted[some])]
    return chart(marks, "true", "predicted, left out")


def curve(truth: np.ndarray, predicted: np.ndarray, half: np.ndarray | None) -> Html:
    """Return a true and a predicted curve, and a band around the latter."""
    t = np.arange(len(truth), dtype=float)
    marks: list[Mark] = [("true", t, truth), ("predicted", t, predicted)]
    if half is not None:
        edges = np.concatenate([predicted - half, (predicted + half)[::-1]])
        marks = [("band", np.concatenate([t, t[::-1]]), edges), *marks]
    return chart(marks, "place")


def line(values: np.ndarray, name: str) -> Html:
    """Return one line, above that of zero."""
    t = np.arange(len(values), dtype=float)
    return chart([("level", t, 0.0 * t), ("", t, values)], "place", name)


def spark(values: np.ndarray) -> Html:
    """Return a curve without axes."""
    y = np.ravel(values)
    low, high = float(y.min()), float(y.max())
    places = np.linspace(1, 119, len(y)), 29 - 28 * (y - low) / ((high - low) or 1.0)
    return tag("div", _svg(120, 30, _drawn("", *places)), class_="spark")


def ranking(true: Sequence[str], predicted: Sequence[str]) -> Html:
    """Return two orders side by side, best on top, with a line from each label to itself."""
    step, width = 22, 300
    parts = [_text(10, 12, "true", "start"), _text(width - 10, 12, "predicted", "end")]
    for i, label in enumerate(true):
        j = list(predicted).index(label)
        kind = "kept" if i == j else "moved"
        parts.append(_line(110, 26 + step * i, width - 110, 26 + step * j, kind))
        parts.append(_text(104, 30 + step * i, label[:14], "end", "label"))
        parts.append(_text(width - 104, 30 + step * j, label[:14], "start", "label"))
    return _svg(width, 26 + step * len(true), *parts)


def matrix(counts: np.ndarray, names: Sequence[str]) -> Html:
    """Return how often a class (row) was predicted as another (column)."""
    size, left = 26, 84
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    parts = []
    for i, name in enumerate(names):
        parts.append(_text(left - 5, 18 + size * i + left, name[:11], "end", "label"))
        turned = f"translate({left + size * i + 17},{left - 6}) rotate(-60)"
        parts.append(tag("g", _text(0, 0, name[:11], "start", "label"), transform=turned))
    for (i, j), number in np.ndenumerate(counts):
        x, y, side = left + size * j, left + size * i, size - 1
        kind, depth = "kept" if i == j else "moved", 0.06 + 0.8 * shares[i, j]
        parts.append(
            tag("rect", x=x, y=y, width=side, height=side, class_=kind, fill_opacity=depth)
        )
        if number:
            parts.append(_text(x + side / 2, y + 17, str(int(number)), "middle", "label"))
    return _svg(left + size * len(names) + 40, left + size * len(names) + 6, *parts)


def _svg(width: int, height: int, *inside: Html) -> Html:
    return tag("svg", *inside, viewBox=f"0 0 {width} {height}", role="img")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _text(x: float, y: float, text: str, anchor: str, kind: str = "") -> Html:
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=kind)
