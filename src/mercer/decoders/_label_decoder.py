"""What decoders of label sets under a linear output kernel share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.arrays import Items, dense, host, is_foreign, like, take
from ..embedding import Embedding
from ..kernels import Kernel, Labels
from .base import Decoder, unsuited_kernel


class LabelDecoder(Decoder):
    """A decoder that selects labels by their scores, the coordinates of a predicted point."""

    def fit(self, kernel: Kernel, y: Items) -> LabelDecoder:
        """Store one training output, whose form (array or list) predictions will have."""
        core = kernel.multiple.kernel
        on_labels = isinstance(core, Labels)
        invertible = kernel.features is not None and kernel.features.inverse is not None
        if not (invertible and (kernel.on_vectors or on_labels)):
            raise unsuited_kernel(
                self, kernel, "linear in the labels, such as Labels() or Linear()"
            )
        self.labels_: Any = core if on_labels else Labels().fit(Labels().as_outputs(y))
        self.kernel_: Any = kernel
        self.sample_ = take(y, [0])
        return self

    def encoded(self, y: Items) -> np.ndarray:
        """Return label sets as indicator rows."""
        return host(dense(self.labels_.check(y, "y")))

    def _scores(self, points: Embedding) -> np.ndarray:
        """Return the score of each label (column) at each predicted point (row)."""
        return host(self.kernel_.features.inverse(points.frame.kernel_features(points.coordinates)))

    def _as_label_sets(self, chosen: np.ndarray) -> Items:
        """Return label sets in the form of the training outputs, given boolean indicator rows."""
        if is_foreign(self.sample_):
            return like(chosen.astype(float), self.sample_)
        return self.labels_.decoded(chosen, self.sample_)
