"""Named positive parameters as one vector of their logarithms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from .._base.arrays import host

RANGE = log(1e6)
"""How far the logarithm of a parameter may move from its start."""


@dataclass(frozen=True)
class Parameter:
    """A positive parameter, either a number or an array.

    Attributes
    ----------
    name
        As `set_params` names it.
    start
        Its value at the start of the search.
    most
        The largest value that it may have.
    """

    name: str
    start: np.ndarray
    most: float = np.inf

    @property
    def log_start(self) -> np.ndarray:
        """The logarithms of the starting values, as a vector."""
        return np.ravel(np.log(self.start))

    @property
    def penalised(self) -> bool:
        """Whether the parameter has one entry per feature, whose spread is penalised."""
        return self.start.ndim == 1 and self.start.size > 1


@dataclass(frozen=True)
class ParameterVector:
    """All parameters of a search, concatenated in one vector of logarithms."""

    parameters: Sequence[Parameter]

    def _parts(self, vector: np.ndarray) -> Iterator[tuple[Parameter, np.ndarray]]:
        """Yield every parameter with its slice of the vector."""
        ends = np.cumsum([p.start.size for p in self.parameters])
        return zip(self.parameters, np.split(vector, ends[:-1]), strict=True)

    @property
    def start(self) -> np.ndarray:
        """The logarithms of all parameters at the start of a search."""
        return np.concatenate([p.log_start for p in self.parameters])

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The lower and upper bound of every entry of the vector."""
        return [
            (entry - RANGE, min(entry + RANGE, log(p.most)))
            for p in self.parameters
            for entry in p.log_start
        ]

    def values(self, vector: np.ndarray) -> dict[str, Any]:
        """Return the value of each parameter, by name, from the vector of their logarithms."""
        found: dict[str, Any] = {}
        for p, entries in self._parts(vector):
            value = np.minimum(np.exp(entries), p.most).reshape(p.start.shape)
            found[p.name] = value if value.ndim else float(value)
        return found

    def gradient_of(self, slopes: Mapping[str, Any], vector: np.ndarray) -> np.ndarray:
        """Convert derivatives by parameter name to one gradient in the log parameters."""
        parts = [
            np.ravel(host(slopes[p.name])).astype(float) * np.exp(entries)
            for p, entries in self._parts(vector)
        ]
        return np.concatenate(parts)

    def spread(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return ½ Σ_p (δ_p - mean δ)² and its gradient; δ_p is the log change of entry p."""
        moves = [
            entries - p.log_start if p.penalised else np.zeros_like(entries)
            for p, entries in self._parts(vector)
        ]
        gradient = np.concatenate([move - move.mean() for move in moves])
        return 0.5 * float(gradient @ gradient), gradient
