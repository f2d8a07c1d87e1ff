"""What parameters `ConformalSets` takes."""

from __future__ import annotations

from numbers import Real
from typing import Any

from .ridge import RidgeEstimator

CALIBRATIONS = ("split", "jackknife+")
KINDS = ("auto", "candidates", "ball", "band")
SCALES = ("auto", "flat", "posterior", "residual")


def check(sets: Any) -> None:
    """Refuse parameters that make no sense, alone or together."""
    model = sets.model
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise TypeError(
            "ConformalSets is for models that fit and predict, such as KernelDependency; got "
            f"{model!r}."
        )
    if sets.calibration == "jackknife+" and not isinstance(model, RidgeEstimator):
        raise TypeError(
            'calibration="jackknife+" needs the closed form of KernelDependency and '
            f'KernelDependencyCV, which {type(model).__name__} lacks: use "split".'
        )
    if not isinstance(sets.coverage, Real) or not 0 < float(sets.coverage) < 1:
        raise ValueError(f"coverage must be between 0 and 1, got {sets.coverage!r}.")
    share = 0.25 if sets.held_out is None else sets.held_out
    if not isinstance(share, Real) or not 0 < float(share) < 1:
        raise ValueError(f"held_out must be between 0 and 1 or None, got {sets.held_out!r}.")
    choices = (("calibration", CALIBRATIONS), ("kind", KINDS), ("scale", SCALES))
    for name, allowed in choices:
        if getattr(sets, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(sets, name)!r}.")
    _check_together(sets)


def _check_together(sets: Any) -> None:
    named = [name for name in ("by", "shift", "loss") if getattr(sets, name) is not None]
    if len(named) > 1:
        raise ValueError(f"{named[0]}= and {named[1]}= do not go together: give one of them.")
    if named and sets.calibration != "split":
        raise ValueError(f'{named[-1]} needs calibration="split".')
