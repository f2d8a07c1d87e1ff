"""What models that keep the left-out points of their training examples do alike."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._arrays import Items
from ..embedding import Embedding
from ..kernels import Kernel, Linear, as_kernel


class LeftOutPoints:
    """A model that `fit` leaves with `left_out_`: out of the bag, out of folds, or blended."""

    left_out_: Embedding
    decoder_: Any

    def loo_embed(self) -> Embedding:
        """The left-out point of every training example."""
        check_is_fitted(self)
        return self.left_out_

    def loo_predict(self) -> Items:
        """The decoded left-out prediction of every training example (or of its group)."""
        return self._flattened(self.decoder_.decode(self.loo_embed()))  # type: ignore[attr-defined]


def finite_kernel(kernel: Any, why: str) -> Kernel:
    """The kernel on inputs of a model that sees their finite features; None is the linear one."""
    kernel = clone(Linear() if kernel is None else as_kernel(kernel))
    if kernel.features is None:
        raise ValueError(
            f"{why}, and {kernel} has no finite ones: use a linear kernel, such as Linear() or "
            "Words()."
        )
    return kernel
