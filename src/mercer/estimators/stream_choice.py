"""The choice of kernels and ridges over pairs that come in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..decoders import Decoder
from ..operators import OperatorKernel
from ..problem import Want
from ..solvers import Cache, factor
from ..sources import Gathering, Source
from .choice import AUTO, Trial
from .choices import Choices
from .gathered import Gathered, left_out_risks
from .judge import Judge, ridges

Ways = list[list[tuple[Any, list[float]]]]
"""For each scalar kernel the factorisations of its problems, each with its ridges."""


def check_stream_choice(model: Any, choices: Choices, validation: Any) -> None:
    """Refuse what cannot be chosen from moments and a sample."""
    if model.nested is not None:
        raise ValueError("nested= is for pairs held whole, not for streams or validation=.")
    several = len(choices.outputs) > 1 or len(choices.decoders) > 1
    if several or model.criterion not in ("loo", "evidence"):
        raise ValueError(
            'on a stream give one output kernel and decoder, and criterion="loo" or "evidence".'
        )
    if validation is not None and model.scoring not in (None, AUTO):
        raise ValueError(
            "validation= is judged by its moments alone, which know the risk but no scoring: "
            "leave one of the two out (without validation, scoring judges the sample)."
        )
    if model.features is not None and model.features.operator_valued:
        raise ValueError(f"features={model.features} are chosen over pairs held whole only.")


def factored_groups(
    gathered: Gathered, groups: list[list[OperatorKernel]], intercept: bool, want: Want
) -> Ways:
    """The problems of every scalar kernel, factored."""
    cache, ways = Cache(), []
    for number, group in enumerate(groups):
        problems = [gathered.problem(number, kernel, intercept) for kernel in group]
        found = [factor(problem, want, cache) for problem in problems]
        ways.append([(way, ridges(way, want)) for way in found])
    return ways


def stream_risks(
    source: Source, gathered: Gathered, ways: Ways, others: list[Gathering] | None
) -> np.ndarray | None:
    """The risk at every ridge on pairs held out, else of all pairs left out.

    None for a generator, which cannot be read again: its sample judges.
    """
    if others is not None:
        beside = [(*way, o) for group, o in zip(ways, others, strict=True) for way in group]
        return np.array([way.held_out(o, a) for way, alphas, o in beside for a in alphas])
    return left_out_risks(source, gathered, ways) if source.repeats else None


def stream_trials(
    judge: Judge, ways: Ways, risks: np.ndarray | None, decoder: Decoder, want: Want
) -> Iterator[Trial]:
    """Every kernel and ridge, judged together."""
    step = len(want.alphas)
    for i, (way, _) in enumerate(way for group in ways for way in group):
        own = None if risks is None else risks[i * step : (i + 1) * step]
        yield from judge.trials(way, [decoder], want, own)
