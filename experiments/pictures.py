"""Pictures of results; matplotlib is an extra, imported when first used."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from mercer._base.errors import require


def completions(path: Path, upper: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    """Draw a grid of images: upper halves, completed by the lower halves of each column.

    Parameters
    ----------
    path
        The PNG to write.
    upper
        The inputs, (examples, height, width).
    columns
        Lower halves by title, each (examples, height, width); "truth" first reads best.
    """
    require("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = len(upper)
    blank = np.full_like(upper, np.nan)
    wholes = {"input": np.concatenate([upper, blank], axis=1)}
    wholes |= {t: np.concatenate([upper, lower], axis=1) for t, lower in columns.items()}
    figure = Figure(figsize=(1.35 * len(wholes), 1.25 * rows + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(rows, len(wholes), squeeze=False)
    for j, (title, images) in enumerate(wholes.items()):
        axes[0, j].set_title(fill(title, 13), fontsize=8)
        for i in range(rows):
            _show_image(axes[i, j], images[i], upper.shape[1], (upper.min(), upper.max()))
    figure.savefig(path, dpi=130)


def grid(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Draw a grid of grey images: a column for each title, a row for each example.

    Parameters
    ----------
    path
        The PNG to write.
    columns
        Images by title, each (examples, height, width).
    """
    require("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    first = next(iter(columns.values()))
    rows, shape = len(first), first.shape[1:]
    figure = Figure(
        figsize=(1.2 * len(columns), 1.2 * rows * shape[0] / shape[1] + 0.7), layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(rows, len(columns), squeeze=False)
    limits = (float(first.min()), float(first.max()))
    for j, (title, images) in enumerate(columns.items()):
        axes[0, j].set_title(title.replace(" ", "\n"), fontsize=7)
        for i in range(rows):
            axis = axes[i, j]
            axis.imshow(images[i], cmap="gray", vmin=limits[0], vmax=limits[1])
            axis.set_xticks([])
            axis.set_yticks([])
    figure.savefig(path, dpi=130)


def _show_image(axis: Any, image: np.ndarray, split: int, limits: tuple[float, float]) -> None:
    """Draw an image without ticks, with a line between its halves."""
    axis.imshow(image, cmap="gray_r", interpolation="nearest", vmin=limits[0], vmax=limits[1])
    axis.axhline(split - 0.5, color="tab:orange", linewidth=0.8)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set(color="0.75", linewidth=0.6)


def learning_curves(
    path: Path, panels: dict[str, dict[str, list[tuple[int, float]]]], x: str, y: str
) -> None:
    """Draw errors against numbers of pairs on logarithmic axes, a panel for each task.

    Parameters
    ----------
    path
        The PNG to write.
    panels
        For each task, the (number, error) pairs of each method.
    x, y
        The labels of the axes.
    """
    require("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(panels), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, methods) in zip(axes, panels.items(), strict=True):
        for number, (name, points) in enumerate(methods.items()):
            sizes, errors = zip(*sorted(points), strict=True)
            axis.loglog(sizes, errors, marker="osv^x"[number % 5], label=name)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(x)
        axis.grid(alpha=0.3, which="both")
    axes[0].set_ylabel(y)
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=130)
