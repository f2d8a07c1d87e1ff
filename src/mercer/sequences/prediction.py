"""The prediction methods of `SequenceTransducer`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Items, object_array
from .._base.checks import Limits, must
from .._base.parameters import integer
from ..decoders import Ranked
from ..metrics import exact_match
from ..spaces import as_sequences
from .transduction.calibration import CALIBRATED_OUTPUTS
from .transduction.checks import checked_candidates
from .transduction.confidence import replace_scores_by_probabilities
from .transduction.decoding import Decoding, best_outputs, check_prediction_arguments
from .transduction.inputs import InputCoder
from .transduction.side_information import check_context


class TransducerPrediction:
    """Base class of `SequenceTransducer` with its prediction methods."""

    model_: Any
    sources_: Any
    targets_: Any
    temperature_: float
    lm_weight_: float
    beam_: int | None
    sample_: Any
    coder_: InputCoder
    backward_: Any
    order_: Any
    confidence_: Any
    joint_weight_: float

    def predict(
        self,
        X: Items,
        *,
        context: Items | None = None,
        candidates: Items | None = None,
        lexicon: Items | None = None,
    ) -> np.ndarray:
        """Return the best output of every input.

        Parameters
        ----------
        X
            Inputs.
        context
            The context of each input, if the model was fitted with one.
        candidates
            A list of outputs for each input, of which the best is taken.
        lexicon
            One list of outputs for all inputs, of which the best is searched for.
        """
        ranked = self._ranked_outputs(X, 1, context, candidates, lexicon)
        return object_array([row[0][0] for row in ranked])

    def predict_top(
        self,
        X: Items,
        k: int = 5,
        *,
        context: Items | None = None,
        candidates: Items | None = None,
        lexicon: Items | None = None,
    ) -> list[Ranked]:
        """Return the best `k` outputs of each input with their scores, best first.

        Parameters
        ----------
        X
            Inputs.
        k
            The largest number of outputs for each input.
        context, candidates, lexicon
            As in `predict`.
        """
        return self._ranked_outputs(X, integer(k, "k", 1), context, candidates, lexicon)

    def predict_proba(
        self,
        X: Items,
        k: int = 5,
        *,
        context: Items | None = None,
        candidates: Items | None = None,
        lexicon: Items | None = None,
    ) -> list[Ranked]:
        """Return the best `k` outputs of each input with their probabilities, best first.

        The probabilities are calibrated on pairs left out of the fit; one minus their sum is the
        probability of all other outputs. Those of all `candidates` of an input sum to one.

        Parameters
        ----------
        X
            Inputs.
        k
            The largest number of outputs for each input.
        context, candidates, lexicon
            As in `predict`.
        """
        candidates = checked_candidates(candidates)
        many = max([integer(k, "k", 1), CALIBRATED_OUTPUTS, *map(len, candidates or [])])
        ranked = self._ranked_outputs(X, many, context, candidates, lexicon)
        closed = candidates is not None or lexicon is not None
        lengths = [len(x) for x in X]
        ranked = replace_scores_by_probabilities(ranked, self.confidence_, lengths, closed)
        return [row[:k] for row in ranked]

    def _ranked_outputs(
        self, X: Items, k: int, context: Items, candidates: Items, lexicon: Items
    ) -> list[Ranked]:
        """Return the best `k` outputs of each input with scores, after checking the arguments."""
        check_is_fitted(self)
        if not isinstance(X, str) and hasattr(X, "__len__") and len(X) == 0:
            return []
        candidates = checked_candidates(candidates)
        X = as_sequences(X)
        X = X if self.order_ is None else self.order_.apply(X)
        context = None if context is None else check_context(context, len(X))
        check_prediction_arguments(self.coder_, X, context, candidates, lexicon)
        if context is not None and (new := self.coder_.unknown_labels(context)):
            warnings.warn(
                f"context has labels that were not seen in fit, and they are ignored: {new!r:.200}",
                stacklevel=3,
            )
        models = [self._forward, *([] if self.backward_ is None else [self.backward_])]
        return best_outputs(models, X, k, context, candidates, lexicon)

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the forward and the backward model are valid."""
        if not hasattr(self, "model_"):
            return
        self._forward.check_loaded(limits)
        backward = self.backward_
        must(backward is None or isinstance(backward, Decoding), "backward_ is not a model")

    @property
    def _forward(self) -> Decoding:
        """The model with its search settings: the one that reads forward, if there are two."""
        return Decoding(
            self.model_, self.coder_, self.temperature_, self.lm_weight_, self.beam_,
            self.sample_, self.joint_weight_,
        )  # fmt: skip

    def score(
        self,
        X: Items,
        y: Items,
        sample_weight: Items | None = None,
        *,
        context: Items | None = None,
    ) -> float:
        """Return the weighted fraction of outputs that are predicted exactly.

        Parameters
        ----------
        X, y
            Inputs and their true outputs.
        sample_weight
            The weight of each input; None for equal weights.
        context
            The context of each input, if the model was fitted with one.
        """
        hits = exact_match(as_sequences(y, "y"), self.predict(X, context=context), average=False)
        return float(np.average(hits, weights=sample_weight))
