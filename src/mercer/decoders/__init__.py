r"""Decoders convert predicted points of the feature space to outputs.

The prediction is :math:`f(x) = \arg\max_y 2 \langle g(x), \Phi(y) \rangle - l(y, y)`, the output
whose point is nearest to :math:`g(x)`. `Candidates` searches a list of outputs, for any kernel l.
Other decoders search all outputs, or make new ones, for the kernels that they support.
"""

from .barycenter import GromovWassersteinBarycenter
from .base import Decoder, Ranked
from .by_loss import ByLoss
from .candidates import Candidates
from .direct import Direct, Simplex
from .expected_f1 import ExpectedF1
from .lexicon import Lexicon
from .natural import natural
from .ngram_path import NGramPath
from .positions import PerPosition, Viterbi
from .rankings import Assignment, Borda, Kemeny
from .records import PerField
from .refinement import FixedPoint, Gradient
from .search import Search
from .threshold import Threshold
from .tree_chart import TreeChart

__all__ = [
    "Assignment", "Borda", "ByLoss", "Candidates", "Decoder", "Direct", "ExpectedF1", "FixedPoint",
    "Gradient", "GromovWassersteinBarycenter", "Kemeny", "Lexicon", "NGramPath", "PerField",
    "PerPosition", "Ranked", "Search", "Simplex", "Threshold", "TreeChart", "Viterbi", "natural",
]  # fmt: skip
