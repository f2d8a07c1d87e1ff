"""Words from words, letter by letter: names in another script, inflected forms, spellings."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from sklearn.base import BaseEstimator

from .._base.arrays import Items
from ..sequences import SequenceTransducer
from .inputs import Inputs
from .kinds.base import Kind

LONGEST_WORD = 60
"""The longest text that is learnt letter by letter."""
NEW = 0.2
"""With a larger fraction of distinct outputs, outputs may be texts that are not in the data."""


class Letters(BaseEstimator):
    """Estimator that applies a `SequenceTransducer` to one text column of the model inputs.

    Parameters
    ----------
    column
        The name of the column.
    """

    def __init__(self, column: str = ""):
        self.column = column

    @classmethod
    def is_suited(cls, inputs: Inputs, outputs: Kind, X: Items, y: Items) -> bool:
        """Return whether inputs and outputs are short texts, and many outputs are distinct."""
        only_text = list(inputs.kinds_.values()).count("text") == 1 and not inputs.width_
        if not outputs.is_free_text or not only_text or len(inputs.non_numeric) > 1:
            return False
        texts = [row[str(inputs.non_numeric[0])] for row in X]
        short = max(map(len, texts)) <= LONGEST_WORD and max(map(len, y)) <= LONGEST_WORD
        return short and all(map(len, texts)) and len(set(y)) > NEW * len(y)

    def fit(self, X: Items, y: Items, groups: Items | None = None) -> Letters:
        """Fit the transducer to the input texts in the rows X and the output texts y."""
        self.transducer_ = SequenceTransducer(unalignable="skip")
        self.transducer_.fit(self._texts(X), list(y), groups=groups)
        return self

    def predict(self, X: Items) -> np.ndarray:
        """Predict the most probable text for each row."""
        return self.transducer_.predict(self._texts(X))

    @property
    def decoder_(self) -> Letters:
        """The part that decodes, which is the model."""
        return self

    has_ranked_lists = True
    """Whether `predict_top` returns several outputs, best first."""

    def predict_top(self, X: Items, k: int = 5) -> list:
        """Return the `k` most probable texts for each row with their scores."""
        return self.transducer_.predict_top(self._texts(X), k=k)

    def loo_predict(self) -> NoReturn:
        """Raise an error: a transducer stores the left-out score, not left-out predictions."""
        raise ValueError("a model letter by letter keeps only the score of left-out predictions.")

    def explain(self, X: Items, k: int = 5) -> NoReturn:
        """Raise an error: predictions of a transducer are not weighted sums of training rows."""
        raise ValueError("a model letter by letter has no weights of training rows.")

    def _texts(self, X: Items) -> list[str]:
        """Return the input texts of the rows X."""
        return [row[self.column] for row in X]
