"""Arrays of numpy or PyTorch, and batches of independent problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import array_api_compat
import numpy as np


def on_device(values: np.ndarray, device: str | None) -> Any:
    """Return an array unchanged, or as a PyTorch tensor on the device."""
    if device is None:
        return values
    import torch

    return torch.as_tensor(values, device=device)


def like(values: np.ndarray, other: Any) -> Any:
    """Return `values` in the container of `other`."""
    return on_device(values, None if isinstance(other, np.ndarray) else str(other.device))


def namespace(values: Any) -> Any:
    """Return the array namespace of an array."""
    return array_api_compat.array_namespace(values)


def batches(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows of n."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def by_batches(solve: Callable[[Any], Any], values: np.ndarray, size: int, device: Any) -> Any:
    """Return solutions of all rows of `values`, computed in batches of `size` rows."""
    found = [solve(on_device(values[rows], device)) for rows in batches(len(values), size)]
    return namespace(found[0]).concat(found)
