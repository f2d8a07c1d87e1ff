"""Fitted maps from inputs to predicted points in the ONNX format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import dense, host
from ..embedding import Embedding, PointMap
from ..estimators.blend import BlendedMap
from ..estimators.common_frame import coordinates_in
from ..estimators.trees import ROUNDED_BITS, LeafMeans, Scaling, TreeNodes
from ..features import (
    Explicit,
    IncompleteCholesky,
    KernelPCA,
    Nystroem,
    RandomFourier,
    RandomPivotedCholesky,
)
from ..features.base import Composed
from ..features.landmarks import KernelExpansion
from ..features.triangular import Triangular
from ..solvers.weights import DualWeights
from .graph import Affine, DenseTensor, Graph, RowTensor
from .kernels import as_rows, exporter, features, gram

MEASURED_ROWS = 64
"""About as many training inputs of each part of a model measure its rounding errors."""


def points(graph: Graph, map: PointMap, A: str) -> Affine:
    """Return the coordinates of the predicted points of rows A as an affine function."""
    found = coordinates(graph, map.map, A)
    return found if map.offset is None else found.shifted(host(map.offset))


def coordinates(graph: Graph, map: Any, A: str) -> Affine:
    """Return the values of a fitted feature map at rows A as an affine function."""
    return exporter(WRITTEN_MAPS, map)(graph, map, A)


def _landmarks(graph: Graph, map: Any, A: str) -> Affine:
    """Return k(a, landmarks) W."""
    B = _examples(graph, map.kernel_, map.landmarks_)
    rows = DenseTensor(gram(graph, map.kernel_, A, B))
    W = map.weights_
    return Affine.of(rows, np.eye(len(B)) if W is None else host(W))


def _examples(graph: Graph, kernel: Any, items: Any) -> np.ndarray:
    """Return training inputs as rows; some of them are examples for the graph."""
    B = as_rows(kernel, items)
    graph.examples.append(B[:: max(1, len(B) // MEASURED_ROWS)])
    return B


def _principal_components(graph: Graph, map: KernelPCA, A: str) -> Affine:
    """Return kernel principal components, which may be centred."""
    return _landmarks(graph, map, A).shifted(-host(np.asarray(map.mean_)))


def _explicit(graph: Graph, map: Explicit, A: str) -> Affine:
    """Return the finite features of a kernel."""
    graph.unbounded = True
    return Affine.of(DenseTensor(features(graph, map.kernel_, A)), np.eye(map.width_))


def _composed(graph: Graph, map: Composed, A: str) -> Affine:
    """Return (map(a) - mean) M, with the mean subtracted before anything is multiplied."""
    inner = coordinates(graph, map.map, A)
    if map.mean is not None:
        name = _bare(inner) or inner.write(graph)
        centred = graph.add("Sub", name, graph.constant(host(map.mean)))
        inner = Affine.of(DenseTensor(centred), np.eye(inner.width))
    matrix = np.eye(inner.width) if map.matrix is None else host(map.matrix)
    return inner.then(graph, lambda C: C @ matrix)


def _bare(function: Affine) -> str | None:
    """Return the name of the tensor that a function only hands on; None if it changes it."""
    ((rows, matrix), *others) = function.terms
    same = not others and isinstance(rows, DenseTensor) and not function.offset.any()
    if same and matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(len(matrix))).all():
        return rows.name  # type: ignore[attr-defined]
    return None


def _random_fourier(graph: Graph, map: RandomFourier, A: str) -> Affine:
    """Return scaled cosines and sines of the products with the frequencies."""
    graph.unbounded = True
    phases = graph.add("MatMul", A, graph.constant(map.frequencies_.T))
    waves = graph.add("Concat", graph.add("Cos", phases), graph.add("Sin", phases), axis=1)
    return Affine.of(DenseTensor(waves), map.scale_ * np.eye(2 * len(map.frequencies_)))


def _dual_weights(graph: Graph, map: DualWeights, A: str) -> Affine:
    """Return the weights of an exact prediction on the training outputs."""
    values, M = map.factored[0], host(map.coefficients)
    offset: Any = 0.0
    if map.intercept:
        w = map.sample_weight
        offset = 1.0 / len(M) if w is None else w / w.sum()
    if values.F is not None:
        graph.unbounded = True
        centred = graph.add(
            "Sub", features(graph, map.kernel, A), graph.constant(host(values.mean))
        )
        return Affine.of(DenseTensor(centred), host(values.F).T @ M, offset)
    K = gram(graph, map.kernel, A, _examples(graph, map.kernel, map.X))
    if map.intercept:
        K = graph.add("Sub", K, graph.constant(host(values.means)))
    return Affine.of(DenseTensor(K), M, offset)


@dataclass(frozen=True)
class LeafTensor(RowTensor):
    """RowTensor with 1/T in the columns of the T leaves that an input falls in, one for each tree.

    Attributes
    ----------
    leaves
        The name of the leaves, (rows, trees).
    """

    leaves: str

    def times(self, graph: Graph, matrix: np.ndarray) -> str:
        """Add the mean over trees of the rows of a matrix that belong to the leaves."""
        values = graph.add("Gather", graph.constant(matrix), self.leaves, axis=0)
        return graph.add("ReduceMean", values, graph.constant(np.array([1])), keepdims=0)


def _leaf_means(graph: Graph, map: LeafMeans, A: str) -> Affine:
    """Return the mean over trees of the values of the leaves.

    The leaves are found in double precision: the path of an input must not depend on rounding.
    """
    double = graph.in_double()
    A = graph.cast(A, np.float64)
    scaled = _scaled(double, map.scaling, features(double, map.kernel, A))
    values = map.values.toarray() if issparse(map.values) else host(dense(map.values))
    return Affine.of(LeafTensor(_leaves(double, map.trees, scaled)), values)


def _scaled(graph: Graph, scaling: Scaling, A: str) -> str:
    """Add standardised features, rounded like those that the trees were grown on."""
    unit = graph.constant(2.0**ROUNDED_BITS)
    centred = graph.add("Sub", A, graph.constant(scaling.mean))
    Z = graph.add("Div", centred, graph.constant(scaling.spread))
    rounded = graph.add("Div", graph.add("Round", graph.add("Mul", Z, unit)), unit)
    # Trees compare values in single precision with thresholds in double precision.
    return graph.cast(graph.cast(rounded, np.float32), np.float64)


def _leaves(graph: Graph, trees: TreeNodes, A: str) -> str:
    """Add the number of the leaf of each row in each tree, by one step down at a time."""
    numbers = np.arange(trees.n_nodes)
    leaf = trees.feature < 0
    feature = graph.constant(np.where(leaf, 0, trees.feature).astype(np.int64))
    left = graph.constant(np.where(leaf, numbers, trees.left).astype(np.int64))
    right = graph.constant(np.where(leaf, numbers, trees.right).astype(np.int64))
    thresholds = graph.constant(np.asarray(trees.threshold))
    size = graph.add("Shape", A, start=0, end=1)
    shape = graph.add("Concat", size, graph.constant(np.array([len(trees.roots)])), axis=0)
    at = graph.add("Expand", graph.constant(trees.roots[None, :].astype(np.int64)), shape)
    for _ in range(_depth(trees)):
        column = graph.add("Gather", feature, at, axis=0)
        value = graph.add("GatherElements", A, column, axis=1)
        below = graph.add("LessOrEqual", value, graph.add("Gather", thresholds, at, axis=0))
        yes, no = (graph.add("Gather", children, at, axis=0) for children in (left, right))
        at = graph.add("Where", below, yes, no)
    return at


def _depth(trees: TreeNodes) -> int:
    """Return the largest number of questions between a root and a leaf."""
    depth, open_ = 0, trees.roots[trees.feature[trees.roots] >= 0]
    while len(open_):
        below = np.concatenate([trees.left[open_], trees.right[open_]])
        depth, open_ = depth + 1, below[trees.feature[below] >= 0]
    return depth


def _blended(graph: Graph, map: BlendedMap, A: str) -> Affine:
    """Return the weighted sum of the points of several models, in one system of coordinates."""
    parts = []
    for factor, model in zip(map.factors, map.maps, strict=True):
        if factor:
            parts.append(_in_frame(graph, model, map.frame, A).times(float(factor)))
    return sum_of(parts) if parts else _in_frame(graph, map.maps[0], map.frame, A).times(0.0)


def _in_frame(graph: Graph, map: PointMap, frame: Any, A: str) -> Affine:
    """Return the points of a model in the coordinates of another frame."""
    return points(graph, map, A).then(
        graph, lambda C: coordinates_in(Embedding(C, map.frame), frame)
    )


def sum_of(parts: list[Affine]) -> Affine:
    """Return the sum of several affine functions."""
    total = parts[0]
    for part in parts[1:]:
        total = total.plus(part)
    return total


WRITTEN_MAPS: dict[type, Callable[[Graph, Any, str], Affine]] = {
    BlendedMap: _blended,
    Composed: _composed,
    DualWeights: _dual_weights,
    Explicit: _explicit,
    IncompleteCholesky: _landmarks,
    KernelExpansion: _landmarks,
    KernelPCA: _principal_components,
    LeafMeans: _leaf_means,
    Nystroem: _landmarks,
    RandomFourier: _random_fourier,
    RandomPivotedCholesky: _landmarks,
    Triangular: _landmarks,
}
"""The function that writes each fitted map."""
