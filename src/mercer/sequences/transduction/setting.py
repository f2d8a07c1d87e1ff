"""The parameters of a transducer that can be chosen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """The parameters of a fit that can be chosen."""

    radius: int
    decay: float
    alpha: float
    max_chunk: int
    history: int
    direction: str

    @property
    def backward(self) -> bool:
        """Whether sequences are read from their end."""
        return self.direction == "backward"
