"""Trees of plain values and named parts, read back into models within limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._base.arrays import object_array
from .._base.checks import DamagedModel, Limits, bounded, must
from ..kernels import Kernel
from ..kernels.networks import with_weights
from ..spaces import Rankings
from .archive import RefusedModel
from .creation import create_part
from .parts import part_type

INTEGER_BITS = 1024
"""The largest number of bits of an integer in a file, such as a label that is a UUID."""
REPORTS = {"cv_results_", "errors_", "left_out_errors_"}
"""Names of attributes with tables of scores, which no prediction reads: any number is allowed."""
SCORES = {"radius", "scores"}
"""Names of attributes with scores of prediction sets and their quantiles: infinity is allowed."""
ITEMS = {
    "X", "candidates", "candidates_", "items", "items_", "landmarks", "landmarks_", "outputs",
    "outputs_", "sample", "sample_", "y",
}  # fmt: skip
"""Names of attributes that hold inputs or outputs, in which NaN is an unknown rank."""
WIDEST = 2**16
"""The largest number of bytes of one element of a dtype that a file names."""


class Reader:
    """A reader that converts a JSON tree and its arrays into a model.

    Parameters
    ----------
    arrays
        A function from a number in the tree to its array; each may be requested once.
    limits
        Limits to the content of the tree.
    networks
        Modules that get the arrays of the networks in the tree, in their order.
    """

    def __init__(
        self,
        arrays: Callable[[int], np.ndarray],
        limits: Limits | None = None,
        networks: Sequence[Any] = (),
    ):
        self.arrays = arrays
        self.limits = limits or Limits()
        self._networks = list(networks)
        self._known: list[tuple[Any, int, int]] = []  # value, and what a reference to it counts
        self._depth = self._nodes = self._values = self._parts = 0
        self._used_arrays: set[int] = set()
        self._not_finite: list[np.ndarray] = []  # nearly always empty
        self._unranked = self._custom = False

    def read(self, node: Any) -> Any:
        """Return the value that a node of the tree describes."""
        self._nodes += 1
        if self._nodes > self.limits.nodes:
            raise DamagedModel(f"it holds more than {self.limits.nodes} values")
        if not isinstance(node, dict):
            if isinstance(node, list) or (type(node) is int and node.bit_length() > INTEGER_BITS):
                raise DamagedModel("a node is a bare list, or an integer of too many digits")
            return node
        ((kind, content),) = node.items()
        if kind == "ref":
            return self._reference(content)
        if kind == "float":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
        if kind == "scalar":
            dtype, value = content
            return _plain_dtype(dtype).type(self.read(value))
        if kind not in _READERS:
            raise DamagedModel(f"{kind!r:.40} is not a kind of value that a model holds")
        return self._read_composite(kind, content)

    def _read_composite(self, kind: str, content: Any) -> Any:
        """Return the container, array or object of a node, within the limits of depth and size."""
        if self._depth >= self.limits.depth:
            raise DamagedModel(f"it is nested deeper than {self.limits.depth}")
        values, parts = self._values, self._parts
        self._count(1, 0)
        self._depth += 1
        value = _READERS[kind](self, content)
        self._depth -= 1
        self._known.append((value, self._values - values, self._parts - parts))
        return value

    def _reference(self, number: Any) -> Any:
        """Return the value that was read earlier under a number; its size counts again."""
        bounded(number, "a reference", 0, len(self._known) - 1)
        value, values, parts = self._known[number]
        self._count(values, parts)
        return value

    def _count(self, values: int, parts: int) -> None:
        """Add to the counts of values and parts; raise an error above the limits."""
        self._values += values
        self._parts += parts
        if self._values > self.limits.nodes:
            raise DamagedModel(f"its references repeat more than {self.limits.nodes} values")
        if self._parts > self.limits.parts:
            raise DamagedModel(f"it refers to more than {self.limits.parts} parts")

    def _items(self, nodes: list) -> list:
        """Return the list of the values of nodes."""
        return [self.read(node) for node in nodes]

    def _array(self, number: Any) -> np.ndarray:
        """Return the array with the given number, which may be requested only once."""
        bounded(number, "the number of an array", 0, 2**31)
        must(
            number not in self._used_arrays, f"array {number} is used twice other than by reference"
        )
        self._used_arrays.add(number)
        found = self.arrays(number)
        widths = [size for size in found.shape if size]
        empty = found.size == 0 and math.prod(widths) * found.dtype.itemsize > self.limits.size
        must(not empty, f"array {number} is empty but claims the shape {found.shape}")
        if found.dtype.kind in "fc" and not np.isfinite(found).all():
            self._not_finite.append(found)
        return found

    def _objects(self, content: list) -> np.ndarray:
        """Return an object array from its saved shape and items."""
        shape, nodes = content
        for size in shape:
            bounded(size, "a shape", 0, self.limits.size)
        return object_array(self._items(nodes)).reshape(shape)

    def _keys(self, keys: list) -> list:
        """Return the keys of a dictionary after checking that they are plain values."""
        for key in keys:
            must(_is_plain(key), f"a key must be a plain value, got {type(key).__name__}")
        return keys

    def _dict(self, content: list) -> dict:
        """Return a dictionary from its saved keys and values."""
        pairs = [(self.read(k), self.read(v)) for k, v in content]
        return dict(zip(self._keys([k for k, _ in pairs]), [v for _, v in pairs], strict=True))

    def _range(self, content: list) -> range:
        """Return a range of integers from its saved start, stop and step."""
        found = range(*content)
        must(len(found) <= self.limits.size, f"a range has more than {self.limits.size} numbers")
        return found

    def _sparse(self, content: list) -> Any:
        """Return a sparse matrix from its saved arrays."""
        name, shape, *parts = content
        kinds = {f"{f}_{k}": (f, k) for f in ("csr", "csc", "coo") for k in ("array", "matrix")}
        layout, _ = kinds[name]
        rows, columns = (bounded(size, "a sparse shape", 0, self.limits.size) for size in shape)
        data, columns_of, starts = self._items(parts)
        for part, sorts in ((data, "biufc"), (columns_of, "i"), (starts, "i")):
            plain = isinstance(part, np.ndarray) and part.dtype.kind in sorts and part.ndim == 1
            must(plain, "a sparse matrix must have one array of numbers and two of indices")
        must(np.isfinite(data).all(), "a sparse matrix holds NaN or infinity")
        kind = getattr(sparse, name.replace(layout, "csr"))
        try:
            matrix = kind((data, columns_of, starts), shape=(rows, columns))
            matrix.check_format(full_check=True)  # before any loop of scipy reads by its indices
        except ValueError as problem:
            raise DamagedModel(f"a sparse matrix: {problem}") from None
        return matrix.asformat(layout)

    def _graph(self, content: list) -> Any:
        """Return a networkx graph from its saved nodes and edges."""
        import networkx

        name, *parts = content
        attributes, nodes, edges = self._items(parts)
        kinds = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")
        graph = getattr(networkx, kinds[kinds.index(name)])()
        graph.graph.update(attributes)
        self._keys([node for node, _ in nodes])
        graph.add_nodes_from((node, dict(data)) for node, data in nodes)
        ends = self._keys([end for a, b, _ in edges for end in (a, b)])
        must(all(end in graph for end in ends), "an edge of a graph must join nodes of it")
        graph.add_edges_from((a, b, dict(data)) for a, b, data in edges)
        return graph

    def _network(self, content: Any) -> Any:
        """Load saved weights into the next network that the caller passed; return the network."""
        state = self.read(content)
        if not self._networks:
            raise RefusedModel(
                "holds the arrays of a network, not its layers: pass a module that has them, "
                "mercer.load(path, network=module)."
            )
        try:
            return with_weights(self._networks.pop(0), state)
        except (TypeError, ValueError) as problem:
            raise RefusedModel(f"cannot be loaded: {problem}") from None

    def _part(self, content: list) -> Any:
        """Return an object of one of the classes that may be saved, from its attributes."""
        name, state = content
        kind = part_type(name)
        self._count(0, int(issubclass(kind, BaseEstimator)))
        read = {str(key): self.read(node) for key, node in state.items()}
        self._custom |= name.startswith("registered:")
        try:
            if self._not_finite and not name.startswith("registered:"):
                for attribute, value in read.items():
                    self._check_finite(attribute, value)
            return create_part(kind, read, self.limits)
        except DamagedModel as problem:
            raise DamagedModel(f"{kind.__name__}: {problem}") from None

    def _check_finite(self, name: str, value: Any) -> None:
        """Raise an error if arrays in an attribute have NaN or infinity but must not have them."""
        for A in _arrays_in(value):
            if name not in REPORTS and any(A is other for other in self._not_finite):
                ranks = name in ITEMS and _may_be_ranks(A)
                scores = name in SCORES and not np.isnan(A).any()
                must(ranks or scores, f"{name} holds NaN or infinity")
                self._unranked |= ranks

    def check_items(self) -> None:
        """Raise an error if items hold NaN although no kernel of the model is on rankings.

        In rankings NaN means that a label has no rank. Custom classes may have such items too.
        """
        if self._unranked and not self._custom:
            kernels = [value for value, _, _ in self._known if isinstance(value, Kernel)]
            ranks = any(isinstance(kernel.space, Rankings) for kernel in kernels)
            must(ranks, "its items hold NaN, which its kernels refuse")


_READERS: dict[str, Any] = {
    "array": Reader._array,
    "objects": Reader._objects,
    "sparse": Reader._sparse,
    "list": Reader._items,
    "tuple": lambda reader, content: tuple(reader._items(content)),
    "set": lambda reader, content: set(reader._keys(reader._items(content))),
    "frozenset": lambda reader, content: frozenset(reader._keys(reader._items(content))),
    "dict": Reader._dict,
    "dtype": lambda reader, content: _plain_dtype(content),
    "slice": lambda reader, content: slice(*map(_slice_end, content)),
    "range": Reader._range,
    "bytes": lambda reader, content: bytes.fromhex(content),
    "graph": Reader._graph,
    "network": Reader._network,
    "part": Reader._part,
}


def _arrays_in(value: Any) -> Iterator[np.ndarray]:
    """Yield the arrays in a value, and in containers in it; not those of parts in it."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.ravel().tolist()
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _arrays_in(item)


def _may_be_ranks(A: np.ndarray) -> bool:
    """Return whether the numbers of an array are ranks of labels, of which some have no rank."""
    known = A[~np.isnan(A)]
    integers = np.isfinite(known).all() and (known == np.round(known)).all()
    return A.ndim == 2 and A.shape[1] > 1 and bool(integers)


def _plain_dtype(text: str) -> np.dtype:
    """Return the dtype with the given name; raise an error if it is not a plain dtype."""
    dtype = np.dtype(text)
    if dtype.hasobject or dtype.kind not in "biufcSUmM" or dtype.itemsize > WIDEST:
        raise ValueError(f"{text!r:.40} is not a dtype of plain numbers or text")
    return dtype


def _slice_end(content: Any) -> int | None:
    """Return an end of a slice after checking that it is an integer or None."""
    return None if content is None else bounded(content, "an end of a slice", -(2**63), 2**63)


def _is_plain(key: Any) -> bool:
    """Return whether a dictionary key consists of numbers, strings, bytes and None only."""
    if isinstance(key, tuple | frozenset):
        return all(map(_is_plain, key))
    return key is None or isinstance(key, bool | int | float | str | bytes | np.generic)
