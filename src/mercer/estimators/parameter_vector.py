"""Named positive parameters as one vector of their logarithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from .._arrays import host

RANGE = log(1e6)
"""How far the logarithm of a parameter may move from its start."""
OWNERS = ("scalar", "operator", "alpha", "landmarks")


@dataclass(frozen=True)
class Place:
    """Where a parameter stands in the vector of logarithms.

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
    at
        Its entries of the vector.
    """

    owner: str
    name: str
    start: np.ndarray
    most: float
    at: slice

    @property
    def logarithm(self) -> bool:
        """Whether the vector holds its logarithm."""
        return self.owner != "landmarks"

    @property
    def by_feature(self) -> bool:
        """Whether the spread of its entries is penalised."""
        return self.logarithm and self.start.ndim == 1 and self.start.size > 1


@dataclass(frozen=True)
class ParameterVector:
    """The places of all parameters in the vector.

    Attributes
    ----------
    places
        One a parameter, in order.
    """

    places: Sequence[Place]

    @classmethod
    def of(
        cls, named: Sequence[tuple[str, str, Any]], most: Mapping[str, Mapping[str, float]]
    ) -> ParameterVector:
        """Of parameters (owner, name, start), and the largest values by owner and name."""
        places, end = [], 0
        for owner, name, value in named:
            start = np.array(value, dtype=float)
            largest = most.get(owner, {}).get(name, np.inf)
            places.append(Place(owner, name, start, largest, slice(end, end + start.size)))
            end += start.size
        return cls(places)

    @property
    def start(self) -> np.ndarray:
        """The vector at which a search starts."""
        starts = [np.log(p.start) if p.logarithm else p.start for p in self.places]
        return np.concatenate([np.ravel(start) for start in starts])

    @property
    def moving(self) -> np.ndarray:
        """One for logarithms, which restarts change, and zero for landmarks."""
        return np.concatenate([np.full(p.start.size, float(p.logarithm)) for p in self.places])

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The smallest and largest value of every entry of the vector."""
        found: list[tuple[float, float]] = []
        for place in self.places:
            for start in np.ravel(place.start):
                middle = log(start) if place.logarithm else 0.0
                far = RANGE if place.logarithm else np.inf
                found.append((middle - far, min(middle + far, log(place.most))))
        return found

    def values(self, vector: np.ndarray) -> dict[str, dict[str, Any]]:
        """The parameters of a vector, by owner and name."""
        found: dict[str, dict[str, Any]] = {owner: {} for owner in OWNERS}
        for place in self.places:
            entries = vector[place.at].reshape(place.start.shape)
            value = np.exp(entries) if place.logarithm else entries
            value = np.minimum(value, place.most)
            found[place.owner][place.name] = value if value.ndim else float(value)
        return found

    def in_order(self, slopes: Mapping[str, Mapping[str, Any]], vector: np.ndarray) -> np.ndarray:
        """Derivatives by owner and name as a vector like that of the parameters."""
        parts = []
        for place in self.places:
            slope = np.ravel(host(slopes[place.owner][place.name])).astype(float)
            parts.append(slope * np.exp(vector[place.at]) if place.logarithm else slope)
        return np.concatenate(parts)

    def spread(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """½ Σ_p (δ_p - mean δ)², δ the move of each feature's logarithm, and its gradient."""
        value, gradient = 0.0, np.zeros_like(vector)
        for place in self.places:
            if place.by_feature:
                moved = vector[place.at] - np.log(place.start)
                gradient[place.at] = moved - moved.mean()
                value += 0.5 * float(gradient[place.at] @ gradient[place.at])
        return value, gradient
