"""One output kernel and one coordinate system (frame) for models whose points are averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from .._base.arrays import Items, count, host
from .._base.parameters import same
from ..embedding import Embedding, Frame
from ..kernels.base import as_output_kernel, fit_weighted

COMPARED_OUTPUTS = 5
"""The number of training outputs on which the frames of two models must agree."""


def with_one_output_kernel(
    models: Sequence[Any], y: Items, weights: np.ndarray | None
) -> list[Any]:
    """Return clones of the models that share one output kernel, fitted on all outputs y.

    A kernel that learns from data would differ between models that fit it on a sample and on all
    outputs, and their points could not be averaged. Models that were given different output
    kernels, or lists of them, keep their own.
    """
    fresh = [clone(model) for model in models]
    given = [model.get_params(deep=False).get("output_kernel") for model in fresh]
    if any(isinstance(kernel, list | tuple) for kernel in given):
        return fresh
    first, *others = [as_output_kernel(kernel) for kernel in given]
    if not first.depends_on_data or not all(same(other, first) for other in others):
        return fresh
    outputs = first.as_outputs(y)
    shared = fit_weighted(first, outputs, weights).frozen()
    return [model.set_params(output_kernel=shared) for model in fresh]


def common_frame(frames: list[Frame], y: Items) -> Frame:
    """Return a coordinate system that the points of all models can be converted to.

    It is the explicit features of the output kernel if a model uses them, because points in any
    other frame can be converted to these; else the coordinates of a model that has any; else
    weights on the training outputs. Models whose output kernels differ are refused.
    """
    compact = [frame for frame in frames if frame.compact]
    if not compact:
        return frames[0]
    common = next((frame for frame in compact if frame.explicit), compact[0])
    few = y.tocsr()[:COMPARED_OUTPUTS] if issparse(y) else y[:COMPARED_OUTPUTS]
    expected = host(common.evaluate(few))
    for frame in compact:
        found = _convert(host(frame.evaluate(few)), frame, common)
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-6, atol=1e-9):
            raise ValueError(
                "the models have different output kernels or output features, so that their "
                "points cannot be averaged: give all of them the same output_kernel and "
                "output_features. Models that are fitted beforehand must share one "
                "fitted output kernel: fit one, and pass kernel.frozen() to all of them."
            )
    return common


def coordinates_in(points: Embedding, frame: Frame) -> np.ndarray:
    """Return the coordinates of points in another coordinate system `frame`."""
    C = host(points.coordinates)
    if points.frame.compact or not frame.compact:
        return _convert(C, points.frame, frame)
    return C @ host(frame.evaluate(points.frame.outputs))  # type: ignore[attr-defined]


def _convert(C: np.ndarray, frame: Frame, target: Frame) -> np.ndarray:
    """Convert coordinates C to explicit features if only `target`, not `frame`, uses these."""
    return host(frame.kernel_features(C)) if target.explicit and not frame.explicit else C


def outputs_in(frame: Frame, y: Items) -> np.ndarray:
    """Return the coordinates of training outputs y in a coordinate system, as rows."""
    return host(frame.evaluate(y)) if frame.compact else np.eye(count(y))
