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
    shapes, dtypes
        Of an input and an output, where they are vectors or arrays.
    X, y
        The first pair of the stream, as it was given, as batches of one; None once it was seen.
    """

    kernels: tuple[Kernel, ...]
    output_kernel: Kernel
    shapes: tuple[Any, Any]
    dtypes: tuple[Any, Any]
    X: Items = None
    y: Items = None

    @classmethod
    def of(cls, kernels: tuple[Kernel, ...], output_kernel: Kernel, block: Any) -> Expected:
        """Read off the first block."""
        X, y = _pair(0, block)
        with naming(0):
            _refuse_empty(X)
            inputs, outputs = kernels[0].check(X, "X"), output_kernel.as_outputs(y)
            shapes = _shape(kernels[0], inputs), _shape(output_kernel, outputs)
            dtypes = _dtype(X), _dtype(y)
            return cls(kernels, output_kernel, shapes, dtypes, _first(X), _first(y))

    def checked(self, number: int, block: Any) -> tuple[Items, Items]:
        """Inputs and outputs of a block, or a `BadBlock` that names it."""
        X, y = _pair(number, block)
        with naming(number):
            _refuse_empty(X)
            _same_dtype(_dtype(X), self.dtypes[0], "X")
            _same_dtype(_dtype(y), self.dtypes[1], "y")
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


def _refuse_empty(X: Items) -> None:
    """A list without items has no kind that a kernel could speak of."""
    if isinstance(X, list | tuple) and not X:
        raise ValueError("it is empty, found 0 sample(s): leave such blocks out.")


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


def _dtype(items: Items) -> str | None:
    """The dtype of an array by name; text of any width is text, as wide as its longest."""
    dtype = getattr(items, "dtype", None)
    return "text" if getattr(dtype, "kind", "") == "U" else dtype and str(dtype)


def _same_dtype(got: str | None, wanted: str | None, name: str) -> None:
    if got is not None and wanted is not None and got != wanted:
        raise ValueError(
            f"{name} has dtype {got}, in the first block it has {wanted}: cast it, as in "
            f"{name}.astype({wanted!r})."
        )
