"""Words from words, letter by letter: names in another script, inflected forms, spellings."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._arrays import Items
from .._from_file import FromFile
from ..sequences import SequenceTransducer
from .inputs import Inputs
from .outputs import Outputs

WORD = 60
"""Letters up to which a text is learnt letter by letter."""
NEW = 0.2
"""The share of outputs that must differ: fewer are best chosen among those seen."""


class Letters(FromFile, BaseEstimator):
    """A `SequenceTransducer` from one column of text, as rows of a table hold it.

    Parameters
    ----------
    column
        The name of the column.
    """

    def __init__(self, column: str = ""):
        self.column = column

    @classmethod
    def suited(cls, inputs: Inputs, outputs: Outputs, X: Items, y: Items) -> bool:
        """Whether short texts are to be made of short texts, most of them new."""
        only_text = list(inputs.kinds_.values()).count("text") == 1 and not inputs.width_
        if outputs.kind_ != "text" or not only_text or len(inputs.texts) > 1:
            return False
        texts = [row[str(inputs.texts[0])] for row in X]
        short = max(map(len, texts)) <= WORD and max(map(len, y)) <= WORD
        return short and all(map(len, texts)) and len(set(y)) > NEW * len(y)

    def fit(self, X: Items, y: Items, groups: Items | None = None) -> Letters:
        """Learn from rows of a table and their texts."""
        self.transducer_ = SequenceTransducer(unalignable="skip")
        self.transducer_.fit(self._texts(X), list(y), groups=groups)
        return self

    def predict(self, X: Items) -> np.ndarray:
        """The likeliest text of each row."""
        return self.transducer_.predict(self._texts(X))

    def predict_top(self, X: Items, k: int = 5) -> list:
        """The likeliest texts of each row with their scores."""
        return self.transducer_.predict_top(self._texts(X), k=k)

    def loo_predict(self) -> Any:
        """Refused: folds tell a share of exact matches, and are not kept."""
        raise ValueError("a model by letters keeps no left-out predictions, only their score.")

    def explain(self, X: Items, k: int = 5) -> Any:
        """Refused: letters stand on windows of many examples, not on examples."""
        raise ValueError("a model by letters weighs no whole examples: it cannot name them.")

    def _texts(self, X: Items) -> list[str]:
        return [row[self.column] for row in X]
