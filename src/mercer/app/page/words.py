"""The tab "Handwritten words": the OCR data set where it is installed, else numbers of digits."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from ... import KernelDependency
from ..._base.arrays import object_array
from ...datasets import DataNotFound, WrongData, load_ocr_words
from ...decoders import Lexicon, PerPosition
from ...kernels import Normalized, Polynomial, Positions

DISTINCT_NUMBERS, IMAGES_OF_EACH = 60, 6
"""The number of distinct numbers in the data if there are no words, and of images of each."""
LETTER_WIDTH = 8
"""The width of the image of a letter in pixels."""


class WordsTab:
    """Tab of the page that reads images of words, with a model fitted on first use."""

    @cached_property
    def data(self) -> tuple[Any, Any, Any, str]:
        """The word images, the words, a mask of the training words, and the name of the source."""
        try:
            images, words, folds = load_ocr_words()
            return images, words, folds == 0, "Words written by people (the OCR data set)."
        except (DataNotFound, WrongData):
            return *_images_of_numbers(), "Numbers of four handwritten digits (of scikit-learn)."

    @cached_property
    def model(self) -> KernelDependency:
        """The model, fitted to the training words."""
        images, words, is_training, _ = self.data
        kernel = Positions(Normalized(Polynomial(3, 1 / 8)))
        model = KernelDependency(
            kernel, Positions(), alpha=1e-2, decoder=PerPosition(length="input")
        )
        return model.fit(images[is_training], words[is_training])

    def random_words(self, request: dict) -> dict:
        """Return the images of eight random test words, with the words."""
        images, words, is_training, source = self.data
        rng = np.random.default_rng(int(request.get("seed", 0)))
        chosen = rng.choice(np.flatnonzero(~is_training), 8, replace=False)
        return {
            "source": source,
            "words": [
                {"number": int(i), "truth": str(words[i]), "letters": _pixel_lists(images[i])}
                for i in chosen
            ],
        }

    def read(self, request: dict) -> dict:
        """Return the word in an image as predicted by letters, and the five best training words."""
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


def _pixel_lists(letters: np.ndarray) -> list:
    """Return the images of the letters of a word as lists of pixels."""
    return np.asarray(letters, dtype=float).reshape(len(letters), -1, LETTER_WIDTH).tolist()


def _images_of_numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images of numbers made of digits, the numbers, and a mask of the training numbers.

    Both halves have the same numbers, written with different images of digits.
    """
    digits, rng = load_digits(), np.random.default_rng(0)
    chosen = rng.integers(1000, 10_000, DISTINCT_NUMBERS).astype(str)
    words = np.tile(chosen, IMAGES_OF_EACH)
    is_training = np.arange(len(words)) < len(words) // 2
    images = [
        np.stack([_random_digit(digits, int(letter), training, rng) for letter in word])
        for word, training in zip(words, is_training, strict=True)
    ]
    return object_array(images), words, is_training


def _random_digit(
    digits: Any, digit: int, is_training: bool, rng: np.random.Generator
) -> np.ndarray:
    """Return a random image of a digit: one of even index for training, of odd index for tests."""
    known = np.flatnonzero(digits.target == digit)[0 if is_training else 1 :: 2]
    return digits.data[rng.choice(known)] / 16.0
