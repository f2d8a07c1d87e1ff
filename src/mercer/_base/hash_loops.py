"""Hashes of 64-bit words in compiled loops."""

import numpy as np

from .loops import inlined

Word = np.uint64


@inlined
def mix(x):
    """Return the word x with its bits mixed (the end of SplitMix64)."""
    x = (x ^ (x >> Word(30))) * Word(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> Word(27))) * Word(0x94D049BB133111EB)
    return x ^ (x >> Word(31))


@inlined
def combine(a, b):
    """Return a hash of the ordered pair of words (a, b)."""
    return mix(a * Word(0x9E3779B97F4A7C15) + b + Word(0x632BE59BD9B4E019))
