"""Pictures of models: risks of all choices, spectra of operators, predictions.

Every function draws on the matplotlib axes `ax`, by default on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base.arrays import Items, count, host
from ._base.errors import require
from .estimators import KernelDependencyCV
from .sets import Ball, Band, Ellipsoid

Axes = Any
"""Matplotlib's axes; matplotlib is an extra, imported when first used."""
Model = Any
"""A fitted estimator with left-out predictions, such as `KernelDependency`."""


def risk(model: KernelDependencyCV, ax: Axes | None = None) -> Axes:
    """Plot the leave-one-out risk, or score, over alpha; one line per kernel and operator.

    Parameters
    ----------
    model : KernelDependencyCV
        A fitted `KernelDependencyCV`.
    ax : matplotlib axes, default=None
        Where to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> from mercer import KernelDependencyCV
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = KernelDependencyCV(RBF(0.5) * Covariance()).fit(X, np.hstack([X, X**2]))
    >>> plots.risk(model).get_xlabel()
    'alpha'
    """
    check_is_fitted(model)
    if not isinstance(model, KernelDependencyCV):
        raise TypeError(
            f"risk plots the choices of a KernelDependencyCV, got a {type(model).__name__}."
        )
    results, axes = model.cv_results_, _axes(ax)
    scored = not np.isnan(results["score"]).all()
    values = results["score" if scored else "risk"]
    lines = [*zip(results["kernel"], results["output_kernel"], strict=True)]
    several = len(set(results["output_kernel"])) > 1
    for line in dict.fromkeys(lines):
        rows = [i for i, other in enumerate(lines) if other == line]
        name = " | ".join(line) if several else line[0]
        axes.plot(results["alpha"][rows], values[rows], marker=".", label=name)
    best = model.loo_score_ if scored else model.loo_risk_
    axes.plot([model.alpha_], [best], "o", color="black", fillstyle="none", markersize=10)
    axes.set(xscale="log", xlabel="alpha", ylabel=f"leave-one-out {'score' if scored else 'risk'}")
    axes.legend(fontsize=7)
    return axes


def spectrum(model: Model, ax: Axes | None = None) -> Axes:
    """Plot the eigenvalues of the output operator B on the training outputs, largest first.

    Parameters
    ----------
    model : estimator
        A fitted model with a kernel that is a scalar kernel times an operator.
    ax : matplotlib axes, default=None
        Where to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> from mercer import KernelDependencyCV
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = KernelDependencyCV(RBF(0.5) * Covariance()).fit(X, np.hstack([X, X**2]))
    >>> len(plots.spectrum(model).lines) > 0
    True
    """
    check_is_fitted(model)
    from .estimators.ridge import RidgeEstimator

    if not isinstance(model, RidgeEstimator) or not model.kernel_.separable:
        raise TypeError(
            "the spectrum is that of the operator of a KernelDependency or KernelDependencyCV "
            f"whose kernel is a scalar kernel times an operator; got {model}."
        )
    kernel = model.kernel_.separated()
    values = np.sort(host(model.fitted_.operator_spectrum()))[::-1]
    axes = _axes(ax)
    axes.plot(np.arange(1, len(values) + 1), values, marker=".")
    positive = values[values > values[0] * 1e-12] if values[0] > 0 else values
    log = len(positive) > 1 and positive[0] > 20 * positive[-1]
    axes.set(xlabel="direction", ylabel="eigenvalue of B", title=str(kernel.operator),
             yscale="log" if log else "linear")  # fmt: skip
    if log:
        axes.set_ylim(positive[-1] / 2, positive[0] * 2)
    return axes


def _color_values(color: Items | None) -> Any:
    """Return a number for each class where values are classes; colors and numbers unchanged."""
    from matplotlib.colors import is_color_like

    values = np.asarray(color)
    if values.ndim != 1 or values.dtype.kind in "biuf" or all(map(is_color_like, values)):
        return color
    return np.unique(values.astype(str), return_inverse=True)[1]


def embedding(
    model: Model, X: Items | None = None, color: Items | None = None, ax: Axes | None = None
) -> Axes:
    """Plot outputs and predictions in two leading principal components of the output features.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array-like, default=None
        Inputs whose points are drawn too, as crosses.
    color : array, default=None
        A value for each training output, such as its class.
    ax : matplotlib axes, default=None
        Where to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> from mercer import KernelDependencyCV
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = KernelDependencyCV(RBF(0.5) * Covariance()).fit(X, np.hstack([X, X**2]))
    >>> len(plots.embedding(model, X).collections) > 0
    True
    """
    check_is_fitted(model)
    from .features import KernelPCA

    map = KernelPCA(2, center=True).fit(model.output_kernel_, model.outputs_)
    known = host(map.transform(model.outputs_))
    axes = _axes(ax)
    axes.scatter(
        known[:, -1], known[:, 0], c=_color_values(color), s=12, alpha=0.6, label="training outputs"
    )
    if X is not None:
        inner = host(model.embed(X).inner(map.landmarks_)) @ host(map.weights_) - host(map.mean_)
        axes.scatter(inner[:, -1], inner[:, 0], marker="x", color="black", s=18, label="g(x)")
    axes.set(xlabel="first direction", ylabel="second direction")
    axes.legend(fontsize=8)
    return axes


