"""Decoders: the pre-image, from a predicted point back to an output.

f(x) = argmax_y 2⟨g(x), Φ(y)⟩ - l(y, y), over all outputs where the kernel's structure allows it,
over candidates always.
"""

from ..kernels import Kernel
from .base import Decoder
from .candidates import Candidates
from .direct import Direct
from .lexicon import Lexicon
from .ngram_path import NGramPath
from .positions import PerPosition, Viterbi
from .refinement import FixedPoint, Gradient

__all__ = [
    "Candidates",
    "Decoder",
    "Direct",
    "FixedPoint",
    "Gradient",
    "Lexicon",
    "NGramPath",
    "PerPosition",
    "Viterbi",
    "natural",
]


def natural(kernel: Kernel) -> Decoder:
    """The decoder that suits an output kernel where the user names none."""
    if kernel.invertible:
        return Direct()
    return FixedPoint() if kernel.radial and kernel.on_vectors else Candidates()
