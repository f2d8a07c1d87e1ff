from __future__ import annotations

from .._base.arrays import Array, Items, take
from .._base.parameters import parameters
from ..kernels import Kernel
from .base import FeatureMap, check_width


@parameters
class Explicit(FeatureMap):
    """The exact finite features of a kernel, such as the vectors of a linear kernel.

    Parameters
    ----------
    sparse : bool, default=False
        Whether features of inputs are a sparse matrix: bags of words or of substrings, of which an
        item has a few of thousands. The moments are dense, features × features.

    Examples
    --------
    >>> from mercer.features import Explicit
    >>> from mercer.kernels import Linear
    >>> Explicit().fit_transform(4.0 * Linear(), [[1.0, 2.0]])
    array([[2., 4.]])
    """

    sparse: bool = False
    trace_error_ = 0.0
    projects = True
    depends_on_data = False

    def fit(self, kernel: Kernel, A: Items) -> Explicit:
        """Store the kernel and the number of its features."""
        self.fit_transform(kernel, take(kernel.check(A, "A"), [0]))
        return self

    def fit_transform(self, kernel: Kernel, A: Items) -> Array:
        """Fit the map, and return the features of the items, one row for each."""
        features = kernel.features
        if features is None:
            raise ValueError(f"{kernel} has no finite features: leave its features at None.")
        F = features.rows(A) if self.sparse else features.transform(A)
        self.kernel_, self.width_ = kernel, int(F.shape[1])
        return F

    def transform(self, A: Items) -> Array:
        """Return the features of the items, one row for each."""
        features = self.kernel_.features
        F = features.rows(A) if self.sparse else features.transform(A)
        check_width(F.shape[1], self.width_, self.kernel_)
        return F

    def sqnorms(self, A: Items) -> Array:
        """Return the squared norm k(a, a) of each item, without computing features."""
        return self.kernel_.diag(A)

    def kernel_features(self, C: Array) -> Array:
        """Return the coordinates C unchanged, because they are the features."""
        return C
