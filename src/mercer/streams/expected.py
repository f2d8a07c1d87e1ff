"""What every block of a stream has to be like, and the refusal of one that is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Items, count, is_foreign
from ..kernels import Kernel


class BadBlock(ValueError):
    """A block of a stream that cannot be learnt from; its message has the block's number."""


@dataclass(frozen=True)
class Expected:
    """The kinds of the first block, which all others are held against.

    Attributes
    ----------
    kernels, output_kernel
        What checks the items themselves: NaN, infinities, things that are no vectors.
    X, y
        The first pair of the stream, as it was given, as batches of one.
    shapes
        The shapes of a checked input and output, where they are vectors or arrays.
    """

    kernels: tuple[Kernel, ...]
    output_kernel: Kernel
    X: Items
    y: Items
    shapes: tuple[Any, Any]

    @classmethod
    def of(cls, kernels: tuple[Kernel, ...], output_kernel: Kernel, block: Any) -> Expected:
        """Read off the first block."""
        X, y = _pair(0, block)
        with naming(0):
            inputs, outputs = kernels[0].check(X, "X"), output_kernel.as_outputs(y)
            shapes = _shape(kernels[0], inputs), _shape(output_kernel, outputs)
            return cls(kernels, output_kernel, _first(X), _first(y), shapes)

    def checked(self, number: int, block: Any) -> tuple[Items, Items]:
        """Inputs and outputs of a block, or a `BadBlock` that names it."""
        X, y = _pair(number, block)
        with naming(number):
            _same_dtype(X, self.X, "X")
            _same_dtype(y, self.y, "y")
            inputs = self.kernels[0].check(X, "X")
            for kernel in self.kernels[1:]:
                kernel.check(inputs, "X")
            outputs = self.output_kernel.as_outputs(y)
            self.output_kernel.check(outputs, "y")
            if count(inputs) != count(outputs):
                raise ValueError(
                    f"it has {count(inputs)} inputs and {count(outputs)} outputs: a block is a "
                    "pair (X, y) of equal length."
                )
            _same_shape(_shape(self.kernels[0], inputs), self.shapes[0], "X")
            _same_shape(_shape(self.output_kernel, outputs), self.shapes[1], "y")
        return inputs, outputs


class naming:
    """Put the number of the block in front of whatever is wrong with it."""

    def __init__(self, number: int):
        self.number = number

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ValueError | TypeError):
            raise BadBlock(f"block {self.number} of the stream: {error}") from error


def _pair(number: int, block: Any) -> tuple[Items, Items]:
    if not isinstance(block, tuple | list) or len(block) != 2:
        raise BadBlock(
            f"block {number} of the stream: a block is a pair (X, y), got {type(block).__name__}"
            f"{f' of {len(block)}' if isinstance(block, tuple | list) else ''}."
        )
    return block[0], block[1]


def _first(items: Items) -> Items:
    """A batch of the first item alone, a table with its names."""
    return items[:1, ...] if is_foreign(items) else items[:1]


def _shape(kernel: Kernel, items: Items) -> tuple | None:
    """The shape of one item, where items are vectors or arrays of one shape."""
    return tuple(items.shape[1:]) if kernel.on_vectors else None


def _same_shape(got: Any, wanted: Any, name: str) -> None:
    if got != wanted:
        raise ValueError(
            f"each item of {name} has shape {got}, in the first block it has {wanted}."
        )


def _same_dtype(A: Items, first: Items, name: str) -> None:
    got, wanted = getattr(A, "dtype", None), getattr(first, "dtype", None)
    if got is not None and wanted is not None and got != wanted and not _both_text(got, wanted):
        raise ValueError(
            f"{name} has dtype {got}, in the first block it has {wanted}: cast it, as in "
            f"{name}.astype({str(wanted)!r})."
        )


def _both_text(a: Any, b: Any) -> bool:
    """Text of any width is text: numpy gives every block the width of its longest."""
    return getattr(a, "kind", "") == getattr(b, "kind", "") == "U"