def scores(model: Model, x: Items, k: int = 10, names: Sequence[str] | None = None,
           ax: Axes | None = None) -> Axes:  # fmt: skip
    """Plot the scores of the k best candidates for one input as bars, best on top.

    Parameters
    ----------
    model : estimator
        A fitted model whose decoder ranks outputs.
    x : input
        One input.
    k : int, default=10
        How many candidates.
    names : sequence of str, default=None
        The names of the candidates; None for their text.
    ax : matplotlib axes, default=None
        Where to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> from mercer import KernelDependency
    >>> from mercer.kernels import RBF, Kendall
    >>> model = KernelDependency(RBF(1.0), Kendall(), alpha=0.1)
    >>> model = model.fit([[0.0], [1.0], [2.0]], [[0, 1, 2], [0, 2, 1], [2, 1, 0]])
    >>> len(plots.scores(model, [0.5], k=2).patches)
    2
    """
    (ranked,) = model.predict_top([x], k=k)
    axes = _axes(ax)
    places = np.arange(len(ranked))
    axes.barh(places, [score for _, score in ranked])
    axes.set_yticks(places, names or [f"{output!s:.30}" for output, _ in ranked])
    axes.invert_yaxis()
    axes.set_xlabel("2⟨g(x), Φ(y)⟩ - l(y, y)")
    return axes


def completions(given: np.ndarray, columns: dict[str, np.ndarray], figure: Any = None) -> Any:
    """Plot a grid of images: upper halves, completed by the lower halves of each column.

    Parameters
    ----------
    given : array of images
        The upper halves, (examples, height, width).
    columns : dict of array
        Lower halves by title, each (examples, height, width); "truth" first reads best.
    figure : matplotlib figure, default=None
        A matplotlib figure to draw on.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> from mercer.datasets import load_digit_halves
    >>> upper, lower = load_digit_halves()
    >>> type(plots.completions(upper[:3], {"truth": lower[:3]})).__name__
    'Figure'
    """
    given = np.asarray(given)
    _check_images(given, columns)
    blank = np.full_like(given, np.nan, dtype=float)
    wholes = {"input": np.concatenate([given, blank], axis=1)}
    wholes |= {title: np.concatenate([given, y], axis=1) for title, y in columns.items()}
    rows, limits = len(given), (given.min(), given.max())
    size = (1.35 * len(wholes), 1.25 * rows + 0.7)
    figure = figure or _pyplot().figure(figsize=size, layout="constrained")
    axes: Any = figure.subplots(rows, len(wholes), squeeze=False)
    for j, (title, images) in enumerate(wholes.items()):
        axes[0, j].set_title(title.replace(" ", "\n"), fontsize=8)
        for i in range(rows):
            axis = axes[i, j]
            axis.imshow(images[i], cmap="gray_r", vmin=limits[0], vmax=limits[1])
            axis.axhline(given.shape[1] - 0.5, color="tab:orange", linewidth=0.8)
            axis.set_xticks([])
            axis.set_yticks([])
    return figure


def curves(predicted: Items, truth: np.ndarray | None = None, grid: np.ndarray | None = None,
           ax: Axes | None = None) -> Axes:  # fmt: skip
    """Plot a predicted curve (with its band if it is a `Band`) and the true curve.

    Parameters
    ----------
    predicted : array or Band
        Values on the grid, or a `Band` of `ConformalSets(kind="band")`.
    truth : array, default=None
        The true values.
    grid : array, default=None
        The grid points of the values; None for equally spaced points from 0 to 1.
    ax : matplotlib axes, default=None
        Where to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> t = np.linspace(0, 1, 20)
    >>> len(plots.curves(np.sin(t), truth=np.cos(t), grid=t).lines)
    2
    """
    if isinstance(predicted, Ball):
        raise TypeError('a ball has no shape to draw over a grid: use ConformalSets(kind="band").')
    band = predicted if isinstance(predicted, Band) else None
    if band and not np.isfinite(band.upper - band.lower).all():
        raise ValueError(
            "this band holds every curve, which is nothing to draw: calibrate on more groups, or "
            "ask for a lower coverage."
        )
    axes = _axes(ax)
    middle = (band.lower + band.upper) / 2 if band else np.asarray(predicted)
    t = np.linspace(0.0, 1.0, count(middle)) if grid is None else grid
    axes.plot(t, middle, label="predicted")
    if band:
        axes.fill_between(t, band.lower, band.upper, alpha=0.25, label="band")
    if truth is not None:
        axes.plot(t, truth, color="0.4", linestyle="--", label="truth")
    axes.legend(fontsize=8)
    return axes


