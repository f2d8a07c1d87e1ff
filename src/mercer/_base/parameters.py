"""Parameters of kernels, operators and other parts: declared, checked and compared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from pickle import PicklingError
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from joblib import hash as digest
from sklearn.base import BaseEstimator

from .checks import is_finite, is_integer

T = TypeVar("T")
parameter_names: Any = cache(BaseEstimator._get_param_names.__func__)
"""Return the parameter names of a class, as scikit-learn does; for each class once."""


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def parameters(part: type[T]) -> type[T]:
    """Turn a class into a dataclass whose fields are its scikit-learn parameters.

    What a fit sets is not a parameter: annotate it with ``field(init=False)``, or not at all.
    scikit-learn inspects the signature for each copy; here the names are kept for each class.
    """
    made = dataclass(eq=False, repr=False)(part)
    if issubclass(made, BaseEstimator):
        setattr(made, "_get_param_names", classmethod(parameter_names))  # noqa: B010
    return made


def positive(value: Any, name: str) -> float:
    """Return a parameter as a float after checking that it is positive and finite."""
    if not is_finite(value) or value <= 0:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


def non_negative(value: Any, name: str) -> float:
    """Return a parameter as a float after checking that it is finite and ≥ 0."""
    if not is_finite(value) or value < 0:
        raise ValueError(f"{name} must be a number ≥ 0, got {value!r}.")
    return float(value)


def integer(value: Any, name: str, least: int = 1) -> int:
    """Return a parameter after checking that it is an integer of at least `least`."""
    if not is_integer(value) or value < least:
        kind = "a positive integer" if least == 1 else f"an integer ≥ {least}"
        raise ValueError(f"{name} must be {kind}, got {value!r}.")
    return int(value)


def one_of(value: Any, name: str, allowed: Collection[Any]) -> None:
    """Raise an error unless a parameter has one of the allowed values."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")


def boolean(value: Any, name: str) -> bool:
    """Return a parameter after checking that it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def same(a: BaseEstimator, b: BaseEstimator) -> bool:
    """Return whether two kernels or operators have the same type and equal parameters."""
    return a is b or (type(a) is type(b) and fingerprint(a) == fingerprint(b))


def fingerprint(part: Any) -> str:
    """Return a hash of the type and parameters of a kernel, operator or other part."""
    if isinstance(part, BaseEstimator):
        params = part.get_params(deep=False).items()
        return digest([type(part).__qualname__, sorted((k, fingerprint(v)) for k, v in params)])
    try:
        return digest(part)
    except PicklingError:  # a lambda, which is equal to itself only
        return str(id(part))
