"""One fitted output kernel for several models, so that their points can be averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Items, count, take
from .._base.parameters import same
from ..kernels.base import as_output_kernel
from ..problem import repeats


def with_one_output_kernel(
    models: Sequence[Any], y: Items, weights: np.ndarray | None
) -> list[Any]:
    """Return clones of the models that share one output kernel, fitted on all outputs.

    A kernel that learns from data would differ between models that fit it on a sample and on all
    outputs, and their points could not be averaged. Models that were given different output
    kernels, or lists of them, keep their own.
    """
    fresh = [clone(model) for model in models]
    given = [model.get_params(deep=False).get("output_kernel") for model in fresh]
    if any(isinstance(kernel, list | tuple) for kernel in given):
        return fresh
    kernels = [as_output_kernel(kernel) for kernel in given]
    if not all(same(kernel, kernels[0]) for kernel in kernels):
        return fresh
    if not kernels[0].depends_on_data:
        return fresh
    outputs = kernels[0].as_outputs(y)
    rows = np.arange(count(outputs)) if weights is None else repeats(weights)
    shared = clone(kernels[0]).fit(take(outputs, rows)).frozen()
    return [model.set_params(output_kernel=shared) for model in fresh]
