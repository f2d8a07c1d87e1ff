from __future__ import annotations

from .._arrays import Items, take
from ..embedding import Embedding
from ..kernels import Kernel
from .base import Decoder, restore, unsuited


class Direct(Decoder):
    """The predicted point itself, for output kernels whose features are the output (`Linear`).

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Direct
    >>> model = KernelDependency("linear", alpha=1e-9, decoder=Direct())
    >>> model.fit([[1.0], [2.0]], [[2.0, 0.0], [4.0, 0.0]]).predict([[3.0]]).round(4)
    array([[6., 0.]])
    """

    def fit(self, kernel: Kernel, y: Items) -> Direct:
        """Keep the shape of an output."""
        undone = kernel.features is not None and kernel.features.inverse is not None
        if not undone:
            raise unsuited(self, kernel, "whose features can be undone, such as Linear()")
        self.kernel_ = kernel
        self.sample_ = take(y, [0])
        return self

    def decode(self, points: Embedding) -> Items:
        """The features of the points, undone."""
        F = points.frame.kernel_features(points.coordinates)
        outputs = self.kernel_.features.inverse(F)
        return restore(outputs, self.sample_) if self.kernel_.on_vectors else outputs
