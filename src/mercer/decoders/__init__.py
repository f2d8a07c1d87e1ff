"""Decoders: the pre-image, from a predicted point back to an output.

f(x) = argmax_y 2⟨g(x), Φ(y)⟩ - l(y, y), over all outputs where the kernel's structure allows it,
over candidates always.
"""

from ..kernels import Hamming, Kendall, Kernel, Labels, Positions, Spearman
from .barycenter import GromovWassersteinBarycenter
from .base import Decoder
from .candidates import Candidates
from .direct import Direct
from .lexicon import Lexicon
from .ngram_path import NGramPath
from .positions import PerPosition, Viterbi
from .rankings import Assignment, Borda, Kemeny
from .refinement import FixedPoint, Gradient
from .simplex import Simplex
from .threshold import Threshold

__all__ = [
    "Assignment",
    "Borda",
    "Candidates",
    "Decoder",
    "Direct",
    "FixedPoint",
    "Gradient",
    "GromovWassersteinBarycenter",
    "Kemeny",
    "Lexicon",
    "NGramPath",
    "PerPosition",
    "Simplex",
    "Threshold",
    "Viterbi",
    "natural",
]


NATURAL: dict[type[Kernel], type[Decoder]] = {
    Labels: Threshold,
    Positions: PerPosition,
    Kendall: Kemeny,
    Spearman: Borda,
    Hamming: Assignment,
}
"""Kernels with finite features whose structure a decoder of its own undoes."""


def natural(kernel: Kernel) -> Decoder:
    """The decoder that suits an output kernel where the user names none."""
    features = kernel.features
    for kind, decoder in NATURAL.items():
        if isinstance(kernel.multiple.kernel, kind) and features is not None:
            return decoder()
    if features is not None and features.inverse is not None:
        return Direct()
    return FixedPoint() if kernel.radial is not None and kernel.on_vectors else Candidates()
