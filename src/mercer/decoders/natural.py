from __future__ import annotations

from typing import Any

from sklearn.base import clone

from .._base.arrays import Array, Items
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


def fitted_decoder(
    decoder: Decoder | None, kernel: Kernel, y: Items, sample_weight: Array | None = None
) -> Decoder:
    """Return a clone of a decoder, fitted on training outputs y with sample weights.

    It is the default of the kernel if `decoder` is None.
    """
    if isinstance(decoder, str | type):
        raise TypeError(
            "decoder must be None or an instance of a decoder of mercer.decoders, such as "
            f"Direct(); got {decoder!r}."
        )
    made: Any = natural(kernel) if decoder is None else clone(decoder)
    if sample_weight is None or not made.uses_sample_weight:
        return made.fit(kernel, y)
    return made.fit(kernel, y, sample_weight)


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
