"""Symmetries of fields, and a test that refuses symmetries that the data contradict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from .._base.arrays import Items, host, is_array
from ..kernels import Kernel
from ..operators import OperatorKernel
from ..problem import Problem, Side, Want
from ..solvers import Cache, Factorization, factor
from ..spaces import Fields
from ..spaces.symmetries import Group, group_of
from .choice import absolute_ridges, random_rows

TESTED_PAIRS = 300
"""The number of pairs on which symmetries are tested."""
LEVEL = 0.01
"""A symmetry is refused if it raises the left-out error with a p-value below this."""


def symmetry_of(names: Any, kernel: OperatorKernel, outputs: Side, X: Items) -> Group | None:
    """Return the group of symmetries `names` of fields X and their outputs; None for no names."""
    if names is None or (isinstance(names, tuple | list) and not names):
        return None
    if not (is_array(X) and is_array(outputs.items)):
        raise ValueError("symmetries are of fields: X and y must be arrays (n, *grid).")
    return group_of(
        names,
        kernel.fields or _field_space(kernel.inputs),
        tuple(X.shape[1:]),
        kernel.output_fields or _field_space(outputs.kernel),
        tuple(outputs.items.shape[1:]),
    )


def _field_space(kernel: Kernel) -> Fields:
    """Return the space of a kernel if it is a `Fields`; otherwise `Fields()`, with spacing 1."""
    return kernel.space if isinstance(kernel.space, Fields) else Fields()


def check_symmetries(factorization: Factorization, alpha: float, want: Want) -> None:
    """Raise an error if symmetries significantly raise the left-out errors of a random subset."""
    group: Any = factorization.problem.symmetry
    some = _subsample_pairs(factorization.problem)
    if some is not factorization.problem:
        factorization = factor(some, replace(want, alphas=[alpha], left_out=True), Cache())
    problem = replace(some, symmetry=None)
    inner = factor(problem, replace(want, left_out=True), Cache())
    best, shared = alpha, problem.kernel.over_windows  # a lower rank is enough for windows
    if len(want.alphas) > 1:
        path = absolute_ridges(inner, want)
        risks = [found.risk(problem.weights) for found in inner.left_out(path)]
        best = path[int(np.argmin(risks))]
    without = np.sqrt(host(next(inner.left_out([best], shared=shared)).sqlengths))
    errors = np.sqrt(host(next(factorization.left_out([alpha], shared=shared)).sqlengths))
    surely = ttest_rel(errors, without, alternative="greater").pvalue < LEVEL
    if np.allclose(errors, without) or not surely:
        return
    raise ValueError(
        f"symmetries={group.names} do not hold for these data: the left-out error rises from "
        f"{without.mean():.4g} to {errors.mean():.4g} with them. Leave out those that do not hold."
    )


def _subsample_pairs(problem: Problem) -> Problem:
    """Return the problem on a random subset of pairs; unchanged if it is fast to solve."""
    if problem.n <= TESTED_PAIRS or problem.inputs.features is not None:
        return problem
    return problem.subset(random_rows(problem.left_out_labels, TESTED_PAIRS))
