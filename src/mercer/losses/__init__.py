"""Losses on the length of a residual in the output feature space, for outputs that may be wrong.

The square loss ‖g(x) - Φ(y)‖² is what ``loss=None`` stands for. Here are two that grow only
linearly: one wrong output then pulls no harder than a hundred others.
"""

from .base import Loss, checked_loss, middle, shortened, tau_risk, typical
from .huber import EpsilonInsensitive, Huber

__all__ = [
    "EpsilonInsensitive", "Huber", "Loss", "checked_loss", "middle", "shortened", "tau_risk",
    "typical",
]  # fmt: skip
