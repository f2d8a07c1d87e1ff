"""What is factored of each set of output directions that a kernel does not couple."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .._base.arrays import Array, Items, blocks, count, namespace, part
from ..operators import OperatorKernel
from .part import Part

DIAGONAL = 64
"""Inputs whose values against each other are made where only k(x, x) is needed."""


@dataclass(frozen=True)
class DirectionKernel:
    """The scalar kernel that some output directions share, as far as `InputGram` asks.

    Attributes
    ----------
    columns
        The directions.
    kernel
        The fitted operator-valued kernel.
    shares
        The eigenvalues of its operators along these directions, where it is a sum of scalar
        kernels times operators; None for a kernel that gives a scalar kernel for each component.
    held
        Its values between the training inputs, shared by all directions; not saved.
    """

    columns: np.ndarray
    kernel: OperatorKernel
    shares: list[float] | None = None
    held: Any = field(default=None, repr=False)

    features: ClassVar[None] = None

    def __getstate__(self) -> dict:
        return self.__dict__ | {"held": None}

    def __call__(self, A: Items, B: Items) -> Array:
        """Return the kernel values of two batches."""
        return self._along(self._values(A, B))

    def _values(self, A: Items, B: Items | None = None) -> Any:
        kernel = self.kernel
        return kernel.by_component(A, B) if self.shares is None else kernel.gram(A, B)

    def _along(self, values: Any) -> Array:
        """Return operator-valued kernel values along these directions."""
        if self.shares is None:
            return values.scalar(int(values.labels[self.columns[0]]))
        return sum(share * K for share, (K, _) in zip(self.shares, values.terms, strict=True))

    def checked_gram(self, X: Items) -> Array:
        """Return the Gram matrix of the training inputs."""
        return self._along(self._values(X) if self.held is None else self.held)

    def diag(self, A: Items) -> Array:
        """Return k(a, a), of a few inputs against each other at a time."""
        few = [part(A, rows) for rows in blocks(count(A), DIAGONAL)]
        own = [self(some, some) for some in few]
        xp = namespace(*own)
        return xp.concat([xp.linalg.diagonal(K) for K in own])


class LazyParts(Sequence[Part]):
    """Parts that are made when they are iterated over, and kept if there is room."""

    def __init__(self, makers: Sequence[Callable[[], Part]], keep: bool):
        self.makers, self.keep = makers, keep
        self.made: dict[int, Part] = {}

    def __len__(self) -> int:
        return len(self.makers)

    def __getitem__(self, i: Any) -> Any:
        if i in self.made:
            return self.made[i]
        made = self.makers[i]()
        if self.keep:
            self.made[i] = made
        return made
