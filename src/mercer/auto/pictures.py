"""Small charts by matplotlib, each as an image that an HTML file contains."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

INK, SOFT, BLUE, BAD, BAND = "#1c2733", "#8a97a5", "#2f6db5", "#b3452f", "#dbe7f5"
SHOWN = 600
"""The largest number of points of a chart."""
STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "mercer", "font.size": 8, "axes.edgecolor": "#dde3ea",
    "axes.labelcolor": SOFT, "xtick.color": SOFT, "ytick.color": SOFT, "axes.grid": True,
    "grid.color": "#eef1f5", "text.parse_math": False, "figure.constrained_layout.use": True,
}  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """An image that is embedded in an HTML page.

    Attributes
    ----------
    name
        The text below it, and for readers that do not see it.
    source
        The image as a data URI.
    size
        The class of the style sheet that sets its width.
    """

    name: str
    source: str
    size: str = ""


def draw_picture(
    name: str, draw: Callable[[Any], None], size: tuple[float, float] = (3.2, 2.3), css: str = ""
) -> Picture:
    """Return a picture of what `draw` plots on matplotlib axes.

    `size` is in inches, and `css` is the class of the style sheet that sets its width.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that a font does not have
        figure = Figure(figsize=size)
        draw(figure.add_subplot())
        out = io.BytesIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return Picture(name, _data_uri("svg+xml", out.getvalue()), css)


def _data_uri(kind: str, data: bytes) -> str:
    """Return the bytes of an image of type `kind`, such as "png", as a data URI."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def scatter(name: str, truth: np.ndarray, predicted: np.ndarray) -> Picture:
    """Return a scatter plot of predicted against true values, with the diagonal."""
    some = np.linspace(0, len(truth) - 1, min(len(truth), SHOWN)).astype(int)

    def draw(axes: Any) -> None:
        """Draw the points and the diagonal."""
        axes.axline((float(truth[0]), float(truth[0])), slope=1, color=SOFT, linestyle="--")
        axes.scatter(truth[some], predicted[some], s=6, color=BLUE, alpha=0.45)
        axes.set(xlabel="true", ylabel="predicted, left out")

    return draw_picture(name, draw)


def curve(
    name: str, truth: np.ndarray, predicted: np.ndarray, half_width: np.ndarray | None = None
) -> Picture:
    """Return a plot of a true and a predicted curve, with a band around the prediction."""
    positions = np.arange(len(truth))

    def draw(axes: Any) -> None:
        """Draw both curves and the band."""
        if half_width is not None:
            axes.fill_between(positions, predicted - half_width, predicted + half_width, color=BAND)
        axes.plot(positions, truth, color=INK)
        axes.plot(positions, predicted, color=BLUE, linestyle="--")
        axes.set(xlabel="position")

    return draw_picture(name, draw)


def line(name: str, values: np.ndarray) -> Picture:
    """Return a plot of values against their index."""

    def draw(axes: Any) -> None:
        """Draw the values as a line."""
        axes.plot(np.arange(len(values)), values, color=BLUE)
        axes.set(xlabel="position", ylim=(0, None))

    return draw_picture(name, draw)


def sparkline(values: Any) -> Picture:
    """Return a small plot of a curve, without axes."""

    def draw(axes: Any) -> None:
        """Draw the values as a line without axes."""
        axes.plot(np.ravel(values), color=BLUE)
        axes.axis("off")

    return draw_picture("", draw, (1.6, 0.4), "spark")


def small_image(image: np.ndarray, limits: tuple[float, float]) -> Picture:
    """Return a small grey image of an array, dark for values near the upper limit."""
    from matplotlib.image import imsave

    rows = np.asarray(image, dtype=float)
    rows = rows if rows.ndim == 2 else rows.reshape(-1, rows.shape[-1])
    out = io.BytesIO()
    imsave(out, rows, cmap="gray_r", vmin=limits[0], vmax=limits[1], format="png")
    return Picture("", _data_uri("png", out.getvalue()), "small")


def image_pair(name: str, true: np.ndarray, predicted: np.ndarray, limits: tuple) -> Picture:
    """Return a picture of a true image (left) and a predicted one (right)."""
    rows = [np.asarray(A, dtype=float).reshape(-1, np.shape(A)[-1]) for A in (true, predicted)]
    gap = np.full((len(rows[0]), max(1, rows[0].shape[1] // 12)), limits[0])

    def draw(axes: Any) -> None:
        """Draw both images next to each other."""
        both = np.hstack([rows[0], gap, rows[1]])
        axes.imshow(both, cmap="gray_r", vmin=limits[0], vmax=limits[1])
        axes.axis("off")

    return draw_picture(name, draw, (3.2, 1.6))


def ranking(name: str, true: Sequence[str], predicted: Sequence[str]) -> Picture:
    """Return a picture of two rankings side by side, with lines between equal labels."""

    def draw(axes: Any) -> None:
        """Draw both rankings as columns of labels, joined by lines."""
        for i, label in enumerate(true):
            j = list(predicted).index(label)
            axes.plot([0, 1], [i, j], color=SOFT if i == j else BAD)
            axes.text(-0.05, i, label[:14], ha="right", va="center")
            axes.text(1.05, j, label[:14], ha="left", va="center")
        axes.set(xlim=(-1, 2), ylim=(len(true) - 0.5, -0.5))
        axes.axis("off")

    return draw_picture(name, draw, (3.2, 0.4 + 0.25 * len(true)))


def confusion_matrix(name: str, truth: Sequence, predicted: Sequence) -> Picture:
    """Return a picture of the confusion matrix: true classes in rows, predicted in columns."""
    from sklearn.metrics import ConfusionMatrixDisplay

    labels = sorted({str(item) for item in [*truth, *predicted]})

    def draw(axes: Any) -> None:
        """Draw the matrix as an image with counts."""
        axes.grid(visible=False)
        ConfusionMatrixDisplay.from_predictions(
            [str(item) for item in truth], [str(item) for item in predicted], labels=labels,
            display_labels=[label[:11] for label in labels], cmap="Blues", colorbar=False,
            xticks_rotation=60, ax=axes,
        )  # fmt: skip

    side = 1.5 + 0.35 * len(labels)
    return draw_picture(name, draw, (side, side), "wide")
