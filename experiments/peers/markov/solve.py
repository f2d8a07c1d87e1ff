"""The solution of the dual problem up to a gap, and the fitted potentials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from sklearn.base import clone

from mercer._base.arrays import host
from mercer._base.plan import require_exact
from mercer._base.progress import Steps
from mercer.features import FeatureMap, KernelExpansion
from mercer.kernels import Kernel

from .dual import BlockFrankWolfe, DualityGap, DualPoint, DualProblem

Pass = tuple[DualPoint, DualityGap]
"""The dual point after a pass over the chains, and its duality gap."""
SQUARES = 3.0
"""The memory that computing the Gram matrix takes, in multiples of its size."""


def solve_dual(
    problem: DualProblem,
    gap: float,
    max_passes: int,
    average: bool,
    steps: Steps,
    rng: np.random.RandomState,
) -> tuple[DualPoint, list[DualityGap]]:
    """Return the solution of the dual problem up to a relative gap, and the gap after each pass."""
    history: list[DualityGap] = []
    passes = islice(BlockFrankWolfe(problem, gap, average, rng).passes(), max_passes)
    for now, certificate in steps(_until_converged(gap, passes), "pass"):
        point = now
        history.append(certificate)
        steps.note = f"relative gap {certificate.relative:.4f}"
    return point.without_rounding_errors(problem), history


def _until_converged(gap: float, passes: Iterable[Pass]) -> Iterator[Pass]:
    """Yield the passes up to the first one whose relative duality gap is at most `gap`."""
    for point, certificate in passes:
        yield point, certificate
        if certificate.relative <= gap:
            return


def gram_or_coordinates(
    kernel: Kernel, features: FeatureMap | None, vectors: np.ndarray
) -> tuple[np.ndarray, FeatureMap | None]:
    """Return the Gram matrix of the vectors, or their coordinates and the fitted feature map."""
    if features is None:
        require_exact(len(vectors), SQUARES, "positions")
        rows, fitted = kernel.checked_gram(vectors), None
    else:
        fitted = clone(features)
        rows = fitted.fit_transform(kernel, vectors)
    return np.ascontiguousarray(host(rows), dtype=np.float64), fitted


def node_potentials(
    kernel: Kernel, fitted: FeatureMap | None, vectors: np.ndarray, point: DualPoint
) -> FeatureMap:
    """Return the map from vectors to label scores at a dual point, as a feature map."""
    if fitted is not None:
        return fitted.compose(point.W.T)
    used = np.any(point.A != 0, axis=1)
    used = np.flatnonzero(used) if used.any() else np.array([0])
    return KernelExpansion(kernel, vectors[used], point.A[used])
