from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from .._arrays import object_array
from ._files import find

HASH = "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22"
ORIGIN = "github.com/cmusphinx/cmudict (BSD licence), the file cmudict.dict"
WORD = re.compile("[a-z']+")


def load_cmudict(
    data_home: str | Path | None = None, *, stress: bool = False, sha256: str | None = HASH
) -> tuple[np.ndarray, np.ndarray]:
    """The CMU pronouncing dictionary: 124,926 words and the first pronunciation of each.

    Words with other characters than the letters a to z and the apostrophe (1,126 abbreviations and
    compounds with a stop or a hyphen) are left out, further pronunciations of a word too.

    Parameters
    ----------
    data_home
        The data folder; None for MERCER_DATA or the cache.
    stress
        Whether vowels carry the digit of their stress (69 phones); otherwise there are 39.
    sha256
        What the content must hash to; None where any file of that form will do.

    Returns
    -------
    words, pronunciations
        Object arrays of strings and of tuples of phones, in the order of the file.

    Examples
    --------
    >>> from mercer.datasets import load_cmudict
    >>> words, phones = load_cmudict()  # doctest: +SKIP
    >>> words[0], phones[0]  # doctest: +SKIP
    """
    path = find("cmudict/cmudict.dict", data_home, sha256=sha256, origin=ORIGIN)
    first: dict[str, tuple[str, ...]] = {}
    for i, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        word, *phones = line.split("#")[0].split() or [""]
        if word and not phones:
            raise ValueError(f"line {i + 1} of {path} has a word without phones: {line!r:.60}.")
        if WORD.fullmatch(word):
            first.setdefault(word, tuple(phones))
    drop = "" if stress else "012"
    spoken = [tuple(phone.rstrip(drop) for phone in phones) for phones in first.values()]
    return object_array(list(first)), object_array(spoken)
