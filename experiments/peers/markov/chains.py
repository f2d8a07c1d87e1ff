"""Chains of vectors and their labels, checked and concatenated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.arrays import Items, require_equal_lengths
from mercer.kernels import Alphabet, Kernel, Positions
from mercer.spaces import as_sequences

LABEL_TYPE = np.int32
"""The dtype of label numbers; with one dtype, each loop is compiled only once."""


@dataclass(frozen=True)
class Chains:
    """Concatenated sequences of vectors: chain i is vectors[starts[i]:starts[i + 1]]."""

    vectors: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, X: Items, kernel: Kernel, width: int | None = None) -> Chains:
        """Check sequences of finite vectors of the given width, and return them concatenated."""
        items = Positions(kernel).check(X, "X")
        filled = [item for item in items if len(item)]
        if width is None and not filled:
            raise ValueError("X must have a sequence that is not empty, got empty sequences only.")
        if filled and width not in (None, filled[0].shape[1]):
            raise ValueError(
                f"X has vectors of length {filled[0].shape[1]}, but the model was fitted on "
                f"vectors of length {width}."
            )
        vectors = np.concatenate(filled) if filled else np.zeros((0, width or 0))
        return cls(vectors, np.concatenate([[0], np.cumsum([len(item) for item in items])]))

    @property
    def lengths(self) -> np.ndarray:
        """The number of positions of each chain."""
        return np.diff(self.starts)

    def split(self, rows: Any) -> list:
        """Return one array per chain from an array with one row per position."""
        return np.split(rows, self.starts[1:-1])


def encode_labels(chains: Chains, y: Items) -> tuple[np.ndarray, Alphabet, np.ndarray]:
    """Return checked label sequences, their alphabet, and the label number at each position."""
    if y is None:
        raise ValueError("MaxMarginMarkovNetwork requires y to be passed, but y is None.")
    outputs = as_sequences(y, "y")
    require_equal_lengths(len(chains.lengths), len(outputs))
    for i, (length, output) in enumerate(zip(chains.lengths, outputs, strict=True)):
        if len(output) != length:
            raise ValueError(
                f"y[{i}] has {len(output)} labels, but X[{i}] has {length} vectors: every vector "
                "must have one label. mercer.SequenceTransducer aligns sequences of other lengths."
            )
        if any(label is None or label != label for label in output):
            raise ValueError(f"y[{i}] holds a label that is missing (None or NaN). Remove it.")
    labels = Alphabet.of(outputs)
    return outputs, labels, labels.encode(outputs).flat.astype(LABEL_TYPE)
