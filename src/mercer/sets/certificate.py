"""Certificates: the coverage that prediction sets are proven to reach, and why it may be lower."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..estimators.ridge import RidgeEstimator
from .row_weights import fraction_upper_bound
from .scores import Score


@dataclass(frozen=True)
class Certificate:
    """The proven coverage of prediction sets, on average over exchangeable groups.

    Attributes
    ----------
    level
        The level; NaN where none can be stated.
    reason
        Why it is less than requested; empty where it is not.

    Examples
    --------
    >>> from mercer.sets import Certificate
    >>> Certificate(0.9)
    Certificate(level=0.9, reason='')
    """

    level: float
    reason: str = ""


def pool_certificate(
    score: Score, level: float, scores: np.ndarray, labels: np.ndarray
) -> Certificate:
    """Return the certificate for a level, lowered by how often candidates lack the truth."""
    outside = np.isinf(scores)
    if not score.lists or (score.complete and not outside.any()):
        return Certificate(level)
    left = max(0.0, level - fraction_upper_bound(outside, labels))
    if not outside.any():
        return Certificate(left, "the pool of candidates may lack an output")
    return Certificate(
        left,
        f"{outside.sum()} of {len(outside)} calibration outputs ({outside.mean():.0%}) are not in "
        "the pool of candidates, so that no set can hold them: the level that can be stated is "
        f"{left:.3g}, not {level:.3g}. Give candidates= that hold every output.",
    )


def jackknife_certificate(
    model: RidgeEstimator, unproven: list[str], stated: Certificate
) -> Certificate:
    """Return the certificate `stated`, or NaN if left-out models depend on the left-out data.

    `unproven` has the reasons why score and scale depend on them; empty strings do not count.
    """
    reasons = [reason for reason in reasons_for_dependence(model) + unproven if reason]
    if not reasons:
        return stated
    return Certificate(
        math.nan,
        "jackknife+ proves no coverage here, and proven_coverage_ is NaN: "
        f'{"; ".join(reasons)}. Give these beforehand, or use calibration="split", which '
        "proves the coverage requested.",
    )


def loss_certificate(bound: float, risk: float, radius: float) -> Certificate:
    """Return the certificate of an expected loss ≤ `bound`; NaN if the radius is infinite.

    `risk` is the mean loss of lists of all candidates.
    """
    if np.isfinite(radius):
        return Certificate(1.0 - bound)
    return Certificate(
        math.nan,
        f"the expected loss cannot be brought under {bound:.3g}, and proven_coverage_ is NaN: "
        f"lists of all candidates have {risk:.3g} on the calibration pairs. Give more "
        "candidates= or more pairs.",
    )


def note_if_too_few_groups(coverage: float, groups: float) -> str:
    """Return a message if groups are too few for finite sets at this coverage, else ""."""
    if groups >= coverage * (groups + 1) - 1e-9:
        return ""
    needed = math.ceil(coverage / (1.0 - coverage) - 1e-9)
    return (
        f"{groups:.3g} groups to calibrate on cannot tell {coverage:g} from 1: every set holds "
        f"every output. At least {needed} are needed, or a lower coverage."
    )


def reasons_for_dependence(model: RidgeEstimator) -> list[str]:
    """Return the reasons why left-out models still depend on the data that were left out.

    Left-out models keep the kernels, the operator, the ridge and the landmarks of the model. The
    theorem of jackknife+ needs models in which these do not depend on the left-out example either.
    """
    problem = model.fitted_.problem
    kernel, maps = problem.kernel, (model.features, model.output_features)
    reasons = [] if model.selected is None else [model.selected]
    parts = {
        "the output kernel was fitted on the data": problem.outputs.kernel.depends_on_data,
        "landmarks or coordinates are drawn from the data": any(
            map is not None and map.depends_on_data for map in maps
        ),
    }
    if kernel.separable:
        parts |= {
            "the input kernel was fitted on the data": problem.inputs.kernel.depends_on_data,
            "the operator is made of the outputs": kernel.operator.depends_on_data,
        }
    else:
        parts["the operator-valued kernel was fitted on the data"] = kernel.depends_on_data
    return reasons + [reason for reason, holds in parts.items() if holds]
