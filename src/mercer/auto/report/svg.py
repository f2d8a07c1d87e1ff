"""Small charts as SVG: points, curves with a band, rankings side by side, a matrix of counts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

BLUE, GREY, PALE, INK = "#2f6db5", "#8a97a5", "#dbe7f5", "#1c2733"
WIDTH, HEIGHT = 320, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 30
SHOWN = 600
"""Points that a chart holds."""


class Chart:
    """Axes over a range of x and y, to draw on."""

    def __init__(self, x: Any, y: Any):
        self.x, self.y = _range(x), _range(y)
        self.parts: list[str] = []
        for value in _ticks(*self.x):
            at = self.across(value)
            self.parts.append(_line(at, TOP, at, HEIGHT - BOTTOM, "#eef1f5"))
            self.parts.append(_text(at, HEIGHT - BOTTOM + 14, _plain(value), "middle"))
        for value in _ticks(*self.y):
            at = self.up(value)
            self.parts.append(_line(LEFT, at, WIDTH - RIGHT, at, "#eef1f5"))
            self.parts.append(_text(LEFT - 5, at + 4, _plain(value), "end"))

    def across(self, value: float) -> float:
        """Where a value of x is."""
        low, high = self.x
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    def up(self, value: float) -> float:
        """Where a value of y is."""
        low, high = self.y
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    def points(self, x: np.ndarray, y: np.ndarray) -> Chart:
        """Dots."""
        self.parts += [
            f'<circle cx="{self.across(a):.1f}" cy="{self.up(b):.1f}" r="2.4" fill="{BLUE}" '
            'fill-opacity=".45"/>'
            for a, b in zip(x, y, strict=True)
        ]
        return self

    def line(self, x: np.ndarray, y: np.ndarray, color: str, dash: bool = False) -> Chart:
        """A line through points."""
        style = ' stroke-dasharray="4 3"' if dash else ""
        self.parts.append(
            f'<polyline points="{self._path(x, y)}" fill="none" stroke="{color}" '
            f'stroke-width="1.8"{style}/>'
        )
        return self

    def band(self, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Chart:
        """What lies between two lines."""
        there, back = self._path(x, low), self._path(x[::-1], high[::-1])
        self.parts.append(f'<polygon points="{there} {back}" fill="{PALE}"/>')
        return self

    def _path(self, x: np.ndarray, y: np.ndarray) -> str:
        return " ".join(f"{self.across(a):.1f},{self.up(b):.1f}" for a, b in zip(x, y, strict=True))

    def svg(self, x: str = "", y: str = "") -> str:
        """The chart, its axes named."""
        names = _text(WIDTH - RIGHT, HEIGHT - 3, x, "end") + _text(LEFT, TOP + 8, y, "start")
        return _svg(WIDTH, HEIGHT, "".join(self.parts) + names)


def scatter(truth: np.ndarray, predicted: np.ndarray) -> str:
    """Predicted against true values, and the line on which they would be equal."""
    some = np.linspace(0, len(truth) - 1, min(len(truth), SHOWN)).astype(int)
    both = np.concatenate([truth[some], predicted[some]])
    chart = Chart(both, both)
    ends = np.array([both.min(), both.max()])
    chart.line(ends, ends, GREY, dash=True).points(truth[some], predicted[some])
    return chart.svg("true", "predicted, left out")


def curve(truth: np.ndarray, predicted: np.ndarray, half: np.ndarray | None) -> str:
    """A true and a predicted curve, and a band around the latter."""
    t = np.arange(len(truth), dtype=float)
    rows = [truth, predicted, *([] if half is None else [predicted - half, predicted + half])]
    chart = Chart(t, np.concatenate(rows))
    if half is not None:
        chart.band(t, predicted - half, predicted + half)
    return chart.line(t, truth, INK).line(t, predicted, BLUE, dash=True).svg("place")


def line(values: np.ndarray, name: str) -> str:
    """One line from 0."""
    t = np.arange(len(values), dtype=float)
    return Chart(t, [0.0, *values]).line(t, values, BLUE).svg("place", name)


def spark(values: np.ndarray) -> str:
    """A curve without axes."""
    y = np.ravel(values)
    low, high = float(y.min()), float(y.max())
    points = " ".join(
        f"{118 * i / max(len(y) - 1, 1) + 1:.1f},{29 - 28 * (v - low) / ((high - low) or 1.0):.1f}"
        for i, v in enumerate(y)
    )
    inside = f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="1.6"/>'
    return f'<svg viewBox="0 0 120 30" style="width:9rem" role="img">{inside}</svg>'


def ranking(true: Sequence[str], predicted: Sequence[str]) -> str:
    """Two orders side by side, best on top, with a line from each label to itself."""
    step, width = 22, 300
    parts = [_text(10, 12, "true", "start"), _text(width - 10, 12, "predicted", "end")]
    for i, label in enumerate(true):
        j = list(predicted).index(label)
        color = GREY if i == j else "#b3452f"
        parts.append(_line(110, 26 + step * i, width - 110, 26 + step * j, color))
        parts.append(_text(104, 30 + step * i, label[:14], "end", INK))
    parts += [
        _text(width - 104, 30 + step * j, a[:14], "start", INK) for j, a in enumerate(predicted)
    ]
    return _svg(width, 26 + step * len(true), "".join(parts))


def matrix(counts: np.ndarray, names: Sequence[str]) -> str:
    """How often a class (row) was predicted as another (column)."""
    n, size, left = len(names), 26, 84
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    parts = []
    for i, name in enumerate(names):
        parts.append(_text(left - 5, 18 + size * i + left, name[:11], "end", INK))
        parts.append(
            f'<g transform="translate({left + size * i + 17},{left - 6}) rotate(-60)">'
            + _text(0, 0, name[:11], "start", INK) + "</g>"
        )  # fmt: skip
        for j in range(n):
            color = BLUE if i == j else "#b3452f"
            x, y = left + size * j, left + size * i
            parts.append(
                f'<rect x="{x}" y="{y}" width="{size - 1}" height="{size - 1}" fill="{color}" '
                f'fill-opacity="{0.06 + 0.8 * shares[i, j]:.2f}"/>'
            )
            if counts[i, j]:
                parts.append(
                    _text(x + size / 2 - 0.5, y + 17, str(int(counts[i, j])), "middle", INK)
                )
    return _svg(left + size * n + 40, left + size * n + 6, "".join(parts))


def _plain(value: float) -> str:
    return "0" if value == 0 else f"{value:g}"


def _svg(width: float, height: float, inside: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" font-family="system-ui,sans-serif" '
        f'font-size="11">{inside}</svg>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
        'stroke-width="1.4"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, color: str = "#5c6b7a") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
    )


def _range(values: Any) -> tuple[float, float]:
    low, high = float(np.min(values)), float(np.max(values))
    pad = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
    return low - pad, high + pad


def _ticks(low: float, high: float) -> list[float]:
    step = 10.0 ** np.floor(np.log10((high - low) / 3.0))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 5)
    return [
        float(f"{v:.6g}") for v in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    ]
