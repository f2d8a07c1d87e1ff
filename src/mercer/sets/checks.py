"""Checks of the parameters of prediction sets."""

from __future__ import annotations

from numbers import Real
from typing import Any

from ..estimators.ridge import RidgeEstimator

CHOICES = {
    "calibration": ("split", "jackknife+"),
    "kind": ("auto", "candidates", "ball", "band", "intervals"),
    "scale": ("auto", "flat", "posterior", "residual"),
}


def check_model(model: Any, calibration: str) -> None:
    """Raise an error if a model lacks `fit`, `predict` or a closed form that is needed."""
    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise TypeError(
            "ConformalSets is for models that fit and predict, such as KernelDependency; got "
            f"{model!r}."
        )
    if calibration == "jackknife+" and not isinstance(model, RidgeEstimator):
        raise TypeError(
            'calibration="jackknife+" needs the closed form of KernelDependency and '
            f'KernelDependencyCV, which {type(model).__name__} lacks: use "split".'
        )


def checked_fraction(value: Any, name: str) -> float:
    """Return a parameter's value; raise an error unless it is between 0 and 1."""
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}.")
    return float(value)


def check_choices(**given: str) -> None:
    """Raise an error if a named parameter has a value that is not allowed."""
    for name, value in given.items():
        if value not in CHOICES[name]:
            raise ValueError(f"{name} must be one of {CHOICES[name]}, got {value!r}.")


def check_functions(by: Any, shift: Any) -> None:
    """Raise an error if `by` or `shift` is not a function."""
    for name, value, allowed in (("by", by, 'None, "class" or'), ("shift", shift, "None or")):
        named = name == "by" and isinstance(value, str) and value == "class"
        if not (value is None or callable(value) or named):
            raise ValueError(f"{name} must be {allowed} a function of inputs, got {value!r}.")


def check_combination(calibration: str, **given: Any) -> None:
    """Raise an error for parameters of calibration that exclude each other."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"{named[0]}= and {named[1]}= do not go together: give one of them.")
    if named and calibration != "split":
        raise ValueError(f'{named[-1]} needs calibration="split".')
