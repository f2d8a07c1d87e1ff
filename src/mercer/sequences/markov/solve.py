"""When the ascent stops, and what is shown of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .dual import Ascent, Certificate, Point, Problem

Pass = tuple[Point, Certificate]


@dataclass(frozen=True)
class Rule:
    """Stop at this relative gap or after so many passes; average the points; show progress."""

    gap: float
    max_passes: int
    average: bool = False
    verbose: bool = False


def solve(
    problem: Problem, rule: Rule, rng: np.random.RandomState
) -> tuple[Point, list[Certificate]]:
    """The point at which the rule stops the ascent, and the certificates after all passes."""
    passes = Ascent(problem, rule.gap, rule.average, rng).passes()
    point, history = Point.origin(problem), []
    for now in _shown(islice(passes, rule.max_passes), rule):
        point, certificate = now
        history.append(certificate)
        if certificate.relative <= rule.gap:
            return point.refreshed(problem), history
    warnings.warn(
        f"after {rule.max_passes} passes the relative duality gap is {history[-1].relative:.3g}, "
        f"not {rule.gap:g}: raise max_passes or gap, lower C, or normalise the kernel.",
        ConvergenceWarning,
        stacklevel=4,
    )
    return point.refreshed(problem), history


def _shown(passes: Iterable[Pass], rule: Rule) -> Iterator[Pass]:
    """The passes, with their number and gap on the terminal where that is wanted."""
    if not rule.verbose:
        yield from passes
        return
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    gap = TextColumn("relative gap {task.fields[gap]:.4f}")
    with Progress(TextColumn("pass"), MofNCompleteColumn(), gap, TimeElapsedColumn()) as bar:
        task = bar.add_task("", total=rule.max_passes, gap=float("inf"))
        for point, certificate in passes:
            bar.update(task, advance=1, gap=certificate.relative)
            yield point, certificate
