from __future__ import annotations

from pathlib import Path

import numpy as np

from ._files import arrays

HASH = "761fa64986c04b7bdd13a4eff95fca127c780c874a033096a1ca36b6a67478f7"
CONTENT = "6ef21eb579e22d98fdf2609988f063bb36bf6f2435cea37c0d00748d7186beb7"
ORIGIN = (
    "the data folder of github.com/akorba/Structured_Approach_Label_Ranking "
    "(`mercer fetch label_ranking`)"
)
LABEL_RANKING = ("authorship", "glass", "iris", "vehicle", "vowel", "wine", "housing")
"""The label ranking sets of Cheng and Hüllermeier that the file holds."""
ARRAYS = tuple(f"{name}_{part}" for name in LABEL_RANKING for part in ("X", "rank"))


def load_label_ranking(
    name: str, data_home: str | Path | None = None, *, sha256: str | None = HASH
) -> tuple[np.ndarray, np.ndarray]:
    """A label ranking set: features (n, d), and the rank of each label (n, m), 0 for the best.

    Parameters
    ----------
    name
        One of `LABEL_RANKING`.

    Examples
    --------
    >>> from mercer.datasets import load_label_ranking
    >>> X, ranks = load_label_ranking("iris")  # doctest: +SKIP
    >>> X.shape, ranks.shape  # doctest: +SKIP
    ((150, 4), (150, 3))
    """
    if name not in LABEL_RANKING:
        raise ValueError(f"name must be one of {LABEL_RANKING}, got {name!r}.")
    z = arrays(
        "label_ranking/label_ranking.npz", data_home, sha256=sha256, origin=ORIGIN,
        content=(CONTENT, ARRAYS),
    )  # fmt: skip
    return z[f"{name}_X"], z[f"{name}_rank"].astype(np.int64)
