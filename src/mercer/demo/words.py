"""The second tab: handwritten words, where the OCR data is present."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .. import KernelDependency
from ..datasets import DataNotFound, WrongData, load_ocr_words
from ..decoders import Lexicon, PerPosition
from ..kernels import Normalized, Polynomial, Positions


class Words:
    """A model of the first fold, fitted when the tab is first opened."""

    @cached_property
    def data(self) -> tuple[Any, Any, Any]:
        """Images, words and folds."""
        return load_ocr_words()

    @cached_property
    def model(self) -> KernelDependency:
        """Learnt from the words of fold 0."""
        images, words, folds = self.data
        kernel = Positions(Normalized(Polynomial(3, 1 / 8)))
        model = KernelDependency(
            kernel, Positions(), alpha=1e-2, decoder=PerPosition(length="input")
        )
        return model.fit(images[folds == 0], words[folds == 0])

    def some(self, request: dict) -> dict:
        """Words of the other folds to pick from; what is missing, where there are none."""
        try:
            images, words, folds = self.data
        except (DataNotFound, WrongData) as problem:
            return {"missing": str(problem)}
        rng = np.random.default_rng(int(request.get("seed", 0)))
        chosen = rng.choice(np.flatnonzero(folds > 0), 8, replace=False)
        return {
            "words": [
                {"number": int(i), "truth": str(words[i]), "letters": _pixels(images[i])}
                for i in chosen
            ]
        }

    def read(self, request: dict) -> dict:
        """The word as read letter by letter, and over the words known."""
        images = self.data[0]
        number = int(request["number"])
        if not 0 <= number < len(images):
            raise ValueError(f"there is no word number {number}.")
        model = self.model
        points = model.embed(images[[number]])
        alone = model.predict(images[[number]])[0]
        lexicon = Lexicon(restrict="length").fit(model.output_kernel_, model.outputs_)
        ranked = lexicon.decode_top(points, 5)[0]
        return {"alone": str(alone), "words": [[str(word), float(score)] for word, score in ranked]}


def _pixels(letters: np.ndarray) -> list:
    """Letters as rows of pixels, 16 high and 8 wide."""
    return np.asarray(letters, dtype=float).reshape(len(letters), 16, 8).tolist()
