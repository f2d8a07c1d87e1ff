"""Words: Arabic names in Latin letters, inflected forms, and handwritten words by letters."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from .._base.arrays import object_array
from ._files import find_file, load_arrays, read_rows

FILE_HASHES = {
    "ar2en-train.txt": "06062d35810ca5c106efc2fe8f64319910d99c05a53794b606ec20885bbab7bd",
    "ar2en-eval.txt": "c17a8c1262b895d5016a96ab956b505512e9fa22ea245fbd356027c0f7105f25",
}
NAMES_ORIGIN = "github.com/google/transliteration (Apache-2.0; `mercer fetch transliteration`)"
INFLECTION = {
    "german-train": "b580556123734844ead2c78799089abc290e6de7b2f9e1aeb6fcbc3c7f167026",
    "german-dev": "cefece1e9ab3569d4f93ca898db7465d739ec94229cfdb397b6791de8a9f4ac8",
    "turkish-train": "b8c741553d35b90733c210edf38e2e6dee9e9ca0fd00de1e9b4a77d9cf01b196",
    "turkish-dev": "8319472a82a76464a62b17e560dd0166e7c6d8500c0166d0fcfc5d6ff4a44130",
}
INFLECTION_ORIGIN = (
    "github.com/ryancotterell/sigmorphon2016, data/LANGUAGE-task1-{train,dev}, from Wiktionary "
    "(CC BY-SA), renamed to .tsv (`mercer fetch inflection`)"
)
OCR_HASH = "4159655d0abc0e5ac448d36c9a909459194faccba2cd969e1b4a76efdd4da936"
OCR_CONTENT = "faa4ad5864d534fdb125893334198dbcad02fc247ebe1222c4f9ebae44d9a3f9"
OCR_ARRAYS = ("pixels", "letter", "word", "word_fold")
OCR_ORIGIN = "the letters of Taskar's letter.data (`mercer fetch ocr_words`)"


def load_transliteration(
    data_home: str | Path | None = None, *, verify: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Load Arabic names and Latin spellings: 12,877 pairs for training, 1,431 for evaluation.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    verify : bool, default=True
        Whether the files must be those of the published set.

    Returns
    -------
    X_train, y_train, X_test, y_test
        Object arrays of strings. The training file is in alphabetical order: a part of it is to be
        drawn at random.

    Examples
    --------
    >>> from mercer.datasets import load_transliteration
    >>> X_train, y_train, X_test, y_test = load_transliteration()  # doctest: +SKIP
    >>> len(X_train)  # doctest: +SKIP
    12877
    """
    parts: list[np.ndarray] = []
    for name, sha256 in FILE_HASHES.items():
        path = find_file(
            f"transliteration_ar_en/{name}",
            data_home,
            sha256=sha256 if verify else None,
            origin=NAMES_ORIGIN,
        )
        pairs = read_rows(path, 2, "two names with a tab between them")
        parts += [object_array([pair[j] for pair in pairs]) for j in range(2)]
    return parts[0], parts[1], parts[2], parts[3]


def load_inflection(
    language: str = "german",
    part: str = "train",
    data_home: str | Path | None = None,
    *,
    verify: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Load words (lemmas), requested features, and inflected forms of SIGMORPHON 2016, task 1.

    Parameters
    ----------
    language : str, default="german"
        "german" or "turkish"; any other whose files are in the folder, which are not verified.
    part : str, default="train"
        "train" (some 12,400 rows) or "dev" (some 1,600).
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    verify : bool, default=True
        Whether the files must be those of the published set.

    Returns
    -------
    lemmas, tags, forms
        Object arrays of strings, of tuples such as ``("pos=V", "tense=PST")``, and of strings.

    Examples
    --------
    >>> from mercer.datasets import load_inflection
    >>> lemmas, tags, forms = load_inflection("german")  # doctest: +SKIP
    >>> len(lemmas)  # doctest: +SKIP
    """
    sha256 = INFLECTION.get(f"{language}-{part}") if verify else None
    name = f"inflection/{language}-{part}.tsv"
    path = find_file(name, data_home, sha256=sha256, origin=INFLECTION_ORIGIN)
    cells = read_rows(path, 3, "lemma, tags and form, tab-separated")
    lemmas, tags, forms = zip(*cells, strict=True)
    split = object_array([tuple(each.split(",")) for each in tags])
    return object_array(list(lemmas)), split, object_array(list(forms))


def load_ocr_words(
    data_home: str | Path | None = None, *, sha256: str | None = OCR_HASH
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Load handwritten words: the images of their letters, their texts, and their folds.

    6,877 words of 3 to 14 letters (the capital first letter is left out), 55 of them distinct; a
    letter is 16 × 8 binary pixels.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Returns
    -------
    images, words, folds
        For each word an array (letters, 128) of zeros and ones, its text, and 0, …, 9.

    Examples
    --------
    >>> from mercer.datasets import load_ocr_words
    >>> images, words, folds = load_ocr_words()  # doctest: +SKIP
    >>> words[0], images[0].shape  # doctest: +SKIP
    ('ommanding', (9, 128))
    """
    z = load_arrays(
        "ocr_words/ocr_letters.npz", data_home, sha256=sha256, origin=OCR_ORIGIN,
        content=(OCR_CONTENT, OCR_ARRAYS),
    )  # fmt: skip
    pixels, letter, word, folds = (z[name] for name in OCR_ARRAYS)
    cuts = np.flatnonzero(np.diff(word)) + 1
    images = object_array(np.split(pixels.astype(np.float64), cuts))
    texts = ["".join(chr(ord("a") + c) for c in part) for part in np.split(letter, cuts)]
    return images, object_array(texts), folds


HASH = "81917843c7f44ce2b094ac63873c2c7a4cf802040792c455ba3ca406891c3d22"
CMUDICT_ORIGIN = "github.com/cmusphinx/cmudict (BSD licence), the file cmudict.dict"
WORD_PATTERN = re.compile("[a-z']+")


def load_cmudict(
    data_home: str | Path | None = None, *, stress: bool = False, sha256: str | None = HASH
) -> tuple[np.ndarray, np.ndarray]:
    """Load the CMU pronouncing dictionary: 124,926 words and the first pronunciation of each.

    Words with other characters than the letters a to z and the apostrophe (1,126 abbreviations and
    compounds with a stop or a hyphen) are left out, further pronunciations of a word too.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    stress : bool, default=False
        Whether vowels carry the digit of their stress (69 phones); otherwise there are 39.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

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
    path = find_file("cmudict/cmudict.dict", data_home, sha256=sha256, origin=CMUDICT_ORIGIN)
    first: dict[str, tuple[str, ...]] = {}
    for i, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        word, *phones = line.split("#")[0].split() or [""]
        if word and not phones:
            raise ValueError(f"line {i + 1} of {path} has a word without phones: {line!r:.60}.")
        if WORD_PATTERN.fullmatch(word):
            first.setdefault(word, tuple(phones))
    drop = "" if stress else "012"
    spoken = [tuple(phone.rstrip(drop) for phone in phones) for phones in first.values()]
    return object_array(list(first)), object_array(spoken)
