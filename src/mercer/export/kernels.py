"""Kernels on vectors in the ONNX format: one function and one entry of a table for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.arrays import dense, host
from .._base.errors import NotSupported
from ..kernels import (
    RBF,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Scaled,
    Standardized,
    Sum,
    UnitVariance,
)
from .graph import Graph

Write = Callable[[Graph, Any, str, np.ndarray], str]
"""A function of (graph, kernel, rows a by name, rows b) that adds k(a, b) and returns its name."""


def gram(graph: Graph, kernel: Kernel, A: str, B: np.ndarray) -> str:
    """Add the matrix of k(a, b) between rows a of a tensor and rows b; return its name."""
    return exporter(WRITTEN_KERNELS, kernel)(graph, kernel, A, B)


def exporter(table: dict[Any, Any], part: Any) -> Any:
    """Return the entry of a part's class; raise an error that names the part without one.

    A subclass may compute something else, so that it needs an entry of its own.
    """
    if type(part) not in table:
        names = ", ".join(sorted(kind.__name__ for kind in table))
        raise NotSupported(
            f"to_onnx cannot write {part}: it writes {names}. Fit a model with one of these, or "
            "serve this one with mercer.save and mercer.load."
        )
    return table[type(part)]


def _linear(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add ⟨a, b⟩."""
    return graph.add("MatMul", A, graph.constant(B.T))


