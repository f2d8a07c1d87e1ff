from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._arrays import Items, blocks, object_array, take
from .._checks import Limits, bounded, finite, must
from .._from_file import FromFile
from .._lean import Lean
from .._progress import Observed, Steps, observed
from ..decoders.base import Ranked
from ..kernels._sequences import Alphabet, as_given, as_sequences
from ..metrics import exact_match
from ..problem import group_labels
from ..spaces import Sequences
from .transduction.alignment import align
from .transduction.calibration import Trial
from .transduction.checks import alignable, checked_pairs, checked_parameters, whole
from .transduction.model import Aligned, Model, sliced

BLOCK = 4096
"""Inputs that are decoded at once."""


class SequenceTransducer(FromFile, Observed, Lean, BaseEstimator):
    """Sequences to sequences of other symbols and lengths, no alignment given.

    Pairs are aligned by EM: every input symbol emits a chunk of 0 to `max_chunk` output symbols.
    Which chunk is then learnt by kernel dependency estimation with weights shared across
    positions: inputs are the windows around a position (and the last output symbols), outputs the
    one-hot vectors of chunks, and the ridge equation has its closed-form solution. An output is
    decoded as the best sequence of chunks under

        Σ_i log p(c_i | x, i, c_1 … c_{i-1}) + w log p(output),

    p(c | ·) being the softmax of the ridge scores over a temperature and p(output) an n-gram
    model of the training outputs.

    Parameters
    ----------
    kernel
        A `LocalWindow`, or one times an operator on chunks (``LocalWindow() * Covariance(0.5)``);
        None is ``LocalWindow()``.
    alpha
        The ridge.
    max_chunk
        The largest number of output symbols that an input symbol emits.
    history
        How many of the last output symbols the local map sees.
    order
        The order of the n-gram model of outputs.
    temperature, lm_weight
        Of the softmax, and of the n-gram model. None: chosen on pairs left out of the fit, by
        likelihood the one and by exact matches the other.
    beam
        The hypotheses kept at a position; None keeps all that can matter: exact, but slower.
    folds
        The number of folds in which pairs are left out to choose those.
    unalignable
        What becomes of a pair whose output is longer than `max_chunk` times its input: "raise"
        refuses it by its index, "skip" leaves it out.
    random_state
        Seeds the deal of the folds.
    verbose
        Whether a bar shows how far the fit is.

    Attributes
    ----------
    temperature_, lm_weight_
        As given or chosen.
    left_out_accuracy_
        The share of exact matches on the pairs left out, with these; None where nothing was left
        out.
    alignment_
        The alignment, with its chunk probabilities and log-likelihoods.
    skipped_
        The indices of the pairs left out as unalignable.

    Notes
    -----
    A ridge equation is solved for each input symbol (`LocalWindow` is zero between different
    ones), by conjugate gradients on sparse features: time and memory grow with the number of
    symbols. Symbols never seen emit what is emitted on average, as the n-gram model sees fit.

    Examples
    --------
    >>> from mercer import SequenceTransducer
    >>> X = ["nab", "ban", "banana", "an", "cab", "bac", "nac", "can"]
    >>> y = [x.replace("c", "ks").upper() for x in X]
    >>> model = SequenceTransducer(max_chunk=2).fit(X, y)
    >>> model.predict(["cana", ""])
    array(['KSANA', ''], dtype=object)
    >>> model.aligned(4)
    [('c', 'KS'), ('a', 'A'), ('b', 'B')]
    """

    def __init__(
        self,
        kernel: Any = None,
        alpha: float = 1.5,
        max_chunk: int = 3,
        history: int = 2,
        order: int = 4,
        temperature: float | None = None,
        lm_weight: float | None = None,
        beam: int | None = 8,
        folds: int = 5,
        unalignable: str = "raise",
        random_state: int | None = 0,
        verbose: bool = False,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.max_chunk = max_chunk
        self.history = history
        self.order = order
        self.temperature = temperature
        self.lm_weight = lm_weight
        self.beam = beam
        self.folds = folds
        self.unalignable = unalignable
        self.random_state = random_state
        self.verbose = verbose

    dropped: ClassVar[dict[str, str]] = {"alignment_": "the training pairs and their alignment"}

    def check_loaded(self, limits: Limits) -> None:
        """The alphabets are those of the model."""
        if not hasattr(self, "model_"):
            return
        must(isinstance(self.model_, Model), "model_ is no transduction")
        for name in ("sources_", "targets_"):
            must(isinstance(getattr(self, name), Alphabet), f"{name} is no alphabet")
        must(len(self.sources_) + 1 == len(self.model_.emissions.width), "sources_ do not fit")
        must(len(self.targets_) == self.model_.ngram.end, "targets_ do not fit")
        must(finite(self.temperature_, "temperature_") > 0, "temperature_ is not positive")
        finite(self.lm_weight_, "lm_weight_")
        bounded(1 if self.beam_ is None else self.beam_, "beam_", 1, limits.size)

    # -- fit ----------------------------------------------------------------------------------

    def fit(self, X: Items, y: Items, groups: Items | None = None) -> SequenceTransducer:
        """Learn from pairs.

        Parameters
        ----------
        X
            Inputs: strings, or lists or tuples of tokens; they may be empty.
        y
            As many outputs, likewise.
        groups
            A label for each pair: pairs of one label are left out together when temperature and
            weight are chosen. None: pairs with equal inputs.
        """
        most = 2 + 2 * self.folds if isinstance(self.folds, int) else 0  # others are refused
        fitted = observed(self, most, lambda steps: self._fitted(X, y, groups, steps), X, y)
        self.__dict__.update(fitted)
        return self

    def _fitted(self, X: Items, y: Items, groups: Items | None, steps: Steps) -> dict[str, Any]:
        """The attributes of a fit, set together at its end: a failed fit changes nothing."""
        contexts, ridge = checked_parameters(self)
        X, y = checked_pairs(X, y)
        labels = group_labels(groups, len(X)) if groups is not None else Sequences().unique(X)[1]
        sources, targets = Alphabet.of(X), Alphabet.of(y)
        source, target = sources.encode(X), targets.encode(y)
        keep = alignable(source.lengths, target.lengths, self.max_chunk, self.unalignable)
        sides = sliced(source, keep)[0], sliced(target, keep)[0]
        (alignment,) = (align(*both, self.max_chunk) for both in steps([sides], "aligning"))
        pairs = Aligned(alignment, self.max_chunk, len(sources), len(targets), contexts)
        trial = Trial(pairs, ridge, self.order, self.beam, steps)
        chosen = trial.calibrate(
            labels[keep], self.folds, self.random_state, self.temperature, self.lm_weight
        )
        every = np.arange(len(keep))
        (model,) = (pairs.fit(rows, ridge, self.order) for rows in steps([every], "fitting"))
        return {
            "alignment_": alignment,
            "model_": model,
            "temperature_": chosen.temperature,
            "lm_weight_": chosen.weight,
            "left_out_accuracy_": chosen.accuracy,
            "sources_": sources,
            "targets_": targets,
            "skipped_": np.setdiff1d(np.arange(len(X)), keep),
            "sample_": y[0],
            "beam_": self.beam,
        }

    def aligned(self, i: int) -> list[tuple[Any, Any]]:
        """The input symbols of training pair `i`, each with the chunk it was aligned to."""
        check_is_fitted(self)
        if i in self.skipped_:
            raise ValueError(f"pair {i} was skipped: its output is too long to be aligned.")
        p = int(i) - int((self.skipped_ < i).sum())
        source = self.alignment_.source
        symbols = source.flat[source.starts[p] : source.starts[p + 1]]
        chunks = [self._output(chunk) for chunk in self.alignment_.chunks(p)]
        return [(self.sources_.symbols[s], c) for s, c in zip(symbols, chunks, strict=True)]

    # -- predict ------------------------------------------------------------------------------

    def predict(self, X: Items) -> np.ndarray:
        """The best output of every input."""
        return object_array([row[0][0] for row in self._top(X, 1)])

    def predict_top(self, X: Items, k: int = 5) -> list[Ranked]:
        """For each input the best `k` outputs with their scores, best first."""
        return self._top(X, whole(k, "k", 1))

    def _top(self, X: Items, k: int) -> list[Ranked]:
        check_is_fitted(self)
        X = as_sequences(X)
        beam = None if self.beam_ is None else self.beam_ * k
        ranked: list[Ranked] = []
        for rows in blocks(len(X), BLOCK):
            codes = self.sources_.encode(take(X, np.arange(rows.start, rows.stop)))
            inputs = self.model_.prepare(codes)
            found = self.model_.search(inputs, self.temperature_, self.lm_weight_, k, beam)
            ranked.extend(self._ranked(*row) for row in zip(*found, strict=True))
        return ranked

    def _ranked(self, out: np.ndarray, sizes: np.ndarray, values: np.ndarray) -> Ranked:
        return [
            (self._output(row[:size]), float(value))
            for row, size, value in zip(out, sizes, values, strict=True)
            if value > -np.inf
        ]

    def _output(self, codes: np.ndarray) -> Any:
        """Symbols as a sequence of the kind that was learnt from."""
        return as_given([self.targets_.symbols[c] for c in codes], self.sample_)

    def score(self, X: Items, y: Items, sample_weight: Items | None = None) -> float:
        """The share of exact matches, each example by its weight."""
        hits = exact_match(as_sequences(y, "y"), self.predict(X), average=False)
        return float(np.average(hits, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags
