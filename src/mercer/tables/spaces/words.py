from __future__ import annotations

import re

import numpy as np

from ..._arrays import Items, as_items, object_array
from ...kernels import Kernel
from ...kernels.base import Wrapper

WORD = re.compile(r"\w+")


class Words(Wrapper):
    """k(words of a, words of b): a kernel on sequences, with words in place of letters.

    Words are runs of letters and digits, small and capital letters being the same.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> from mercer.tables.spaces.words import Words
    >>> Words(Spectrum(1))(["The sea, the sun."], ["a sun", "the sand"])
    array([[1., 2.]])
    """

    def check(self, A: Items, name: str = "X") -> np.ndarray:
        """The words of each text."""
        texts = as_items(A, name)
        return self.inner.check(object_array([_words(text) for text in texts]), name)

    def fit(self, A: Items) -> Kernel:
        """Fit the kernel inside, on words."""
        return super().fit(self.check(A, "A"))

    def _gram(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self.inner._gram(A, B)

    def _diag(self, A: np.ndarray) -> np.ndarray:
        return self.inner._diag(A)


def _words(text: str | tuple) -> tuple:
    return tuple(WORD.findall(text.lower())) if isinstance(text, str) else tuple(text)