def ellipsoid(
    a_set: Ellipsoid,
    outputs: tuple[Any, Any] = (0, 1),
    truth: Items | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the projection of an ellipsoid on two values of an output.

    Parameters
    ----------
    a_set : Ellipsoid
        A set of `ConformalSets(kind="ellipsoid")`.
    outputs : tuple, default=(0, 1)
        The two values, by position in a flat output or by name.
    truth : array, default=None
        The true output.
    ax : matplotlib axes, default=None
        Where to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> from mercer.sets import Ellipsoid
    >>> some = Ellipsoid(np.zeros(2), np.diag([2.0, 1.0]), 1.0, ("food", "rent"))
    >>> plots.ellipsoid(some).get_xlabel()
    'food'
    """
    if not np.isfinite(a_set.radius) or a_set.radius < 0:
        raise ValueError(
            "this ellipsoid holds every output or none, which is nothing to draw: calibrate on "
            "more groups, ask for a lower coverage, or give other values."
        )
    axes, shadow = _axes(ax), a_set.projection(*outputs)
    axes.plot(*a_set.outline(*outputs).T, label="set")
    axes.plot(*shadow.center, "+", color="0.3", label="predicted")
    if truth is not None:
        pairs = dict(zip(a_set.names or (), range(len(a_set.root)), strict=False))
        flat = np.reshape(truth, -1)
        axes.plot(*(flat[pairs.get(name, name)] for name in outputs), "o", label="truth")
    names = shadow.names or tuple(f"value {output}" for output in outputs)
    axes.set_xlabel(str(names[0]))
    axes.set_ylabel(str(names[1]))
    axes.legend(fontsize=8)
    return axes


def risk_coverage(
    model: Model, metric: Callable[..., Any] | None = None, ax: Axes | None = None
) -> Axes:
    """Plot the mean left-out loss of the most confident predictions over the fraction kept.

    The lower curve keeps the smallest losses first, and the dotted line is the mean of all losses.

    Parameters
    ----------
    model : estimator
        A fitted `KernelDependency` or `KernelDependencyCV`.
    metric : callable, default=None
        As in `model.confidence`; the loss is one minus it.
    ax : matplotlib axes, default=None
        Where to draw.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from mercer import plots
    >>> from mercer import KernelDependencyCV
    >>> from mercer.kernels import RBF
    >>> from mercer.operators import Covariance
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = X**2 + 0.1 * np.random.default_rng(0).normal(size=(40, 1))
    >>> model = KernelDependencyCV(RBF(0.5) * Covariance()).fit(X, y)
    >>> plots.risk_coverage(model).get_xlabel()
    'share of predictions kept'
    """
    check_is_fitted(model)
    from .estimators.confidence import confidence_of
    from .estimators.confidence import risk_coverage as curve

    confidence = confidence_of(model, metric)
    axes = _axes(ax)
    lines = (("by confidence", confidence.left_out()), ("by the loss itself", confidence.quality))
    for name, order in lines:
        axes.plot(*curve(order, confidence.quality), label=name)
    axes.axhline(1.0 - confidence.quality.mean(), color="0.6", linestyle=":", label="any")
    axes.set(xlabel="share of predictions kept", ylabel="mean loss of those")
    axes.legend(fontsize=8)
    return axes


def _check_images(given: np.ndarray, columns: dict[str, np.ndarray]) -> None:
    """Raise an error if upper and lower halves of images have incompatible shapes."""
    if given.ndim != 3 or not len(given):
        raise ValueError(f"given must be images, (examples, height, width); got {given.shape}.")
    for title, images in columns.items():
        shape = np.shape(images)
        if len(shape) != 3 or (shape[0], shape[2]) != (given.shape[0], given.shape[2]):
            raise ValueError(
                f"columns[{title!r}] must be as many images of the same width as those given, "
                f"{given.shape}; got {shape}."
            )


def _axes(ax: Axes | None) -> Axes:
    """Return `ax`, or new axes if it is None."""
    return ax if ax is not None else _pyplot().subplots(layout="constrained")[1]


def _pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an error that names the extra to install."""
    require("matplotlib", "plots")
    from matplotlib import pyplot

    return pyplot
