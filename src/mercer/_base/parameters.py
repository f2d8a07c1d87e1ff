"""The parameters of a part: declared as fields, checked, and whether two parts are equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from pickle import PicklingError
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from joblib import hash as digest
from sklearn.base import BaseEstimator

T = TypeVar("T")


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def parameters(part: type[T]) -> type[T]:
    """Make the fields of a class its parameters: `__init__` stores them untouched.

    What a fit sets is not a parameter: annotate it with ``field(init=False)``, or not at all.
    """
    return dataclass(eq=False, repr=False)(part)


def positive(value: Any, name: str) -> float:
    """Check that a parameter is a positive finite number."""
    if not _is_finite(value) or value <= 0:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


def non_negative(value: Any, name: str) -> float:
    """Check that a parameter is a finite number ≥ 0."""
    if not _is_finite(value) or value < 0:
        raise ValueError(f"{name} must be a number ≥ 0, got {value!r}.")
    return float(value)


def integer(value: Any, name: str, least: int = 1) -> int:
    """Check that a parameter is an integer, positive or at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        kind = "a positive integer" if least == 1 else f"an integer ≥ {least}"
        raise ValueError(f"{name} must be {kind}, got {value!r}.")
    return int(value)


def boolean(value: Any, name: str) -> bool:
    """Check that a parameter is true or false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def _is_finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and bool(np.isfinite(float(value)))


def same(a: BaseEstimator, b: BaseEstimator) -> bool:
    """Return whether two kernels or operators are equal, fitted or not."""
    return a is b or (type(a) is type(b) and fingerprint(a) == fingerprint(b))


def fingerprint(part: Any) -> str:
    """Return a hash of the type and parameters of a part, the same for equal parts."""
    if isinstance(part, BaseEstimator):
        params = part.get_params(deep=False).items()
        return digest([type(part).__qualname__, sorted((k, fingerprint(v)) for k, v in params)])
    try:
        return digest(part)
    except PicklingError:  # a lambda, which is equal to itself only
        return str(id(part))
