"""The solution of the dual problem up to a gap, and the fitted potentials."""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..._base.arrays import host
from ..._base.plan import require_exact
from ...features import FeatureMap
from ...features.landmarks import Spanned
from ...kernels import Kernel
from .dual import Ascent, DualityGap, DualProblem, Point

SQUARES = 3.0
"""The memory that computing the Gram matrix takes, in multiples of its size."""


def solve(
    problem: DualProblem,
    gap: float,
    max_passes: int,
    average: bool,
    verbose: bool,
    rng: np.random.RandomState,
) -> tuple[Point, list[DualityGap]]:
    """Solve the dual problem up to a relative gap; return the point and the gap of each pass."""
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = TextColumn("relative gap {task.fields[gap]:.4f}")
    columns = TextColumn("pass"), MofNCompleteColumn(), shown, TimeElapsedColumn()
    history: list[DualityGap] = []
    with Progress(*columns, disable=not verbose) as bar:
        task = bar.add_task("", total=max_passes, gap=float("inf"))
        for now, certificate in islice(Ascent(problem, gap, average, rng).passes(), max_passes):
            point = now
            history.append(certificate)
            bar.update(task, advance=1, gap=certificate.relative)
            if certificate.relative <= gap:
                break
        else:
            warnings.warn(
                f"after {max_passes} passes the relative duality gap is "
                f"{history[-1].relative:.3g}, not {gap:g}: raise max_passes or gap, lower C, or "
                "normalise the kernel.",
                ConvergenceWarning,
                stacklevel=4,
            )
    return point.without_rounding_errors(problem), history


def kernel_rows(
    kernel: Kernel, features: FeatureMap | None, vectors: np.ndarray
) -> tuple[np.ndarray, FeatureMap | None]:
    """Return the Gram matrix of all vectors, or their coordinates and the fitted feature map."""
    if features is None:
        require_exact(len(vectors), SQUARES, "places")
        rows, fitted = kernel.checked_gram(vectors), None
    else:
        fitted = clone(features)
        rows = fitted.fit_transform(kernel, vectors)
    return np.ascontiguousarray(host(rows), dtype=np.float64), fitted


def node_potentials(
    kernel: Kernel, fitted: FeatureMap | None, vectors: np.ndarray, point: Point
) -> FeatureMap:
    """Return the function from vectors to label scores at a dual point, as a feature map."""
    if fitted is not None:
        return fitted.compose(point.W.T)
    used = np.any(point.A != 0, axis=1)
    used = np.flatnonzero(used) if used.any() else np.array([0])
    return Spanned(kernel, vectors[used], point.A[used])
