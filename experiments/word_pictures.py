"""A picture of handwritten words, some read rightly and some wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mercer._base.errors import require

from .ways import BEST, SHAPE

EACH = 5
SHOWN = {
    "identity": ("identity", "letters"),
    "places shared": (BEST, "letters"),
    "the same, over words": (BEST, "words"),
}
"""Columns of the picture: a title, the way to read, and how its points are decoded."""


def draw_readings(
    path: Path, images: np.ndarray, words: np.ndarray, test: np.ndarray, outcomes: Mapping[str, Any]
) -> str:
    """Draw words that all methods read correctly, and words that some misread.

    Parameters
    ----------
    path
        The PNG to write.
    images, words
        All words as images of letters, and their texts.
    test
        The positions of those that were read.
    outcomes
        What each way read, by its name.

    Returns
    -------
    caption
        What the picture shows.
    """
    columns = {
        title: np.asarray(outcomes[way].read[decoding], dtype=object)
        for title, (way, decoding) in SHOWN.items()
    }
    truth = words[test]
    right = {title: read == truth for title, read in columns.items()}
    plain, shared, _ = right.values()
    groups = [plain & shared, ~plain & shared, ~shared]
    rows = [i for group in groups for i in _distinct(truth, np.flatnonzero(group))[:EACH]]
    _draw(
        path, [images[test[i]] for i in rows], truth[rows], {t: c[rows] for t, c in columns.items()}
    )
    return (
        "Some words of the test folds (fold 0 learnt from) that both read rightly, that only "
        "shared places read rightly, and that they read wrongly, letter by letter; wrong readings "
        "in red."
    )


def _distinct(texts: np.ndarray, rows: np.ndarray) -> list[int]:
    """Return the first of the `rows` for each distinct text."""
    return list({texts[i]: int(i) for i in rows[::-1]}.values())[::-1]


def _draw(path: Path, words: list, truth: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    """Draw words next to their readings; wrong readings are red."""
    require("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 0.42 * len(words) + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    widths = [2.6] + [1.3] * (1 + len(columns))
    axes: Any = figure.subplots(len(words), len(widths), squeeze=False, width_ratios=widths)
    for j, title in enumerate(["", "truth", *columns]):
        axes[0, j].set_title(title, fontsize=9, loc="left")
    for i, word in enumerate(words):
        axes[i, 0].imshow(_strip(word), cmap="gray_r", interpolation="nearest", aspect="equal")
        axes[i, 0].set_anchor("W")
        for j, text in enumerate([truth[i], *(read[i] for read in columns.values())]):
            colour = "black" if text == truth[i] else "tab:red"
            place = {"va": "center", "family": "monospace", "fontsize": 10}
            axes[i, j + 1].text(0.0, 0.5, text, color=colour, **place)
    for axis in axes.flat:
        axis.set_axis_off()
    figure.savefig(path, dpi=130)


def _strip(word: np.ndarray, letters: int = 14) -> np.ndarray:
    """Return the letters of a word side by side in one image of fixed length."""
    gap = np.zeros((SHAPE[0], 1))
    parts = [part for image in word for part in (image.reshape(SHAPE), gap)]
    strip = np.concatenate(parts, axis=1)
    return np.pad(strip, ((0, 0), (0, letters * (SHAPE[1] + 1) - strip.shape[1])))
