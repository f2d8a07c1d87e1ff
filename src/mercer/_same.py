"""Whether two parts (kernels, operators, maps) are equal, parameters and all."""

from __future__ import annotations

from pickle import PicklingError
from typing import Any

from joblib import hash as digest
from sklearn.base import BaseEstimator


def same(a: BaseEstimator, b: BaseEstimator) -> bool:
    """Whether two kernels or operators are equal, fitted or not."""
    if a is b or type(a).__qualname__ != type(b).__qualname__:
        return a is b
    return fingerprint(a) == fingerprint(b)


def fingerprint(part: Any) -> str:
    """What equal parts have in common, fitted or not, so that a factorisation can be shared."""
    if isinstance(part, BaseEstimator):
        params = part.get_params(deep=False).items()
        return digest([type(part).__qualname__, sorted((k, fingerprint(v)) for k, v in params)])
    try:
        return digest(part)
    except PicklingError:  # a lambda, which is equal to itself only
        return str(id(part))
