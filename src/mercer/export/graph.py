"""A computation in the ONNX format that is being written, node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

OPSET = 18
"""The version of ONNX's operators, which onnxruntime knows since 1.14."""
IR_VERSION = 9
"""The version of the file format that goes with them."""
FLOATING_TYPES = {"double": np.float64, "single": np.float32}
"""The precisions of an exported model, by name."""
INPUT_NAME = "X"
"""The name of the input, one row for each item."""


@dataclass
class Graph:
    """The nodes and constants of a computation, in the order in which they were added.

    Attributes
    ----------
    dtype
        The floating type of the numbers.
    nodes, constants
        What was added.
    examples
        Some rows of training inputs; empty if the parts of the model do not have them.
    unbounded
        Whether a part has no examples by which its rounding errors could be measured.
    values
        The name of what is decoded.
    """

    dtype: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    examples: list[np.ndarray] = field(default_factory=list)
    unbounded: bool = False
    values: str = ""
    _numbers: Iterator[int] = field(default_factory=count)

    def fresh(self) -> str:
        """Return a name that no other value has."""
        return f"v{next(self._numbers)}"

    def in_double(self) -> Graph:
        """Return this graph with constants in double precision."""
        return replace(self, dtype=np.float64)

    def cast(self, name: str, dtype: Any, to: str | None = None) -> str:
        """Add a conversion to another element type; return its name."""
        from onnx import helper

        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", name, to=to, to_type=kind)

    def constant(self, value: Any) -> str:
        """Add a constant, floating numbers in the precision of the graph; return its name."""
        from onnx import numpy_helper

        array = np.asarray(value)
        array = array.astype(self.dtype) if array.dtype.kind == "f" else array
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, operator: str, *inputs: str, to: str | None = None, **attributes: Any) -> str:
        """Add a node with one output; return its name, which is `to` if given.

        The attribute `to_type` is the one that ONNX calls "to".
        """
        from onnx import helper

        name = to or self.fresh()
        if "to_type" in attributes:
            attributes["to"] = attributes.pop("to_type")
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def ordered(self, name: str, size: int) -> str:
        """Return the positions of the `size` entries of each row, by ascending value."""
        from onnx import helper

        values, order = self.fresh(), self.fresh()
        inputs = [name, self.constant(np.array([size]))]
        self.nodes.append(helper.make_node("TopK", inputs, [values, order], axis=1, largest=0))
        return order

    def each_row(self, name: str, body: Callable[[Graph, str], str]) -> str:
        """Return a row of results for each row of a matrix; `body` adds the nodes for one row.

        It runs on one row after another, so that no array of all pairs and features is made.
        """
        from onnx import helper

        inner = replace(self, nodes=[], constants=[])
        row = inner.fresh()
        result = body(inner, row)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        made = helper.make_graph(
            inner.nodes,
            "row",
            [helper.make_tensor_value_info(row, kind, None)],
            [helper.make_tensor_value_info(result, kind, None)],
            inner.constants,
        )
        return self.add("Scan", name, body=made, num_scan_inputs=1)


class RowTensor:
    """Base class of what an input is mapped to first, rows of numbers that a matrix multiplies."""

    def times(self, graph: Graph, matrix: np.ndarray) -> str:
        """Add the product of the rows and a matrix; return its name."""
        raise NotImplementedError


@dataclass(frozen=True)
class DenseTensor(RowTensor):
    """RowTensor that are a tensor of the graph, given by its name."""

    name: str

    def times(self, graph: Graph, matrix: np.ndarray) -> str:
        """Add the product of the rows and a matrix; return its name."""
        return graph.add("MatMul", self.name, graph.constant(matrix))


@dataclass(frozen=True)
class Affine:
    """An affine function of several batches of rows, Σ_t R_t M_t + c.

    Functions that are applied later are folded into the matrices before anything is written.

    Attributes
    ----------
    terms
        The rows R_t, each with its matrix M_t.
    offset
        The row c.
    """

    terms: tuple[tuple[RowTensor, np.ndarray], ...]
    offset: np.ndarray

    @classmethod
    def of(cls, rows: RowTensor, matrix: np.ndarray, offset: Any = 0.0) -> Affine:
        """Return the function R M + c of one batch of rows."""
        return cls(((rows, matrix),), np.zeros(matrix.shape[1]) + offset)

    @property
    def width(self) -> int:
        """The number of columns of the result."""
        return len(self.offset)

    def plus(self, other: Affine) -> Affine:
        """Return the sum of two affine functions."""
        return Affine(self.terms + other.terms, self.offset + other.offset)

    def times(self, factor: float) -> Affine:
        """Return the function times a number."""
        terms = tuple((rows, factor * matrix) for rows, matrix in self.terms)
        return Affine(terms, factor * self.offset)

    def shifted(self, offset: np.ndarray | float) -> Affine:
        """Return the function plus a constant row."""
        return replace(self, offset=self.offset + offset)

    def then(self, graph: Graph, function: Callable[[np.ndarray], np.ndarray]) -> Affine:
        """Return this function followed by an affine function of rows.

        Its matrix is multiplied with the others unless the product would have more entries.
        """
        start = function(np.zeros((1, self.width)))[0]
        slope = function(np.eye(self.width)) - start
        before = sum(matrix.size for _, matrix in self.terms)
        folded = sum(matrix.shape[0] * slope.shape[1] for _, matrix in self.terms)
        if folded > before + slope.size:
            return Affine.of(DenseTensor(self.write(graph)), slope, start)
        terms = tuple((rows, matrix @ slope) for rows, matrix in self.terms)
        return Affine(terms, self.offset @ slope + start)

    def write(self, graph: Graph) -> str:
        """Add the function to the graph; return the name of its result."""
        parts = [rows.times(graph, matrix) for rows, matrix in self.terms]
        total = parts[0]
        for part in parts[1:]:
            total = graph.add("Add", total, part)
        return graph.add("Add", total, graph.constant(self.offset))


def is_affine(function: Callable[[np.ndarray], np.ndarray], width: int) -> bool:
    """Return whether a function of rows is affine, by its values at random rows of many sizes."""
    random = np.random.RandomState(0)
    for size in (1e-3, 1.0, 1e3):
        A, B = size * random.normal(size=(2, 4, width))
        start, *values = (function(C) for C in (np.zeros_like(A), A, B, A - 2.0 * B))
        of_A, of_B, combined = (value - start for value in values)
        scale = np.abs(of_A).max() + np.abs(of_B).max() + 1e-3 * np.abs(start).max()
        if not np.abs(combined - (of_A - 2.0 * of_B)).max() <= 1e-9 * scale:
            return False
    return True
