"""PyTorch modules as functions from batches of arrays to features."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, is_foreign
from .._base.checks import must
from .._base.errors import require

ITEMS_PER_BATCH = 2048
"""The number of items that a network is applied to at once."""


class Network:
    """A PyTorch module as a function that maps a batch of arrays to rows of features.

    Parameters
    ----------
    module
        The module. A copy is kept, for evaluation: later changes of the module have no effect.
    """

    def __init__(self, module: Any):
        self.module = deepcopy(module).eval()

    def __call__(self, A: Items) -> Array:
        """Return the features of a batch in double precision, on the device of the batch."""
        require("torch", "torch")
        import torch

        foreign = is_foreign(A)
        T = A if foreign else torch.as_tensor(np.asarray(A, dtype=np.float64))
        module = self.module.to(device=T.device)
        dtype = next((p.dtype for p in module.parameters()), torch.float64)
        with torch.no_grad():
            parts = [
                module(batch).to(torch.float64) for batch in T.to(dtype).split(ITEMS_PER_BATCH)
            ]
        F = torch.cat(parts).flatten(1)
        return F if foreign else F.numpy()


def is_module(function: Any) -> bool:
    """Return whether an object is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn") for kind in type(function).__mro__)


def with_weights(module: Any, state: Any) -> Any:
    """Return a copy of a PyTorch module with the weights and buffers of `state`, by name."""
    if not is_module(module):
        raise TypeError(f"network must be a PyTorch module, got {type(module).__name__}.")
    import torch

    arrays = isinstance(state, dict) and all(isinstance(v, np.ndarray) for v in state.values())
    must(arrays, "a network must have arrays only")
    copied = deepcopy(module)
    try:
        copied.load_state_dict({name: torch.as_tensor(value) for name, value in state.items()})
    except RuntimeError as problem:
        raise ValueError(f"network must have the saved layers: {problem!s:.300}") from None
    return copied
