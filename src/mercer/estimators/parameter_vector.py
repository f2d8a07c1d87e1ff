"""Named positive parameters as one vector of their logarithms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from .._arrays import host

RANGE = log(1e6)
"""How far the logarithm of a parameter may move from its start."""
OWNERS = ("scalar", "operator", "alpha", "landmarks")


@dataclass(frozen=True)
class Parameter:
    """One parameter, a number or an array of them.

    Attributes
    ----------
    owner
        "scalar", "operator", "alpha" or "landmarks".
    name
        As the owner names it.
    start
        Its value where the search starts.
    most
        The largest value that it may have.
    """

    owner: str
    name: str
    start: np.ndarray
    most: float = np.inf

    @property
    def logarithm(self) -> bool:
        """Whether the vector holds its logarithm; that of landmarks holds themselves."""
        return self.owner != "landmarks"

    @property
    def origin(self) -> np.ndarray:
        """What the vector holds of it where the search starts."""
        return np.ravel(np.log(self.start) if self.logarithm else self.start)

    @property
    def by_feature(self) -> bool:
        """Whether the spread of its entries is penalised."""
        return self.logarithm and self.start.ndim == 1 and self.start.size > 1


@dataclass(frozen=True)
class ParameterVector:
    """All parameters, one after the other."""

    parameters: Sequence[Parameter]

    def _parts(self, vector: np.ndarray) -> Iterator[tuple[Parameter, np.ndarray]]:
        """Every parameter with its entries of a vector."""
        ends = np.cumsum([p.start.size for p in self.parameters])
        return zip(self.parameters, np.split(vector, ends[:-1]), strict=True)

    @property
    def start(self) -> np.ndarray:
        """The vector at which a search starts."""
        return np.concatenate([p.origin for p in self.parameters])

    @property
    def moving(self) -> np.ndarray:
        """One for logarithms, which restarts change, and zero for landmarks."""
        return np.concatenate([np.full(p.start.size, float(p.logarithm)) for p in self.parameters])

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The smallest and largest value of every entry of the vector."""
        return [
            (entry - RANGE, min(entry + RANGE, log(p.most))) if p.logarithm else (-np.inf, np.inf)
            for p in self.parameters
            for entry in p.origin
        ]

    def values(self, vector: np.ndarray) -> dict[str, dict[str, Any]]:
        """The parameters of a vector, by owner and name."""
        found: dict[str, dict[str, Any]] = {owner: {} for owner in OWNERS}
        for p, entries in self._parts(vector):
            value = np.minimum(np.exp(entries) if p.logarithm else entries, p.most)
            value = value.reshape(p.start.shape)
            found[p.owner][p.name] = value if value.ndim else float(value)
        return found

    def in_order(self, slopes: Mapping[str, Mapping[str, Any]], vector: np.ndarray) -> np.ndarray:
        """Derivatives by owner and name as a vector like that of the parameters."""
        parts = []
        for p, entries in self._parts(vector):
            slope = np.ravel(host(slopes[p.owner][p.name])).astype(float)
            parts.append(slope * np.exp(entries) if p.logarithm else slope)
        return np.concatenate(parts)

    def spread(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """½ Σ_p (δ_p - mean δ)², δ the move of each feature's logarithm, and its gradient."""
        moves = [
            entries - p.origin if p.by_feature else np.zeros_like(entries)
            for p, entries in self._parts(vector)
        ]
        gradient = np.concatenate([move - move.mean() for move in moves])
        return 0.5 * float(gradient @ gradient), gradient
