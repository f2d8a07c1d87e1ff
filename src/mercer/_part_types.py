"""The classes that a model file may name."""

from __future__ import annotations

import inspect
import re
import types
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, lru_cache
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from ._checks import Limits, is_whole, must

ROOMS = (
    "spaces", "kernels", "features", "operators", "losses", "solvers", "sources", "decoders",
    "estimators", "sets", "sequences", "embedding", "curves", "tables", "auto", "symmetric",
    "problem",
)  # fmt: skip
"""Where the parts of a model live; no other module is ever imported for a file."""
UNBOUNDED = {
    "blocks", "n", "n_", "n_iter_", "n_passes_", "n_seen_", "random_state", "rows_", "seed",
}  # fmt: skip
"""Seeds, and counts of what was seen: their size takes neither time nor memory."""
_REGISTERED: dict[str, type] = {}


def register(cls: type) -> type:
    """Let models that hold a class of one's own be saved, and be loaded where it is registered.

    A file names the class by module and name; loading imports nothing, so that the process that
    loads must have called `register` too. Use it as a decorator, or call it. To refuse files that
    were tampered with, give the class a method ``check_loaded(self, limits)`` that raises
    `DamagedModel`: it is called with the `Limits` in force when a file has made an object, by
    setting attributes and without calling ``__init__``.

    Parameters
    ----------
    cls
        A kernel, operator, feature map, loss, decoder or space: a class that derives from
        scikit-learn's `BaseEstimator`, or a dataclass.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.kernels import Kernel
    >>> @mercer.register
    ... class SameFirst(Kernel):
    ...     def _gram(self, A, B):
    ...         return np.array([[float(a[0] == b[0]) for b in B] for a in A])
    >>> model = mercer.KernelDependency(SameFirst()).fit(["ab", "ba"], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = mercer.load(mercer.save(model, f"{folder}/model.mercer"))
    >>> type(again.kernel).__name__
    'SameFirst'
    """
    if not isinstance(cls, type) or not (issubclass(cls, BaseEstimator) or is_dataclass(cls)):
        raise TypeError(
            f"register takes a class that derives from a kernel, operator, feature map, loss, "
            f"decoder or space of mercer's (or is a dataclass), got {cls!r:.80}."
        )
    if _room_name(cls) is not None:
        raise ValueError(f"{cls.__name__} is mercer's own and needs no registration.")
    _REGISTERED[_own_name(cls)] = cls
    return cls


def _own_name(kind: type) -> str:
    return f"registered:{kind.__module__}.{kind.__qualname__}"


def part_name(kind: type) -> str | None:
    """How a file names a class; None for one that is no part of mercer's models."""
    own = _own_name(kind)
    return own if _REGISTERED.get(own) is kind else _room_name(kind)


def _room_name(kind: type) -> str | None:
    module = kind.__module__
    room = module.split(".")[1] if module.startswith("mercer.") else ""
    if room not in ROOMS or "<" in kind.__qualname__:
        return None
    return f"{module.removeprefix('mercer.')}:{kind.__qualname__}"


def part_type(name: str) -> type:
    """The class that a file names, if it is one of mercer's parts; ValueError where it is not."""
    if isinstance(name, str) and name.startswith("registered:"):
        must(
            name in _REGISTERED,
            f"it holds {name.removeprefix('registered:')!r:.80}, a class that is not mercer's: "
            "import it and call mercer.register on it first, if you trust its author",
        )
        return _REGISTERED[name]
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_.]+:[A-Za-z0-9_.]+", name):
        raise ValueError(f"{name!r:.60} is no name of a part")
    module, _, qualified = name.partition(":")
    path = f"mercer.{module}"
    if module.split(".")[0] not in ROOMS:
        raise ValueError(f"{name!r:.60} is an unknown type: it is no part of mercer's models")
    try:
        found: Any = import_module(path)
        for attribute in qualified.split("."):
            found = vars(found)[attribute]
    except (ImportError, KeyError):
        raise ValueError(f"{name!r:.60} is an unknown type: this mercer has no such part") from None
    if not isinstance(found, type) or found.__module__ != path:
        raise ValueError(f"{name!r:.60} is an unknown type: it is no class of mercer's own")
    return found


def made(kind: type, state: dict[str, Any], limits: Limits) -> Any:
    """A part with the given attributes, none of its code called but `check_loaded`.

    Attributes have the types that the class states, and hide no method of it; what a file leaves
    out that is older than a parameter has its default.
    """
    parameters, hints = defaults(kind), _hints(kind)
    for name, value in state.items():
        _check_name(kind, name)
        if is_whole(value) and name not in UNBOUNDED:
            most = limits.size if name in parameters else limits.size // 16
            must(abs(value) <= most, f"{name} is larger than {most}")
        elif name in hints and name not in parameters:
            must(_fits(value, hints[name]), f"{name} is {type(value).__name__}")
    absent = _needed(kind) - state.keys()
    must(not absent, f"{sorted(absent)} is missing")
    part: Any = object.__new__(kind)
    values = parameters | state
    for slot in slots(kind) & values.keys():
        object.__setattr__(part, slot, values.pop(slot))
    if values:
        part.__dict__.update(values)
    if hasattr(kind, "check_loaded"):
        part.check_loaded(limits)
    return part


@lru_cache(4096)
def _check_name(kind: type, name: str) -> None:
    """Refuse an attribute that would hide a method, a property or a fixed fact of the class."""
    must(name.isidentifier() and not name.startswith("__"), f"{name!r:.40} is no attribute")
    if name in slots(kind) or name in _parameters(kind) or _is_record(kind):
        own = _is_record(kind) and name not in {f.name for f in fields(kind)}
        must(not own, f"{name!r:.40} is no attribute")
        return
    found = inspect.getattr_static(kind, name, None)
    hides = callable(found) or hasattr(found, "__get__") or isinstance(found, bool)
    must(not hides, f"{name!r:.40} is no attribute that a file may set")


def _needed(kind: type) -> set[str]:
    """What a part cannot be without: parameters and fields that have no default."""
    if _is_record(kind):
        return {f.name for f in fields(kind) if f.default is MISSING}
    return _parameters(kind).keys() - defaults(kind).keys()


def _is_record(kind: type) -> bool:
    """Whether a part is its fields and nothing more: estimators gain attributes in a fit."""
    return is_dataclass(kind) and not issubclass(kind, BaseEstimator)


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The types that a class states for its attributes."""
    try:
        return get_type_hints(kind)
    except NameError:  # of names that only a type checker imports
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a stated type, as far as that can be told."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in get_args(hint))
    if hint in (int, float, bool):
        boolean = isinstance(value, bool | np.bool_)
        number = isinstance(value, Integral if hint is int else Real)
        return boolean if hint is bool else number and not boolean
    kind = origin or hint
    plain = isinstance(kind, type) and not kind.__module__.startswith(("collections", "typing"))
    return isinstance(value, kind) if plain else True


@cache
def slots(kind: type) -> set[str]:
    """The attributes of a part that has no dictionary for them."""
    return {slot for c in kind.__mro__ for slot in c.__dict__.get("__slots__", ())}


def defaults(kind: type) -> dict[str, Any]:
    """The parameters that have a default: what a file lacks that is older than a parameter."""
    return {n: p.default for n, p in _parameters(kind).items() if p.default is not p.empty}


@cache
def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    """What an estimator is made with."""
    return dict(inspect.signature(kind).parameters) if issubclass(kind, BaseEstimator) else {}
