"""Which classes a model file may name, under the names that they had when it was written."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

ROOMS = (
    "kernels",
    "features",
    "operators",
    "losses",
    "solvers",
    "sources",
    "decoders",
    "estimators",
    "sequences",
    "embedding",
    "curves",
    "tables",
    "symmetric",
    "problem",
)
"""Where the parts of a model live; no other module is ever imported for a file."""
RENAMED: dict[str, str] = {
    "estimators.regression:PointMap": "embedding:PointMap",
    "estimators.regression:DualWeights": "solvers.weights:DualWeights",
    "estimators.regression:LeastWeights": "solvers.weights:LeastWeights",
    "estimators.streamed:NoWeights": "solvers.weights:NoWeights",
    "estimators.coupled:CoupledMap": "solvers.weights:CoupledMap",
    "estimators.low_rank:LowRankWeights": "solvers.spanned:LowRankWeights",
    "estimators.streamed:Gathered": "estimators.gathered:Gathered",
    "features.landmarks:IncompleteCholesky": "features.pivoted:IncompleteCholesky",
}
"""Parts that have moved since they could first be saved: old name in files, present name.

A name is ``module:Class``, the module without ``mercer.``. Whoever moves or renames a class that
models are made of adds a line, so that files of older versions load.
"""
MOVED: dict[str, str] = {
    f"estimators.{name}": f"sequences.{name}"
    for name in (
        "joint_kernel_map",
        "joint_scores",
        "markov",
        "max_margin",
        "sequence_transducer",
        "transduction",
    )
} | {"streams.expected": "sources.blocks", "streams": "sources"}
"""Modules and packages that have moved with all their classes: old name in files, present name."""


def part_name(kind: type) -> str | None:
    """How a file names a class; None for one that is no part of mercer's models."""
    module = kind.__module__
    room = module.split(".")[1] if module.startswith("mercer.") else ""
    if room not in ROOMS or "<" in kind.__qualname__:
        return None
    return f"{module.removeprefix('mercer.')}:{kind.__qualname__}"


def part_type(name: str) -> type:
    """The class that a file names, if it is one of mercer's parts; ValueError where it is not."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_.]+:[A-Za-z0-9_.]+", name):
        raise ValueError(f"{name!r:.60} is no name of a part")
    module, _, qualified = RENAMED.get(name, name).partition(":")
    module = _present(module)
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


def _present(module: str) -> str:
    """The present name of a module that may have moved."""
    for old, new in MOVED.items():
        if module == old or module.startswith(f"{old}."):
            return new + module.removeprefix(old)
    return module


def slots(kind: type) -> set[str]:
    """The attributes of a part that has no dictionary for them."""
    return {slot for c in kind.__mro__ for slot in c.__dict__.get("__slots__", ())}


def defaults(kind: type) -> dict[str, Any]:
    """The parameters that have a default: what a file lacks that is older than a parameter."""
    if not issubclass(kind, BaseEstimator):
        return {}
    parameters = inspect.signature(kind).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}
