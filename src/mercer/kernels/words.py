from __future__ import annotations

import re

import numpy as np

from .._arrays import Items, object_array
from ..spaces import Sequences
from .base import Kernel, as_kernel
from .mapped import After
from .spectrum import Spectrum

WORD = re.compile(r"\w+")


class Words(After):
    """k(words of a, words of b): a kernel on sequences, with words in place of letters.

    Words are runs of letters and digits, small and capital letters being the same.

    Parameters
    ----------
    kernel
        The kernel on sequences of words; None counts words in common, ``Spectrum(1)``.

    Examples
    --------
    >>> from mercer.kernels import Words
    >>> Words()(["The sea, the sun."], ["a sun", "the sand"])
    array([[1., 2.]])
    """

    def __init__(self, kernel: Kernel | None = None):
        self.kernel = kernel  # type: ignore[assignment]

    def _given(self) -> Kernel:
        return Spectrum(1) if self.kernel is None else as_kernel(self.kernel)

    space = Sequences()

    def _apply(self, A: Items) -> np.ndarray:
        return object_array([_words(text) for text in A])


def _words(text: str | tuple) -> tuple:
    return tuple(WORD.findall(text.lower())) if isinstance(text, str) else tuple(text)
