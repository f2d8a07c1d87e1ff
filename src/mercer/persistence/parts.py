"""The classes that a model file may name, by folder and class name."""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

from sklearn.base import BaseEstimator

from .._base.checks import must
from .._base.registered import REGISTERED
from . import scikit_learn

FOLDERS = (
    "spaces", "kernels", "features", "operators", "solvers", "sources", "decoders",
    "estimators", "sets", "fields", "sequences", "embedding", "tables", "auto", "problem", "_base",
)  # fmt: skip
"""Folders and modules with parts of models; nothing else is imported for a file."""


def register(cls: type) -> type:
    """Register a custom class, so that models with it can be saved and loaded.

    `AutoDependency`, the command line and reports also predict the items of a registered space
    that has a kernel and a metric; the kind of such an output column is the `name` of the space.

    A file names the class by module and name; loading imports nothing, so that the process that
    loads must have called `register` too. Use it as a decorator, or call it. To refuse files that
    were tampered with, give the class a method ``check_loaded(self, limits)`` that raises
    `DamagedModel`: it is called with the `Limits` in force when a file has made an object, by
    setting attributes and without calling ``__init__``.

    Parameters
    ----------
    cls : type
        A kernel, operator, feature map, decoder or space: a class that derives from
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
            f"register takes a class that derives from a kernel, operator, feature map, "
            f"decoder or space of mercer's (or is a dataclass), got {cls!r:.80}."
        )
    if _mercer_name(cls) is not None:
        raise ValueError(f"{cls.__name__} is mercer's own and needs no registration.")
    REGISTERED[_registered_name(cls)] = cls
    return cls


def _registered_name(kind: type) -> str:
    """Return the name under which a registered custom class is saved."""
    return f"registered:{kind.__module__}.{kind.__qualname__}"


def part_name(kind: type) -> str | None:
    """Return the name of a class in model files; None if its objects cannot be saved."""
    name = _registered_name(kind)
    if REGISTERED.get(name) is kind:
        return name
    return _mercer_name(kind) or scikit_learn.class_name(kind)


def _mercer_name(kind: type) -> str | None:
    """Return "folder.ClassName" of a class of mercer; None for other classes."""
    package, _, module = kind.__module__.partition(".")
    folder = module.partition(".")[0]
    if package != "mercer" or folder not in FOLDERS or "." in kind.__qualname__:
        return None
    return f"{folder}.{kind.__qualname__}"


def part_type(name: Any) -> type:
    """Return the class with the given name in a model file; raise an error if unknown."""
    if isinstance(name, str) and name.startswith("registered:"):
        must(
            name in REGISTERED,
            f"it holds {name.removeprefix('registered:')!r:.80}, a class that is not mercer's: "
            "import it and call mercer.register on it first, if you trust its author",
        )
        return REGISTERED[name]
    theirs = scikit_learn.class_of(name) if isinstance(name, str) else None
    if theirs is not None:
        return theirs
    if not isinstance(name, str) or not re.fullmatch(r"[a-z_]+\.[A-Za-z0-9_]+", name):
        raise ValueError(f"{name!r:.60} is not the name of a part")
    folder, _, class_name = name.partition(".")
    found = _find_class(folder, class_name) if folder in FOLDERS else None
    if found is None:
        raise ValueError(f"{name!r:.60} is an unknown type: this mercer has no such part")
    return found


@lru_cache(4096)
def _find_class(folder: str, class_name: str) -> type | None:
    """Return the class of the given name that a module of a folder defines; None without one."""
    for module in _import_modules(folder):
        found = vars(module).get(class_name)
        if isinstance(found, type) and found.__module__ == module.__name__:
            return found
    return None


def _import_modules(folder: str) -> Iterator[ModuleType]:
    """Import the modules of a folder one by one, those with compiled loops last, and yield them."""
    package = import_module(f"mercer.{folder}")
    yield package
    inside = pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}.")
    names = [found.name for found in inside]
    for name in sorted(names, key=lambda name: (name not in sys.modules, "._" in name)):
        yield import_module(name)
