"""Products with the Gram matrix of a scalar kernel: in memory, by finite features, or by blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from array_api_compat import device

from .._base.arrays import (
    Array,
    Items,
    blocks,
    concatenated,
    count,
    is_foreign,
    namespace,
    sliced,
    take,
)
from .._base.memory import ENTRIES
from .._base.threads import map_in_threads, one_thread_each
from ..kernels import Kernel

DEVICE_VALUES = 2**28
"""The number of kernel values of a block on an accelerator."""


class GramProducts(Protocol):
    """Products with a Gram matrix K, its rows and its diagonal."""

    @property
    def diagonal(self) -> Array:
        """The diagonal of K."""

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of K."""

    def times(self, D: Array) -> Array:
        """Return K D."""


@dataclass(frozen=True)
class MatrixProducts:
    """Products with a Gram matrix in memory."""

    K: Array

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of K."""
        return namespace(self.K).linalg.diagonal(self.K) + 0.0

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of K."""
        return take(self.K, index)

    def times(self, D: Array) -> Array:
        """Return K D."""
        return self.K @ D


@dataclass(frozen=True)
class FeatureProducts:
    """Products with the Gram matrix F Fᵀ of finite features F."""

    F: Array

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of F Fᵀ."""
        return namespace(self.F).sum(self.F * self.F, axis=1)

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of F Fᵀ."""
        return take(self.F, index) @ self.F.T

    def times(self, D: Array) -> Array:
        """Return F (Fᵀ D)."""
        return self.F @ (self.F.T @ D)


@dataclass(frozen=True)
class BlockProducts:
    """Products with a Gram matrix whose rows are computed in blocks, each time they are needed."""

    kernel: Kernel
    X: Items

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of K."""
        return self.kernel.finite_values(self.kernel.diag(self.X))

    def rows(self, index: np.ndarray) -> Array:
        """Return the rows `index` of K."""
        return self.kernel.finite_values(self.kernel(take(self.X, index), self.X))

    def times(self, D: Array) -> Array:
        """Return K D, by blocks of rows on all cores."""
        return concatenated(self._map(lambda rows, values: values @ D))

    def matrix(self) -> Array:
        """Return K, computed by blocks of rows, which takes no further memory."""
        n, where = count(self.X), self.diagonal
        K = namespace(where).empty((n, n), dtype=where.dtype, device=device(where))

        def fill(rows: slice, values: Array) -> None:
            """Write the values of some rows."""
            K[rows, :] = values

        self._map(fill)
        return K

    def _map(self, work: Callable[[slice, Array], Any]) -> list[Any]:
        """Return work(rows, values) for blocks of rows and their kernel values."""

        def block(rows: slice) -> Any:
            """Compute the kernel values of some rows, and pass them on."""
            return work(rows, self.kernel.finite_values(self.kernel(sliced(self.X, rows), self.X)))

        n, foreign = count(self.X), is_foreign(self.diagonal)
        parts = blocks(n, max(1, (DEVICE_VALUES if foreign else ENTRIES) // n))
        if foreign or not self.kernel.on_vectors:  # such kernels use all cores themselves
            return [block(rows) for rows in parts]
        with one_thread_each():
            return map_in_threads(block, parts)
