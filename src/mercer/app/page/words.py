"""The tab "Handwritten words": real ones where the data set is installed, generated otherwise."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ... import KernelDependency
from ...datasets import DataNotFound, WrongData, load_ocr_words
from ...decoders import Lexicon, PerPosition
from ...kernels import Normalized, Polynomial, Positions
from .letters import HEIGHT, VOCABULARY, WIDTH, written

COPIES = 6
"""Times that each word of the vocabulary is written where words are generated."""


class Words:
    """A model of a part of the words, fitted when it is first needed."""

    @cached_property
    def data(self) -> tuple[Any, Any, Any, str]:
        """Images, words, whether a word is learnt from, and where the words come from."""
        try:
            images, words, folds = load_ocr_words()
            return images, words, folds == 0, "Words written by people (the OCR data set)."
        except (DataNotFound, WrongData):
            words = np.array(VOCABULARY * COPIES)
            images = written(list(words), np.random.default_rng(0))
            learnt = np.arange(len(words)) < len(words) // 2
            return images, words, learnt, "Words written by a program with an unsteady hand."

    @cached_property
    def model(self) -> KernelDependency:
        """The model, fitted on the words to learn from."""
        images, words, learnt, _ = self.data
        kernel = Positions(Normalized(Polynomial(3, 1 / 8)))
        model = KernelDependency(
            kernel, Positions(), alpha=1e-2, decoder=PerPosition(length="input")
        )
        return model.fit(images[learnt], words[learnt])

    def some(self, request: dict) -> dict:
        """Return some words that the model does not learn from."""
        images, words, learnt, source = self.data
        rng = np.random.default_rng(int(request.get("seed", 0)))
        chosen = rng.choice(np.flatnonzero(~learnt), 8, replace=False)
        return {
            "source": source,
            "words": [
                {"number": int(i), "truth": str(words[i]), "letters": _pixels(images[i])}
                for i in chosen
            ],
        }

    def read(self, request: dict) -> dict:
        """Return a word as read letter by letter, and among the words of the training data."""
        images = self.data[0]
        number = int(request["number"])
        if not 0 <= number < len(images):
            raise ValueError(f"There is no word number {number}.")
        model = self.model
        points = model.embed(images[[number]])
        alone = model.predict(images[[number]])[0]
        lexicon = Lexicon(restrict="length").fit(model.output_kernel_, model.outputs_)
        ranked = lexicon.decode_top(points, 5)[0]
        return {"alone": str(alone), "words": [[str(word), float(score)] for word, score in ranked]}


def _pixels(letters: np.ndarray) -> list:
    return np.asarray(letters, dtype=float).reshape(len(letters), HEIGHT, WIDTH).tolist()
