"""Checks of blocks: each must have the form of the first one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from .._base.arrays import (
    Items,
    column_names,
    count,
    dtype_name,
    is_batch,
    is_foreign,
    refuse_scalar,
)
from .._base.errors import LocatedError
from ..kernels import Delta, Kernel

Step = Callable[[int, Items, Items, np.ndarray | None], Any]
"""A function of the number of the first pair of a block, and of its inputs, outputs and weights."""
READ_AS = {"U": "text", "i": "float64", "u": "float64", "b": "float64"}
"""The dtype under which arrays of each kind are compared between blocks."""


class BadBlock(LocatedError):
    """Error for a block that cannot be learnt from; the message has the block's number.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.features import IncompleteCholesky
    >>> from mercer.kernels import RBF
    >>> from mercer.sources import BadBlock, Stream
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> blocks = Stream(lambda: iter([(X, X), (X, X[:3])]))
    >>> try:
    ...     KernelDependency(RBF(0.5), features=IncompleteCholesky(10)).fit(blocks)
    ... except BadBlock as problem:
    ...     print("block 1" in str(problem))
    True
    """


@dataclass(frozen=True)
class Expected:
    """The form of the first block (shapes, dtypes, column names), which all blocks must have.

    Attributes
    ----------
    kernels, output_kernel
        What checks the items themselves: NaN, infinities, items that are not vectors.
    shapes, dtypes
        Of an input and an output, where they are vectors or arrays.
    X, y
        The first pair, as it was given, as batches of one; None once it was seen.
    names
        The column names of inputs and outputs, where they are tables that are read as vectors.
    """

    kernels: tuple[Kernel, ...]
    output_kernel: Kernel
    shapes: tuple[Any, Any]
    dtypes: tuple[Any, Any]
    X: Items = None
    y: Items = None
    names: tuple[Any, Any] = (None, None)

    @classmethod
    def of(cls, kernels: tuple[Kernel, ...], output_kernel: Kernel, block: Any) -> Expected:
        """Return the shapes, dtypes and names of the first block, and store the kernels."""
        with naming_block(0):
            X, y, _ = _inputs_outputs_weights(block)
            inputs, outputs = kernels[0].check(X, "X"), output_kernel.as_outputs(y)
            shapes = _item_shape(kernels[0], inputs), _item_shape(output_kernel, outputs)
            dtypes = _dtype_name(X), _dtype_name(y)
            names = _column_names(kernels[0], X), _column_names(output_kernel, y)
            first = _first_item(X), _first_item(y)
            return cls(kernels, output_kernel, shapes, dtypes, *first, names)

    def checked(self, number: int, block: Any) -> tuple[Items, Items, np.ndarray | None]:
        """Return X, y and weights of a block; raise a `BadBlock` if types or shapes are wrong."""
        with naming_block(number):
            X, y, w = _inputs_outputs_weights(block)
            _require_dtype(_dtype_name(X), self.dtypes[0], "X")
            _require_dtype(_dtype_name(y), self.dtypes[1], "y")
            inputs = self.kernels[0].check(X, "X")
            for kernel in self.kernels[1:]:
                kernel.check(inputs, "X")
            outputs = self.output_kernel.as_outputs(y)
            self.output_kernel.check(outputs, "y")
            _require_known_classes(self.output_kernel, outputs)
            if count(inputs) != count(outputs):
                raise ValueError(
                    f"it has {count(inputs)} inputs and {count(outputs)} outputs: a block is a "
                    "pair (X, y) of equal length."
                )
            _require_shape(_item_shape(self.kernels[0], inputs), self.shapes[0], "X")
            _require_shape(_item_shape(self.output_kernel, outputs), self.shapes[1], "y")
            _require_names(_column_names(self.kernels[0], X), self.names[0], "X")
            _require_names(_column_names(self.output_kernel, y), self.names[1], "y")
            return inputs, outputs, None if w is None else _checked_weights(w, count(inputs))

    def apply(self, step: Step, number: int, start: int, block: Any) -> Any:
        """Check a block, and return `step(start, X, y, weights)`; errors have its number."""
        checked = self.checked(number, block)
        with naming_block(number):
            return step(start, *checked)


@contextmanager
def naming_block(number: int) -> Iterator[None]:
    """Add the block's number to the message of errors raised in this context."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise BadBlock(f"block {number} of the stream: {error}") from error


