"""Creation of objects from the attributes in a file, without calling their code."""

from __future__ import annotations

import inspect
import types
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, lru_cache
from numbers import Integral, Real
from typing import (
    Any,
    Protocol,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import numpy as np
from sklearn.base import BaseEstimator

from .._base.checks import Limits, is_integer, must
from . import scikit_learn

UNBOUNDED = {
    "blocks", "n", "n_", "n_iter_", "n_passes_", "n_seen_", "random_state", "rows_", "seed",
}  # fmt: skip
"""Names of integers that may be large, seeds and counts, because they take no time or memory."""


@runtime_checkable
class Checked(Protocol):
    """An object that checks its own attributes after it is read from a file."""

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` if an attribute is invalid."""


def create_part(kind: type, state: dict[str, Any], limits: Limits) -> Any:
    """Return an object of class `kind` with the saved attributes; `__init__` is not called.

    Of its methods only `check_loaded` is called. Attributes must not hide a method of the class;
    those that are not parameters must have the types that it states.
    Parameters that the file does not have get their defaults.
    """
    parameters, hints = defaults(kind), _attribute_types(kind)
    for name, value in state.items():
        _check_name(kind, name)
        if is_integer(value) and name not in UNBOUNDED:
            most = limits.size if name in parameters else limits.size // 16
            must(abs(value) <= most, f"{name} is larger than {most}")
        if name in hints and name not in parameters:
            must(_has_type(value, hints[name]), f"{name} is {type(value).__name__}")
    absent = _required_names(kind) - state.keys()
    must(not absent, f"{sorted(absent)} is missing")
    part: Any = object.__new__(kind)
    values = parameters | state
    for slot in slots(kind) & values.keys():
        object.__setattr__(part, slot, values.pop(slot))
    if values:
        part.__dict__.update(values)
    if isinstance(part, Checked):
        part.check_loaded(limits)
    elif scikit_learn.class_name(kind):
        scikit_learn.check(part, limits)
    return part


@lru_cache(4096)
def _check_name(kind: type, name: str) -> None:
    """Raise an error if an attribute would hide a method, property or class constant."""
    must(name.isidentifier() and not name.startswith("__"), f"{name!r:.40} is not an attribute")
    if name in slots(kind) or name in _parameters(kind) or _is_record(kind):
        own = _is_record(kind) and name not in {f.name for f in fields(kind)}
        must(not own, f"{name!r:.40} is not an attribute")
        return
    found = inspect.getattr_static(kind, name, None)
    hides = callable(found) or hasattr(found, "__get__") or isinstance(found, bool)
    must(not hides, f"{name!r:.40} is not an attribute that a file may set")


def _required_names(kind: type) -> set[str]:
    """Return the names of the parameters or fields of a class that have no default."""
    if _is_record(kind):
        return {f.name for f in fields(kind) if f.default is MISSING}
    return _parameters(kind).keys() - defaults(kind).keys()


def _is_record(kind: type) -> bool:
    """Return whether a class is a dataclass but not an estimator."""
    return is_dataclass(kind) and not issubclass(kind, BaseEstimator)


@cache
def _attribute_types(kind: type) -> dict[str, Any]:
    """Return the annotated types of the attributes of a class, by name."""
    try:
        return get_type_hints(kind)
    except NameError:  # of names that only a type checker imports
        return {}


def _has_type(value: Any, hint: Any) -> bool:
    """Return whether a value has the annotated type `hint`; True if that is undecidable."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_has_type(value, choice) for choice in get_args(hint))
    if hint in (int, float, bool):
        boolean = isinstance(value, bool | np.bool_)
        number = isinstance(value, Integral if hint is int else Real)
        return boolean if hint is bool else number and not boolean
    kind = origin or hint
    plain = isinstance(kind, type) and not kind.__module__.startswith(("collections", "typing"))
    return isinstance(value, kind) if plain else True


@cache
def slots(kind: type) -> set[str]:
    """Return the names in `__slots__` of a class and of its base classes."""
    return {slot for c in kind.__mro__ for slot in c.__dict__.get("__slots__", ())}


def defaults(kind: type) -> dict[str, Any]:
    """Return the default values of the `__init__` parameters of an estimator, by name."""
    return {n: p.default for n, p in _parameters(kind).items() if p.default is not p.empty}


@cache
def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    """Return the `__init__` parameters of an estimator by name; empty for other classes."""
    return dict(inspect.signature(kind).parameters) if issubclass(kind, BaseEstimator) else {}
