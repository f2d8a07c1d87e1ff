"""The training pairs and settings of a fit, and their alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.arrays import Items
from ..._base.memory import GIB, PLANNED_FRACTION, available
from ...kernels import Alphabet, Codes, LocalWindow
from ...operators import Operator
from ...spaces import Sequences
from .aligned import Aligned
from .alignment import align
from .checks import alignable_pairs
from .contexts import Contexts
from .inputs import InputCoder, reverse_if_backward, select_sequences, word_separators
from .side_information import fit_context_coder
from .tiers import make_tiers
from .words import has_words, letters_in_words

HISTORY, ENDS = 2, 3
"""The numbers of last output symbols, and of first and last input symbols, that are features."""
BYTES_PER_FEATURE = 24.0
"""The bytes of memory for each feature of each position while a model is fitted."""


@dataclass(frozen=True)
class Task:
    """Training pairs, and the settings that a fit does not choose.

    Attributes
    ----------
    model
        The `SequenceTransducer`, for its parameters.
    X, y, labels
        Inputs, outputs, and the group of each pair.
    context
        The context of each input; None if there is none.
    outputs
        Outputs without inputs, for the n-gram model; None if there are none.
    window, operator
        The kernel of positions, and the operator on chunks.
    """

    model: Any
    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    context: Items | None
    outputs: np.ndarray | None
    window: LocalWindow
    operator: Operator

    def aligned(self, backward: bool) -> Aligned:
        """Return the training pairs, encoded and aligned; read from their ends if `backward`.

        Pairs that cannot be aligned are skipped or an error, as the model's parameters say.
        """
        model = self.model
        context = fit_context_coder(self.context, model.context_kernel)
        targets = Alphabet.of(self.y)
        coder = InputCoder.of(self.X, targets, context, self.context, backward)
        target = reverse_if_backward(targets.encode(self.y), backward)
        inputs = coder.encode(self.X, self.context)
        lengths = inputs.source.lengths, target.lengths
        keep = alignable_pairs(*lengths, model.max_chunk, model.unalignable)
        inputs, target = inputs.take(keep), select_sequences(target, keep)[0]
        words = has_words(inputs)
        finer = letters_in_words(inputs) if words else []
        separators = word_separators(coder.symbols), word_separators(targets)
        alignment = align(inputs.source, target, model.max_chunk, finer, separators)
        tiers = None
        if model.tiers is not None:
            bare = coder.symbols.encode(self.X)
            tiers = make_tiers(model.tiers, coder.symbols, targets, bare, target)
        coordinates = inputs.context.shape[1]
        contexts = Contexts(self.window, HISTORY, tiers, ENDS, backward, words, coordinates)
        check_feature_memory(contexts, inputs.source)
        return Aligned(
            alignment, inputs, contexts, coder, keep, self.labels[keep], self.operator,
            float(model.alpha), model.max_chunk, self._more_outputs(targets, backward),
        )  # fmt: skip

    def _more_outputs(self, targets: Alphabet, backward: bool) -> Codes | None:
        """Return the encoded additional outputs without unknown symbols; None if there are none."""
        if self.outputs is None:
            return None
        codes = reverse_if_backward(targets.encode(self.outputs), backward)
        unknown = np.bincount(codes.rows[codes.flat < 0], minlength=len(codes.lengths))
        return select_sequences(codes, np.flatnonzero(unknown == 0))[0]


def check_feature_memory(contexts: Contexts, source: Codes) -> None:
    """Raise an error if the features of all positions do not fit into memory."""
    kinds = len(contexts.templates) + len(contexts.shared_templates) + len(contexts.pairs[1])
    need, free = BYTES_PER_FEATURE * len(source.flat) * kinds, PLANNED_FRACTION * available()
    if need > free:
        raise MemoryError(
            f"the features of {len(source.flat)} symbols take {need / GIB:.1f} GiB, and "
            f"{max(free, 0) / GIB:.1f} GiB are free. Fit to fewer pairs, or lower the "
            "radius of the kernel."
        )


def groups_of_equal_inputs(X: np.ndarray, context: Items | None) -> np.ndarray:
    """Return a group number for each pair: equal for pairs with equal input and context."""
    labels = Sequences().unique(X)[1]
    if context is None:
        return labels
    pairs = [f"{x} {c}" for x, c in zip(labels, context, strict=True)]
    return np.unique(pairs, return_inverse=True)[1].reshape(-1)
