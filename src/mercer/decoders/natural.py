from __future__ import annotations

from ..kernels import Hamming, Kendall, Kernel, Positions, Spearman
from ..kernels.records import field_kernels
from ..spaces import LabelSets, Records
from .base import Decoder
from .candidates import Candidates
from .direct import Direct
from .positions import PerPosition
from .rankings import Assignment, Borda, Kemeny
from .records import PerField
from .refinement import FixedPoint
from .threshold import Threshold

EXACT: dict[type[Kernel], type[Decoder]] = {
    Kendall: Kemeny, Spearman: Borda, Hamming: Assignment, Positions: PerPosition,
}  # fmt: skip
"""The exact decoder of each kernel that has one; the kernel must have finite features."""


def natural(kernel: Kernel) -> Decoder:
    """Return the default decoder for an output kernel.

    Parameters
    ----------
    kernel : Kernel
        The output kernel.

    Examples
    --------
    >>> from mercer.decoders import natural
    >>> from mercer.kernels import RBF, Kendall
    >>> natural(Kendall()), natural(RBF(1.0))
    (Kemeny(), FixedPoint())
    """
    of_space = kernel.space.decoder(kernel)
    if of_space is not None:
        return of_space
    if isinstance(kernel.space, Records) and field_kernels(kernel) is not None:
        return PerField()
    features = kernel.features
    if features is not None and features.inverse is not None:
        return Threshold() if isinstance(kernel.space, LabelSets) else Direct()
    plain = kernel.multiple.kernel
    for kind, decoder in EXACT.items():
        if isinstance(plain, kind) and plain.features is not None:
            return decoder()
    if features is None and kernel.on_vectors and kernel.radial is not None:
        return FixedPoint()
    return Candidates()
