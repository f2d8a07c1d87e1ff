"""Conversion of models to trees of plain values and named parts.

A node of the tree is null, a boolean, a string or a number as JSON has it, or an object with one
key that says what it is. Parts that several others share are written once and referred to.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from .._base.arrays import host, is_foreign
from .._base.reducible import Reducible
from ..kernels.networks import is_module
from . import scikit_learn
from .creation import slots
from .parts import part_name
from .reader import INTEGER_BITS


class CannotSave(TypeError):
    """Error for a value that a model file cannot hold."""


class Writer:
    """A writer that converts a model into a JSON tree and a list of arrays.

    Attributes
    ----------
    arrays
        The arrays that the tree refers to by number.
    networks
        The modules of PyTorch whose arrays are in the tree.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.networks: list[Any] = []
        self._known: dict[int, int] = {}
        self._alive: list[Any] = []  # a new object must not get the id of one that was written

    def write(self, value: Any, path: str) -> Any:
        """Return the tree node of a value, whose name in error messages is `path`."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.generic):
            return {"scalar": [value.dtype.str, self.write(value.item(), path)]}
        if isinstance(value, int):
            if value.bit_length() > INTEGER_BITS:
                raise TypeError(
                    f"{path} is an integer of more than {INTEGER_BITS} bits: use a string."
                )
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if id(value) in self._known:
            return {"ref": self._known[id(value)]}
        node = self._composite_node(value, path)
        self._known[id(value)] = len(self._known)
        self._alive.append(value)
        return node

    def _composite_node(self, value: Any, path: str) -> dict:
        """Return the tree node of a container, array or object."""
        if isinstance(value, type) and issubclass(value, np.generic):  # parameters of encoders
            value = np.dtype(value)
        if is_foreign(value):
            value = host(value)
        if is_module(value):
            self.networks.append(value)
            return {"network": self.write(dict(value.state_dict()), path)}
        if isinstance(value, np.ndarray):
            return self._array_node(value, path)
        if sparse.issparse(value):
            return self._sparse_node(value, path)
        kind = type(value).__name__
        if type(value) in (list, tuple, set, frozenset):
            items = value if isinstance(value, list | tuple) else sorted(value, key=repr)
            return {kind: [self.write(v, f"{path}[{i}]") for i, v in enumerate(items)]}
        if isinstance(value, dict):
            pairs = [
                [self.write(k, f"{path} (a key)"), self.write(v, f"{path}[{k!r:.30}]")]
                for k, v in value.items()
            ]
            return {"dict": pairs}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, slice | range):
            return {kind: [value.start, value.stop, value.step]}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if type(value).__module__.startswith("networkx.classes."):
            return self._graph_node(value, path)
        return self._part_node(value, path)

    def _array_node(self, value: np.ndarray, path: str) -> dict:
        """Return the tree node of an array, and add the array to those to be written."""
        if value.dtype.kind == "O":
            items = [self.write(v, f"{path}[{i}]") for i, v in enumerate(value.ravel())]
            return {"objects": [list(value.shape), items]}
        if value.dtype.kind not in "biufcSUmM":
            raise CannotSave(_cannot_save(path, value))
        self.arrays.append(np.asarray(value))
        return {"array": len(self.arrays) - 1}

    def _sparse_node(self, value: Any, path: str) -> dict:
        """Return the tree node of a sparse matrix."""
        csr = value.tocsr()
        parts = [self.write(np.asarray(a), path) for a in (csr.data, csr.indices, csr.indptr)]
        return {"sparse": [type(value).__name__, list(value.shape), *parts]}

    def _graph_node(self, graph: Any, path: str) -> dict:
        """Return the tree node of a networkx graph."""
        parts = graph.graph, list(graph.nodes(data=True)), list(graph.edges(data=True))
        return {"graph": [type(graph).__name__, *(self.write(part, path) for part in parts)]}

    def _part_node(self, value: Any, path: str) -> dict:
        """Return the tree node of an object of one of the classes that may be saved."""
        name = part_name(type(value))
        contents = isinstance(value, type | tuple | list)  # which are not attributes
        if name is None or contents:
            raise CannotSave(_cannot_save(path, value))
        state = _saved_attributes(
            value.without_training_data()
            if isinstance(value, Reducible)
            else scikit_learn.saved(value)
        )
        return {"part": [name, {k: self.write(v, f"{path}.{k}") for k, v in state.items()}]}


def _saved_attributes(part: Any) -> dict[str, Any]:
    """Return the attributes of an object by name, without cached properties.

    If the class of the object, or a base class outside scikit-learn, defines `__getstate__`, its
    result is returned unchanged.
    """
    kind: type = type(part)
    own = [c for c in kind.__mro__ if not c.__module__.startswith(("sklearn.", "builtins"))]
    if any("__getstate__" in vars(c) for c in own):
        return dict(part.__getstate__())
    lazy = {k for c in own for k, v in vars(c).items() if isinstance(v, cached_property)}
    state = {slot: getattr(part, slot) for slot in sorted(slots(kind))}
    state |= getattr(part, "__dict__", {})
    return {name: value for name, value in state.items() if name not in lazy}


def _cannot_save(path: str, value: Any) -> str:
    """Return the error message for a value that cannot be saved."""
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    if part_name(type(value)) is None and any(map(part_name, type(value).__mro__)):
        return (
            f"{path} has the custom class {name}: call mercer.register({type(value).__name__}) "
            "before you save, and in the process that loads the file."
        )
    what = "a function" if callable(value) and not isinstance(value, type) else "of an unknown type"
    way_out = (
        "Use a kernel, operator or decoder of mercer's in its place, or keep the model in this "
        "process."
    )
    if hasattr(value, "predict") and not isinstance(value, type):
        way_out = (
            "A regressor or classifier of another library stays in this process, or is saved with "
            "joblib, which runs code of the file when it loads. Use an estimator of mercer's in "
            "its place, such as KernelDependency(), for a model file."
        )
    if path.endswith(".scoring"):
        way_out = (
            "The choice is made already: model.set_params(scoring=None) on the fitted model "
            "changes no prediction, and then it can be saved. Scorers by name, such as "
            'scoring="r2", are saved as they are.'
        )
    return (
        f"{path} is {name}, {what}, which a model file cannot hold: it has arrays, text, "
        f"mercer's own parts and the transformers of docs/sharing.md only. {way_out}"
    )
