"""The default kernels for each kind of inputs, from which a model chooses."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._base.arrays import Items, count, has_columns, host, is_array, is_foreign, is_table
from ..kernels import (
    RBF,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    ShortestPath,
    Spectrum,
    Standardized,
    WeisfeilerLehman,
    Words,
)
from ..spaces.graphs import is_networkx

STANDARD_SCALES = (1.0, 3.0, 0.4, 12.0)
"""Length scales in units of the distance between standardised rows, likely ones first."""
SMOOTH = 0.8
"""The smallest correlation of neighbouring columns that are values of a curve."""
CURVE_VALUES = 8
"""The smallest number of values of a curve."""
FEWEST_CURVES = 200
"""The number of curves or fields from which a metric is learnt."""
BLANKS_OF_A_SENTENCE = 2
"""From this median number of blanks on, texts are also compared by their words."""


def default_kernels(X: Items) -> list[Kernel]:
    """Return the default kernels for inputs X; if the type is unknown, those for vectors."""
    first = _first_item(X)
    if isinstance(first, str):
        return text_kernels([str(text) for text in list(X)[:200]])
    if is_networkx(first):
        return [Normalized(WeisfeilerLehman()), Normalized(ShortestPath())]
    try:
        A = RBF().check(X, "X")
    except (TypeError, ValueError):
        return [RBF("median")]  # whose fit says what is wrong
    return vector_kernels(int(A.shape[1]), are_curves(A))


def vector_kernels(d: int, curves: bool = False) -> list[Kernel]:
    """Return a linear and several stationary kernels for d features; more of them for `curves`."""
    kernels = [
        Standardized(Linear()),
        *(Standardized(RBF(c * sqrt(d))) for c in STANDARD_SCALES),
        *(Standardized(Laplacian(c * d)) for c in STANDARD_SCALES),
        *(Standardized(Matern(c * sqrt(d))) for c in STANDARD_SCALES[:2]),
    ]
    if curves:  # all values of a curve have one unit, and it has slopes
        for slopes, size in ((False, d), (True, 2 * d)):
            more = [Linear(), *(RBF(c * sqrt(size)) for c in STANDARD_SCALES)]
            kernels += [Standardized(kernel, "common", slopes) for kernel in more]
    return kernels


def text_kernels(texts: list[str]) -> list[Kernel]:
    """Return kernels on character n-grams, and on words if the texts are sentences."""
    kernels: list[Kernel] = [Normalized(Spectrum(n, blended=True)) for n in (2, 3, 5)]
    if are_sentences(texts):
        kernels += [Normalized(Words(Spectrum(n, blended=True))) for n in (1, 2)]
    return kernels


def are_sentences(texts: list[str]) -> bool:
    """Return whether at least half of the texts have several words."""
    return bool(np.median([text.count(" ") for text in texts]) >= BLANKS_OF_A_SENTENCE)


def varies_smoothly(A: Items) -> bool:
    """Return whether inputs are fields or curves, enough of them to learn a metric."""
    if not is_array(A) or issparse(A) or count(A) < FEWEST_CURVES:
        return False
    fields = A.ndim > 2
    return fields or (A.ndim == 2 and are_curves(A))


def are_curves(A: Any) -> bool:
    """Return whether neighbouring columns of A vary together, as the values of curves do."""
    if issparse(A) or A.shape[1] < CURVE_VALUES or count(A) < 4:
        return False
    A = host(A)
    A = A - A.mean(axis=0)
    sizes = np.abs(A).max(axis=0)
    A = A / np.where(sizes > 0, sizes, 1.0)
    norms = np.sqrt((A**2).sum(axis=0))
    A = A[:, norms > 0] / norms[norms > 0]
    return A.shape[1] >= CURVE_VALUES and float((A[:, 1:] * A[:, :-1]).sum(axis=0).mean()) > SMOOTH


def _first_item(X: Items) -> Any:
    """Return the first item of a list or of an array of objects; None for other containers."""
    if issparse(X) or is_foreign(X) or has_columns(X) or isinstance(X, dict):
        return None
    if not (isinstance(X, Sequence) or is_array(X)):
        return None
    items = X.to_numpy() if is_table(X) else X
    return items[0] if len(items) else None
