"""A kernel between input symbols: similar letters, phonemes with features, images of letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import host
from ..._checks import Limits, array, indices, must
from ...kernels import Kernel, as_kernel
from ...kernels._sequences import Alphabet, Codes

RANK = 6
"""Coordinates of a symbol."""


@dataclass(frozen=True)
class SimilarSymbols:
    """Symbols that a kernel compares.

    Attributes
    ----------
    kernel
        The kernel, fitted.
    symbols
        The symbols met in training that it compares.
    numbers
        Their numbers in the alphabet of tokens.
    coordinates
        Of each token, and last of the unknown: (tokens + 1, rank); zero for those not compared.
    """

    kernel: Kernel
    symbols: list
    numbers: np.ndarray
    coordinates: np.ndarray

    def check_loaded(self, limits: Limits) -> None:
        """A row of coordinates for every symbol."""
        rows = array(self.coordinates, "coordinates", np.float64, None, None).shape[0]
        must(isinstance(self.kernel, Kernel) and isinstance(self.symbols, list), "no symbols")
        indices(self.numbers, "numbers", 0, rows, len(self.symbols))

    @classmethod
    def of(cls, kernel: Any, tokens: Alphabet, met: Alphabet) -> SimilarSymbols:
        """Compare the symbols `met` in training inputs; tokens for ends and labels are left out."""
        kernel = as_kernel(kernel)
        kernel = kernel.fit(kernel.check(met.symbols, "symbols"))
        K = host(kernel(met.symbols)).astype(float)
        scale = np.sqrt(np.maximum(np.diag(K), 1e-300))
        s, P = np.linalg.eigh(K / np.outer(scale, scale))
        top = np.argsort(-s)[:RANK]
        numbers = np.array([tokens.number[symbol] for symbol in met.symbols], dtype=np.int64)
        coordinates = np.zeros((len(tokens) + 1, len(top)))
        coordinates[numbers] = P[:, top] * np.sqrt(np.maximum(s[top], 0.0))
        return cls(kernel, met.symbols, numbers, coordinates)

    def nearest(self, symbol: Any) -> int:
        """Return the number of the known symbol that is most like one; -1 where none is."""
        similarity = host(self.kernel([symbol], self.symbols))[0]
        best = int(np.argmax(similarity))
        return int(self.numbers[best]) if similarity[best] > 0 else -1

    def replaced(self, codes: Codes, tokens: Any) -> Codes:
        """Take each unknown symbol for the known one that is most like it."""
        unknown = np.flatnonzero(codes.flat < 0)
        at = zip(codes.rows[unknown], codes.positions[unknown], strict=True)
        symbols = [tokens[row][position] for row, position in at]
        nearest = {symbol: self.nearest(symbol) for symbol in dict.fromkeys(symbols)}
        flat = codes.flat.copy()
        flat[unknown] = [nearest[symbol] for symbol in symbols]
        return Codes(flat, codes.starts)

    def beside(self, codes: Codes, offset: int) -> np.ndarray:
        """Return the coordinates of the symbol at an offset from each position; zero outside."""
        place = codes.positions + offset
        inside = (place >= 0) & (place < codes.lengths[codes.rows])
        numbers = np.full(len(codes.flat), -1)
        numbers[inside] = codes.flat[np.flatnonzero(inside) + offset]
        return self.coordinates[numbers]
