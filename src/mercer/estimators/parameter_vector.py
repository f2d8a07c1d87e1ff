"""Named positive parameters as one vector of their logarithms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from .._base.arrays import host

RANGE = log(1e6)
"""The largest change of the logarithm of a parameter from its start."""


@dataclass(frozen=True)
class ParameterVector:
    """The positive parameters of a search, as one vector of their logarithms.

    Attributes
    ----------
    starts
        The value of each parameter at the start of the search, a number or an array, by the name
        that `set_params` takes.
    most
        The largest value that a name may have, where there is one.
    """

    starts: Mapping[str, np.ndarray]
    most: Mapping[str, float]

    def _entries_by_name(self, vector: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the name and the entries of each parameter in the vector."""
        ends = np.cumsum([start.size for start in self.starts.values()])
        return zip(self.starts, np.split(vector, ends[:-1]), strict=True)

    @property
    def start(self) -> np.ndarray:
        """The vector of log parameters at the start of a search."""
        return np.concatenate([np.ravel(np.log(start)) for start in self.starts.values()])

    @property
    def bounds(self) -> Bounds:
        """The lower and upper bounds of the entries of the vector."""
        start = self.start
        most = [
            np.full(entries.size, self.most.get(name, np.inf))
            for name, entries in self._entries_by_name(start)
        ]
        return Bounds(start - RANGE, np.minimum(start + RANGE, np.log(np.concatenate(most))))

    def values(self, vector: np.ndarray) -> dict[str, Any]:
        """Return the values of the parameters by name, given a vector of log parameters."""
        found: dict[str, Any] = {}
        for name, entries in self._entries_by_name(vector):
            most = self.most.get(name, np.inf)
            value = np.minimum(np.exp(entries), most).reshape(self.starts[name].shape)
            found[name] = value if value.ndim else float(value)
        return found

    def gradient_of(self, slopes: Mapping[str, Any], vector: np.ndarray) -> np.ndarray:
        """Convert derivatives `slopes` by parameter name to a gradient in the log parameters."""
        parts = [np.ravel(host(slopes[name])).astype(float) for name in self.starts]
        return np.concatenate(parts) * np.exp(vector)

    def spread_penalty(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return a penalty on unequal changes of the log parameters, and its gradient.

        It is ½ Σ_p (δ_p - mean δ)² with the changes δ_p from the start. The sum is over the entries
        of parameters that have one entry for each feature.
        """
        moves = [
            move - move.mean() if self.starts[name].ndim == 1 else np.zeros_like(move)
            for name, move in self._entries_by_name(vector - self.start)
        ]
        gradient = np.concatenate(moves)
        return 0.5 * float(gradient @ gradient), gradient