def number_of_pairs(block: Any) -> int:
    """Return the number of pairs in a block; 0 for an invalid block."""
    whole = isinstance(block, tuple | list) and len(block) in (2, 3)
    return count(block[1]) if whole and is_batch(block[1]) else 0


def _inputs_outputs_weights(block: Any) -> tuple[Items, Items, Any]:
    """Return X, y and weights (or None) of a block; raise an error if it is not a block."""
    if not isinstance(block, tuple | list) or len(block) not in (2, 3):
        raise ValueError(
            "a block is a pair (X, y) or has weights too, (X, y, w); got "
            f"{type(block).__name__}{f' of {len(block)}' if isinstance(block, Sized) else ''}."
        )
    if isinstance(block[0], list | tuple) and not block[0]:  # which a kernel could not recognise
        raise ValueError("it is empty, found 0 sample(s): leave such blocks out.")
    for items, name in zip(block, ("X", "y", "the weights"), strict=False):
        refuse_scalar(items, name)
    return block[0], block[1], block[2] if len(block) == 3 else None


def _checked_weights(w: Any, n: int) -> np.ndarray:
    """Return n weights as floats; raise an error for negative or missing ones."""
    if count(w) != n:
        raise ValueError(f"it has {n} pairs and {count(w)} weights: give one weight a pair.")
    w = check_array(w, ensure_2d=False, dtype=np.float64, input_name="the weights")
    if w.shape != (n,) or (w < 0).any():
        raise ValueError("weights are numbers ≥ 0, one a pair: some are negative, or not numbers.")
    return w


def _first_item(items: Items) -> Items:
    """Return a batch that has only the first item of a batch; a table keeps its column names."""
    return items[:1, ...] if is_foreign(items) else items[:1]


def _item_shape(kernel: Kernel, items: Items) -> tuple | None:
    """Return the shape of one item; None if items are not vectors or arrays."""
    return tuple(items.shape[1:]) if kernel.on_vectors else None


def _require_shape(got: Any, wanted: Any, name: str) -> None:
    """Raise an error if the shape `got` of items is not that of the first block."""
    if got != wanted:
        message = f"each item of {name} has shape {got}, in the first block it has {wanted}"
        if name == "X" and len(got) == len(wanted) == 1:  # as scikit-learn words it
            expected = f"it is expecting {wanted[0]} features as input"
            message = f"{message}: X has {got[0]} features, but {expected}"
        raise ValueError(f"{message}.")


def _require_known_classes(kernel: Kernel, outputs: Items) -> None:
    """Raise an error for a class that a fitted `Delta` does not know: it has no feature."""
    delta = kernel.multiple.kernel
    if not isinstance(delta, Delta) or "classes_" not in vars(delta):
        return
    classes = dict.fromkeys(delta.space.keys(delta.classes_))
    for i, key in enumerate(kernel.space.keys(outputs)):
        if key not in classes:
            names = ", ".join(map(repr, [*classes][:5])) + (", …" if len(classes) > 5 else "")
            raise ValueError(
                f"y[{i}] has the class {key!r}, which was not in the first pairs (known: {names}). "
                "Leave it out, or name all classes with Delta(classes=[...])."
            )


def _column_names(kernel: Kernel, items: Items) -> list[str] | None:
    """Return the column names of a table of vectors; None for other items."""
    return column_names(items) if kernel.on_vectors else None


def _require_names(got: list[str] | None, wanted: list[str] | None, name: str) -> None:
    """Raise an error if the columns of a table are not those of the first block, in order."""
    side = "feature" if name == "X" else "output"
    for here, there in zip(got or [], wanted or [], strict=False):
        if here != there:
            raise ValueError(
                f"The {side} names should match those that were passed during fit, in the same "
                f"order: {name} has the column {here!r} where the first block has {there!r}."
            )


def _dtype_name(items: Items) -> str | None:
    """Return the name of the dtype of an array; text of any width is "text".

    Integers count as float64: one block of a table may happen to have no fractions.
    """
    if isinstance(items, np.ndarray) and items.dtype.kind in READ_AS:
        return READ_AS[items.dtype.kind]
    return dtype_name(items) or None


def _require_dtype(got: str | None, wanted: str | None, name: str) -> None:
    """Raise an error if the dtype `got` of an array is not that of the first block."""
    if got is not None and wanted is not None and got != wanted:
        raise ValueError(
            f"{name} has dtype {got}, in the first block it has {wanted}: cast it, as in "
            f"{name}.astype({wanted!r})."
        )