def _polynomial(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add (gamma ⟨a, b⟩ + coef0)^degree."""
    inner = graph.add("MatMul", A, graph.constant(float(kernel.gamma) * B.T))
    base = graph.add("Add", inner, graph.constant(float(kernel.coef0)))
    return _power(graph, base, int(kernel.degree))


def _power(graph: Graph, base: str, exponent: int) -> str:
    """Add a positive integer power of each entry, by products."""
    result = None
    while exponent:
        if exponent % 2:
            result = base if result is None else graph.add("Mul", result, base)
        exponent //= 2
        base = graph.add("Mul", base, base) if exponent else base
    assert result is not None
    return result


def _scaled_rows(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> tuple[str, np.ndarray]:
    """Return both batches divided by the length scales of a stationary kernel."""
    scales = np.asarray(kernel.length_scale_, dtype=float)
    return graph.add("Div", A, graph.constant(scales)), B / scales


def _squared_distances(graph: Graph, A: str, B: np.ndarray) -> str:
    """Add ‖a - b‖² = ‖a - c‖² + ‖b - c‖² - 2⟨a - c, b - c⟩ with the mean c of the rows b."""
    centre = B.mean(axis=0)
    B = B - centre
    A = graph.add("Sub", A, graph.constant(centre))
    own = graph.add("ReduceSumSquare", A, graph.constant(np.array([1])), keepdims=1)
    cross = graph.add("MatMul", A, graph.constant(-2.0 * B.T))
    others = graph.add("Add", cross, graph.constant((B * B).sum(axis=1)))
    return graph.add("Max", graph.add("Add", others, own), graph.constant(0.0))


def _reduced_differences(graph: Graph, A: str, B: np.ndarray, reduction: str) -> str:
    """Add a norm of a - b for all pairs, computed from the differences themselves.

    A kernel with a kink at a = b would magnify the rounding errors of squared distances.
    """

    def of_one(inner: Graph, row: str) -> str:
        """Add the norms of the differences between one row a and all rows b."""
        differences = inner.add("Sub", inner.constant(B), row)
        return inner.add(reduction, differences, inner.constant(np.array([1])), keepdims=0)

    return graph.each_row(A, of_one)


def _exponential(graph: Graph, exponent: str, factor: float) -> str:
    """Add exp(factor · exponent)."""
    return graph.add("Exp", graph.add("Mul", exponent, graph.constant(factor)))


def _rbf(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add exp(-‖a - b‖² / 2ℓ²)."""
    return _exponential(graph, _squared_distances(graph, *_scaled_rows(graph, kernel, A, B)), -0.5)


def _laplacian(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add exp(-‖a - b‖₁ / ℓ)."""
    left, right = _scaled_rows(graph, kernel, A, B)
    return _exponential(graph, _reduced_differences(graph, left, right, "ReduceL1"), -1.0)


def _rational_quadratic(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add (1 + ‖a - b‖² / 2βℓ²)^-β."""
    exponent = float(kernel.exponent)
    D2 = _squared_distances(graph, *_scaled_rows(graph, kernel, A, B))
    growth = graph.add("Mul", D2, graph.constant(0.5 / exponent))
    return _exponential(
        graph, graph.add("Log", graph.add("Add", growth, graph.constant(1.0))), -exponent
    )


def _matern(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add exp(-r) times a polynomial in r = √(2ν) ‖a - b‖ / ℓ."""
    if kernel.nu == np.inf:
        return _rbf(graph, kernel, A, B)
    left, right = _scaled_rows(graph, kernel, A, B)
    if kernel.nu == 0.5:  # the only one with a kink at a = b
        distance = _reduced_differences(graph, left, right, "ReduceL2")
    else:
        distance = graph.add("Sqrt", _squared_distances(graph, left, right))
    r = graph.add("Mul", distance, graph.constant(np.sqrt(2.0 * kernel.nu)))
    decay = graph.add("Exp", graph.add("Neg", r))
    order, polynomial = round(kernel.nu - 0.5), None
    for k in reversed(range(order)):
        ratio = 2.0 * (order - k) / ((k + 1) * (2 * order - k))
        step = graph.add("Mul", r, graph.constant(ratio))
        step = step if polynomial is None else graph.add("Mul", step, polynomial)
        polynomial = graph.add("Add", step, graph.constant(1.0))
    return decay if polynomial is None else graph.add("Mul", polynomial, decay)


def _sum(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add the sum of two kernels."""
    return graph.add("Add", *(gram(graph, part, A, B) for part in kernel.parts))


def _product(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add the product of two kernels."""
    return graph.add("Mul", *(gram(graph, part, A, B) for part in kernel.parts))


def _scaled(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add a number times a kernel."""
    whole = kernel.multiple
    vanishes = whole.kernel is kernel  # only a factor of zero has no multiple
    inner = gram(graph, kernel.inner if vanishes else whole.kernel, A, B)
    return graph.add("Mul", inner, graph.constant(0.0 if vanishes else float(whole.scale)))


def _power_of_kernel(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add a power of a kernel."""
    return _power(graph, gram(graph, kernel.inner, A, B), int(kernel.exponent))


def _standardized(graph: Graph, kernel: Any, A: str, B: np.ndarray) -> str:
    """Add the inner kernel of standardised rows."""
    left = standardized_rows(graph, kernel, A)
    return gram(graph, kernel.inner, left, standardize(kernel, B))


def standardized_rows(graph: Graph, kernel: Any, A: str) -> str:
    """Add the rows that a `Standardized` kernel hands to its inner kernel; return their name."""
    centred = graph.add("Sub", A, graph.constant(kernel.mean_))
    Z = graph.add("Div", centred, graph.constant(kernel.spread_))
    if not kernel.slopes:
        return Z
    width = len(kernel.mean_)
    later = graph.add("Gather", Z, graph.constant(np.arange(1, width)), axis=1)
    earlier = graph.add("Gather", Z, graph.constant(np.arange(width - 1)), axis=1)
    steepness = graph.constant(float(kernel.steepness_))
    slopes = graph.add("Div", graph.add("Sub", later, earlier), steepness)
    return graph.add("Concat", Z, slopes, axis=1)


def standardize(kernel: Any, B: np.ndarray) -> np.ndarray:
    """Return rows as a `Standardized` kernel hands them to its inner kernel."""
    Z = (B - kernel.mean_) / kernel.spread_
    if not kernel.slopes:
        return Z
    return np.concatenate([Z, np.diff(Z, axis=1) / kernel.steepness_], axis=1)


WRITTEN_KERNELS: dict[type[Kernel], Write] = {
    Laplacian: _laplacian,
    Linear: _linear,
    Matern: _matern,
    Polynomial: _polynomial,
    Power: _power_of_kernel,
    Product: _product,
    RBF: _rbf,
    RationalQuadratic: _rational_quadratic,
    Scaled: _scaled,
    Standardized: _standardized,
    Sum: _sum,
    UnitVariance: _scaled,
}
"""The function that writes each kernel."""


def _linear_features(graph: Graph, kernel: Any, A: str) -> str:
    """Return the rows themselves, the features of a linear kernel."""
    return A


def _scaled_features(graph: Graph, kernel: Any, A: str) -> str:
    """Add the features of a multiple of a kernel."""
    whole = kernel.multiple
    if whole.copies > 1:
        raise NotSupported(f"to_onnx cannot write the features of {kernel}.")
    inner = features(graph, whole.kernel, A)
    return graph.add("Mul", inner, graph.constant(float(whole.scale) ** 0.5))


def _standardized_features(graph: Graph, kernel: Any, A: str) -> str:
    """Add the features of standardised rows."""
    return features(graph, kernel.inner, standardized_rows(graph, kernel, A))


def _sum_features(graph: Graph, kernel: Any, A: str) -> str:
    """Add the features of both terms, one after the other."""
    return graph.add("Concat", *(features(graph, part, A) for part in kernel.parts), axis=1)


WRITTEN_FEATURES: dict[type[Kernel], Callable[[Graph, Any, str], str]] = {
    Linear: _linear_features,
    Scaled: _scaled_features,
    Standardized: _standardized_features,
    Sum: _sum_features,
    UnitVariance: _scaled_features,
}
"""The function that writes the finite features of each kernel that has them."""


def features(graph: Graph, kernel: Kernel, A: str) -> str:
    """Add the finite features of rows under a kernel; return their name."""
    return exporter(WRITTEN_FEATURES, kernel)(graph, kernel, A)


def as_rows(kernel: Kernel, items: Any) -> np.ndarray:
    """Return training inputs as dense rows, after a check that the kernel can be written."""
    exporter(WRITTEN_KERNELS, kernel)
    return host(dense(kernel.check(items, "X"))).astype(float)
