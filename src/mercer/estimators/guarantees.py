"""What level a calibration proves, and warnings that say why it is less than was asked for."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .all_given import made_of_data
from .prediction_sets import largest_share
from .ridge import RidgeEstimator
from .set_shapes import BandShape, CandidateShape, RankedShape

CALLER = 6
"""How far below the call of `fit` warnings are raised."""


def stated_level(
    shape: Any, level: float, scores: np.ndarray, labels: np.ndarray
) -> tuple[float, float]:
    """The level that is left where the pool may lack the truth, and the share that it lacks."""
    outside = np.isinf(scores)
    share = float(outside.mean())
    if not isinstance(shape, CandidateShape | RankedShape):
        return level, 0.0
    if shape.complete and share == 0:
        return level, share
    left = max(0.0, level - largest_share(outside, labels))
    if share > 0:
        warnings.warn(
            f"{outside.sum()} of {len(outside)} calibration outputs ({share:.0%}) are not in the "
            "pool of candidates, so that no set can hold them: the level that can be stated is "
            f"{left:.3g}, not {level:.3g}. Give candidates= that hold every output.",
            stacklevel=CALLER,
        )
    return left, share


def seen_before(model: RidgeEstimator, shape: Any, scale: str) -> list[str]:
    """Why jackknife+ proves nothing: what left-out models have seen of what they leave out."""
    reasons = made_of_data(model)
    if scale == "residual":
        reasons.append("the scale of the sets is made of left-out residuals")
    elif isinstance(shape, BandShape) and not shape.flat:
        reasons.append("the shape of the bands is made of left-out residuals")
    if isinstance(shape, CandidateShape) and shape.owned:
        reasons.append("the pool of candidates is the training outputs")
    return reasons


def unproven(reasons: list[str]) -> float:
    """NaN, with a warning."""
    warnings.warn(
        f"jackknife+ proves no coverage here, and proven_coverage_ is NaN: {'; '.join(reasons)}. "
        'Give these beforehand, or use calibration="split", which proves what is asked for.',
        stacklevel=CALLER,
    )
    return float("nan")


def out_of_reach(bound: float, risk: float) -> float:
    """NaN, with a warning."""
    warnings.warn(
        f"the expected loss cannot be brought under {bound:.3g}, and proven_coverage_ is NaN: "
        f"lists of all candidates have {risk:.3g} on the calibration pairs. Give more candidates= "
        "or more pairs.",
        stacklevel=CALLER,
    )
    return float("nan")


def warn_if_few(coverage: float, groups: int) -> None:
    """Say so where the sets must hold everything to be sure."""
    if groups < coverage * (groups + 1) - 1e-9:
        wanted = math.ceil(coverage / (1.0 - coverage) - 1e-9)
        warnings.warn(
            f"{groups} groups to calibrate on cannot tell {coverage:g} from 1: every set holds "
            f"every output. At least {wanted} are needed, or a lower coverage.",
            stacklevel=CALLER,
        )
