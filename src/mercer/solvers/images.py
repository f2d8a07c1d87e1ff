"""Problems with symmetries: transformed copies (images) of all pairs become further pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._base.arrays import concatenated, is_array
from ..problem import Problem, Want
from .factorization import Factorization
from .outputs import Cache


def with_images(problem: Problem) -> Problem:
    """Return the problem with transformed copies (images) of all pairs as further pairs.

    The symmetries of the problem transform inputs and outputs. Images are in the group of their
    original pair, so that they are left out together.
    """
    group: Any = problem.symmetry
    X, Y = zip(*group.images(problem.inputs.items, problem.outputs.items), strict=True)
    number = len(group)
    return replace(
        problem,
        inputs=replace(problem.inputs, items=concatenated(X), sample=None),
        outputs=replace(problem.outputs, items=concatenated(Y), sample=None),
        labels=np.tile(problem.left_out_labels, number),
        weights=None if problem.weights is None else np.tile(problem.weights, number),
        given=None,
        symmetry=None,
    )


def image_refusal(problem: Problem, want: Want) -> str | None:
    """Return the reason why images (symmetric copies) cannot be added; None if they can."""
    sides = problem.inputs.items, problem.outputs.items
    arrays = all(map(is_array, sides))
    return None if arrays and problem.gathered is None else "symmetries are of arrays in memory"


def images(problem: Problem, want: Want, cache: Cache) -> Factorization:
    """Add images (symmetric copies) of all pairs to a problem, and factor it by another solver."""
    from .route import factor

    found = factor(with_images(problem), replace(want, moves=True))
    kernel = found.problem.kernel
    return replace(found, problem=replace(problem, kernel=kernel), images=found.problem)
