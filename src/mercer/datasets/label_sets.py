"""Label sets and label rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ._files import load_arrays

BIBTEX_HASH = "71d9e37759e9182158dfda2ae3d3b6417aad43ed5202bc67aeadf646d61d070e"
EMOTIONS_HASH = "083117052c214c75d08feca7b5cdfa3d2a92d25006ac0eaef0775db858f7894d"
MULAN_ORIGIN = (
    "the data folder of Mulan (github.com/tsoumakas/mulan), re-encoded as CSR parts in an npz"
)


class LabelData(NamedTuple):
    """A multi-label data set with sparse 0/1 labels, split into training and test examples."""

    X_train: csr_array
    y_train: csr_array
    X_test: csr_array
    y_test: csr_array
    labels: np.ndarray


def load_bibtex(
    data_home: str | Path | None = None, *, sha256: str | None = BIBTEX_HASH
) -> LabelData:
    """Load Bibtex: words of texts and their tags, 4880 rows for training and 2515 for test.

    There are 1836 words and 159 tags.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_bibtex
    >>> texts = load_bibtex()  # doctest: +SKIP
    >>> texts.X_train.shape  # doctest: +SKIP
    (4880, 1836)
    """
    return _load_multilabel("bibtex", data_home, sha256)


def load_emotions(
    data_home: str | Path | None = None, *, sha256: str | None = EMOTIONS_HASH
) -> LabelData:
    """Load Emotions: features of songs and their moods, 391 rows for training and 202 for test.

    There are 72 features and 6 moods.

    Parameters
    ----------
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_emotions
    >>> songs = load_emotions()  # doctest: +SKIP
    >>> songs.X_train.shape  # doctest: +SKIP
    (391, 72)
    """
    return _load_multilabel("emotions", data_home, sha256)


def _load_multilabel(name: str, data_home: str | Path | None, sha256: str | None) -> LabelData:
    """Load the multi-label data set called `name`, with its training and test split."""
    z = load_arrays(f"{name}/{name}.npz", data_home, sha256=sha256, origin=MULAN_ORIGIN)
    X, y, X_test, y_test = (_sparse_matrix(z, part) for part in ("Xtr", "Ytr", "Xte", "Yte"))
    return LabelData(X, y, X_test, y_test, z["label_names"])


def _sparse_matrix(z: Any, part: str) -> csr_array:
    """Return the sparse matrix of the npz file `z` whose arrays have names such as part_data."""
    entries = tuple(z[f"{part}_{of}"] for of in ("data", "indices", "indptr"))
    dtype = np.float64 if part.startswith("X") else np.int8
    return csr_array(entries, shape=z[f"{part}_shape"], dtype=dtype)


RANKING_HASH = "761fa64986c04b7bdd13a4eff95fca127c780c874a033096a1ca36b6a67478f7"
RANKING_CONTENT = "6ef21eb579e22d98fdf2609988f063bb36bf6f2435cea37c0d00748d7186beb7"
RANKING_ORIGIN = (
    "the data folder of github.com/akorba/Structured_Approach_Label_Ranking "
    "(`mercer fetch label_ranking`)"
)
LABEL_RANKING = ("authorship", "glass", "iris", "vehicle", "vowel", "wine", "housing")
"""The label ranking sets of Cheng and Hüllermeier that the file holds."""
RANKING_ARRAYS = tuple(f"{name}_{part}" for name in LABEL_RANKING for part in ("X", "rank"))


def load_label_ranking(
    name: str, data_home: str | Path | None = None, *, sha256: str | None = RANKING_HASH
) -> tuple[np.ndarray, np.ndarray]:
    """Load a label ranking set: features (n, d), and the rank of each label (n, m) from 0.

    Parameters
    ----------
    name : str
        One of `LABEL_RANKING`.
    data_home : path, default=None
        The data folder; None for MERCER_DATA or the cache.
    sha256 : str or None
        The expected SHA-256 hash of the file; None accepts any file of the right format.

    Examples
    --------
    >>> from mercer.datasets import load_label_ranking
    >>> X, ranks = load_label_ranking("iris")  # doctest: +SKIP
    >>> X.shape, ranks.shape  # doctest: +SKIP
    ((150, 4), (150, 3))
    """
    if name not in LABEL_RANKING:
        raise ValueError(f"name must be one of {LABEL_RANKING}, got {name!r}.")
    z = load_arrays(
        "label_ranking/label_ranking.npz", data_home, sha256=sha256, origin=RANKING_ORIGIN,
        content=(RANKING_CONTENT, RANKING_ARRAYS),
    )  # fmt: skip
    return z[f"{name}_X"], z[f"{name}_rank"].astype(np.int64)
